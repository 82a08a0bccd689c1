//! What settings came to, in words.

use howlate_analyse::compare::{Arm, Statistic, Tested, Verdict};
use howlate_model::{Activation, EndReason, Span};

use super::{TuneReport, TunedProgram};
use crate::ending::early_ending;
use crate::numbers::{length, micros_of, rough};

/// What a number is called.
pub(super) const fn number(statistic: Statistic) -> &'static str {
    match statistic {
        Statistic::P50 => "the median",
        Statistic::P99 => "p99",
        Statistic::P999 => "p99.9",
        Statistic::Max => "the maximum of a turn",
    }
}

/// Nanoseconds with the unit that suits them.
pub(super) fn time(nanos: f64) -> String {
    if nanos.abs() >= 999_500.0 {
        format!("{} ms", micros_of(nanos / 1e3))
    } else {
        format!("{} µs", micros_of(nanos))
    }
}

/// The whole answer.
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

/// Before settings are tried on a program: for how long it has to run.
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

/// What turns are of, and what too few wake-ups come in them for.
pub(super) fn turns_of(program: &TunedProgram) -> String {
    let TunedProgram { name, pid, threads, turn_ns, wakeups_per_turn: wakeups, .. } = program;
    let threads = if *threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") };
    let by: Vec<&str> = program.compared.iter().map(|one| compared(*one)).collect();
    let turns = format!(
        "Turns are {} of {name} (process {pid}, {threads}), with about {wakeups} wake-ups in each: {}.",
        length(*turn_ns),
        by.join(" and ")
    );
    let few = |of: &&Statistic| of.least() > *wakeups;
    let few: Vec<&str> =
        [Statistic::P50, Statistic::P99, Statistic::Max].iter().filter(few).map(|of| number(*of)).collect();
    match few.as_slice() {
        [] => turns,
        few => format!("{turns} That is too few for {}: `--turn` makes them longer.", few.join(" and ")),
    }
}

/// What is compared of a program's wake-ups.
const fn compared(activation: Activation) -> &'static str {
    match activation {
        Activation::Timer => "how late they are from the time that the timer was set to",
        Activation::HandedOn => "where a deadline was handed on, from that",
        Activation::Loop => "how late the iterations of marked loops begin",
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
        [one] => format!("One setting helps here, {one}:"),
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

/// What the baseline against itself gave.
pub(super) fn self_test(arm: &Arm) -> String {
    let differs: Vec<&str> =
        arm.tested.iter().filter(|one| is_different(one)).map(|one| number(one.statistic)).collect();
    if !differs.is_empty() {
        return format!(
            "The baseline against itself: {} differs, either by chance (one run in twenty) or because the machine changes from turn to turn. Do not trust small effects.",
            differs.join(" and ")
        );
    }
    let could = |one: &Tested| Some(format!("{} {}", number(one.statistic), time(one.detectable_ns?)));
    let could: Vec<String> = arm.tested.iter().filter_map(could).collect();
    format!(
        "The baseline against itself: no difference found, as it should be (detectable: {}).",
        could.join(", ")
    )
}

/// Whether a condition was told from itself.
pub(super) const fn is_different(tested: &Tested) -> bool {
    matches!(tested.verdict, Verdict::Better | Verdict::Worse)
}

/// A verdict in the table.
pub(super) const fn verdict(tested: &Tested) -> &'static str {
    match tested.verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Inconclusive => "too few turns",
        Verdict::NotDistinguishable | Verdict::Equivalent => "no difference found",
    }
}
