//! Time lines drawn, then asserted.

mod any;
mod before_sleep;
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
        out_of_runtime: false,
        bpf_scheduled: false,
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
    let decomposed = decompose(wakeup, None, seen, false).unwrap();
    let parts: Vec<_> = decomposed
        .wakeup
        .parts
        .iter()
        .map(|part| (part.cause.part, part.cause.kind, part.cause.name.as_str(), part.ns.as_nanos()))
        .collect();
    assert_eq!(parts, expected);
    whole(&decomposed, wakeup);
    decomposed
}

/// The parts follow each other from the expected time to the reading, and none is empty.
#[track_caller]
fn whole(decomposed: &Decomposed, wakeup: Wakeup) {
    let mut cursor = wakeup.expected;
    for part in &decomposed.wakeup.parts {
        assert_eq!(part.from, cursor);
        assert!(!part.ns.is_zero());
        cursor = cursor.plus(part.ns);
    }
    assert_eq!(cursor, wakeup.ran.max(wakeup.expected));
}

#[test]
fn every_nanosecond_has_its_part() {
    // 1000   1050     1100   1120   1130    1150   1200   1240
    // |slack |delivery|entry |others|wake-up|wait  |return|
    let decomposed = check(
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
    assert_eq!((decomposed.clamped, decomposed.wakeup.cpu), (0, Some(1)));
}

#[test]
fn a_reading_after_the_threads_own_is_counted() {
    let sleep = TracedSleep { switched_in: Some(at(1_250)), ..timely() };
    assert_eq!(decompose(WAKEUP, None, &[sleep], false).unwrap().clamped, 1);
}
