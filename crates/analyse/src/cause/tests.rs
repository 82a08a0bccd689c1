//! Time-lines drawn, then asserted.

use std::slice::from_ref;

use howlate_model::{
    Asleep, CauseKind, Deferred, Expiry, Holder, Lost, MonotonicTime, NotDecomposed, Occupant, Part, Span,
    TracedSleep, Wakeup, Who, WokenBy,
};
use proptest::prelude::*;

use super::{Decomposed, Joiner, Why, decompose};

fn at(nanos: i64) -> MonotonicTime {
    MonotonicTime::from_nanos(nanos)
}

fn span(nanos: u64) -> Span {
    Span::from_nanos(nanos)
}

fn thread(pid: u32, name: &str) -> Who {
    Who { holder: Holder::Thread, pid: Some(pid), name: name.into() }
}

fn idle() -> Who {
    Who { holder: Holder::Idle, pid: None, name: String::new() }
}

/// Deadline 1000, slack 50, interrupt at 1100, served 1130 (first 1120), runnable 1150, switched in at 1200.
fn timely() -> TracedSleep {
    TracedSleep {
        tid: 7,
        asleep_since: Some(at(100)),
        asleep: Asleep::Waiting,
        woken_by: WokenBy::Timer(Expiry {
            soft: at(1_000),
            hard: at(1_050),
            interrupt: Some(at(1_100)),
            interrupted: idle(),
            first_served: at(1_120),
            served: at(1_130),
            deferred: None,
            idle_since: None,
        }),
        waking: at(1_135),
        runnable: at(1_150),
        occupants: vec![Occupant { who: idle(), ns: span(50) }],
        unnamed: Span::ZERO,
        switched_in: Some(at(1_200)),
        cpu: 1,
        migrated: false,
        throttled: false,
        rt_throttled: false,
        called: None,
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
        assert_eq!(one.from_ns, cursor);
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

/// The same as a tracer sees it that knows of switches and waiting alone.
fn switched(runnable: Option<i64>, slack: u64) -> TracedSleep {
    let runnable_at = at(runnable.unwrap_or(1_200));
    let ns = at(1_200).since(runnable_at);
    let nobody = Who { holder: Holder::NotSeen, pid: None, name: String::new() };
    TracedSleep {
        woken_by: WokenBy::NotSeen { slack: span(slack), runnable_known: runnable.is_some() },
        waking: runnable_at,
        runnable: runnable_at,
        occupants: (!ns.is_zero()).then_some(Occupant { who: nobody, ns }).into_iter().collect(),
        ..timely()
    }
}

#[test]
fn switches_alone_tell_four_parts() {
    // 1000   1050          1150   1200    1240
    // |slack |before it ran|waits |return |
    let known = [
        (Part::TimerSlack, CauseKind::TimerSlack, "", 50),
        (Part::BeforeRunnable, CauseKind::Undetermined, "", 100),
        (Part::Waiting, CauseKind::Undetermined, "", 50),
        (Part::Return, CauseKind::Kernel, "", 40),
    ];
    assert_eq!(check(WAKEUP, &[switched(Some(1_150), 50)], &known).clamped, 0);
    // Its account was not read: the wait may be in what is before the switch.
    let unknown = [known[0], (Part::NotSeen, CauseKind::Undetermined, "", 150), known[3]];
    check(WAKEUP, &[switched(None, 50)], &unknown);
    // Another timer's interrupt came within the slack.
    let early = [(Part::TimerSlack, CauseKind::TimerSlack, "", 150), known[2], known[3]];
    check(WAKEUP, &[switched(Some(1_150), 5_000)], &early);
    // It went to sleep too late, when the slack was over.
    let late = TracedSleep { asleep_since: Some(at(1_090)), ..switched(Some(1_150), 50) };
    let arming = (Part::Arming, CauseKind::LateArming, "", 90);
    let expected = [arming, (Part::BeforeRunnable, CauseKind::Undetermined, "", 60), known[2], known[3]];
    check(WAKEUP, &[late], &expected);
}

#[test]
fn what_nobody_knows_is_told_by_its_part() {
    let mut joiner = Joiner::new(false);
    joiner.saw(switched(Some(1_150), 50));
    joiner.woke([WAKEUP]);
    let why = Why::from_ledger(&joiner.ledger, "switches", Some(Span::ZERO), None);
    let undetermined = why.causes.iter().filter(|one| one.kind == CauseKind::Undetermined);
    let parts: Vec<_> = undetermined.map(|one| (one.part, one.late_ns)).collect();
    assert_eq!(parts, [(Some(Part::BeforeRunnable), 100), (Some(Part::Waiting), 50)]);
    assert!(why.causes.iter().all(|one| one.part.is_none() || one.kind == CauseKind::Undetermined));
}

#[test]
fn a_reading_after_the_threads_own_is_counted() {
    let one = TracedSleep { switched_in: Some(at(1_250)), ..timely() };
    assert_eq!(decompose(WAKEUP, None, &[one], false).unwrap().clamped, 1);
}

#[test]
fn an_interrupt_that_came_for_another_timer_before_ours() {
    let mut one = timely();
    let WokenBy::Timer(expiry) = &mut one.woken_by else { unreachable!() };
    (expiry.interrupt, expiry.first_served) = (Some(at(980)), at(990));
    let expected = [
        (Part::OtherTimers, CauseKind::OtherTimers, "", 130),
        (Part::WakeUp, CauseKind::Kernel, "", 20),
        (Part::Waiting, CauseKind::IdleExit, "", 50),
        (Part::Return, CauseKind::Kernel, "", 40),
    ];
    check(WAKEUP, &[one], &expected);
}

#[test]
fn who_had_the_cpu_is_named() {
    let mut one = timely();
    one.occupants =
        vec![Occupant { who: thread(9, "hog"), ns: span(30) }, Occupant { who: idle(), ns: span(15) }];
    let known = decompose(WAKEUP, None, &[one], false).unwrap();
    let waiting: Vec<_> = known.wakeup.parts.iter().filter(|one| one.cause.part == Part::Waiting).collect();
    assert_eq!((waiting[0].cause.name.as_str(), waiting[0].pid, waiting[0].ns), ("hog", Some(9), span(30)));
    assert_eq!(waiting[1].ns, span(15));
    assert_eq!((waiting[2].cause.kind, waiting[2].ns), (CauseKind::Unexplained, span(5)));
    whole(&known, WAKEUP);
}

#[test]
fn a_late_interrupt_is_blamed_by_what_the_cpu_did() {
    for (interrupted, late, kind, name) in [
        (idle(), 60_000, CauseKind::IdleExit, ""),
        (thread(9, "hog"), 5_000, CauseKind::Kernel, ""),
        (thread(9, "hog"), 60_000, CauseKind::Undetermined, "hog"),
        (
            Who { holder: Holder::Interrupt, pid: None, name: "eth0".into() },
            60_000,
            CauseKind::Interrupt,
            "eth0",
        ),
        (
            Who { holder: Holder::Softirq, pid: None, name: "NET_RX".into() },
            60_000,
            CauseKind::Undetermined,
            "NET_RX",
        ),
    ] {
        let mut one = timely();
        let interrupt = at(1_050 + late);
        one.woken_by = WokenBy::Timer(Expiry {
            soft: at(1_000),
            hard: at(1_050),
            interrupt: Some(interrupt),
            interrupted,
            first_served: interrupt,
            served: interrupt,
            deferred: None,
            idle_since: None,
        });
        let wakeup = Wakeup { ran: at(100_000), ..WAKEUP };
        let known = decompose(wakeup, None, &[one], false).unwrap();
        let delivery = &known.wakeup.parts[1];
        assert_eq!((delivery.cause.part, delivery.cause.kind), (Part::InterruptDelivery, kind));
        assert_eq!((delivery.cause.name.as_str(), delivery.ns.as_nanos()), (name, late.unsigned_abs()));
    }
}

#[test]
fn a_cpu_that_was_busy_until_late_was_not_leaving_idle_before() {
    // 1050 the slack's end, somebody has the CPU until 31050, nobody until the interrupt at 41050.
    let mut one = timely();
    let WokenBy::Timer(expiry) = &mut one.woken_by else { panic!() };
    (expiry.interrupt, expiry.idle_since) = (Some(at(41_050)), Some(at(31_050)));
    let wakeup = Wakeup { ran: at(100_000), ..WAKEUP };
    let known = decompose(wakeup, None, &[one], false).unwrap();
    let parts = known.wakeup.parts[1..3].iter().map(|one| (one.cause.kind, one.ns.as_nanos()));
    assert_eq!(parts.collect::<Vec<_>>(), [(CauseKind::Undetermined, 30_000), (CauseKind::IdleExit, 10_000)]);
    whole(&known, wakeup);
}

#[test]
fn a_timer_left_to_a_thread_waits_behind_whoever_has_the_cpu() {
    // 1000 asked for, 1050 the slack's end, 1100 interrupt over the hog, which has the CPU until 1180; 1190 served.
    let mut one = timely();
    let occupants = vec![
        Occupant {
            who: Who { holder: Holder::Interrupt, pid: None, name: "local_timer".into() },
            ns: span(10),
        },
        Occupant { who: thread(9, "hog"), ns: span(70) },
        Occupant { who: Who { holder: Holder::Softirq, pid: None, name: "HRTIMER".into() }, ns: span(8) },
    ];
    let deferred = Deferred { interrupt: at(1_100), interrupted: thread(9, "hog"), occupants };
    one.woken_by = WokenBy::Timer(Expiry {
        soft: at(1_000),
        hard: at(1_050),
        interrupt: None,
        interrupted: deferred.interrupted.clone(),
        first_served: at(1_185),
        served: at(1_190),
        deferred: Some(deferred),
        idle_since: None,
    });
    (one.waking, one.runnable) = (at(1_195), at(1_195));
    one.occupants = vec![Occupant { who: thread(15, "ktimers/0"), ns: span(5) }];
    let known = decompose(WAKEUP, None, &[one], false).unwrap();
    whole(&known, WAKEUP);
    let found = known
        .wakeup
        .parts
        .iter()
        .map(|one| (one.cause.part, one.cause.kind, one.cause.name.as_str(), one.ns.as_nanos()));
    let wanted = [
        (Part::TimerSlack, CauseKind::TimerSlack, "", 50),
        (Part::InterruptDelivery, CauseKind::Kernel, "", 50),
        (Part::TimerSoftirq, CauseKind::Interrupt, "local_timer", 10),
        (Part::TimerSoftirq, CauseKind::Thread, "hog", 70),
        (Part::TimerSoftirq, CauseKind::Softirq, "HRTIMER", 8),
        // The record of who had the CPU was too short for the rest.
        (Part::TimerSoftirq, CauseKind::Unexplained, "", 2),
        (Part::WakeUp, CauseKind::Kernel, "", 5),
        (Part::Waiting, CauseKind::Thread, "ktimers/0", 5),
        (Part::Return, CauseKind::Kernel, "", 40),
    ];
    assert_eq!(found.collect::<Vec<_>>(), wanted);
}

#[test]
fn a_thread_that_was_not_asleep_yet_was_armed_late() {
    let mut one = timely();
    one.asleep_since = Some(at(1_090));
    let known = decompose(WAKEUP, None, &[one], false).unwrap();
    let first = &known.wakeup.parts[0];
    assert_eq!(
        (first.cause.part, first.cause.kind, first.ns.as_nanos()),
        (Part::Arming, CauseKind::LateArming, 90)
    );
    whole(&known, WAKEUP);
}

#[test]
fn a_stop_is_followed_through_all_its_sleeps() {
    // 500 woken by the stop's signal, stopped at 520; 5000 woken by the going on; sleeps again at 5100 for a time that
    // has passed, is woken by the timer at 5200 and runs at 5240.
    let stop = thread(44, "stopper");
    let by_other = |waking: i64, ran: i64, slept: i64, asleep: Asleep| TracedSleep {
        woken_by: WokenBy::Other(stop.clone()),
        asleep,
        waking: at(waking),
        runnable: at(waking),
        occupants: vec![],
        switched_in: Some(at(ran)),
        asleep_again: Some(at(slept)),
        ..timely()
    };
    let first = by_other(500, 510, 520, Asleep::Waiting);
    let second = TracedSleep {
        asleep_since: Some(at(520)),
        ..by_other(5_000, 5_000, 5_100, Asleep::Stopped(Some(stop.clone())))
    };
    let mut third =
        TracedSleep { waking: at(5_190), runnable: at(5_195), switched_in: Some(at(5_200)), ..timely() };
    let WokenBy::Timer(expiry) = &mut third.woken_by else { unreachable!() };
    (expiry.interrupt, expiry.first_served, expiry.served) = (Some(at(5_150)), at(5_160), at(5_180));
    third.occupants = vec![];
    third.asleep_since = Some(at(5_100));
    third.asleep_again = Some(at(9_000));
    let wakeup = Wakeup { expected: at(1_000), ran: at(5_240) };
    let mut joiner = Joiner::new(false);
    [first, second, third].into_iter().for_each(|one| joiner.saw(one));
    joiner.woke([wakeup]);
    let worst = &joiner.ledger.worst()[0];
    let (first, second) = (&worst.parts[0], &worst.parts[1]);
    assert_eq!(
        (first.cause.kind, first.cause.name.as_str(), first.ns),
        (CauseKind::Stopped, "stopper", span(4_000))
    );
    assert_eq!((second.cause.kind, second.cause.part), (CauseKind::Stopped, Part::Arming));
    assert_eq!(worst.parts.iter().map(|one| one.ns.as_nanos()).sum::<u64>(), 4_240);
}

#[test]
fn a_quota_that_is_used_up_on_the_way_back() {
    let mut one = timely();
    one.lost = vec![Lost { from: at(1_205), until: at(1_230), to: idle(), throttled: true }];
    let known = decompose(WAKEUP, None, &[one], false).unwrap();
    let lost = known.wakeup.parts.iter().find(|one| one.cause.part == Part::LostAgain).unwrap();
    assert_eq!((lost.cause.kind, lost.ns), (CauseKind::Throttled, span(25)));
    whole(&known, WAKEUP);
}

#[test]
fn whoever_runs_while_a_group_has_no_time_is_not_blamed() {
    let mut one = timely();
    one.occupants = vec![Occupant { who: thread(99, "bystander"), ns: span(50) }];
    one.throttled = true;
    let known = decompose(WAKEUP, None, &[one], false).unwrap();
    let waiting = known.wakeup.parts.iter().find(|one| one.cause.part == Part::Waiting).unwrap();
    assert_eq!(
        (waiting.cause.kind, waiting.cause.name.as_str(), waiting.pid),
        (CauseKind::Throttled, "", None)
    );
}

#[test]
fn what_follows_the_last_stretch_that_is_listed_is_not_the_way_back() {
    let mut one = timely();
    one.lost = vec![Lost { from: at(1_205), until: at(1_210), to: thread(9, "hog"), throttled: false }];
    for (lost_more, part, kind) in
        [(0, Part::Return, CauseKind::Kernel), (1, Part::LostAgain, CauseKind::Undetermined)]
    {
        one.lost_more = lost_more;
        let known = decompose(WAKEUP, None, &[one.clone()], false).unwrap();
        let last = known.wakeup.parts.last().unwrap();
        assert_eq!((last.cause.part, last.cause.kind, last.ns), (part, kind, span(30)));
    }
}

#[test]
fn the_group_that_had_no_time_is_named() {
    let mut one = timely();
    let quota = Who { holder: Holder::Quota, pid: None, name: "/a/b".into() };
    one.occupants = vec![Occupant { who: quota.clone(), ns: span(50) }];
    one.lost = vec![Lost { from: at(1_205), until: at(1_230), to: quota, throttled: true }];
    for throttled in [true, false] {
        one.throttled = throttled;
        let known = decompose(WAKEUP, None, &[one.clone()], false).unwrap();
        let named = known.wakeup.parts.iter().filter(|one| one.cause.kind == CauseKind::Throttled);
        let named: Vec<_> = named.map(|one| (one.cause.name.as_str(), one.ns.as_nanos())).collect();
        assert_eq!(named, [("/a/b", 50), ("/a/b", 25)]);
    }
}

#[test]
fn whoever_kept_a_thread_from_asking_is_charged_with_it() {
    // 1000 asked for; 1040 asleep at last, since another had the CPU from 900 to 1030.
    let mut late = timely();
    late.asleep_since = Some(at(1_040));
    let wakeup = Wakeup { expected: at(1_000), ran: at(1_240) };
    let mut earlier = TracedSleep { asleep_again: Some(at(1_040)), asleep_since: Some(at(1)), ..timely() };
    (earlier.waking, earlier.runnable, earlier.switched_in) = (at(700), at(710), Some(at(720)));
    earlier.lost = vec![Lost { from: at(900), until: at(1_030), to: thread(9, "rival"), throttled: false }];
    // Where others had its CPU besides, of whom nothing is known, the rest was not its own doing either.
    for (lost_more, rest) in [(0, CauseKind::LateArming), (1, CauseKind::Undetermined)] {
        let mut joiner = Joiner::new(false).keeping();
        joiner.saw(TracedSleep { lost_more, ..earlier.clone() });
        joiner.woke([Wakeup { expected: at(600), ran: at(740) }]);
        joiner.saw(late.clone());
        joiner.woke([wakeup]);
        joiner.end();
        let explained = joiner.into_kept().pop().unwrap().explained.unwrap();
        let (first, second) = (&explained.parts[0], &explained.parts[1]);
        assert_eq!(
            (first.cause.part, first.cause.kind, first.cause.name.as_str(), first.pid, first.ns),
            (Part::Arming, CauseKind::Thread, "rival", Some(9), span(30))
        );
        assert_eq!((second.cause.part, second.cause.kind, second.ns), (Part::Arming, rest, span(10)));
        assert_eq!(explained.parts.iter().map(|one| one.ns.as_nanos()).sum::<u64>(), 240);
    }
}

#[test]
fn an_idle_cpu_is_called_before_it_switches() {
    let mut one = timely();
    one.woken_by = WokenBy::Other(thread(9, "sender"));
    one.called = Some(at(1_180));
    let parts = |one: &TracedSleep| -> Vec<_> {
        let known = decompose(WAKEUP, None, from_ref(one), true).unwrap();
        known.wakeup.parts.iter().map(|part| (part.cause.part, part.cause.kind, part.ns.as_nanos())).collect()
    };
    let (waiting, idle) = (Part::Waiting, CauseKind::IdleExit);
    assert_eq!(parts(&one)[2..4], [(Part::Called, idle, 30), (waiting, CauseKind::Kernel, 20)]);
    // Who had the CPU meanwhile was in the way, and not the call.
    one.occupants = vec![Occupant { who: thread(9, "hog"), ns: span(50) }];
    assert_eq!(parts(&one)[2], (waiting, CauseKind::Thread, 50));
}

#[test]
fn page_faults_take_the_rest() {
    let mut one = timely();
    one.first_fault = Some(at(1_210));
    let known = decompose(WAKEUP, None, &[one], false).unwrap();
    let last = known.wakeup.parts.last().unwrap();
    assert_eq!((last.cause.kind, last.ns), (CauseKind::PageFault, span(30)));
}

#[test]
fn wake_ups_find_their_own_sleeps() {
    let mut joiner = Joiner::new(false);
    let shifted = |by: i64| {
        let mut one = timely();
        let later = |time: MonotonicTime| at(time.as_nanos() + by);
        one.woken_by = WokenBy::Timer(Expiry {
            soft: later(at(1_000)),
            hard: later(at(1_050)),
            interrupt: Some(later(at(1_100))),
            interrupted: idle(),
            first_served: later(at(1_120)),
            served: later(at(1_130)),
            deferred: None,
            idle_since: None,
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
    assert_eq!(joiner.ledger.not_decomposed[&NotDecomposed::LostEvents], 1);
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
        assert_eq!(because == [NotDecomposed::LostEvents], !attributed, "{from}");
    }
}

/// Sent at 1000; woken at 1090, switched in at 1200 and back at 1240.
fn notified() -> TracedSleep {
    let mut one = timely();
    one.woken_by = WokenBy::Other(thread(3, "sender"));
    (one.waking, one.runnable) = (at(1_090), at(1_090));
    one.occupants = vec![Occupant { who: idle(), ns: span(110) }];
    one
}

#[test]
fn a_message_is_sent_wakes_and_comes_in() {
    // 1000     1090   1200   1240
    // |sending |wait  |return|
    let mut joiner = Joiner::new(true).keeping();
    joiner.saw(notified());
    joiner.woke([WAKEUP]);
    let parts = |one: &super::Judged| {
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

fn any_time() -> impl Strategy<Value = MonotonicTime> {
    (0..3_000i64).prop_map(MonotonicTime::from_nanos)
}

fn any_who() -> impl Strategy<Value = Who> {
    (0..5u32).prop_map(|number| {
        let holder = [Holder::Idle, Holder::Thread, Holder::Interrupt, Holder::Softirq, Holder::NotSeen]
            [number as usize];
        Who { holder, pid: (number == 1).then_some(3), name: format!("n{number}") }
    })
}

fn any_deferred() -> impl Strategy<Value = Deferred> {
    let occupant = (any_who(), 0..2_000u64).prop_map(|(who, ns)| Occupant { who, ns: span(ns) });
    let all = (any_time(), any_who(), proptest::collection::vec(occupant, 0..4));
    all.prop_map(|(interrupt, interrupted, occupants)| Deferred { interrupt, interrupted, occupants })
}

fn any_woken() -> impl Strategy<Value = WokenBy> {
    let expiry = (
        any_time(),
        any_time(),
        proptest::option::of(any_time()),
        any_who(),
        any_time(),
        any_time(),
        proptest::option::of(any_deferred()),
    );
    prop_oneof![
        expiry.prop_map(|(soft, hard, interrupt, interrupted, first_served, served, deferred)| {
            let idle_since = Some(first_served).filter(|_| served > first_served);
            WokenBy::Timer(Expiry {
                soft,
                hard,
                interrupt,
                interrupted,
                idle_since,
                first_served,
                served,
                deferred,
            })
        }),
        any_who().prop_map(WokenBy::Other),
        (0..3_000u64)
            .prop_map(|slack| WokenBy::NotSeen { slack: span(slack), runnable_known: slack % 2 == 0 }),
    ]
}

prop_compose! {
    /// Anything a tracer could say, however little sense it makes.
    fn any_traced()(woken_by in any_woken(),
                    times in (any_time(), any_time(), proptest::option::of(any_time()), proptest::option::of(any_time()), proptest::option::of(any_time())),
                    occupants in proptest::collection::vec((any_who(), 0..2_000u64), 0..5),
                    lost in proptest::collection::vec((any_time(), any_time(), any_who(), any::<bool>()), 0..3),
                    first_fault in proptest::option::of(any_time()),
                    flags in any::<(bool, bool, bool, bool)>()) -> TracedSleep {
        TracedSleep {
            tid: 7,
            asleep_since: times.2,
            asleep: if flags.3 { Asleep::Stopped(None) } else { Asleep::Waiting },
            woken_by,
            waking: times.0,
            runnable: times.1,
            occupants: occupants.into_iter().map(|(who, ns)| Occupant { who, ns: span(ns) }).collect(),
            unnamed: Span::ZERO,
            switched_in: times.3,
            cpu: 0,
            migrated: flags.0,
            throttled: flags.1,
            rt_throttled: flags.2,
            called: times.4,
            lost: lost.into_iter().map(|(from, until, to, throttled)| Lost { from, until, to, throttled }).collect(),
            lost_more: 0,
            first_fault,
            asleep_again: times.4,
        }
    }
}

proptest! {
    #[test]
    fn parts_are_not_negative_and_add_up(seen in proptest::collection::vec(any_traced(), 1..5),
                                         expected in any_time(), late in -5..4_000i64, notified: bool) {
        let wakeup = Wakeup { expected, ran: at(expected.as_nanos() + late) };
        let known = decompose(wakeup, None, &seen, notified).unwrap();
        whole(&known, wakeup);
        let sum: u64 = known.wakeup.parts.iter().map(|one| one.ns.as_nanos()).sum();
        prop_assert_eq!(sum, late.max(0).unsigned_abs());
    }

    #[test]
    fn occupants_fill_the_wait(occupants in proptest::collection::vec((any_who(), 1..20u64), 1..5)) {
        let total: u64 = occupants.iter().map(|one| one.1).sum();
        let mut one = timely();
        one.switched_in = Some(one.runnable.plus(span(total)));
        one.occupants = occupants.iter().map(|(who, ns)| Occupant { who: who.clone(), ns: span(*ns) }).collect();
        let wakeup = Wakeup { ran: at(2_000), ..WAKEUP };
        let known = decompose(wakeup, None, &[one], false).unwrap();
        let waited: Vec<_> = known.wakeup.parts.iter().filter(|one| one.cause.part == Part::Waiting).collect();
        prop_assert_eq!(waited.iter().map(|one| one.ns.as_nanos()).sum::<u64>(), total);
        prop_assert!(waited.iter().all(|one| one.cause.kind != CauseKind::Unexplained));
    }
}
