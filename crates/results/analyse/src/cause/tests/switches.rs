//! Sleeps from a tracer that sees only switches and run delays.

use super::*;

/// `timely` as seen by such a tracer.
fn switched(runnable: Option<i64>, slack: u64) -> TracedSleep {
    let runnable_at = at(runnable.unwrap_or(1_200));
    let ns = at(1_200).since(runnable_at);
    let unknown = CpuHolder { holder: HolderKind::NotSeen, pid: None, name: String::new() };
    TracedSleep {
        woken_by: WakeSource::NotSeen { slack: span(slack), runnable_known: runnable.is_some() },
        waking: runnable_at,
        runnable: runnable_at,
        occupants: (!ns.is_zero()).then_some(Occupant { who: unknown, ns, from: None }).into_iter().collect(),
        ..timely()
    }
}

#[test]
fn switches_alone_tell_four_parts() {
    // 1000   1050          1150   1200    1240
    // |slack |before it ran|waits |return |
    let four_parts = [
        (Part::TimerSlack, CauseKind::TimerSlack, "", 50),
        (Part::BeforeRunnable, CauseKind::Undetermined, "", 100),
        (Part::Waiting, CauseKind::Undetermined, "", 50),
        (Part::Return, CauseKind::Kernel, "", 40),
    ];
    assert_eq!(check(WAKEUP, &[switched(Some(1_150), 50)], &four_parts).clamped, 0);
    // Its accounting was not read: the wait may be in the time before the switch.
    let unknown = [four_parts[0], (Part::NotSeen, CauseKind::Undetermined, "", 150), four_parts[3]];
    check(WAKEUP, &[switched(None, 50)], &unknown);
    // Another timer's interrupt came within the slack.
    let early = [(Part::TimerSlack, CauseKind::TimerSlack, "", 150), four_parts[2], four_parts[3]];
    check(WAKEUP, &[switched(Some(1_150), 5_000)], &early);
    // It went to sleep too late, when the slack was over.
    let late = TracedSleep { asleep_since: Some(at(1_090)), ..switched(Some(1_150), 50) };
    let arming = (Part::Arming, CauseKind::LateArming, "", 90);
    let expected =
        [arming, (Part::BeforeRunnable, CauseKind::Undetermined, "", 60), four_parts[2], four_parts[3]];
    check(WAKEUP, &[late], &expected);
}

#[test]
fn a_wait_that_begins_before_the_time_asked_for_is_not_known() {
    // 900       1000   1050          1200    1240
    // |"waits"   |slack |not seen     |return |
    let expected = [
        (Part::TimerSlack, CauseKind::TimerSlack, "", 50),
        (Part::NotSeen, CauseKind::Undetermined, "", 150),
        (Part::Return, CauseKind::Kernel, "", 40),
    ];
    check(WAKEUP, &[switched(Some(900), 50)], &expected);
    // One that begins with it may be real.
    let waits = [(Part::Waiting, CauseKind::Undetermined, "", 200), expected[2]];
    check(WAKEUP, &[switched(Some(1_000), 50)], &waits);
}

#[test]
fn what_nobody_knows_is_told_by_its_part() {
    let mut joiner = Joiner::new(false);
    joiner.record_sleep(switched(Some(1_150), 50));
    joiner.record_wakeups([WAKEUP]);
    let why = Why::from_ledger(&joiner.ledger, "switches", Some(Span::ZERO), None);
    let undetermined = why.causes.iter().filter(|cause| cause.kind == CauseKind::Undetermined);
    let parts: Vec<_> = undetermined.map(|cause| (cause.part, cause.late_ns)).collect();
    assert_eq!(parts, [(Some(Part::BeforeRunnable), 100), (Some(Part::Waiting), 50)]);
    assert!(why.causes.iter().all(|cause| cause.part.is_none() || cause.kind == CauseKind::Undetermined));
}
