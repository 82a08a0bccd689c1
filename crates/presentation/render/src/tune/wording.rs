//! Names and sentences of `howlate tune`.

use howlate_analyse::compare::{Arm, Statistic, Tested, Verdict};
use howlate_model::{Activation, EndReason, Span};

use super::{TuneReport, TunedProgram};
use crate::ending::early_ending;
use crate::numbers::{length, micros_of, rough};

/// Name of a statistic.
pub(super) const fn number(statistic: Statistic) -> &'static str {
    match statistic {
        Statistic::P50 => "the median",
        Statistic::P99 => "p99",
        Statistic::P999 => "p99.9",
        Statistic::Max => "the maximum of a turn",
    }
}

/// A duration with its unit.
pub(super) fn time(nanos: f64) -> String {
    if nanos.abs() >= 999_500.0 {
        format!("{} ms", micros_of(nanos / 1e3))
    } else {
        format!("{} µs", micros_of(nanos))
    }
}

/// The answer in a sentence.
pub(super) fn answer(report: &TuneReport<'_>) -> String {
    let recommended = report.recommended();
    match (report.promised().filter(|_| !recommended.is_empty()), early_ending(report.analysis)) {
        (Some(number), _) => promise(report, &recommended, number),
        (None, Some(why)) => {
            format!("{why} before everything was tried: nothing is confirmed.{}", longer_run(report))
        }
        (None, None) => no_promise(report),
    }
}

/// How long the program has to run, before settings are tried on it.
pub fn tune_takes(program: &TunedProgram, budget: Span) -> String {
    format!(
        "Trying settings on {} takes up to {} (`--budget`); it has to run that long.",
        program.name,
        rough(budget)
    )
}

/// What to do where the program ended first.
fn longer_run(report: &TuneReport<'_>) -> String {
    let ended = report.analysis.end.as_ref().is_some_and(|end| end.how == EndReason::ProgramEnded);
    let budget = report.analysis.header.tuning.as_ref().map(|tuning| tuning.budget);
    match budget.filter(|_| ended) {
        Some(budget) => format!(
            " Give it a program that runs for at least {}, or as long as `--budget` says; or one that runs already: `howlate tune \
             program PID`.",
            rough(budget)
        ),
        None => String::new(),
    }
}

/// What a turn is, and for which statistics it has too few wake-ups.
pub(super) fn turns_of(program: &TunedProgram) -> String {
    let TunedProgram { name, pid, threads, turn_ns, wakeups_per_turn: wakeups, .. } = program;
    let threads = if *threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") };
    let compared: Vec<&str> = program.compared.iter().map(|activation| compared_time(*activation)).collect();
    let turns = format!(
        "Turns are {} of {name} (process {pid}, {threads}), with about {wakeups} wake-ups in each: {}.",
        length(*turn_ns),
        compared.join(" and ")
    );
    let few = |statistic: &&Statistic| statistic.least() > *wakeups;
    let few: Vec<&str> = [Statistic::P50, Statistic::P99, Statistic::Max]
        .iter()
        .filter(few)
        .map(|statistic| number(*statistic))
        .collect();
    match few.as_slice() {
        [] => turns,
        few => format!("{turns} That is too few for {}: `--turn` makes them longer.", few.join(" and ")),
    }
}

/// The time that is compared, by kind of activation.
const fn compared_time(activation: Activation) -> &'static str {
    match activation {
        Activation::Timer => "how late they are from the time that the timer was set to",
        Activation::HandedOn => "where a deadline was handed on, from that",
        Activation::Loop => "how late the iterations of marked loops begin",
        Activation::Request => "how long requests take from the arrival of their data to the answer",
        Activation::Event | Activation::Unseen => {
            "how long they take from the moment at which a thread was woken"
        }
    }
}

fn no_promise(report: &TuneReport<'_>) -> String {
    if report.confirmed.is_some() {
        return "What seemed to help was not confirmed on fresh turns: nothing is recommended.".to_owned();
    }
    match report.tried().next() {
        None => nothing_tried(report),
        Some(_) => format!("None of the settings tried helps {} here.", number(report.goal)),
    }
}

fn nothing_tried(report: &TuneReport<'_>) -> String {
    match report.needs {
        Some(needed) => {
            format!("The budget is too short to tell anything: write `--budget {needed}`.")
        }
        None => "No setting could be tried.".to_owned(),
    }
}

fn promise(report: &TuneReport<'_>, names: &[&str], promised: &super::ConfirmedNumber) -> String {
    let settings = match names {
        [setting] => format!("One setting helps here, {setting}:"),
        many => format!("{} settings help here, {}: together", many.len(), many.join(" and ")),
    };
    let interval = promised.after.interval_ns.map_or_else(String::new, |(low, high)| {
        format!("; {:.0} % {} … {}", 100.0 * report.confidence, time(low), time(high))
    });
    format!(
        "{settings} {} falls from {} to {} (confirmed{interval}).",
        number(promised.statistic),
        time(promised.before.ns),
        time(promised.after.ns)
    )
}

/// The comparison of the baseline with itself.
pub(super) fn self_test(arm: &Arm) -> String {
    let differs: Vec<&str> = arm
        .tested
        .iter()
        .filter(|tested| is_different(tested))
        .map(|tested| number(tested.statistic))
        .collect();
    if !differs.is_empty() {
        return format!(
            "The baseline against itself: {} differs, either by chance (one run in twenty) or because the machine changes from turn to turn. Do not trust small effects.",
            differs.join(" and ")
        );
    }
    let detectable =
        |tested: &Tested| Some(format!("{} {}", number(tested.statistic), time(tested.detectable_ns?)));
    let detectable: Vec<String> = arm.tested.iter().filter_map(detectable).collect();
    format!(
        "The baseline against itself: no difference found, as it should be (detectable: {}).",
        detectable.join(", ")
    )
}

/// Whether a difference was found.
pub(super) const fn is_different(tested: &Tested) -> bool {
    matches!(tested.verdict, Verdict::Better | Verdict::Worse)
}

/// Verdict in the table.
pub(super) const fn verdict(tested: &Tested) -> &'static str {
    match tested.verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Inconclusive => "too few turns",
        Verdict::NotDistinguishable | Verdict::Equivalent => "no difference found",
    }
}
