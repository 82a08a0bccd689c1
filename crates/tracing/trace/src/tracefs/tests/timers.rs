//! Timers of other machines, clocks and kernels.

use super::*;

#[test]
fn other_machines_have_a_handler_or_a_softirq_for_timers() {
    // The timer's interrupt has a handler, as on aarch64: that is no one that it interrupted.
    let mut events = timely(8);
    events[3].what = What::HandlerBegins { interrupt: 24 };
    events[7].what = What::HandlerEnds;
    let one = &follow(&events)[0];
    let WakeSource::Timer(expiry) = &one.woken_by else { panic!("{one:?}") };
    assert_eq!((expiry.interrupt, expiry.interrupted.pid), (Some(at(1_100)), Some(8)));
    assert_eq!(one.runnable, at(1_150));
    // A softirq serves timers, as for normal threads on PREEMPT_RT.
    events[3].what = What::SoftirqBegins { vector: 8 };
    events[7].what = What::SoftirqEnds { vector: 8 };
    let one = &follow(&events)[0];
    let WakeSource::Timer(expiry) = &one.woken_by else { panic!("{one:?}") };
    assert_eq!((expiry.interrupt, expiry.interrupted.name.as_str()), (None, "HRTIMER"));
    // No event tells of the interrupt.
    events.remove(3);
    let one = &follow(&events)[0];
    let WakeSource::Timer(expiry) = &one.woken_by else { panic!("{one:?}") };
    assert_eq!(expiry.interrupt, Some(expiry.first_served));
}

/// 1140 and 1145 two other timers, then as before; 1150 the interrupt's end, and packets until 1180.
#[test]
fn what_comes_after_our_timer_is_told_apart() {
    let mut events = timely(8);
    let vector = 3;
    let others = [1_140, 1_145].map(|nanos| event(nanos, 0, 8, What::TimerServed { timer: 2 }));
    events.splice(7..7, others);
    let begin = event(1_150, 0, 8, What::SoftirqBegins { vector });
    events.splice(10..10, [begin, event(1_180, 0, 8, What::SoftirqEnds { vector })]);
    let one = &follow(&events)[0];
    let WakeSource::Timer(expiry) = &one.woken_by else { panic!("{one:?}") };
    assert_eq!((expiry.served, one.next_timer, one.runnable), (at(1_130), Some(at(1_140)), at(1_150)));
    assert_eq!(occupants(one), [(HolderKind::Softirq, "NET_RX", 30), (HolderKind::Thread, "t8", 20)]);
    // Those of the next interrupt, or of another CPU, came when it waited for its CPU.
    let mut events = timely(8);
    let tick = [(1_160, What::TickBegins), (1_165, What::TimerServed { timer: 3 }), (1_170, What::TickEnds)];
    events.splice(8..8, tick.map(|(nanos, what)| event(nanos, 0, 8, what)));
    events.insert(7, event(1_140, 1, 9, What::TimerServed { timer: 2 }));
    let one = &follow(&events)[0];
    assert_eq!((one.next_timer, one.runnable), (None, at(1_150)));
    let (thread, tick) = ((HolderKind::Thread, "t8"), (HolderKind::Interrupt, "local_timer"));
    assert_eq!(occupants(one), [(thread.0, thread.1, 10), (tick.0, tick.1, 10), (thread.0, thread.1, 30)]);
}

/// On PREEMPT_RT an interrupt leaves the timers of ordinary threads to a thread, which waits for the CPU:
///
/// 1100 interrupt over the hog, 1110 the softirq is raised, 1120 the interrupt's end, 1500 the hog sleeps, `ktimers` serves
/// another timer at 1530 and loses the CPU from 1540 to 1600, ours at 1620; 1630 it goes, and we run.
fn left_to_a_thread() -> Vec<Event> {
    const HOG: u32 = 9;
    const KTIMERS: u32 = 15;
    let vector = 8;
    vec![
        switch(50, 0, (8, 1), ME),
        set(90),
        switch(100, 0, (ME, 1), HOG),
        event(1_100, 0, HOG, What::TickBegins),
        event(1_110, 0, HOG, What::Deferred),
        event(1_120, 0, HOG, What::TickEnds),
        switch(1_500, 0, (HOG, 1), KTIMERS),
        event(1_510, 0, KTIMERS, What::SoftirqBegins { vector }),
        event(1_530, 0, KTIMERS, What::TimerServed { timer: 1 }),
        switch(1_540, 0, (KTIMERS, 0), HOG),
        switch(1_600, 0, (HOG, 1), KTIMERS),
        event(1_620, 0, KTIMERS, What::TimerServed { timer: TIMER }),
        event(1_625, 0, KTIMERS, What::Waking { thread: ME, on: 0 }),
        event(1_628, 0, KTIMERS, What::SoftirqEnds { vector }),
        switch(1_630, 0, (KTIMERS, 1), ME),
        switch(1_700, 0, (ME, 1), 0),
    ]
}

#[test]
fn a_timer_that_waits_for_its_thread_waits_behind_others() {
    let one = &follow(&left_to_a_thread())[0];
    let WakeSource::Timer(expiry) = &one.woken_by else { panic!("{one:?}") };
    assert_eq!((expiry.interrupt, expiry.served), (None, at(1_620)));
    let deferred = expiry.deferred.as_ref().unwrap();
    assert_eq!((deferred.interrupt, deferred.interrupted.name.as_str()), (at(1_100), "t9"));
    let names: Vec<_> =
        deferred.occupants.iter().map(|one| (one.who.name.as_str(), one.ns.as_nanos())).collect();
    assert_eq!(
        names,
        [("local_timer", 20), ("t9", 380), ("t15", 10), ("HRTIMER", 30), ("t9", 60), ("t15", 20)]
    );
    assert_eq!(occupants(one), [(HolderKind::Thread, "t15", 5)]);
    // The softirq of the next interrupt is another one.
    let mut events = left_to_a_thread();
    events.remove(4);
    let WakeSource::Timer(expiry) = &follow(&events)[0].woken_by else { panic!() };
    assert_eq!(expiry.deferred, None);
}

#[test]
fn of_a_timer_that_came_due_meanwhile_only_what_came_after_counts() {
    let mut events = left_to_a_thread();
    events[1].what = What::TimerSet { timer: TIMER, soft: at(1_450), hard: at(1_450) };
    let WakeSource::Timer(expiry) = &follow(&events)[0].woken_by.clone() else { panic!() };
    let deferred = expiry.deferred.as_ref().unwrap();
    assert_eq!((deferred.occupants[0].who.name.as_str(), deferred.occupants[0].ns.as_nanos()), ("t9", 50));
}

/// 2000 asks for a time that has passed, 2300 sleeps.
#[test]
fn a_time_that_has_passed_is_a_sleep_without_length() {
    let mut events = timely(8);
    let passed = event(2_000, 0, ME, What::TimerPassed);
    events.extend([passed, event(2_100, 0, ME, What::PageFault), switch(2_300, 0, (ME, 1), 8)]);
    let asked = events.len() - 3;
    // It had slept since the end of that time-line.
    events.insert(asked, switch(1_900, 0, (8, 0), ME));
    let seen = follow(&events);
    let one = seen.last().unwrap();
    assert_eq!((one.asleep_since, one.waking, one.runnable), (Some(at(2_000)), at(2_000), at(2_000)));
    assert_eq!((one.switched_in, one.first_fault), (None, Some(at(2_100))));
    assert_eq!(one.asleep_again, Some(at(2_300)));
    assert!(matches!(&one.woken_by, WakeSource::Other(who) if who.pid == Some(ME)), "{one:?}");
    assert_eq!(seen[seen.len() - 2].asleep_again, Some(at(1_300)), "the one before is as it was");
}

#[test]
fn a_timer_on_another_clock_is_not_one_of_these() {
    let mut events = timely(8);
    let (soft, hard) = (at(1_700_000_000_000_000_000), at(1_700_000_000_000_000_050));
    events[1].what = What::TimerSet { timer: TIMER, soft, hard };
    assert!(matches!(follow(&events)[0].woken_by, WakeSource::Other(_)));
}

/// Since Linux 7.1: 1150 the interrupt's end, 1160 the device is armed, 1200 switched in.
#[test]
fn an_interrupt_lasts_until_its_device_is_armed_anew() {
    let mut events = timely(8);
    events.insert(8, event(1_160, 0, 8, What::Rearmed));
    let one = &follow(&events)[0];
    assert_eq!(one.runnable, at(1_160));
    assert_eq!(occupants(one), [(HolderKind::Thread, "t8", 40)]);
    // At the end of a switch, it is nobody's wait any more.
    events.swap(8, 9);
    (events[8].at, events[9].at, events[9].pid) = (at(1_155), at(1_160), ME);
    let one = &follow(&events)[0];
    assert_eq!((one.runnable, one.switched_in), (at(1_150), Some(at(1_155))));
    assert_eq!(occupants(one), [(HolderKind::Thread, "t8", 5)]);
}

#[test]
fn who_waits_already_waits_for_the_interrupt_until_then() {
    let mut events = timely(8);
    events.truncate(8);
    events.extend([
        event(1_170, 0, 8, What::TickBegins),
        event(1_180, 0, 8, What::TickEnds),
        event(1_190, 0, 8, What::Rearmed),
        switch(1_200, 0, (8, 0), ME),
        switch(1_300, 0, (ME, 1), 8),
    ]);
    let one = &follow(&events)[0];
    assert_eq!(one.runnable, at(1_150));
    assert_eq!(
        occupants(one),
        [
            (HolderKind::Thread, "t8", 20),
            (HolderKind::Interrupt, "local_timer", 20),
            (HolderKind::Thread, "t8", 10)
        ]
    );
}

#[test]
fn a_timer_that_came_due_before_its_device_was_armed_says_when_that_was() {
    for (armed, told) in [(1_060, Some(at(1_060))), (990, None)] {
        let mut events = timely(8);
        events.insert(3, event(armed, 0, 8, What::Rearmed));
        // The one after its own interrupt is none of its.
        events.insert(9, event(1_160, 0, 8, What::Rearmed));
        let WakeSource::Timer(expiry) = &follow(&events)[0].woken_by.clone() else { panic!() };
        assert_eq!(expiry.rearmed, told);
    }
}
