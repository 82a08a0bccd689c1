//! Names and sentences of comparisons.

use std::collections::HashSet;

use howlate_analyse::compare::{
    Compared, Comparison, Design, Difference, ExtrapolationRefusal, Inconclusive, LeftOut, Statistic, Tested,
    Verdict,
};
use howlate_analyse::{Analysis, slowest_covered};
use howlate_model::{Caveat, MonotonicTime, Property, PropertyValue, Span};

use super::ComparisonReport;
use crate::caveats::sentences;
use crate::condition::{CIRCUMSTANCES, distinguishing_properties, joined, phrases, values_text};
use crate::numbers::{at_least, count, length, micros_of, rough, signed_micros, with_minus};
use crate::property::{self, phrase, typed_phrase};

/// Name of a statistic in tables.
pub(super) const fn statistic(statistic: Statistic, design: Design) -> &'static str {
    match (statistic, design) {
        (Statistic::P50, _) => "median",
        (Statistic::P99, _) => "p99",
        (Statistic::P999, _) => "p99.9",
        (Statistic::Max, Design::Interleaved) => "max of a turn",
        (Statistic::Max, Design::Separate) => "max of a stretch",
        (Statistic::Max, Design::Distributions) => "max",
    }
}

/// Name of a statistic beside the typical value per turn or stretch, which may differ a lot from that of all wake-ups together.
pub(super) const fn row(statistic: Statistic, design: Design) -> &'static str {
    match (statistic, design) {
        (Statistic::P50, Design::Interleaved) => "median of a turn",
        (Statistic::P99, Design::Interleaved) => "p99 of a turn",
        (Statistic::P999, Design::Interleaved) => "p99.9 of a turn",
        (Statistic::P50, Design::Separate) => "median of a stretch",
        (Statistic::P99, Design::Separate) => "p99 of a stretch",
        (Statistic::P999, Design::Separate) => "p99.9 of a stretch",
        _ => self::statistic(statistic, design),
    }
}

/// The verdict as text.
pub(super) const fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::NotDistinguishable => "not distinguishable",
        Verdict::Equivalent => "equivalent",
        Verdict::Inconclusive => "inconclusive",
    }
}

/// The two conditions: `policy other → fifo:80 · clock_nanosleep · every 1 ms · load cpu`.
pub(super) fn subject(pair: &Compared) -> String {
    let differing = |difference: &Difference| {
        // The short name of a changed setting is the knob, as in `howlate tune`.
        let is_setting = difference.property == Property::Knob.name();
        let name = if is_setting { property::heading(Property::Knob, None) } else { difference.property };
        format!(
            "{name} {} → {}",
            value_of(difference, &difference.base),
            value_of(difference, &difference.new)
        )
    };
    subject_in(pair, phrase, differing)
}

/// Like `subject`, with lengths as typed: a stable identifier for programs.
pub(super) fn subject_name(pair: &Compared) -> String {
    subject_in(pair, typed_phrase, |difference| {
        format!("{} {} → {}", difference.property, difference.base, difference.new)
    })
}

/// A value of a difference, formatted for people.
fn value_of(difference: &Difference, value: &str) -> String {
    let is_of = |property: Property| property.name() == difference.property;
    match value.parse::<Span>() {
        Ok(span) if is_of(Property::Length) || is_of(Property::Slack) => length(span),
        _ if is_of(Property::Knob) => property::setting(value),
        _ => value.to_owned(),
    }
}

fn subject_in(
    pair: &Compared,
    format_value: fn(&PropertyValue<'_>) -> String,
    format_difference: fn(&Difference) -> String,
) -> String {
    let differs =
        |property: &Property| pair.differs.iter().any(|difference| difference.property == property.name());
    let is_mentioned = |property: &Property| *property != Property::Kernel || pair.base.on_host.is_some();
    let work = [Property::Mechanism, Property::Length];
    let same =
        work.into_iter().chain(CIRCUMSTANCES).filter(|property| !differs(property)).filter(is_mentioned);
    let mut parts: Vec<String> = pair.differs.iter().map(format_difference).collect();
    parts.extend(values_text(&pair.base, &same.collect::<Vec<_>>(), format_value));
    joined(&parts)
}

/// A percentage, signed: `+4.2 %`, `−66 %`; from ten times on, `× 12`. A reduction to almost nothing is `−99.9 %`.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be positive")]
pub(super) fn percent(value: Option<f64>) -> String {
    match value {
        None => "–".to_owned(),
        Some(value) if value >= 899.5 => format!("× {}", count((1.0 + value / 100.0).round() as u64)),
        Some(value) if value.abs() < 9.95 => with_minus(&format!("{value:+.1} %")),
        // Rounded to whole numbers it would be −100 %.
        Some(value) if value <= -99.5 && value > -100.0 => with_minus(&format!("{:+.1} %", value.max(-99.9))),
        Some(value) => with_minus(&format!("{value:+.0} %")),
    }
}

/// The base's value in microseconds; `≥ 30.0` where it is only a lower bound.
pub(super) fn base(tested: &Tested) -> String {
    at_least(tested.base_at_least, &micros_of(tested.base_ns))
}

/// The new side's value, like `base`.
pub(super) fn new(tested: &Tested) -> String {
    at_least(tested.new_at_least, &micros_of(tested.new_ns))
}

/// The difference; between bounds, what follows from them.
pub(super) fn difference(tested: &Tested) -> String {
    let text = signed_micros(tested.difference_ns);
    match (tested.base_at_least, tested.new_at_least) {
        (false, is_new) => at_least(is_new, &text),
        (true, false) => format!("≤ {text}"),
        (true, true) => "–".to_owned(),
    }
}

/// The difference in per cent of the base; `–` where a side is a bound.
pub(super) fn percent_apart(tested: &Tested) -> String {
    let is_exact = !tested.base_at_least && !tested.new_at_least;
    percent(tested.percent(tested.difference_ns).filter(|_| is_exact))
}

/// 0.95 → `95 %`.
pub(super) fn percent_of(share: f64) -> String {
    let text = format!("{:.1}", 100.0 * share);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

/// An interval in microseconds.
pub(super) fn interval(interval: Option<(f64, f64)>) -> String {
    interval.map_or_else(
        || "–".to_owned(),
        |(low, high)| format!("{} … {}", signed_micros(low), signed_micros(high)),
    )
}

/// A probability with two digits.
pub(super) fn probability(p: f64) -> String {
    match p {
        p if p >= 0.995 => "1".to_owned(),
        p if p >= 0.01 => format!("{p:.2}"),
        p if p >= 0.001 => format!("{p:.3}"),
        _ => "< 0.001".to_owned(),
    }
}

/// How many verdicts there are of each kind: `2 worse, 3 not distinguishable`.
pub(super) fn tally(comparison: &Comparison) -> String {
    const ALL: [Verdict; 5] = [
        Verdict::Worse,
        Verdict::Better,
        Verdict::NotDistinguishable,
        Verdict::Equivalent,
        Verdict::Inconclusive,
    ];
    let number =
        |verdict: Verdict| comparison.verdicts().filter(|pair_verdict| *pair_verdict == verdict).count();
    let part = |verdict: Verdict| Some((number(verdict), verdict)).filter(|(number, _)| *number > 0);
    let parts: Vec<String> = ALL
        .into_iter()
        .filter_map(part)
        .map(|(number, kind)| format!("{number} {}", verdict(kind)))
        .collect();
    if parts.is_empty() { "nothing could be compared".to_owned() } else { parts.join(", ") }
}

/// Whether nothing was tested because only distributions were compared.
pub(super) fn is_untested(comparison: &Comparison) -> bool {
    let mut compared = comparison.compared.iter().peekable();
    compared.peek().is_some() && compared.all(|pair| pair.design == Design::Distributions)
}

/// Beyond so many times the units, a longer run is not proposed.
const MOST_WORTH_SAYING: usize = 20;

fn pairs_of_turns(pairs: usize) -> String {
    if pairs == 1 { "1 pair of turns".to_owned() } else { format!("{pairs} pairs of turns") }
}

/// Why a comparison is inconclusive. What would help is said once, by `next_step`.
pub(super) fn inconclusive(reason: Inconclusive) -> String {
    match reason {
        Inconclusive::TwoDistributions => "Two distributions side by side, not tested.".into(),
        Inconclusive::TooFewPairs { pairs, needed } => {
            format!("{} cannot show any difference at this confidence; {needed} can.", pairs_of_turns(pairs))
        }
        Inconclusive::TooFewStretches { stretches, needed } => format!(
            "{stretches} stretches on the shorter side are too few to show any difference; {needed} are needed."
        ),
        Inconclusive::Drift { .. } => {
            "Stretches of any length remain correlated: the machine drifts, so these runs say nothing about other times."
                .into()
        }
        Inconclusive::OneAfterTheOther => {
            "They differ, but were measured one after the other, and for less than a minute: a drift of the machine looks the same.".into()
        }
        Inconclusive::WiderThanMargin { units, needed } if needed > MOST_WORTH_SAYING * units => {
            "The interval is far wider than the margin: only a wider margin can be tested here.".into()
        }
        Inconclusive::WiderThanMargin { units, needed } => format!(
            "The interval is wider than the margin; with what {units} units show, about {needed} would settle it."
        ),
    }
}

/// Why a statistic is missing.
pub(super) fn left_out(left_out: LeftOut, design: Design) -> String {
    let scope = match design {
        Design::Interleaved => "per turn",
        Design::Separate | Design::Distributions => "per recording",
    };
    format!(
        "{} needs {} {scope}; only {}.",
        statistic(left_out.statistic, design),
        if left_out.needed == 1 {
            "1 wake-up".to_owned()
        } else {
            format!("{} wake-ups", count(left_out.needed))
        },
        count(left_out.wakeups)
    )
}

/// The number of pairs of turns with too few wake-ups for the statistic; `None` if none.
pub(crate) fn short_pairs(tested: &Tested) -> Option<String> {
    let (pairs, short) = (tested.units.0, tested.short_pairs);
    (short > 0).then(|| {
        format!(
            "{}: {short} of {} pairs of turns are left out, in which a turn has fewer than {} wake-ups.",
            statistic(tested.statistic, Design::Interleaved),
            pairs + short,
            count(tested.statistic.least())
        )
    })
}

/// Why nothing is extrapolated: each reason once.
pub(super) fn refusals(refusals: &[ExtrapolationRefusal]) -> Vec<String> {
    let mut lines = Vec::new();
    let clusters = |refusal: &ExtrapolationRefusal| match refusal {
        ExtrapolationRefusal::TooFewClusters { clusters, needed } => Some((*clusters, *needed)),
        _ => None,
    };
    let cluster_counts: Vec<(usize, usize)> = refusals.iter().filter_map(clusters).collect();
    if let (Some((fewest, needed)), Some((most, _))) =
        (cluster_counts.iter().min(), cluster_counts.iter().max())
    {
        let range = if fewest == most { fewest.to_string() } else { format!("{fewest} to {most}") };
        lines.push(format!(
            "\"Once an hour\" needs {needed} clusters of late wake-ups; there are {range} (a cluster ends after a second without \
             any)."
        ));
    }
    for refusal in refusals {
        let line = match refusal {
            ExtrapolationRefusal::TooFewClusters { .. } => continue,
            ExtrapolationRefusal::HalvesDiffer { .. } => {
                "the first half of the run differs from the second: the machine changed"
            }
            ExtrapolationRefusal::HeavyTail { .. } => "the tail may be unbounded",
            ExtrapolationRefusal::NoFit => "no usual tail model fits",
        };
        let line = format!("\"Once an hour\" is not extrapolated where {line}.");
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// Names of the two sides: their values where one property differs.
pub(super) fn sides(pair: &Compared) -> [String; 2] {
    match pair.differs.as_slice() {
        [difference] => [value_of(difference, &difference.base), value_of(difference, &difference.new)],
        _ => ["base".to_owned(), "new".to_owned()],
    }
}

/// Heading of the difference column. It is not the difference of the two columns before it: each pair of turns or stretches is compared, because one pair may be slow as a whole and another quick.
pub(super) const fn differ_by(design: Design) -> &'static str {
    match design {
        Design::Interleaved => "paired difference",
        Design::Separate => "stretches differ by",
        Design::Distributions => "difference",
    }
}

/// What the columns contain, for the first pair of each design; with several pairs, without the names of the sides.
pub(super) fn columns(comparison: &Comparison, pair: &Compared) -> Option<String> {
    let first_pair = comparison.compared.iter().find(|other| other.design == pair.design);
    if first_pair.is_some_and(|first_pair| !std::ptr::eq(first_pair, pair)) {
        return None;
    }
    let sides = if comparison.compared.len() > 1 { "each side".to_owned() } else { sides(pair).join(", ") };
    let (unit, each) = match pair.design {
        Design::Distributions => return Some(format!("{sides}: all its values")),
        Design::Interleaved => ("turns", "new minus base of each pair"),
        Design::Separate => ("stretches", "each stretch of new minus each of base"),
    };
    Some(format!(
        "{sides}: the typical value of its {unit} (Hodges–Lehmann; `howlate show` has that of all wake-ups together); {}: the same of \
         {each}",
        differ_by(pair.design)
    ))
}

/// A note where the difference of the two columns contradicts the tested difference.
pub(super) fn sides_disagree(pair: &Compared, tested: &Tested) -> Option<String> {
    let (unit, because) = match pair.design {
        Design::Interleaved => ("turns", "because some rounds were slow, or fast, on both sides at once"),
        Design::Separate => ("stretches", "because a few of them lie far from the rest"),
        Design::Distributions => return None,
    };
    tested.sides_disagree().then(|| {
        format!(
            "{}: the two typical values are {} µs apart, {because}. By {unit}, the difference is {} µs; this is what was tested.",
            statistic(tested.statistic, pair.design),
            signed_micros(tested.new_ns - tested.base_ns),
            signed_micros(tested.difference_ns)
        )
    })
}

/// Names of rows that are about one side of a pair of conditions.
pub(super) struct RowNames<'a> {
    report: &'a ComparisonReport<'a>,
    /// The properties in which the pairs differ.
    distinguishing: Vec<Property>,
}

impl<'a> RowNames<'a> {
    pub(super) fn new(report: &'a ComparisonReport<'_>) -> Self {
        let bases: Vec<_> = report.comparison.compared.iter().map(|pair| &pair.base).collect();
        Self { report, distinguishing: distinguishing_properties(&bases) }
    }

    /// The side's value of the compared property, the other properties that distinguish the rows, and failing those, the recording.
    pub(super) fn name(&self, pair: &Compared, is_base: bool) -> String {
        let condition = if is_base { &pair.base } else { &pair.new };
        let value = |difference: &Difference| {
            value_of(difference, if is_base { &difference.base } else { &difference.new })
        };
        let mut parts: Vec<String> = pair.differs.iter().map(value).collect();
        if parts.is_empty() {
            parts.push(if is_base { self.report.base.0 } else { self.report.new_path(pair) }.to_owned());
        }
        let differs =
            |property: Property| pair.differs.iter().any(|difference| difference.property == property.name());
        let distinguishing = self.distinguishing.iter().copied().filter(|property| !differs(*property));
        parts.extend(phrases(condition, &distinguishing.collect::<Vec<_>>()));
        joined(&parts)
    }
}

/// How the two sides were measured.
pub(super) fn design(pair: &Compared) -> String {
    let Some(first) = pair.statistics.first() else { return String::new() };
    let (base, new) = first.units;
    match pair.design {
        Design::Interleaved => format!("{}, interleaved", pairs_of_turns(base)),
        Design::Distributions => "two distributions, not tested".to_owned(),
        Design::Separate if base == new => format!("{base} stretches of each"),
        Design::Separate => format!("{base} stretches against {new}"),
    }
}

/// A caution about runs that were not interleaved.
pub(super) fn drift_warning(report: &ComparisonReport<'_>) -> Option<String> {
    let separate = report.comparison.compared.iter().filter(|pair| pair.design == Design::Separate);
    let covered =
        separate.flat_map(|pair| [&pair.base_maximum, &pair.new_maximum]).flatten().map(|max| max.covered);
    let shortest = covered.min().filter(|_| !is_one_after_the_other(report))?;
    Some(format!(
        "These were measured one after the other: what changes more slowly than {}, a hundredth of the shorter run, can look like a \
         difference or hide one. If possible, measure both in one run, in turns: give both values to one command, then \
         `howlate compare RECORDING --by …`.",
        rough(slowest_covered(shortest))
    ))
}

/// Whether a difference was found that may be a drift of the machine.
pub(super) fn is_one_after_the_other(report: &ComparisonReport<'_>) -> bool {
    report.all().any(|(_, tested)| tested.inconclusive == Some(Inconclusive::OneAfterTheOther))
}

/// What limits a comparison: refused settings, truncated runs, conditions without a counterpart.
pub(super) fn caveats(report: &ComparisonReport<'_>) -> Vec<String> {
    let mut notes: Vec<String> = same_recordings(report).collect();
    let mut seen: HashSet<String> = notes.iter().cloned().collect();
    for (path, analysis) in std::iter::once(&report.base).chain(report.news) {
        let condition_caveats = analysis.outcomes().iter().flat_map(|outcome| outcome.caveats());
        let relevant: Vec<Caveat> =
            analysis.caveats.iter().cloned().chain(condition_caveats).filter(is_relevant).collect();
        let texts = sentences(&relevant).into_iter().map(|(note, _)| format!("{path}: {note}"));
        notes.extend(texts.filter(|note| seen.insert(note.clone())));
    }
    if report.comparison.alone > 0 {
        let alone = report.comparison.alone;
        let have = if alone == 1 { "condition has" } else { "conditions have" };
        notes.push(format!("{alone} {have} no partner in the other recording; left out."));
    }
    notes
}

/// A note for each new recording that is the base itself.
fn same_recordings(report: &ComparisonReport<'_>) -> impl Iterator<Item = String> {
    let (base, base_analysis) = report.base;
    let run = |analysis: &Analysis| {
        let header = &analysis.header;
        (header.id.clone(), header.started.clone(), header.at)
    };
    // Imported files have neither an id nor a start time.
    let has_identity =
        base_analysis.header.id.is_some() || base_analysis.header.at != MonotonicTime::from_nanos(0);
    let is_base =
        move |name: &str, other: &Analysis| name == base || has_identity && run(other) == run(base_analysis);
    let same = report.news.iter().filter(move |(name, analysis)| is_base(name, analysis));
    same.map(move |(name, _)| {
        format!("{name} and {base} are the same recording. `--by` compares its conditions.")
    })
}

/// Whether a caveat affects a comparison; page faults and shared CPUs affect both sides alike.
const fn is_relevant(caveat: &Caveat) -> bool {
    !matches!(
        caveat,
        Caveat::PageFaults { .. }
            | Caveat::ObserverShares { .. }
            | Caveat::ThreadsShareCpus { .. }
            | Caveat::EarlyWakeups { .. }
            | Caveat::MemoryNotLocked { .. }
            | Caveat::RealtimeTime { .. }
            | Caveat::DmaLatencyRefused { .. }
    )
}

/// The smallest difference that would have been found, where none was.
pub(super) fn detectable(tested: &Tested) -> String {
    match (tested.verdict, tested.detectable_ns) {
        (Verdict::Better | Verdict::Worse, _) => String::new(),
        (_, None) => "–".to_owned(),
        (_, Some(least)) => format!("±{}", micros_of(least)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn almost_nothing_is_not_nothing() {
        let texts =
            [-100.0, -99.97, -99.6, -99.2, -4.24, 0.0, 66.6, 1_100.0].map(|value| percent(Some(value)));
        assert_eq!(texts, ["−100 %", "−99.9 %", "−99.6 %", "−99 %", "−4.2 %", "+0.0 %", "+67 %", "× 12"]);
    }
}
