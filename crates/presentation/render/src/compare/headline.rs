//! The whole answer in a sentence: about the number that the run was made for, and naming the condition.

use howlate_analyse::compare::{Compared, Comparison, Inconclusive, Statistic, Tested, Verdict};
use howlate_model::{Limit, Property};

use super::{ComparisonReport, words};
use crate::numbers::{signed_latency, unsigned_latency};

/// Where it stands how small a difference would have been found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detectable {
    /// In a column beside the answer.
    Shown,
    /// Only with `--details`.
    InDetails,
}

/// The answer to what was asked, in a sentence.
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
        Verdict::Inconclusive if words::is_untested(comparison) => {
            "Two distributions side by side, not tested: at least one comes from another program, which kept no turns or \
             stretches of time that a test needs."
                .into()
        }
        Verdict::Inconclusive if words::is_one_after_the_other(report) => no_verdict(report),
        Verdict::Inconclusive => {
            let reason = report.all().find_map(|(_, tested)| tested.inconclusive).map(words::inconclusive);
            let reason = reason.unwrap_or_else(|| "Too few wake-ups on one side at least.".into());
            format!("Inconclusive. {reason}")
        }
    }
}

/// Whether there is nothing to compare on one side at least.
fn is_empty(comparison: &Comparison) -> bool {
    let has_none =
        |one: &Compared| one.statistics.is_empty() && one.left_out.iter().any(|left| left.wakeups == 0);
    !comparison.compared.is_empty() && comparison.compared.iter().all(has_none)
}

/// What differs between two runs, and why that is no verdict.
fn no_verdict(report: &ComparisonReport<'_>) -> String {
    let found =
        |(_, tested): &(&Compared, &Tested)| tested.inconclusive == Some(Inconclusive::OneAfterTheOther);
    let Some((one, tested)) = clearest(report, found) else { return String::new() };
    let direction = if tested.difference_ns > 0.0 { "higher" } else { "lower" };
    let subject = words::subject(one);
    let of = if subject.is_empty() { String::new() } else { format!(" ({subject})") };
    format!(
        "No verdict: {} is {} {direction} in {} ({}){of}: {}, then {}. They were measured one after the other, for less than a minute: a drift of the machine \
         in between looks the same.",
        words::row(tested.statistic, one.design),
        unsigned_latency(tested.difference_ns),
        report.new_path(one),
        words::percent(tested.percent(tested.difference_ns)),
        unsigned_latency(tested.base_ns),
        unsigned_latency(tested.new_ns),
    )
}

/// What the answer is about: the number that the base was measured for, if it is one of those; else what chance explains least, and
/// of several like that, p99.
fn clearest<'a>(
    report: &'a ComparisonReport<'_>,
    is_one: impl Fn(&(&Compared, &Tested)) -> bool,
) -> Option<(&'a Compared, &'a Tested)> {
    let asked = asked_for(report);
    let of_goal =
        || report.all().filter(|both| is_one(both)).find(|(_, tested)| Some(tested.statistic) == asked);
    of_goal().or_else(|| {
        let key =
            |(_, tested): &(&Compared, &Tested)| (tested.p_corrected, tested.statistic != Statistic::P99);
        let all = report.all().filter(|both| is_one(both));
        all.min_by(|one, other| {
            let (one, other) = (key(one), key(other));
            one.0.total_cmp(&other.0).then(one.1.cmp(&other.1))
        })
    })
}

/// The number that the answer is about where it differs: that which was asked for, or p99.
pub(super) fn goal(report: &ComparisonReport<'_>) -> Statistic {
    asked_for(report).unwrap_or(Statistic::P99)
}

/// The number that the base was measured for: that of its first limit, or its goal.
fn asked_for(report: &ComparisonReport<'_>) -> Option<Statistic> {
    let arguments = &report.base.1.header.arguments;
    let named = |name: &str| Statistic::ALL.into_iter().find(|statistic| statistic.name() == name);
    let limited = |text: &str| named(&text.parse::<Limit>().ok()?.statistic.to_string());
    let value = |option: &str| {
        let place = arguments.iter().position(|word| word.split('=').next() == Some(option))?;
        let attached = arguments[place].split_once('=').map(|(_, value)| value);
        attached.or_else(|| arguments.get(place + 1).map(String::as_str))
    };
    let limit = value("--fail-above").and_then(|text| limited(text.split(',').next()?));
    let tuned = report.base.1.header.tuning.as_ref().and_then(|tuning| named(&tuning.goal));
    limit.or(tuned)
}

/// The pair of conditions that the answer is about, in the order of the result: one that differs in the goal, if any does.
fn difference(report: &ComparisonReport<'_>, verdict: Verdict) -> String {
    let goal = goal(report);
    let Some((one, tested)) = clearest(report, |(_, tested)| tested.verdict == verdict) else {
        return String::new();
    };
    let sentences = [
        sentence(report, one, tested),
        few_boots(report, one).unwrap_or_default(),
        otherwise(one, tested, goal),
        others(report, one, tested),
    ];
    let said: Vec<&str> = sentences.iter().map(|one| one.trim_end()).filter(|one| !one.is_empty()).collect();
    said.join(" ")
}

/// Where guests' kernels are compared by few boots of each: a sentence on it.
fn few_boots(report: &ComparisonReport<'_>, one: &Compared) -> Option<String> {
    let is_of_kernels = one.differs.iter().any(|by| by.property == Property::Kernel.name());
    let analyses = std::iter::once(report.base.1).chain(report.news.iter().map(|(_, analysis)| *analysis));
    let booted = analyses.flat_map(|analysis| &analysis.boots).map(|boot| boot.kernel.as_str());
    let enough = report.comparison.least_pairs(report.asked.confidence);
    too_few_boots(&booted.collect::<Vec<_>>(), enough).filter(|_| is_of_kernels)
}

/// Turns of one boot have much in common, whatever the kernel: what a boot of each of these is worth.
fn too_few_boots(booted: &[&str], enough: usize) -> Option<String> {
    let alike = |kernel: &&str| booted.iter().filter(|other| *other == kernel).count();
    let least = booted.iter().map(alike).min().filter(|least| *least < enough)?;
    let boots = if least == 1 { "one boot".to_owned() } else { format!("{least} boots") };
    Some(format!(
        "That is of {boots} of each; turns of one boot share its conditions, so `--rounds {enough}` or more is needed to \
         judge the kernels."
    ))
}

/// `Better: p99 is 22.8 ms lower (−99 %; interval −65.5 ms … −4.92 ms): policy other → fifo:80 · load cpu.`
fn sentence(report: &ComparisonReport<'_>, one: &Compared, tested: &Tested) -> String {
    let mut word = words::verdict(tested.verdict).to_owned();
    word[..1].make_ascii_uppercase();
    let direction = if tested.difference_ns > 0.0 { "higher" } else { "lower" };
    let interval = tested.interval_ns.map_or_else(String::new, |(low, high)| {
        format!("; interval {} … {}", signed_latency(low), signed_latency(high))
    });
    let whose = match words::subject(one) {
        subject if subject.is_empty() => report.new_path(one).to_owned(),
        subject => subject,
    };
    format!(
        "{word}: {} is {} {direction} ({}{interval}): {whose}.",
        words::statistic(tested.statistic, one.design),
        unsigned_latency(tested.difference_ns),
        words::percent(tested.percent(tested.difference_ns)),
    )
}

/// Why another number is spoken of than the one that the run was made for.
fn otherwise(one: &Compared, tested: &Tested, goal: Statistic) -> String {
    if tested.statistic == goal {
        return String::new();
    }
    let name = words::statistic(goal, one.design);
    match one.statistics.iter().find(|tested| tested.statistic == goal) {
        None => format!("There are too few wake-ups for {name}. "),
        Some(tested) if tested.verdict == Verdict::NotDistinguishable => {
            format!("No difference in {name} was found. ")
        }
        Some(tested) => format!("{name} is {}. ", words::verdict(tested.verdict)),
    }
}

/// How many other pairs of conditions say the same of the same number, and how many the contrary.
fn others(report: &ComparisonReport<'_>, one: &Compared, tested: &Tested) -> String {
    let all = report.comparison.compared.len();
    if all < 2 {
        return String::new();
    }
    let number = |verdict: Verdict| {
        let alike =
            report.all().filter(|(_, other)| other.statistic == tested.statistic && other.verdict == verdict);
        alike.count()
    };
    let name = words::statistic(tested.statistic, one.design);
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

    /// Twelve rounds in which the median is five times as late in each, and the tail in all but one.
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

    fn said(arguments: &[&str]) -> String {
        let (track, asked) = (track(arguments), Criteria { confidence: 0.95, margin: None });
        let comparison = within(&track, Property::Policy, None, asked).unwrap();
        let base = ("a.jsonl", &track.analysis);
        answer(&ComparisonReport { comparison: &comparison, asked, base, news: &[] }, Detectable::Shown)
    }

    #[test]
    fn the_clearest_difference_is_told_unless_another_number_was_asked_for() {
        assert!(said(&["cyclic"]).starts_with("Worse: median is "), "{}", said(&["cyclic"]));
        let asked = said(&["cyclic", "--fail-above", "p99>1ms"]);
        assert!(asked.starts_with("Worse: p99 is "), "{asked}");
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
