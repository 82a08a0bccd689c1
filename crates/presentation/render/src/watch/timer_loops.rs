//! Waits of threads within the iterations of their loops, and loops that drift, in sentences.

use std::cmp::Reverse;

use howlate_analyse::Outcome;
use howlate_analyse::watch::Rhythm;
use howlate_model::{CauseKind, IterationWait, Latency, TimerLoopBlock};

use super::name;
use crate::cause_words::{call_or_wait, percent};
use crate::numbers::count;
use crate::untrusted_text::legible;

/// Sentences of all threads together.
const MOST: usize = 2;

/// Loops that drift by sleeping for a length, and the waits that took most of their loops' time.
pub(super) fn sentences(outcomes: &[&Outcome]) -> Vec<String> {
    let mut waits: Vec<_> = outcomes.iter().flat_map(|outcome| waits_of(outcome)).collect();
    waits.sort_by_key(|(outcome, _, wait)| (Reverse(wait.total), name(outcome)));
    let waits =
        waits.into_iter().map(|(outcome, timer_loop, wait)| wait_in_words(&name(outcome), timer_loop, wait));
    let drifts = outcomes.iter().filter_map(|outcome| drift_in_words(outcome));
    drifts.chain(waits).take(MOST).collect()
}

fn waits_of(outcome: &Outcome) -> impl Iterator<Item = (&Outcome, &TimerLoopBlock, &IterationWait)> {
    let rhythm = outcome.rhythm.as_deref();
    let timer_loop = rhythm.and_then(Rhythm::timer_loop);
    let waits = rhythm.into_iter().flat_map(Rhythm::notable_waits);
    waits.filter_map(move |wait| Some((outcome, timer_loop?, wait)))
}

/// `control waited for planner (futex) in 675 of 2 985 iterations: 103 µs at the median, 10.0 ms at most.`
fn wait_in_words(name: &str, timer_loop: &TimerLoopBlock, wait: &IterationWait) -> String {
    let by = legible(&wait.by);
    let other = if wait.own && wait.by == name { format!("another thread {by}") } else { by.into_owned() };
    let what = match wait.kind {
        CauseKind::Lock => format!("waited for {other} (futex)"),
        CauseKind::PageFault => "waited for pages of its own memory (page faults)".to_owned(),
        _ if wait.by.is_empty() => format!("was blocked in {}", call_or_wait(&wait.call)),
        _ => format!("was blocked in {} until {other} ended that", call_or_wait(&wait.call)),
    };
    let [median, most] = [wait.time.quantile(0.5), wait.time.max()].map(Option::unwrap_or_default);
    let (times, all) = (count(wait.time.count()), count(timer_loop.length.count()));
    format!("{name} {what} in {times} of {all} iterations: {median} at the median, {most} at most.")
}

fn drift_in_words(outcome: &Outcome) -> Option<String> {
    let sleeps = outcome.rhythm.as_deref()?.sleeps_for_length()?;
    let [step, without] = [sleeps.step, sleeps.without_delay].map(Latency::from_span);
    let slower = sleeps.step.as_secs_f64() / sleeps.without_delay.as_secs_f64().max(f64::MIN_POSITIVE) - 1.0;
    Some(format!(
        "{} sleeps for a length instead of until a time: each delay moves all later iterations, which took {step} on average instead of {without} \
         ({} longer).",
        name(outcome),
        percent(slower)
    ))
}

#[cfg(test)]
mod tests {
    use howlate_model::{Distribution, Span};

    use super::*;

    #[test]
    fn a_wait_is_told_with_how_often_and_how_long() {
        let mut timer_loop = TimerLoopBlock::default();
        let mut time = Distribution::default();
        time.record(Latency::from_nanos(2_000_000));
        let total = Span::from_millis(2);
        let wait = |kind, call: &str, by: &str| IterationWait {
            kind,
            call: call.to_owned(),
            by: by.to_owned(),
            tid: None,
            own: true,
            time: time.clone(),
            total,
        };
        timer_loop.record_iteration(Span::from_millis(5), vec![]);
        let describe = |wait: &IterationWait| wait_in_words("control", &timer_loop, wait);
        let lock = describe(&wait(CauseKind::Lock, "futex", "planner"));
        assert_eq!(
            lock,
            "control waited for planner (futex) in 1 of 1 iterations: 2.00 ms at the median, 2.00 ms at most."
        );
        let same = describe(&wait(CauseKind::Lock, "futex", "control"));
        assert!(same.contains("another thread control"), "{same}");
        let fault = describe(&wait(CauseKind::PageFault, "", ""));
        assert!(fault.contains("page faults"), "{fault}");
        let write = describe(&wait(CauseKind::SystemCall, "write", "python3"));
        assert!(write.contains("blocked in write until python3"), "{write}");
    }
}
