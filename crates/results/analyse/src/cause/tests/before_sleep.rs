//! Before the sleep: threads that ask too late, and what kept them from asking.

use super::*;

#[test]
fn a_thread_that_was_not_asleep_yet_was_armed_late() {
    let mut sleep = timely();
    sleep.asleep_since = Some(at(1_090));
    let decomposed = decompose(WAKEUP, None, &[sleep], false).unwrap();
    let first = &decomposed.wakeup.parts[0];
    assert_eq!(
        (first.cause.part, first.cause.kind, first.ns.as_nanos()),
        (Part::Arming, CauseKind::LateArming, 90)
    );
    whole(&decomposed, WAKEUP);
}

#[test]
fn a_stop_is_followed_through_all_its_sleeps() {
    // 500 woken by the stop's signal, stopped at 520; 5000 continued; sleeps again at 5100 for a time that has passed, is woken by the
    // timer at 5200 and runs at 5240.
    let stop = thread(44, "stopper");
    let by_other = |waking: i64, ran: i64, slept: i64, asleep: SleepState| TracedSleep {
        woken_by: WakeSource::Other(stop.clone()),
        asleep,
        waking: at(waking),
        runnable: at(waking),
        occupants: vec![],
        switched_in: Some(at(ran)),
        asleep_again: Some(at(slept)),
        ..timely()
    };
    let first = by_other(500, 510, 520, SleepState::Waiting);
    let second = TracedSleep {
        asleep_since: Some(at(520)),
        ..by_other(5_000, 5_000, 5_100, SleepState::Stopped(Some(stop.clone())))
    };
    let mut third =
        TracedSleep { waking: at(5_190), runnable: at(5_195), switched_in: Some(at(5_200)), ..timely() };
    let WakeSource::Timer(expiry) = &mut third.woken_by else { unreachable!() };
    (expiry.interrupt, expiry.first_served, expiry.served) = (Some(at(5_150)), at(5_160), at(5_180));
    third.occupants = vec![];
    third.asleep_since = Some(at(5_100));
    third.asleep_again = Some(at(9_000));
    let wakeup = Wakeup { expected: at(1_000), ran: at(5_240) };
    let mut joiner = Joiner::new(false);
    [first, second, third].into_iter().for_each(|sleep| joiner.record_sleep(sleep));
    joiner.record_wakeups([wakeup]);
    let worst = &joiner.ledger.worst()[0];
    let (first, second) = (&worst.parts[0], &worst.parts[1]);
    assert_eq!(
        (first.cause.kind, first.cause.name.as_str(), first.ns),
        (CauseKind::Stopped, "stopper", span(4_000))
    );
    assert_eq!((second.cause.kind, second.cause.part), (CauseKind::Stopped, Part::Arming));
    assert_eq!(worst.parts.iter().map(|part| part.ns.as_nanos()).sum::<u64>(), 4_240);
}

#[test]
fn whoever_kept_a_thread_from_asking_is_charged_with_it() {
    // 1000 expected; asleep only at 1040, since another thread had the CPU from 900 to 1030.
    let mut late = timely();
    late.asleep_since = Some(at(1_040));
    let wakeup = Wakeup { expected: at(1_000), ran: at(1_240) };
    let mut earlier = TracedSleep { asleep_again: Some(at(1_040)), asleep_since: Some(at(1)), ..timely() };
    (earlier.waking, earlier.runnable, earlier.switched_in) = (at(700), at(710), Some(at(720)));
    earlier.lost = vec![CpuLoss {
        from: at(900),
        until: at(1_030),
        to: thread(9, "rival"),
        throttled: false,
        merged: false,
    }];
    // If others also had its CPU at unknown times, the rest was not its own doing either.
    for (lost_more, rest) in [(0, CauseKind::LateArming), (1, CauseKind::Undetermined)] {
        let mut joiner = Joiner::new(false).storing_wakeups();
        joiner.record_sleep(TracedSleep { lost_more, ..earlier.clone() });
        joiner.record_wakeups([Wakeup { expected: at(600), ran: at(740) }]);
        joiner.record_sleep(late.clone());
        joiner.record_wakeups([wakeup]);
        joiner.end();
        let explained = joiner.into_wakeups().pop().unwrap().explained.unwrap();
        let (first, second) = (&explained.parts[0], &explained.parts[1]);
        assert_eq!(
            (first.cause.part, first.cause.kind, first.cause.name.as_str(), first.pid, first.ns),
            (Part::Arming, CauseKind::Thread, "rival", Some(9), span(30))
        );
        assert_eq!((second.cause.part, second.cause.kind, second.ns), (Part::Arming, rest, span(10)));
        assert_eq!(explained.parts.iter().map(|part| part.ns.as_nanos()).sum::<u64>(), 240);
    }
}
