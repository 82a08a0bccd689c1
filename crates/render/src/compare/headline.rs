//! The whole answer in a sentence: about the number that the run was made for, and naming the condition.

use howlate_analyse::compare::{Compared, Comparison, Statistic, Tested, Verdict};
use howlate_model::{Limit, Property};

use super::{ComparisonReport, words};
use crate::numbers::{signed_latency, unsigned_latency};

/// Boots of each kernel from which on a difference is that of the kernels, not of their boots.
const ENOUGH_BOOTS: usize = 6;

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
    too_few_boots(&booted.collect::<Vec<_>>()).filter(|_| is_of_kernels)
}

/// Turns of one boot have much in common, whatever the kernel: what a boot of each of these is worth.
fn too_few_boots(booted: &[&str]) -> Option<String> {
    let alike = |kernel: &&str| booted.iter().filter(|other| *other == kernel).count();
    let least = booted.iter().map(alike).min().filter(|least| *least < ENOUGH_BOOTS)?;
    let boots = if least == 1 { "one boot".to_owned() } else { format!("{least} boots") };
    Some(format!(
        "That is of {boots} of each; turns of one boot share its conditions, so `--rounds {ENOUGH_BOOTS}` or more is needed to \
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
    use super::too_few_boots;

    #[test]
    fn few_boots_do_not_judge_a_kernel() {
        assert!(too_few_boots(&["6.1", "6.12"]).unwrap().starts_with("That is of one boot of each"));
        assert!(too_few_boots(&["6.1", "6.12", "6.1", "6.12", "6.1"]).unwrap().contains("of 2 boots"));
        assert_eq!(too_few_boots(&["6.1"; 6]), None);
        assert_eq!(too_few_boots(&[]), None, "nothing was booted");
    }
}
