//! Time-lines drawn, then asserted.

mod any;
mod asking;
mod cpu;
mod hypervisor;
mod join;
mod quota;
mod switches;
mod timer;

use std::slice::from_ref;

use howlate_model::{
    CauseKind, CpuHolder, CpuLoss, DeferredTimers, Expiry, HolderKind, MonotonicInterval, MonotonicTime,
    Occupant, Part, SleepState, Span, TracedSleep, UndecomposedReason, WakeSource, Wakeup,
};
use proptest::prelude::*;

use super::{Decomposed, Joiner, Why, decompose};

fn at(nanos: i64) -> MonotonicTime {
    MonotonicTime::from_nanos(nanos)
}

fn span(nanos: u64) -> Span {
    Span::from_nanos(nanos)
}

fn thread(pid: u32, name: &str) -> CpuHolder {
    CpuHolder { holder: HolderKind::Thread, pid: Some(pid), name: name.into() }
}

fn idle() -> CpuHolder {
    CpuHolder { holder: HolderKind::Idle, pid: None, name: String::new() }
}

/// Deadline 1000, slack 50, interrupt at 1100, served 1130 (first 1120), runnable 1150, switched in at 1200.
fn timely() -> TracedSleep {
    TracedSleep {
        tid: 7,
        asleep_since: Some(at(100)),
        slept_in: None,
        asleep: SleepState::Waiting,
        woken_by: WakeSource::Timer(Expiry {
            soft: at(1_000),
            hard: at(1_050),
            interrupt: Some(at(1_100)),
            interrupted: idle(),
            first_served: at(1_120),
            served: at(1_130),
            deferred: None,
            idle_since: None,
            rearmed: None,
        }),
        waking: at(1_135),
        runnable: at(1_150),
        occupants: vec![Occupant { who: idle(), ns: span(50), from: None }],
        unnamed: Span::ZERO,
        switched_in: Some(at(1_200)),
        cpu: 1,
        migrated: false,
        throttled: false,
        rt_throttled: false,
        called: None,
        next_timer: None,
        stolen: None,
        others_stood_still: vec![],
        lost: vec![],
        lost_more: 0,
        first_fault: None,
        asleep_again: Some(at(1_300)),
    }
}

const WAKEUP: Wakeup = Wakeup { expected: at_const(1_000), ran: at_const(1_240) };

const fn at_const(nanos: i64) -> MonotonicTime {
    MonotonicTime::from_nanos(nanos)
}

#[track_caller]
fn check(wakeup: Wakeup, seen: &[TracedSleep], expected: &[(Part, CauseKind, &str, u64)]) -> Decomposed {
    let known = decompose(wakeup, None, seen, false).unwrap();
    let parts: Vec<_> = known
        .wakeup
        .parts
        .iter()
        .map(|one| (one.cause.part, one.cause.kind, one.cause.name.as_str(), one.ns.as_nanos()))
        .collect();
    assert_eq!(parts, expected);
    whole(&known, wakeup);
    known
}

/// The parts follow each other from the time asked for to the reading, and none is empty.
#[track_caller]
fn whole(known: &Decomposed, wakeup: Wakeup) {
    let mut cursor = wakeup.expected;
    for one in &known.wakeup.parts {
        assert_eq!(one.from, cursor);
        assert!(!one.ns.is_zero());
        cursor = cursor.plus(one.ns);
    }
    assert_eq!(cursor, wakeup.ran.max(wakeup.expected));
}

#[test]
fn every_nanosecond_has_its_part() {
    // 1000   1050     1100   1120   1130    1150   1200   1240
    // |slack |delivery|entry |others|wake-up|wait  |return|
    let known = check(
        WAKEUP,
        &[timely()],
        &[
            (Part::TimerSlack, CauseKind::TimerSlack, "", 50),
            (Part::InterruptDelivery, CauseKind::IdleExit, "", 50),
            (Part::InterruptEntry, CauseKind::Kernel, "", 20),
            (Part::OtherTimers, CauseKind::OtherTimers, "", 10),
            (Part::WakeUp, CauseKind::Kernel, "", 20),
            (Part::Waiting, CauseKind::IdleExit, "", 50),
            (Part::Return, CauseKind::Kernel, "", 40),
        ],
    );
    assert_eq!((known.clamped, known.wakeup.cpu), (0, Some(1)));
}

#[test]
fn a_reading_after_the_threads_own_is_counted() {
    let one = TracedSleep { switched_in: Some(at(1_250)), ..timely() };
    assert_eq!(decompose(WAKEUP, None, &[one], false).unwrap().clamped, 1);
}
