//! Joins sleeps to wake-ups.

use super::*;

#[test]
fn wake_ups_find_their_own_sleeps() {
    let mut joiner = Joiner::new(false);
    let shifted = |by: i64| {
        let mut sleep = timely();
        let later = |time: MonotonicTime| at(time.as_nanos() + by);
        sleep.woken_by = WakeSource::Timer(Expiry {
            soft: later(at(1_000)),
            hard: later(at(1_050)),
            interrupt: Some(later(at(1_100))),
            interrupted: idle(),
            first_served: later(at(1_120)),
            served: later(at(1_130)),
            deferred: None,
            idle_since: None,
            rearmed: None,
        });
        sleep.asleep_since = sleep.asleep_since.map(later);
        (sleep.waking, sleep.runnable) = (later(sleep.waking), later(sleep.runnable));
        (sleep.switched_in, sleep.asleep_again) =
            (sleep.switched_in.map(later), sleep.asleep_again.map(later));
        sleep
    };
    let wakeup = |by: i64| Wakeup { expected: at(1_000 + by), ran: at(1_240 + by) };
    // The second was not traced; one arrives late, and one while nothing was recorded.
    joiner.record_sleep(shifted(0));
    joiner.record_wakeups([wakeup(0), wakeup(1_000), wakeup(2_000)]);
    assert_eq!(joiner.ledger.decomposed, 1);
    joiner.record_sleep(shifted(2_000));
    joiner.record_loss(3, at(3_500), at(9_000));
    joiner.record_wakeups([wakeup(3_000)]);
    joiner.end();
    assert_eq!(
        (joiner.ledger.decomposed, joiner.ledger.undecomposed(), joiner.ledger.lost_events),
        (2, 2, 3)
    );
    assert_eq!(joiner.ledger.not_decomposed[&UndecomposedReason::LostEvents], 1);
    let why = Why::from_ledger(&joiner.ledger, "bpf", Some(Span::ZERO), None);
    assert_eq!(why.late.unexplained_ns, 480);
    assert_eq!(why.causes.iter().map(|cause| cause.late_ns).sum::<u64>(), why.late.total_ns);
}

#[test]
fn what_happened_around_a_loss_is_not_attributed() {
    // 1000 expected, 1240 ran; events were lost in between, before, or after.
    for (from, until, attributed) in [
        (1_100, 1_110, false),
        (0, 1_000, false),
        (1_240, 1_300, false),
        (0, 999, true),
        (1_241, 1_300, true),
    ] {
        let mut joiner = Joiner::new(false);
        joiner.record_loss(2, at(from), at(until));
        joiner.record_sleep(timely());
        joiner.record_wakeups([WAKEUP]);
        assert_eq!(joiner.ledger.decomposed == 1, attributed, "{from}");
        let because = joiner.ledger.not_decomposed.keys().copied().collect::<Vec<_>>();
        assert_eq!(because == [UndecomposedReason::LostEvents], !attributed, "{from}");
    }
}

/// Sent at 1000; woken at 1090, switched in at 1200 and back at 1240.
fn notified() -> TracedSleep {
    let mut sleep = timely();
    sleep.woken_by = WakeSource::Other(thread(3, "sender"));
    (sleep.waking, sleep.runnable) = (at(1_090), at(1_090));
    sleep.occupants = vec![Occupant { who: idle(), ns: span(110), from: None }];
    sleep
}

#[test]
fn a_message_is_sent_wakes_and_comes_in() {
    // 1000     1090   1200   1240
    // |sending |wait  |return|
    let mut joiner = Joiner::new(true).storing_wakeups();
    joiner.record_sleep(notified());
    joiner.record_wakeups([WAKEUP]);
    let parts = |wakeup: &crate::cause::ExplainedWakeup| {
        let parts = &wakeup.explained.as_ref().unwrap().parts;
        parts.iter().map(|part| (part.cause.part, part.cause.kind, part.ns.as_nanos())).collect::<Vec<_>>()
    };
    // 1250 sent again, before it slept at 1300.
    joiner.record_wakeups([Wakeup { expected: at(1_250), ran: at(1_270) }]);
    joiner.record_sleep(TracedSleep { waking: at(5_000), asleep_again: Some(at(6_000)), ..notified() });
    joiner.end();
    assert_eq!(joiner.ledger.undecomposed(), 0);
    let stored = joiner.into_wakeups();
    let first = [
        (Part::Sending, CauseKind::Kernel, 90),
        (Part::Waiting, CauseKind::IdleExit, 110),
        (Part::Return, CauseKind::Kernel, 40),
    ];
    assert_eq!(parts(&stored[0]), first);
    assert_eq!(parts(&stored[1]), [(Part::Sending, CauseKind::Kernel, 20)], "nobody had to wake it");
}
