//! Which sleeps belong to which wake-up.

use super::*;

#[test]
fn wake_ups_find_their_own_sleeps() {
    let mut joiner = Joiner::new(false);
    let shifted = |by: i64| {
        let mut one = timely();
        let later = |time: MonotonicTime| at(time.as_nanos() + by);
        one.woken_by = WakeSource::Timer(Expiry {
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
        one.asleep_since = one.asleep_since.map(later);
        (one.waking, one.runnable) = (later(one.waking), later(one.runnable));
        (one.switched_in, one.asleep_again) = (one.switched_in.map(later), one.asleep_again.map(later));
        one
    };
    let wakeup = |by: i64| Wakeup { expected: at(1_000 + by), ran: at(1_240 + by) };
    // The second was not seen; one comes late, and one while nothing was recorded.
    joiner.saw(shifted(0));
    joiner.woke([wakeup(0), wakeup(1_000), wakeup(2_000)]);
    assert_eq!(joiner.ledger.decomposed, 1);
    joiner.saw(shifted(2_000));
    joiner.lost(3, at(3_500), at(9_000));
    joiner.woke([wakeup(3_000)]);
    joiner.end();
    assert_eq!((joiner.ledger.decomposed, joiner.ledger.unknown(), joiner.ledger.lost_events), (2, 2, 3));
    assert_eq!(joiner.ledger.not_decomposed[&UndecomposedReason::LostEvents], 1);
    let why = Why::from_ledger(&joiner.ledger, "bpf", Some(Span::ZERO), None);
    assert_eq!(why.late.unexplained_ns, 480);
    assert_eq!(why.causes.iter().map(|one| one.late_ns).sum::<u64>(), why.late.total_ns);
}

#[test]
fn what_happened_around_a_loss_is_not_attributed() {
    // 1000 asked for, 1240 ran; something was lost in between, before, or after.
    for (from, until, attributed) in [
        (1_100, 1_110, false),
        (0, 1_000, false),
        (1_240, 1_300, false),
        (0, 999, true),
        (1_241, 1_300, true),
    ] {
        let mut joiner = Joiner::new(false);
        joiner.lost(2, at(from), at(until));
        joiner.saw(timely());
        joiner.woke([WAKEUP]);
        assert_eq!(joiner.ledger.decomposed == 1, attributed, "{from}");
        let because = joiner.ledger.not_decomposed.keys().copied().collect::<Vec<_>>();
        assert_eq!(because == [UndecomposedReason::LostEvents], !attributed, "{from}");
    }
}

/// Sent at 1000; woken at 1090, switched in at 1200 and back at 1240.
fn notified() -> TracedSleep {
    let mut one = timely();
    one.woken_by = WakeSource::Other(thread(3, "sender"));
    (one.waking, one.runnable) = (at(1_090), at(1_090));
    one.occupants = vec![Occupant { who: idle(), ns: span(110), from: None }];
    one
}

#[test]
fn a_message_is_sent_wakes_and_comes_in() {
    // 1000     1090   1200   1240
    // |sending |wait  |return|
    let mut joiner = Joiner::new(true).keeping();
    joiner.saw(notified());
    joiner.woke([WAKEUP]);
    let parts = |one: &crate::cause::Judged| {
        let parts = &one.explained.as_ref().unwrap().parts;
        parts.iter().map(|one| (one.cause.part, one.cause.kind, one.ns.as_nanos())).collect::<Vec<_>>()
    };
    // 1250 sent again, before it slept at 1300.
    joiner.woke([Wakeup { expected: at(1_250), ran: at(1_270) }]);
    joiner.saw(TracedSleep { waking: at(5_000), asleep_again: Some(at(6_000)), ..notified() });
    joiner.end();
    assert_eq!(joiner.ledger.unknown(), 0);
    let kept = joiner.into_kept();
    let first = [
        (Part::Sending, CauseKind::Kernel, 90),
        (Part::Waiting, CauseKind::IdleExit, 110),
        (Part::Return, CauseKind::Kernel, 40),
    ];
    assert_eq!(parts(&kept[0]), first);
    assert_eq!(parts(&kept[1]), [(Part::Sending, CauseKind::Kernel, 20)], "nobody had to wake it");
}
