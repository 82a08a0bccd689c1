//! Holders of the CPU while a thread waits for it, or has lost it.

use super::*;

/// Sets the kernel priorities of the previous and the next thread of a switch.
fn of_priorities(mut switch: TraceEvent, from: u32, to: u32) -> TraceEvent {
    if let EventKind::Switch { priority, next_priority, .. } = &mut switch.kind {
        (*priority, *next_priority) = (from, to);
    }
    switch
}

/// A hog of real-time priority 10 has the CPU while the thread sleeps, until the kernel runs normal threads: 9 from 900 on, and 10
/// from 1000 on, which the timer interrupts; the thread gets the CPU at 1200.
fn kept_off(own_priority: u32, hog_state: u32) -> Vec<(HolderKind, &'static str, u64)> {
    kept_off_with(own_priority, hog_state, None)
}

/// As [`kept_off`]; between 9 and 10, a thread of that priority and name.
fn kept_off_with(
    own_priority: u32,
    hog_state: u32,
    between: Option<(u32, &str)>,
) -> Vec<(HolderKind, &'static str, u64)> {
    const HOG: u32 = 8;
    const BETWEEN: u32 = 12;
    let mut events = timely(10);
    events[2] = of_priorities(switch(100, 0, (THREAD, 1), HOG), own_priority, 89);
    events.insert(3, of_priorities(switch(900, 0, (HOG, hog_state), 9), 89, 120));
    if let Some((priority, name)) = between {
        let mut comes = of_priorities(switch(990, 0, (9, 0), BETWEEN), 120, priority);
        let EventKind::Switch { next_comm, .. } = &mut comes.kind else { unreachable!("made above") };
        *next_comm = comm(name);
        events.insert(4, comes);
        events.insert(5, of_priorities(switch(1_000, 0, (BETWEEN, 1), 10), priority, 120));
    } else {
        events.insert(4, of_priorities(switch(1_000, 0, (9, 0), 10), 120, 120));
    }
    let sleeps = follow(&events);
    let holders = sleeps[0].occupants.iter().map(|occupant| (occupant.who.holder, occupant.ns.as_nanos()));
    assert!(
        sleeps[0].occupants.iter().all(|occupant| occupant.who.name == "t10" && occupant.who.pid == Some(10)),
        "{sleeps:?}"
    );
    holders.map(|(holder, ns)| (holder, "t10", ns)).collect()
}

#[test]
fn an_ordinary_thread_runs_ahead_of_runnable_real_time_threads() {
    assert_eq!(kept_off(49, 0), [(HolderKind::Server, "t10", 50)]);
    assert_eq!(kept_off(49, 1), [(HolderKind::Thread, "t10", 50)], "the hog had gone to sleep");
    assert_eq!(kept_off(120, 0), [(HolderKind::Thread, "t10", 50)], "a normal thread waits like any other");
}

#[test]
fn a_thread_that_outranks_the_server_interrupts_it() {
    const DEADLINE: u32 = (-1_i32).cast_unsigned();
    let holder = |between| kept_off_with(49, 0, Some(between))[0].0;
    assert_eq!(holder((0, "migration/1")), HolderKind::Server);
    assert_eq!(holder((DEADLINE, "control")), HolderKind::Server);
    assert_eq!(holder((0, "control")), HolderKind::Server, "the hog was not moved");
    assert_eq!(
        kept_off_with(49, 1, Some((0, "migration/1")))[0].0,
        HolderKind::Thread,
        "the hog had gone to sleep"
    );
}

/// 12, of real-time priority 50, preempts the hog, and goes to sleep as the normal thread 10 gets the CPU. `between` happens after 12
/// got its CPU.
fn chosen_as_another_sleeps(between: Option<TraceEvent>) -> HolderKind {
    let mut events = timely(10);
    events[2] = of_priorities(switch(100, 0, (THREAD, 1), 8), 49, 89);
    events.insert(3, of_priorities(switch(900, 0, (8, 0), 12), 89, 49));
    events.insert(4, of_priorities(switch(1_000, 0, (12, 1), 10), 49, 120));
    between.into_iter().for_each(|event| events.insert(4, event));
    follow(&events)[0].occupants[0].who.holder
}

#[test]
fn an_ordinary_thread_also_runs_ahead_of_others_than_the_one_that_slept() {
    assert_eq!(chosen_as_another_sleeps(None), HolderKind::Server);
    let moved = event(950, 0, 12, EventKind::Migrates { thread: 8, to: 1 });
    assert_eq!(chosen_as_another_sleeps(Some(moved)), HolderKind::Thread, "the hog waits elsewhere");
    let runs = of_priorities(switch(950, 1, (0, 0), 8), 120, 89);
    assert_eq!(chosen_as_another_sleeps(Some(runs)), HolderKind::Thread, "the hog runs elsewhere");
}

#[test]
fn every_holder_is_named() {
    let mut events = timely(8);
    let rest = events.split_off(8);
    events.extend([
        event(1_152, 0, 8, EventKind::SoftirqBegins { vector: 3 }),
        event(1_156, 0, 8, EventKind::HandlerBegins { interrupt: 24 }),
        event(1_164, 0, 8, EventKind::HandlerEnds),
        event(1_170, 0, 8, EventKind::SoftirqEnds { vector: 3 }),
        switch(1_180, 0, (8, 0), 11),
        switch(1_190, 0, (11, 0), 8),
    ]);
    events.extend(rest);
    let sleep = &follow(&events)[0];
    assert_eq!(
        occupants(sleep),
        [
            (HolderKind::Thread, "t8", 2),
            (HolderKind::Softirq, "NET_RX", 4),
            (HolderKind::Interrupt, "eth0", 8),
            (HolderKind::Softirq, "NET_RX", 6),
            (HolderKind::Thread, "t8", 10),
            (HolderKind::Thread, "t11", 10),
            (HolderKind::Thread, "t8", 10),
        ]
    );
    let begins = [1_150, 1_152, 1_156, 1_164, 1_170, 1_180, 1_190].map(|nanos| Some(at(nanos)));
    assert_eq!(sleep.occupants.iter().map(|occupant| occupant.from).collect::<Vec<_>>(), begins);
    let all: Span = sleep.occupants.iter().fold(Span::ZERO, |sum, occupant| sum.plus(occupant.ns));
    assert_eq!(all, sleep.switched_in.unwrap().since(sleep.runnable));
}

#[test]
fn a_switch_that_was_not_seen_is_not_guessed() {
    let mut events = timely(8);
    // No event reported that 12 got the CPU.
    events.insert(8, event(1_170, 0, 12, EventKind::SoftirqBegins { vector: 1 }));
    events.insert(9, event(1_180, 0, 12, EventKind::SoftirqEnds { vector: 1 }));
    events[10] = switch(1_200, 0, (12, 0), THREAD);
    let sleep = &follow(&events)[0];
    assert_eq!(
        occupants(sleep),
        [(HolderKind::NotSeen, "", 20), (HolderKind::Softirq, "TIMER", 10), (HolderKind::Thread, "t12", 20)]
    );
    // It leaves again without an event, and without a name.
    events[10] = switch(1_200, 0, (13, 0), THREAD);
    let sleep = &follow(&events)[0];
    assert_eq!(
        occupants(sleep),
        [(HolderKind::NotSeen, "", 20), (HolderKind::Softirq, "TIMER", 10), (HolderKind::NotSeen, "", 20)]
    );
}

#[test]
fn a_switch_to_it_that_was_not_seen_is_not_replaced_by_the_next() {
    let mut events = timely(8);
    events[8] = event(1_230, 0, THREAD, EventKind::PageFault);
    events.insert(9, switch(1_250, 0, (THREAD, 0), 8));
    events.insert(10, switch(1_280, 0, (8, 0), THREAD));
    let sleep = &follow(&events)[0];
    assert_eq!((sleep.switched_in, sleep.first_fault), (None, Some(at(1_230))));
    assert_eq!(occupants(sleep), [(HolderKind::NotSeen, "", 80)]);
    assert_eq!((sleep.lost.len(), sleep.lost[0].from, sleep.lost[0].until), (1, at(1_250), at(1_280)));
}

#[test]
fn a_move_to_another_cpu_is_followed() {
    let mut events = timely(8);
    let slept = switch(1_300, 1, (THREAD, 1), 5);
    events.truncate(7);
    events.insert(3, switch(1_000, 1, (4, 0), 5));
    events.extend([
        event(1_140, 0, 8, EventKind::Migrates { thread: THREAD, to: 1 }),
        event(1_150, 0, 8, EventKind::TickEnds),
        event(1_160, 1, 5, EventKind::TickBegins),
        event(1_170, 1, 5, EventKind::TickEnds),
        switch(1_200, 1, (5, 0), THREAD),
        slept,
    ]);
    let sleep = &follow(&events)[0];
    assert!(sleep.migrated && sleep.cpu == 1);
    assert_eq!(sleep.runnable, at(1_140), "the interrupt on the other CPU is in nobody's way");
    assert_eq!(
        occupants(sleep),
        [
            (HolderKind::Thread, "t5", 20),
            (HolderKind::Interrupt, "local_timer", 10),
            (HolderKind::Thread, "t5", 30)
        ]
    );
}

#[test]
fn a_thread_that_is_pulled_waited_for_both_cpus() {
    let mut events = timely(8);
    events.truncate(8);
    events.insert(3, switch(1_000, 1, (4, 0), 5));
    events.extend([
        event(1_160, 1, 5, EventKind::SoftirqBegins { vector: 7 }),
        event(1_170, 1, 5, EventKind::Migrates { thread: THREAD, to: 1 }),
        event(1_180, 1, 5, EventKind::SoftirqEnds { vector: 7 }),
        switch(1_200, 1, (5, 0), THREAD),
        switch(1_300, 1, (THREAD, 1), 5),
    ]);
    let sleep = &follow(&events)[0];
    assert_eq!((sleep.migrated, sleep.runnable, sleep.cpu), (false, at(1_150), 1));
    assert_eq!(
        occupants(sleep),
        [(HolderKind::Thread, "t8", 20), (HolderKind::Softirq, "SCHED", 10), (HolderKind::Thread, "t5", 20)]
    );
}

#[test]
fn every_holder_of_a_lost_cpu_is_named() {
    let mut events = timely(8);
    let slept = events.split_off(9);
    events.extend([
        switch(1_210, 0, (THREAD, 0), 11),
        switch(1_225, 0, (11, 0), 12),
        event(1_230, 1, 5, EventKind::Migrates { thread: THREAD, to: 1 }),
        switch(1_240, 1, (5, 0), THREAD),
    ]);
    events.extend(slept);
    let lost = &follow(&events)[0].lost;
    let lost: Vec<_> = lost.iter().map(|lost| (lost.from, lost.until, lost.to.name.as_str())).collect();
    let expected = [(1_210, 1_225, "t11"), (1_225, 1_230, "t12"), (1_230, 1_240, "t5")];
    assert_eq!(lost, expected.map(|(from, until, name)| (at(from), at(until), name)));
}

#[test]
fn a_preempted_thread_that_is_woken_before_it_sleeps_waits() {
    let mut events = timely(8);
    events.truncate(9);
    events.extend([
        switch(1_210, 0, (THREAD, 0), 11),
        event(1_220, 0, 11, EventKind::Waking { thread: THREAD, on: 0 }),
        switch(1_240, 0, (11, 0), THREAD),
        switch(1_300, 0, (THREAD, 1), 8),
    ]);
    let sleeps = follow(&events);
    let sleep = &sleeps[1];
    assert_eq!((sleep.runnable, sleep.switched_in), (at(1_220), Some(at(1_240))));
    assert_eq!(occupants(sleep), [(HolderKind::Thread, "t11", 20)]);
}

#[test]
fn a_cpu_that_is_lost_again_and_a_page_fault_are_seen() {
    let mut events = timely(8);
    let slept = events.split_off(9);
    events.extend([
        event(1_205, 0, THREAD, EventKind::PageFault),
        event(1_207, 0, THREAD, EventKind::PageFault),
        switch(1_210, 0, (THREAD, 0), 11),
        switch(1_240, 0, (11, 0), THREAD),
    ]);
    events.extend(slept);
    let sleep = &follow(&events)[0];
    assert_eq!(sleep.first_fault, Some(at(1_205)));
    let lost = &sleep.lost[0];
    assert_eq!((lost.from, lost.until, lost.to.name.as_str()), (at(1_210), at(1_240), "t11"));
}

/// The thread gets the CPU at 1200, loses it to 8 for 1 µs at `lost`, and sleeps again after the interrupts at `interrupts`.
fn interrupts_come(is_guest: bool, lost: Option<i64>, interrupts: &[i64]) -> Vec<(HolderKind, i64, i64)> {
    let mut events = timely(8);
    let ends = events.pop().unwrap();
    if let Some(lost) = lost {
        events.extend([switch(lost, 0, (THREAD, 0), 8), switch(lost + 1_000, 0, (8, 0), THREAD)]);
    }
    for (number, begin) in interrupts.iter().enumerate() {
        let (begins, over) = match number % 2 {
            0 => (EventKind::TickBegins, EventKind::TickEnds),
            _ => (EventKind::HandlerBegins { interrupt: 24 }, EventKind::HandlerEnds),
        };
        events.extend([event(*begin, 0, THREAD, begins), event(begin + 500, 0, THREAD, over)]);
    }
    events.push(TraceEvent { at: at(100_000_000), ..ends });
    events.sort_by_key(|event| event.at);
    let lost = &follow_on(&events, is_guest)[0].lost;
    lost.iter().map(|lost| (lost.to.holder, lost.from.as_nanos(), lost.until.as_nanos())).collect()
}

#[test]
fn a_cpu_of_a_guest_without_interrupts_did_not_run() {
    let millis = |numbers: &[i64]| numbers.iter().map(|millis| millis * 1_000_000).collect::<Vec<_>>();
    let still = |lost, interrupts: &[i64]| interrupts_come(true, lost, &millis(interrupts));
    let (not_seen, hog) = (HolderKind::NotSeen, HolderKind::Thread);
    assert_eq!(still(None, &[4, 8, 35, 39]), [(not_seen, 8_000_000, 35_000_000)]);
    assert_eq!(still(None, &[8, 34, 38]), [(not_seen, 8_000_000, 34_000_000)], "a handler is one as well");
    assert_eq!(still(None, &[30, 34]), [(not_seen, 1_200, 30_000_000)], "not before it had the CPU");
    let lost = still(Some(20_000_000), &[4, 34]);
    assert_eq!(lost, [(hog, 20_000_000, 20_001_000), (not_seen, 20_001_000, 34_000_000)]);
    assert_eq!(still(Some(30_000_000), &[4, 34]), [(hog, 30_000_000, 30_001_000)], "a switch came first");
    assert_eq!(still(None, &[4, 8, 19, 29, 39]), [], "10 ms are a tick of the slowest");
    assert_eq!(interrupts_come(false, None, &millis(&[4, 35])), [], "nobody could stop it");
}
