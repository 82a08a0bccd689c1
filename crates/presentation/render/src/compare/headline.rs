//! The answer of a comparison in a sentence: about the number that the run was made for, naming the condition.

use howlate_analyse::compare::{Compared, Comparison, Inconclusive, Statistic, Tested, Verdict};
use howlate_model::{Limit, Property};

use super::{ComparisonReport, wording};
use crate::numbers::{signed_latency, unsigned_latency};

/// Where the smallest detectable difference is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detectable {
    /// In a column of the table.
    Shown,
    /// Only with `--details`.
    InDetails,
}

/// The answer to the comparison, in a sentence.
pub(super) fn answer(report: &ComparisonReport<'_>, detectable: Detectable) -> String {
    let comparison = report.comparison;
    match comparison.verdict() {
        verdict @ (Verdict::Worse | Verdict::Better) => difference(report, verdict),
        Verdict::NotDistinguishable if detectable == Detectable::Shown => {
            "No difference found. Differences smaller than the \"detectable\" column would have been missed."
                .into()
        }
        Verdict::NotDistinguishable => {
            "No difference found. Small ones would have been missed: `howlate compare` with `--details` says how small.".into()
        }
        Verdict::Equivalent => "Equivalent: any difference lies within the margin.".into(),
        Verdict::Inconclusive if is_empty(comparison) => {
            "Inconclusive: one of them has no wake-up.".into()
        }
        Verdict::Inconclusive if wording::is_untested(comparison) => {
            "Two distributions side by side, not tested: at least one comes from another program, which kept no turns or \
             stretches of time that a test needs."
                .into()
        }
        Verdict::Inconclusive if wording::is_one_after_the_other(report) => no_verdict(report),
        Verdict::Inconclusive => {
            let reason = report.all().find_map(|(_, tested)| tested.inconclusive).map(wording::inconclusive);
            let reason = reason.unwrap_or_else(|| "Too few wake-ups on one side at least.".into());
            format!("Inconclusive. {reason}")
        }
    }
}

/// Whether at least one side has no wake-ups.
fn is_empty(comparison: &Comparison) -> bool {
    let has_none =
        |pair: &Compared| pair.statistics.is_empty() && pair.left_out.iter().any(|left| left.wakeups == 0);
    !comparison.compared.is_empty() && comparison.compared.iter().all(has_none)
}

/// The difference between two runs measured one after the other, and why that is no verdict.
fn no_verdict(report: &ComparisonReport<'_>) -> String {
    let is_sequential =
        |(_, tested): &(&Compared, &Tested)| tested.inconclusive == Some(Inconclusive::OneAfterTheOther);
    let Some((pair, tested)) = clearest(report, is_sequential) else { return String::new() };
    let direction = if tested.difference_ns > 0.0 { "higher" } else { "lower" };
    let subject = wording::subject(pair);
    let conditions = if subject.is_empty() { String::new() } else { format!(" ({subject})") };
    format!(
        "No verdict: {} is {} {direction} in {} ({}){conditions}: {}, then {}. They were measured one after the other, for less than a minute: a drift of the machine \
         in between looks the same.",
        wording::row(tested.statistic, pair.design),
        unsigned_latency(tested.difference_ns),
        report.new_path(pair),
        wording::percent(tested.percent(tested.difference_ns)),
        unsigned_latency(tested.base_ns),
        unsigned_latency(tested.new_ns),
    )
}

/// The result that the answer is about: the statistic that the base was measured for, if it qualifies; else the one with the lowest p, and among equal ones p99.
fn clearest<'a>(
    report: &'a ComparisonReport<'_>,
    qualifies: impl Fn(&(&Compared, &Tested)) -> bool,
) -> Option<(&'a Compared, &'a Tested)> {
    let goal = explicit_goal(report);
    let for_goal =
        || report.all().filter(|result| qualifies(result)).find(|(_, tested)| Some(tested.statistic) == goal);
    for_goal().or_else(|| {
        let key =
            |(_, tested): &(&Compared, &Tested)| (tested.p_corrected, tested.statistic != Statistic::P99);
        let all = report.all().filter(|result| qualifies(result));
        all.min_by(|result, other| {
            let ((p, is_not_p99), (other_p, other_is_not_p99)) = (key(result), key(other));
            p.total_cmp(&other_p).then(is_not_p99.cmp(&other_is_not_p99))
        })
    })
}

/// The statistic that the answer is about: the one that the base was measured for, or p99.
pub(super) fn goal(report: &ComparisonReport<'_>) -> Statistic {
    explicit_goal(report).unwrap_or(Statistic::P99)
}

/// The statistic of the base's first limit, or the goal of its tuning run.
fn explicit_goal(report: &ComparisonReport<'_>) -> Option<Statistic> {
    let arguments = &report.base.1.header.arguments;
    let by_name = |name: &str| Statistic::ALL.into_iter().find(|statistic| statistic.name() == name);
    let of_limit = |text: &str| by_name(&text.parse::<Limit>().ok()?.statistic.to_string());
    let value = |option: &str| {
        let place = arguments.iter().position(|argument| argument.split('=').next() == Some(option))?;
        let attached = arguments[place].split_once('=').map(|(_, value)| value);
        attached.or_else(|| arguments.get(place + 1).map(String::as_str))
    };
    let limit = value("--fail-above").and_then(|text| of_limit(text.split(',').next()?));
    let of_tuning = report.base.1.header.tuning.as_ref().and_then(|tuning| by_name(&tuning.goal));
    limit.or(of_tuning)
}

/// The pair of conditions that the answer is about, in the order of the result: one that differs in the goal, if any does.
fn difference(report: &ComparisonReport<'_>, verdict: Verdict) -> String {
    let goal = goal(report);
    let Some((pair, tested)) = clearest(report, |(_, tested)| tested.verdict == verdict) else {
        return String::new();
    };
    let sentences = [
        sentence(report, pair, tested),
        few_boots(report, pair).unwrap_or_default(),
        result_for_goal(pair, tested, goal),
        tally_of_pairs(report, pair, tested),
    ];
    let sentences =
        sentences.iter().map(|sentence| sentence.trim_end()).filter(|sentence| !sentence.is_empty());
    sentences.collect::<Vec<_>>().join(" ")
}

/// A caution where guests' kernels are compared with few boots each.
fn few_boots(report: &ComparisonReport<'_>, pair: &Compared) -> Option<String> {
    let is_of_kernels = pair.differs.iter().any(|difference| difference.property == Property::Kernel.name());
    let analyses = std::iter::once(report.base.1).chain(report.news.iter().map(|(_, analysis)| *analysis));
    let kernels = analyses.flat_map(|analysis| &analysis.boots).map(|boot| boot.kernel.as_str());
    let enough = report.comparison.least_pairs(report.criteria.confidence);
    too_few_boots(&kernels.collect::<Vec<_>>(), enough).filter(|_| is_of_kernels)
}

/// Turns of one boot are correlated: the kernel needs several boots of each.
fn too_few_boots(kernels: &[&str], enough: usize) -> Option<String> {
    let boots_of = |kernel: &&str| kernels.iter().filter(|other| *other == kernel).count();
    let fewest = kernels.iter().map(boots_of).min().filter(|fewest| *fewest < enough)?;
    let boots = if fewest == 1 { "one boot".to_owned() } else { format!("{fewest} boots") };
    Some(format!(
        "That is of {boots} of each; turns of one boot share its conditions, so `--rounds {enough}` or more is needed to \
         judge the kernels."
    ))
}

/// `Better: p99 is 22.8 ms lower (−99 %; interval −65.5 ms … −4.92 ms): policy other → fifo:80 · load cpu.`
fn sentence(report: &ComparisonReport<'_>, pair: &Compared, tested: &Tested) -> String {
    let mut word = wording::verdict(tested.verdict).to_owned();
    word[..1].make_ascii_uppercase();
    let direction = if tested.difference_ns > 0.0 { "higher" } else { "lower" };
    let interval = tested.interval_ns.map_or_else(String::new, |(low, high)| {
        format!("; interval {} … {}", signed_latency(low), signed_latency(high))
    });
    let whose = match wording::subject(pair) {
        subject if subject.is_empty() => report.new_path(pair).to_owned(),
        subject => subject,
    };
    format!(
        "{word}: {} is {} {direction} ({}{interval}): {whose}.",
        wording::statistic(tested.statistic, pair.design),
        unsigned_latency(tested.difference_ns),
        wording::percent(tested.percent(tested.difference_ns)),
    )
}

/// The result for the goal where the answer is about another statistic.
fn result_for_goal(pair: &Compared, tested: &Tested, goal: Statistic) -> String {
    if tested.statistic == goal {
        return String::new();
    }
    let name = wording::statistic(goal, pair.design);
    match pair.statistics.iter().find(|tested| tested.statistic == goal) {
        None => format!("There are too few wake-ups for {name}. "),
        Some(tested) if tested.verdict == Verdict::NotDistinguishable => {
            format!("No difference in {name} was found. ")
        }
        Some(tested) => format!("{name} is {}. ", wording::verdict(tested.verdict)),
    }
}

/// How many pairs of conditions are worse, and how many better, in this statistic.
fn tally_of_pairs(report: &ComparisonReport<'_>, pair: &Compared, tested: &Tested) -> String {
    let all = report.comparison.compared.len();
    if all < 2 {
        return String::new();
    }
    let number = |verdict: Verdict| {
        let alike =
            report.all().filter(|(_, other)| other.statistic == tested.statistic && other.verdict == verdict);
        alike.count()
    };
    let name = wording::statistic(tested.statistic, pair.design);
    format!(
        "Of {all} pairs of conditions, {name} is worse in {} and better in {}.",
        number(Verdict::Worse),
        number(Verdict::Better)
    )
}

#[cfg(test)]
mod tests {
    use howlate_analyse::compare::{Criteria, Track, within};
    use howlate_model::{
        Block, Condition, Header, Latency, Line, MonotonicTime, Policy, Span, Wait, Wakeup, Work,
    };

    use super::*;

    /// Twelve rounds: the median is five times as late in each, the tail in all but one.
    fn track(arguments: &[&str]) -> Track {
        let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };
        let base = Condition::new(work, "6.1.0");
        let new = Condition { policy: Policy::Batch, ..base.clone() };
        let arguments = arguments.iter().map(ToString::to_string).collect();
        let mut track = Track::new(Header { arguments, ..Header::for_conditions(vec![base, new]) });
        for (round, condition) in (0..12).flat_map(|round| [(round, 0), (round, 1)]) {
            let at = |nanos: i64| MonotonicTime::from_nanos(i64::from(round) * 1_000_000_000 + nanos);
            let mut block =
                Block { condition, round, from: at(0), until: at(500_000_000), ..Block::default() };
            let tail = match (condition, round) {
                (0, _) => 1_000_000,
                (_, 3) => 900_000,
                _ => 3_000_000,
            };
            let usual = if condition == 0 { 50_000 } else { 250_000 };
            for number in 0..200 {
                let late = Latency::from_nanos(if number < 10 { tail } else { usual }).as_nanos();
                block.record(Wakeup { expected: at(0), ran: at(late) }, None);
            }
            track.add(&Line::Block(Box::new(block)));
        }
        track
    }

    fn headline(arguments: &[&str]) -> String {
        let (track, criteria) = (track(arguments), Criteria { confidence: 0.95, margin: None });
        let comparison = within(&track, Property::Policy, None, criteria).unwrap();
        let base = ("a.jsonl", &track.analysis);
        answer(&ComparisonReport { comparison: &comparison, criteria, base, news: &[] }, Detectable::Shown)
    }

    #[test]
    fn the_clearest_difference_is_told_unless_another_number_was_asked_for() {
        assert!(headline(&["cyclic"]).starts_with("Worse: median is "), "{}", headline(&["cyclic"]));
        let for_p99 = headline(&["cyclic", "--fail-above", "p99>1ms"]);
        assert!(for_p99.starts_with("Worse: p99 is "), "{for_p99}");
    }

    #[test]
    fn few_boots_do_not_judge_a_kernel() {
        assert!(too_few_boots(&["6.1", "6.12"], 9).unwrap().starts_with("That is of one boot of each"));
        assert!(too_few_boots(&["6.1", "6.12", "6.1", "6.12", "6.1"], 9).unwrap().contains("of 2 boots"));
        assert!(too_few_boots(&["6.1"; 8], 9).unwrap().contains("`--rounds 9`"));
        assert_eq!(too_few_boots(&["6.1"; 9], 9), None);
        assert_eq!(too_few_boots(&[], 9), None, "nothing was booted");
    }
}
