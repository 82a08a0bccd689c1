//! Timers of other machines, clocks and kernels.

use super::*;

#[test]
fn other_machines_have_a_handler_or_a_softirq_for_timers() {
    // The timer interrupt has a handler, as on aarch64: it did not interrupt itself.
    let mut events = timely(8);
    events[3].kind = EventKind::HandlerBegins { interrupt: 24 };
    events[7].kind = EventKind::HandlerEnds;
    let sleep = &follow(&events)[0];
    let WakeSource::Timer(expiry) = &sleep.woken_by else { panic!("{sleep:?}") };
    assert_eq!((expiry.interrupt, expiry.interrupted.pid), (Some(at(1_100)), Some(8)));
    assert_eq!(sleep.runnable, at(1_150));
    // A softirq serves timers, as for normal threads on PREEMPT_RT.
    events[3].kind = EventKind::SoftirqBegins { vector: 8 };
    events[7].kind = EventKind::SoftirqEnds { vector: 8 };
    let sleep = &follow(&events)[0];
    let WakeSource::Timer(expiry) = &sleep.woken_by else { panic!("{sleep:?}") };
    assert_eq!((expiry.interrupt, expiry.interrupted.name.as_str()), (None, "HRTIMER"));
    // The interrupt has no event.
    events.remove(3);
    let sleep = &follow(&events)[0];
    let WakeSource::Timer(expiry) = &sleep.woken_by else { panic!("{sleep:?}") };
    assert_eq!(expiry.interrupt, Some(expiry.first_served));
}

/// 1140 and 1145 two other timers, 1150 end of the interrupt, then packets until 1180.
#[test]
fn timers_after_its_own_are_distinguished() {
    let mut events = timely(8);
    let vector = 3;
    let further = [1_140, 1_145].map(|nanos| event(nanos, 0, 8, EventKind::TimerServed { timer: 2 }));
    events.splice(7..7, further);
    let begin = event(1_150, 0, 8, EventKind::SoftirqBegins { vector });
    events.splice(10..10, [begin, event(1_180, 0, 8, EventKind::SoftirqEnds { vector })]);
    let sleep = &follow(&events)[0];
    let WakeSource::Timer(expiry) = &sleep.woken_by else { panic!("{sleep:?}") };
    assert_eq!((expiry.served, sleep.next_timer, sleep.runnable), (at(1_130), Some(at(1_140)), at(1_150)));
    assert_eq!(occupants(sleep), [(HolderKind::Softirq, "NET_RX", 30), (HolderKind::Thread, "t8", 20)]);
    // Timers of the next interrupt, or of another CPU, come while the thread waits for its CPU.
    let mut events = timely(8);
    let tick = [
        (1_160, EventKind::TickBegins),
        (1_165, EventKind::TimerServed { timer: 3 }),
        (1_170, EventKind::TickEnds),
    ];
    events.splice(8..8, tick.map(|(nanos, kind)| event(nanos, 0, 8, kind)));
    events.insert(7, event(1_140, 1, 9, EventKind::TimerServed { timer: 2 }));
    let sleep = &follow(&events)[0];
    assert_eq!((sleep.next_timer, sleep.runnable), (None, at(1_150)));
    let (thread, tick) = ((HolderKind::Thread, "t8"), (HolderKind::Interrupt, "local_timer"));
    assert_eq!(occupants(sleep), [(thread.0, thread.1, 10), (tick.0, tick.1, 10), (thread.0, thread.1, 30)]);
}

/// On PREEMPT_RT an interrupt leaves the timers of normal threads to a thread, which waits for the CPU:
///
/// 1100 interrupt during the hog, 1110 the softirq is raised, 1120 end of the interrupt, 1500 the hog sleeps, `ktimers` serves another
/// timer at 1530 and loses the CPU from 1540 to 1600, the right one at 1620; at 1630 it sleeps, and the thread runs.
fn left_to_a_thread() -> Vec<TraceEvent> {
    const HOG: u32 = 9;
    const KTIMERS: u32 = 15;
    let vector = 8;
    vec![
        switch(50, 0, (8, 1), THREAD),
        set(90),
        switch(100, 0, (THREAD, 1), HOG),
        event(1_100, 0, HOG, EventKind::TickBegins),
        event(1_110, 0, HOG, EventKind::Deferred),
        event(1_120, 0, HOG, EventKind::TickEnds),
        switch(1_500, 0, (HOG, 1), KTIMERS),
        event(1_510, 0, KTIMERS, EventKind::SoftirqBegins { vector }),
        event(1_530, 0, KTIMERS, EventKind::TimerServed { timer: 1 }),
        switch(1_540, 0, (KTIMERS, 0), HOG),
        switch(1_600, 0, (HOG, 1), KTIMERS),
        event(1_620, 0, KTIMERS, EventKind::TimerServed { timer: TIMER }),
        event(1_625, 0, KTIMERS, EventKind::Waking { thread: THREAD, on: 0 }),
        event(1_628, 0, KTIMERS, EventKind::SoftirqEnds { vector }),
        switch(1_630, 0, (KTIMERS, 1), THREAD),
        switch(1_700, 0, (THREAD, 1), 0),
    ]
}

#[test]
fn a_timer_that_waits_for_its_thread_waits_behind_others() {
    let sleep = &follow(&left_to_a_thread())[0];
    let WakeSource::Timer(expiry) = &sleep.woken_by else { panic!("{sleep:?}") };
    assert_eq!((expiry.interrupt, expiry.served), (None, at(1_620)));
    let deferred = expiry.deferred.as_ref().unwrap();
    assert_eq!((deferred.interrupt, deferred.interrupted.name.as_str()), (at(1_100), "t9"));
    let names: Vec<_> = deferred
        .occupants
        .iter()
        .map(|occupant| (occupant.who.name.as_str(), occupant.ns.as_nanos()))
        .collect();
    assert_eq!(
        names,
        [("local_timer", 20), ("t9", 380), ("t15", 10), ("HRTIMER", 30), ("t9", 60), ("t15", 20)]
    );
    assert_eq!(occupants(sleep), [(HolderKind::Thread, "t15", 5)]);
    // The softirq of the next interrupt is not this one.
    let mut events = left_to_a_thread();
    events.remove(4);
    let WakeSource::Timer(expiry) = &follow(&events)[0].woken_by else { panic!() };
    assert_eq!(expiry.deferred, None);
}

#[test]
fn holders_before_the_timer_was_due_do_not_count() {
    let mut events = left_to_a_thread();
    events[1].kind = EventKind::TimerSet { timer: TIMER, soft: at(1_450), hard: at(1_450) };
    let WakeSource::Timer(expiry) = &follow(&events)[0].woken_by.clone() else { panic!() };
    let deferred = expiry.deferred.as_ref().unwrap();
    assert_eq!((deferred.occupants[0].who.name.as_str(), deferred.occupants[0].ns.as_nanos()), ("t9", 50));
}

/// 2000 arms a timer for a time that has passed, 2300 sleeps.
#[test]
fn a_time_that_has_passed_is_a_sleep_without_length() {
    let mut events = timely(8);
    let passed = event(2_000, 0, THREAD, EventKind::TimerPassed);
    events.extend([passed, event(2_100, 0, THREAD, EventKind::PageFault), switch(2_300, 0, (THREAD, 1), 8)]);
    let index = events.len() - 3;
    // It had slept since the end of that time-line.
    events.insert(index, switch(1_900, 0, (8, 0), THREAD));
    let sleeps = follow(&events);
    let sleep = sleeps.last().unwrap();
    assert_eq!((sleep.asleep_since, sleep.waking, sleep.runnable), (Some(at(2_000)), at(2_000), at(2_000)));
    assert_eq!((sleep.switched_in, sleep.first_fault), (None, Some(at(2_100))));
    assert_eq!(sleep.asleep_again, Some(at(2_300)));
    assert!(matches!(&sleep.woken_by, WakeSource::Other(who) if who.pid == Some(THREAD)), "{sleep:?}");
    assert_eq!(sleeps[sleeps.len() - 2].asleep_again, Some(at(1_300)), "the one before is as it was");
}

#[test]
fn a_timer_on_another_clock_is_not_one_of_these() {
    let mut events = timely(8);
    let (soft, hard) = (at(1_700_000_000_000_000_000), at(1_700_000_000_000_000_050));
    events[1].kind = EventKind::TimerSet { timer: TIMER, soft, hard };
    assert!(matches!(follow(&events)[0].woken_by, WakeSource::Other(_)));
}

/// Since Linux 7.1: 1150 end of the interrupt, 1160 the device is armed, 1200 switched in.
#[test]
fn an_interrupt_lasts_until_its_device_is_armed_anew() {
    let mut events = timely(8);
    events.insert(8, event(1_160, 0, 8, EventKind::Rearmed));
    let sleep = &follow(&events)[0];
    assert_eq!(sleep.runnable, at(1_160));
    assert_eq!(occupants(sleep), [(HolderKind::Thread, "t8", 40)]);
    // After the switch it is no part of a wait any more.
    events.swap(8, 9);
    (events[8].at, events[9].at, events[9].pid) = (at(1_155), at(1_160), THREAD);
    let sleep = &follow(&events)[0];
    assert_eq!((sleep.runnable, sleep.switched_in), (at(1_150), Some(at(1_155))));
    assert_eq!(occupants(sleep), [(HolderKind::Thread, "t8", 5)]);
}

#[test]
fn a_waiting_thread_waits_until_the_device_is_armed() {
    let mut events = timely(8);
    events.truncate(8);
    events.extend([
        event(1_170, 0, 8, EventKind::TickBegins),
        event(1_180, 0, 8, EventKind::TickEnds),
        event(1_190, 0, 8, EventKind::Rearmed),
        switch(1_200, 0, (8, 0), THREAD),
        switch(1_300, 0, (THREAD, 1), 8),
    ]);
    let sleep = &follow(&events)[0];
    assert_eq!(sleep.runnable, at(1_150));
    assert_eq!(
        occupants(sleep),
        [
            (HolderKind::Thread, "t8", 20),
            (HolderKind::Interrupt, "local_timer", 20),
            (HolderKind::Thread, "t8", 10)
        ]
    );
}

#[test]
fn arming_after_the_due_time_is_recorded() {
    for (armed, expected) in [(1_060, Some(at(1_060))), (990, None)] {
        let mut events = timely(8);
        events.insert(3, event(armed, 0, 8, EventKind::Rearmed));
        // Arming after its own interrupt does not count.
        events.insert(9, event(1_160, 0, 8, EventKind::Rearmed));
        let WakeSource::Timer(expiry) = &follow(&events)[0].woken_by.clone() else { panic!() };
        assert_eq!(expiry.rearmed, expected);
    }
}
