//! Comparisons in words.

use std::collections::HashSet;

use howlate_analyse::compare::{
    Compared, Comparison, Design, Difference, Inconclusive, LeftOut, Refusal, Statistic, Tested, Verdict,
};
use howlate_analyse::{Analysis, slowest_covered};
use howlate_model::{Caveat, MonotonicTime, Property, PropertyValue, Span};

use super::ComparisonReport;
use crate::caveats::sentences;
use crate::condition::{CIRCUMSTANCES, joined, phrases, telling, worded};
use crate::numbers::{at_least, count, length, micros_of, rough, signed_micros, with_minus};
use crate::property::{self, phrase, typed_phrase};

/// What a statistic is called in tables.
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

/// What it is called beside its value on each side, which is the typical one of turns: that of all wake-ups together, which a
/// result has, may be another by a factor.
pub(super) const fn row(one: Statistic, design: Design) -> &'static str {
    match (one, design) {
        (Statistic::P50, Design::Interleaved) => "median of a turn",
        (Statistic::P99, Design::Interleaved) => "p99 of a turn",
        (Statistic::P999, Design::Interleaved) => "p99.9 of a turn",
        (Statistic::P50, Design::Separate) => "median of a stretch",
        (Statistic::P99, Design::Separate) => "p99 of a stretch",
        (Statistic::P999, Design::Separate) => "p99.9 of a stretch",
        _ => statistic(one, design),
    }
}

/// A verdict as people say it.
pub(super) const fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::NotDistinguishable => "not distinguishable",
        Verdict::Equivalent => "equivalent",
        Verdict::Inconclusive => "inconclusive",
    }
}

/// What was compared: `policy other → fifo:80 · clock_nanosleep · every 1 ms · load cpu`.
pub(super) fn subject(one: &Compared) -> String {
    let differing = |by: &Difference| {
        // What one types for the others is what people call them as well.
        let is_setting = by.property == Property::Knob.name();
        let name = if is_setting { property::heading(Property::Knob, None) } else { by.property };
        format!("{name} {} → {}", value_of(by, &by.base), value_of(by, &by.new))
    };
    subject_in(one, phrase, differing)
}

/// The same with lengths as they are typed: what programs know it by, from run to run.
pub(super) fn subject_name(one: &Compared) -> String {
    subject_in(one, typed_phrase, |by| format!("{} {} → {}", by.property, by.base, by.new))
}

/// A value of a difference, for people.
fn value_of(by: &Difference, value: &str) -> String {
    let is_of = |property: Property| property.name() == by.property;
    match value.parse::<Span>() {
        Ok(span) if is_of(Property::Length) || is_of(Property::Slack) => length(span),
        _ if is_of(Property::Knob) => property::setting(value),
        _ => value.to_owned(),
    }
}

fn subject_in(
    one: &Compared,
    words: fn(&PropertyValue<'_>) -> String,
    differing: fn(&Difference) -> String,
) -> String {
    let differs = |property: &Property| one.differs.iter().any(|by| by.property == property.name());
    let is_said = |property: &Property| *property != Property::Kernel || one.base.on_host.is_some();
    let work = [Property::Mechanism, Property::Length];
    let same = work.into_iter().chain(CIRCUMSTANCES).filter(|property| !differs(property)).filter(is_said);
    let mut parts: Vec<String> = one.differs.iter().map(differing).collect();
    parts.extend(worded(&one.base, &same.collect::<Vec<_>>(), words));
    joined(&parts)
}

/// A share in per cent, signed: `+4.2 %`, `−66 %`; from ten times on, `× 12`. What is left of almost nothing is `−99.9 %`.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be positive")]
pub(super) fn percent(value: Option<f64>) -> String {
    match value {
        None => "–".to_owned(),
        Some(value) if value >= 899.5 => format!("× {}", count((1.0 + value / 100.0).round() as u64)),
        Some(value) if value.abs() < 9.95 => with_minus(&format!("{value:+.1} %")),
        // A whole number would say that nothing is left.
        Some(value) if value <= -99.5 && value > -100.0 => with_minus(&format!("{:+.1} %", value.max(-99.9))),
        Some(value) => with_minus(&format!("{value:+.0} %")),
    }
}

/// The number of the base in microseconds; `≥ 30.0` where whoever measured told nothing beyond apart.
pub(super) fn base(tested: &Tested) -> String {
    at_least(tested.base_at_least, &micros_of(tested.base_ns))
}

/// The same of the new one.
pub(super) fn new(tested: &Tested) -> String {
    at_least(tested.new_at_least, &micros_of(tested.new_ns))
}

/// By how much they differ; of bounds what follows from them.
pub(super) fn difference(tested: &Tested) -> String {
    let text = signed_micros(tested.difference_ns);
    match (tested.base_at_least, tested.new_at_least) {
        (false, is_new) => at_least(is_new, &text),
        (true, false) => format!("≤ {text}"),
        (true, true) => "–".to_owned(),
    }
}

/// The same in per cent of the base, where both are numbers.
pub(super) fn percent_apart(tested: &Tested) -> String {
    let is_known = !tested.base_at_least && !tested.new_at_least;
    percent(tested.percent(tested.difference_ns).filter(|_| is_known))
}

/// `95 %` of 0.95.
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
    let number = |one: Verdict| comparison.verdicts().filter(|verdict| *verdict == one).count();
    let part = |one: Verdict| Some((number(one), one)).filter(|(number, _)| *number > 0);
    let parts: Vec<String> =
        ALL.into_iter().filter_map(part).map(|(number, one)| format!("{number} {}", verdict(one))).collect();
    if parts.is_empty() { "nothing could be compared".to_owned() } else { parts.join(", ") }
}

/// Whether nothing of it was tested: whole distributions stand side by side.
pub(super) fn is_untested(comparison: &Comparison) -> bool {
    let mut compared = comparison.compared.iter().peekable();
    compared.peek().is_some() && compared.all(|one| one.design == Design::Distributions)
}

/// Nobody measures so many times longer.
const MOST_WORTH_SAYING: usize = 20;

fn pairs_of_turns(pairs: usize) -> String {
    if pairs == 1 { "1 pair of turns".to_owned() } else { format!("{pairs} pairs of turns") }
}

/// Why a comparison is inconclusive; what would help is said once for all of them.
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

/// Why a statistic is not there.
pub(super) fn left_out(one: LeftOut, design: Design) -> String {
    let of_what = match design {
        Design::Interleaved => "per turn",
        Design::Separate | Design::Distributions => "per recording",
    };
    format!(
        "{} needs {} {of_what}; only {}.",
        statistic(one.statistic, design),
        if one.needed == 1 { "1 wake-up".to_owned() } else { format!("{} wake-ups", count(one.needed)) },
        count(one.wakeups)
    )
}

/// Of which pairs a number says nothing, if of any.
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

/// Why nothing is extrapolated: each reason once, however many conditions it is about.
pub(super) fn refusals(refusals: &[Refusal]) -> Vec<String> {
    let mut lines = Vec::new();
    let clusters = |one: &Refusal| match one {
        Refusal::TooFewClusters { clusters, needed } => Some((*clusters, *needed)),
        _ => None,
    };
    let few: Vec<(usize, usize)> = refusals.iter().filter_map(clusters).collect();
    if let (Some((least, needed)), Some((most, _))) = (few.iter().min(), few.iter().max()) {
        let found = if least == most { least.to_string() } else { format!("{least} to {most}") };
        lines.push(format!(
            "\"Once an hour\" needs {needed} clusters of late wake-ups; there are {found} (a cluster ends after a second without \
             any)."
        ));
    }
    for one in refusals {
        let line = match one {
            Refusal::TooFewClusters { .. } => continue,
            Refusal::HalvesDiffer { .. } => {
                "the first half of the run differs from the second: the machine changed"
            }
            Refusal::HeavyTail { .. } => "the tail may be unbounded",
            Refusal::NoFit => "no usual tail model fits",
        };
        let line = format!("\"Once an hour\" is not extrapolated where {line}.");
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// What the sides are called: what they differ in, where that is one thing.
pub(super) fn sides(one: &Compared) -> [String; 2] {
    match one.differs.as_slice() {
        [by] => [value_of(by, &by.base), value_of(by, &by.new)],
        _ => ["base".to_owned(), "new".to_owned()],
    }
}

/// What the column of differences is called. It is no difference of the two columns before it: one pair may be
/// slow as a whole and another quick, and each pair is compared for itself.
pub(super) const fn differ_by(design: Design) -> &'static str {
    match design {
        Design::Interleaved => "paired difference",
        Design::Separate => "stretches differ by",
        Design::Distributions => "difference",
    }
}

/// What stands in the columns, said where the first pair of its kind is; of several pairs without the names of this one.
pub(super) fn columns(comparison: &Comparison, one: &Compared) -> Option<String> {
    let first = comparison.compared.iter().find(|other| other.design == one.design);
    if first.is_some_and(|first| !std::ptr::eq(first, one)) {
        return None;
    }
    let sides = if comparison.compared.len() > 1 { "each side".to_owned() } else { sides(one).join(", ") };
    let (unit, each) = match one.design {
        Design::Distributions => return Some(format!("{sides}: all its values")),
        Design::Interleaved => ("turns", "new minus base of each pair"),
        Design::Separate => ("stretches", "each stretch of new minus each of base"),
    };
    Some(format!(
        "{sides}: the typical value of its {unit} (Hodges–Lehmann; `howlate show` has that of all wake-ups together); {}: the same of \
         {each}",
        differ_by(one.design)
    ))
}

/// Where the columns of the two sides lie apart otherwise than what was found between them.
pub(super) fn sides_disagree(one: &Compared, tested: &Tested) -> Option<String> {
    let (unit, because) = match one.design {
        Design::Interleaved => ("turns", "because some rounds were slow, or fast, on both sides at once"),
        Design::Separate => ("stretches", "because a few of them lie far from the rest"),
        Design::Distributions => return None,
    };
    tested.sides_disagree().then(|| {
        format!(
            "{}: the two typical values are {} µs apart, {because}. By {unit}, the difference is {} µs; this is what was tested.",
            statistic(tested.statistic, one.design),
            signed_micros(tested.new_ns - tested.base_ns),
            signed_micros(tested.difference_ns)
        )
    })
}

/// Names of rows about one side of a pair of conditions.
pub(super) struct Rows<'a> {
    report: &'a ComparisonReport<'a>,
    /// What tells the pairs apart.
    telling: Vec<Property>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(report: &'a ComparisonReport<'_>) -> Self {
        let bases: Vec<_> = report.comparison.compared.iter().map(|one| &one.base).collect();
        Self { report, telling: telling(&bases) }
    }

    /// A side's value of what differs, what else differs between the rows, and where there is nothing, its recording.
    pub(super) fn name(&self, one: &Compared, is_base: bool) -> String {
        let condition = if is_base { &one.base } else { &one.new };
        let value = |by: &Difference| value_of(by, if is_base { &by.base } else { &by.new });
        let mut parts: Vec<String> = one.differs.iter().map(value).collect();
        if parts.is_empty() {
            parts.push(if is_base { self.report.base.0 } else { self.report.new_path(one) }.to_owned());
        }
        let differs = |property: Property| one.differs.iter().any(|by| by.property == property.name());
        let others = self.telling.iter().copied().filter(|property| !differs(*property));
        parts.extend(phrases(condition, &others.collect::<Vec<_>>()));
        joined(&parts)
    }
}

/// How the two sides were measured.
pub(super) fn design(one: &Compared) -> String {
    let Some(first) = one.statistics.first() else { return String::new() };
    let (base, new) = first.units;
    match one.design {
        Design::Interleaved => format!("{}, interleaved", pairs_of_turns(base)),
        Design::Distributions => "two distributions, not tested".to_owned(),
        Design::Separate if base == new => format!("{base} stretches of each"),
        Design::Separate => format!("{base} stretches against {new}"),
    }
}

/// What to know of the design.
pub(super) fn drift_warning(report: &ComparisonReport<'_>) -> Option<String> {
    let separate = report.comparison.compared.iter().filter(|one| one.design == Design::Separate);
    let covered =
        separate.flat_map(|one| [&one.base_maximum, &one.new_maximum]).flatten().map(|max| max.covered);
    let shortest = covered.min().filter(|_| !is_one_after_the_other(report))?;
    Some(format!(
        "These were measured one after the other: what changes more slowly than {}, a hundredth of the shorter run, can look like a \
         difference or hide one. If possible, measure both in one run, in turns: give both values to one command, then \
         `howlate compare RECORDING --by …`.",
        rough(slowest_covered(shortest))
    ))
}

/// Whether a difference was found of which nobody knows where it comes from; then the answer says so.
pub(super) fn is_one_after_the_other(report: &ComparisonReport<'_>) -> bool {
    report.all().any(|(_, tested)| tested.inconclusive == Some(Inconclusive::OneAfterTheOther))
}

/// What spoils a comparison: settings that were refused, runs that were cut, conditions without a partner.
pub(super) fn caveats(report: &ComparisonReport<'_>) -> Vec<String> {
    let mut notes: Vec<String> = itself(report).collect();
    let mut said: HashSet<String> = notes.iter().cloned().collect();
    for (path, analysis) in std::iter::once(&report.base).chain(report.news) {
        let of_conditions = analysis.outcomes().iter().flat_map(|outcome| outcome.caveats());
        let of_weight: Vec<Caveat> =
            analysis.caveats.iter().cloned().chain(of_conditions).filter(is_of_weight).collect();
        let told = sentences(&of_weight).into_iter().map(|(note, _)| format!("{path}: {note}"));
        notes.extend(told.filter(|note| said.insert(note.clone())));
    }
    if report.comparison.alone > 0 {
        let alone = report.comparison.alone;
        let have = if alone == 1 { "condition has" } else { "conditions have" };
        notes.push(format!("{alone} {have} no partner in the other recording; left out."));
    }
    notes
}

/// What is the base once more, under another name or the same: nothing can differ.
fn itself(report: &ComparisonReport<'_>) -> impl Iterator<Item = String> {
    let (base, of_base) = report.base;
    let run = |analysis: &Analysis| {
        let header = &analysis.header;
        (header.id.clone(), header.started.clone(), header.at)
    };
    // Files of other programs have neither a number nor a time of their own.
    let has_identity = of_base.header.id.is_some() || of_base.header.at != MonotonicTime::from_nanos(0);
    let is_base =
        move |name: &str, other: &Analysis| name == base || has_identity && run(other) == run(of_base);
    let same = report.news.iter().filter(move |(name, analysis)| is_base(name, analysis));
    same.map(move |(name, _)| {
        format!("{name} and {base} are the same recording. `--by` compares its conditions.")
    })
}

/// Whether a caveat changes what a comparison means; page faults and shared CPUs hit both sides.
const fn is_of_weight(caveat: &Caveat) -> bool {
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
        let shown =
            [-100.0, -99.97, -99.6, -99.2, -4.24, 0.0, 66.6, 1_100.0].map(|value| percent(Some(value)));
        assert_eq!(shown, ["−100 %", "−99.9 %", "−99.6 %", "−99 %", "−4.2 %", "+0.0 %", "+67 %", "× 12"]);
    }
}
