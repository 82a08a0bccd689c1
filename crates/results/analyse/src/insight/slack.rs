//! Timer slack: what the kernel may add to a timeout so that several timers expire together.

use howlate_model::{Condition, Latency, Mechanism, Part, Policy, Runtime, Span, Wait};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Control, Indexed, by_node, median};
use crate::Outcome;

/// Smaller slack cannot be distinguished from the rest of a wake-up.
const LEAST: Span = Span::from_micros(1);

/// Wake-ups are as late as the thread's timer slack allows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TimerSlack {
    /// The conditions, by index in the recording's header.
    pub conditions: Vec<u32>,
    /// The slack in force.
    #[serde(rename = "slack_ns")]
    pub slack: Span,
    /// The usual latency of the first of them.
    #[serde(rename = "median_ns")]
    pub median: Latency,
    /// The first of them again, but without slack. Absent: nobody measured that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without: Option<Control>,
    /// What slack took of a wake-up of the first, at the median of those that were traced. Absent: none was.
    #[serde(rename = "traced_ns", skip_serializing_if = "Option::is_none")]
    pub traced: Option<Span>,
}

/// Timeouts are as late as the slack that their call adds by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CallSlack {
    /// The conditions, by index in the recording's header.
    pub conditions: Vec<u32>,
    /// The call of the first.
    pub call: Wait,
    /// How long that one asks to wait.
    #[serde(rename = "length_ns")]
    pub length: Span,
    /// The slack that the call adds to it.
    #[serde(rename = "slack_ns")]
    pub slack: Span,
    /// Its usual latency.
    #[serde(rename = "median_ns")]
    pub median: Latency,
    /// The same length by a call that adds none. Absent: nobody measured that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without: Option<Control>,
}

/// One explanation for each amount of slack that is visible.
pub(super) fn find(idle: &[Indexed<'_>]) -> Vec<TimerSlack> {
    let mut found: Vec<TimerSlack> = Vec::new();
    for (node, condition, outcome) in with_node(&by_node(idle)) {
        let Some(slack) = timer_slack(condition, outcome, node) else { continue };
        match found.iter_mut().find(|earlier| earlier.slack == slack.slack) {
            // The one with a control represents all.
            Some(earlier) if earlier.without.is_none() && slack.without.is_some() => {
                let conditions = [slack.conditions.as_slice(), earlier.conditions.as_slice()].concat();
                *earlier = TimerSlack { conditions, ..slack };
            }
            Some(earlier) => earlier.conditions.push(condition),
            None => found.push(slack),
        }
    }
    found
}

/// Each condition with all conditions of its machine.
fn with_node<'a, 'b>(
    nodes: &'b [Vec<Indexed<'a>>],
) -> impl Iterator<Item = (&'b [Indexed<'a>], u32, &'a Outcome)> {
    nodes
        .iter()
        .flat_map(|node| node.iter().map(|(condition, outcome)| (node.as_slice(), *condition, *outcome)))
}

fn timer_slack(condition: u32, outcome: &Outcome, idle: &[Indexed<'_>]) -> Option<TimerSlack> {
    let slack = timer_slack_of(outcome).filter(|slack| *slack >= LEAST)?;
    let median = visible_median(outcome, slack)?;
    let is_control = |other: &Outcome| {
        are_equal_but(outcome, other, |condition| condition.slack_ns = None)
            && timer_slack_of(other).is_some_and(|slack| slack < LEAST)
    };
    let (without, traced) = (control(idle, is_control), traced(outcome));
    let is_traced = traced.is_none_or(|traced| traced.as_nanos() >= slack.as_nanos() / 2);
    (is_traced && is_confirmed(median, without, slack)).then(|| TimerSlack {
        conditions: vec![condition],
        slack,
        median,
        without,
        traced,
    })
}

/// Timer slack in the usual wake-up, as traced; `None` if none was traced.
fn traced(outcome: &Outcome) -> Option<Span> {
    let why = outcome.why_late(None).filter(|why| why.decomposed > 0)?;
    let slack = why.parts.iter().find(|part| part.part == Part::TimerSlack);
    Some(slack.map_or(Span::ZERO, |slack| Span::from_nanos(slack.p50_ns)))
}

/// One explanation for each call that adds slack of its own.
pub(super) fn find_call_slack(idle: &[Indexed<'_>]) -> Vec<CallSlack> {
    let mut found: Vec<CallSlack> = Vec::new();
    for (node, condition, outcome) in with_node(&by_node(idle)) {
        let Some(slack) = call_slack(condition, outcome, node) else { continue };
        match found.iter_mut().find(|earlier| earlier.call == slack.call) {
            Some(earlier) => earlier.conditions.push(condition),
            None => found.push(slack),
        }
    }
    found
}

fn call_slack(condition: u32, outcome: &Outcome, idle: &[Indexed<'_>]) -> Option<CallSlack> {
    let (call, length) = (outcome.condition.work.wait()?, outcome.condition.work.length());
    let slack = slack_of_call(outcome).filter(|slack| *slack >= LEAST)?;
    // The longer slack counts; if that is the thread's, `TimerSlack` explains it.
    if timer_slack_of(outcome).is_none_or(|timer| timer >= slack) {
        return None;
    }
    let median = visible_median(outcome, slack)?;
    let is_control = |other: &Outcome| {
        let same_work = other.condition.work.length() == length
            && other.condition.work.kind() == outcome.condition.work.kind();
        let elsewhere = Condition { work: outcome.condition.work, ..other.condition.clone() };
        same_work
            && elsewhere == outcome.condition
            && slack_of_call(other).is_none()
            && timer_slack_of(other).is_some_and(|timer| timer < slack)
    };
    let without = control(idle, is_control);
    is_confirmed(median, without, slack).then(|| CallSlack {
        conditions: vec![condition],
        call,
        length,
        slack,
        median,
        without,
    })
}

/// The usual latency, if slack is visible in it: even most of the early wake-ups are about as late as it allows. The lower quartile,
/// because a sleep may end early in its slack when another timer expires then.
fn visible_median(outcome: &Outcome, slack: Span) -> Option<Latency> {
    let early = outcome.latency().quantile(0.25)?;
    median(outcome).filter(|_| early.as_nanos() >= as_nanos(slack) * 8 / 10)
}

/// Whether the control confirms the slack: without it, most of that latency must be gone.
fn is_confirmed(median: Latency, without: Option<Control>, slack: Span) -> bool {
    without.is_none_or(|control| median.as_nanos() - control.median.as_nanos() >= as_nanos(slack) / 2)
}

fn control(idle: &[Indexed<'_>], is_control: impl Fn(&Outcome) -> bool) -> Option<Control> {
    let read_control = |(condition, outcome): &Indexed<'_>| {
        Some(Control { condition: *condition, median: median(outcome)? })
    };
    idle.iter().filter(|(_, outcome)| is_control(outcome)).find_map(read_control)
}

/// Whether the conditions are equal once `alter` has removed the permitted difference from both.
fn are_equal_but(first: &Outcome, second: &Outcome, alter: impl Fn(&mut Condition)) -> bool {
    let altered = |outcome: &Outcome| {
        let mut condition = outcome.condition.clone();
        alter(&mut condition);
        condition
    };
    altered(first) == altered(second)
}

/// The slack of the thread, if its timeouts are subject to it; zero for real-time threads.
fn timer_slack_of(outcome: &Outcome) -> Option<Span> {
    let in_force = outcome.in_force.as_ref()?;
    has_slack(outcome.condition.work.mechanism())
        .then(|| if in_force.policy.is_realtime() { Span::ZERO } else { in_force.slack })
}

/// Whether a mechanism's timeout is subject to timer slack; timerfd and POSIX timers are not.
const fn has_slack(mechanism: Mechanism) -> bool {
    match mechanism {
        Mechanism::Wait(wait) => {
            !matches!(wait, Wait::Timerfd | Wait::PosixTimer | Wait::BusyWait | Wait::SleepThenSpin)
        }
        // Runtimes whose sleep is a single timed wait in the kernel.
        Mechanism::Runtime(runtime) => {
            matches!(runtime, Runtime::Python | Runtime::C | Runtime::Cpp | Runtime::Rust | Runtime::JavaPark)
        }
        Mechanism::Notifier(_) | Mechanism::Activation(_) | Mechanism::Foreign(_) => false,
    }
}

/// The slack that `ppoll(2)` and `epoll_pwait2(2)` add to a timeout by themselves: 0.1 % of it, 0.5 % for threads with a positive nice
/// value, at most 100 ms, and none for real-time threads. The longer of this and the thread's own slack applies. `None` for calls that
/// add none.
///
/// Source: fs/select.c, `select_estimate_accuracy`.
pub(super) fn slack_of_call(outcome: &Outcome) -> Option<Span> {
    const MOST: Span = Span::from_millis(100);
    let in_force = outcome.in_force.as_ref().filter(|in_force| !in_force.policy.is_realtime())?;
    matches!(outcome.condition.work.wait()?, Wait::Ppoll | Wait::EpollPwait2).then(|| {
        let is_nice = matches!(in_force.policy, Policy::Other { nice: Some(nice) } if nice.get() > 0);
        let part = outcome.condition.work.length().as_nanos() / if is_nice { 200 } else { 1_000 };
        Span::from_nanos(part).min(MOST)
    })
}

fn as_nanos(span: Span) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::insight::tests::{idle, sleeps};
    use howlate_model::{Cause, CauseBlock, CauseKind, Ledger, MonotonicTime, Segment, WakeupBreakdown};

    const SLACK: Span = Span::from_micros(50);

    #[test]
    fn slack_is_stated_with_its_control_and_only_fits_without() {
        let with = sleeps(Wait::ClockNanosleep, None, 72_000);
        let [alone] = find(&idle(std::slice::from_ref(&with))).try_into().unwrap();
        assert_eq!((alone.slack, alone.without), (SLACK, None));
        let controlled = [with, sleeps(Wait::ClockNanosleep, Some(1), 21_000)];
        let [stated] = find(&idle(&controlled)).try_into().unwrap();
        assert_eq!(stated.without.unwrap().condition, 1);
        assert_eq!(stated.conditions, [0]);
    }

    #[test]
    fn what_stays_without_slack_was_not_the_slack() {
        let late_anyway =
            [sleeps(Wait::ClockNanosleep, None, 72_000), sleeps(Wait::ClockNanosleep, Some(1), 70_000)];
        assert_eq!(find(&idle(&late_anyway)), []);
    }

    #[test]
    fn what_a_tracer_saw_of_slack_is_stated_and_decides() {
        let with_slack_of = |nanos| {
            let mut outcome = sleeps(Wait::ClockNanosleep, None, 72_000);
            outcome.add_why(&traced_sleeps(72_000, nanos));
            [outcome]
        };
        let [slack] = find(&idle(&with_slack_of(50_000))).try_into().unwrap();
        assert_eq!(slack.traced, Some(SLACK));
        assert_eq!(find(&idle(&with_slack_of(3_000))), [], "it was something else");
    }

    /// Sleeps that are all `late` ns late, of which `slack` ns are timer slack.
    fn traced_sleeps(late: u64, slack: u64) -> CauseBlock {
        let (at, latency) = (MonotonicTime::default(), Latency::from_nanos(late.cast_signed()));
        let part = |part, kind, ns| {
            let cause = Cause::new(part, kind, String::new());
            Segment::new(cause, None, at, Span::from_nanos(ns))
        };
        let parts = vec![
            part(Part::TimerSlack, CauseKind::TimerSlack, slack),
            part(Part::WakeUp, CauseKind::Kernel, late - slack),
        ];
        let mut ledger = Ledger::default();
        (0..50).for_each(|_| ledger.add(&WakeupBreakdown { at, latency, cpu: None, parts: parts.clone() }));
        let (condition, round, beside, tracer) = (0, 1, 0, "bpf".to_owned());
        CauseBlock { condition, round, beside, from: at, until: at, tracer, ledger }
    }

    #[test]
    fn calls_that_poll_keep_a_slack_of_their_own() {
        // 0.1 % of 100 ms is 100 µs, more than the thread's 50 µs, and `--slack 1ns` does not change it.
        let all = [sleeps(Wait::Ppoll, Some(1), 130_000), sleeps(Wait::ClockNanosleep, Some(1), 30_000)];
        let [call_slack] = find_call_slack(&idle(&all)).try_into().unwrap();
        assert_eq!((call_slack.call, call_slack.slack), (Wait::Ppoll, Span::from_micros(100)));
        assert_eq!(call_slack.without.unwrap().condition, 1);
        assert_eq!(find(&idle(&all)), []);
    }
}
