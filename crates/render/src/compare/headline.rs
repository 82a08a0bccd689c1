//! The whole answer in a sentence: about the number that the run was made for, and naming the condition.

use howlate_analyse::compare::{Compared, Comparison, Statistic, Tested, Verdict};
use howlate_model::Limit;

use super::{ComparisonReport, words};
use crate::numbers::{signed_latency, unsigned_latency};

/// The answer to what was asked, in a sentence.
pub(super) fn answer(report: &ComparisonReport<'_>) -> String {
    let comparison = report.comparison;
    match comparison.verdict() {
        verdict @ (Verdict::Worse | Verdict::Better) => difference(report, verdict),
        Verdict::NotDistinguishable => {
            "No difference found. Differences smaller than the \"detectable\" column would have been missed."
                .into()
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
        Verdict::Inconclusive => "Inconclusive: too little was measured, see below.".into(),
    }
}

/// Whether there is nothing to compare on one side at least.
fn is_empty(comparison: &Comparison) -> bool {
    let has_none =
        |one: &Compared| one.statistics.is_empty() && one.left_out.iter().any(|left| left.wakeups == 0);
    !comparison.compared.is_empty() && comparison.compared.iter().all(has_none)
}

/// The number that the base was measured for: that of its first limit, or its goal; else p99.
fn goal(report: &ComparisonReport<'_>) -> Statistic {
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
    limit.or(tuned).unwrap_or(Statistic::P99)
}

/// The pair of conditions that the answer is about, in the order of the result: one that differs in the goal, if any does.
fn difference(report: &ComparisonReport<'_>, verdict: Verdict) -> String {
    let goal = goal(report);
    let with = |statistic: Statistic| {
        report.all().find(|(_, tested)| tested.statistic == statistic && tested.verdict == verdict)
    };
    let order = std::iter::once(goal).chain(Statistic::ALL);
    let Some((one, tested)) = order.into_iter().find_map(with) else { return String::new() };
    format!(
        "{} {}{}",
        sentence(report, one, tested),
        otherwise(one, tested, goal),
        others(report, one, tested)
    )
    .trim_end()
    .to_owned()
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
