//! Who has the CPU while a thread waits for it, or has lost it.

use super::*;

/// What a switch is of: the kernel's priority of the thread that leaves, and of the one that comes.
fn of_priorities(mut switch: Event, from: u32, to: u32) -> Event {
    if let What::Switch { priority, next_priority, .. } = &mut switch.what {
        (*priority, *next_priority) = (from, to);
    }
    switch
}

/// A hog of real-time priority 10 has the CPU while we sleep, until the kernel runs ordinary threads: 9 from 900 on, and 10
/// from 1000 on, over whom our timer comes; we get the CPU at 1200.
fn kept_off(mine: u32, hog_state: u32) -> Vec<(HolderKind, &'static str, u64)> {
    kept_off_with(mine, hog_state, None)
}

/// The same; between 9 and 10, a thread of that priority and name.
fn kept_off_with(
    mine: u32,
    hog_state: u32,
    between: Option<(u32, &str)>,
) -> Vec<(HolderKind, &'static str, u64)> {
    const HOG: u32 = 8;
    const BETWEEN: u32 = 12;
    let mut events = timely(10);
    events[2] = of_priorities(switch(100, 0, (ME, 1), HOG), mine, 89);
    events.insert(3, of_priorities(switch(900, 0, (HOG, hog_state), 9), 89, 120));
    if let Some((priority, name)) = between {
        let mut comes = of_priorities(switch(990, 0, (9, 0), BETWEEN), 120, priority);
        let What::Switch { next_comm, .. } = &mut comes.what else { unreachable!("made above") };
        *next_comm = comm(name);
        events.insert(4, comes);
        events.insert(5, of_priorities(switch(1_000, 0, (BETWEEN, 1), 10), priority, 120));
    } else {
        events.insert(4, of_priorities(switch(1_000, 0, (9, 0), 10), 120, 120));
    }
    let seen = follow(&events);
    let holders = seen[0].occupants.iter().map(|one| (one.who.holder, one.ns.as_nanos()));
    assert!(seen[0].occupants.iter().all(|one| one.who.name == "t10" && one.who.pid == Some(10)), "{seen:?}");
    holders.map(|(holder, ns)| (holder, "t10", ns)).collect()
}

#[test]
fn who_runs_while_a_real_time_thread_is_ready_runs_ahead_of_all_of_those() {
    assert_eq!(kept_off(49, 0), [(HolderKind::Server, "t10", 50)]);
    assert_eq!(kept_off(49, 1), [(HolderKind::Thread, "t10", 50)], "the hog had gone to sleep");
    assert_eq!(
        kept_off(120, 0),
        [(HolderKind::Thread, "t10", 50)],
        "an ordinary thread waits like any other"
    );
}

#[test]
fn who_outranks_the_server_sets_its_thread_aside_for_a_moment() {
    const DEADLINE: u32 = (-1_i32).cast_unsigned();
    let holder = |between| kept_off_with(49, 0, Some(between))[0].0;
    assert_eq!(holder((0, "migration/1")), HolderKind::Server);
    assert_eq!(holder((DEADLINE, "control")), HolderKind::Server);
    assert_eq!(holder((0, "control")), HolderKind::Thread, "the hog may be elsewhere since");
    assert_eq!(
        kept_off_with(49, 1, Some((0, "migration/1")))[0].0,
        HolderKind::Thread,
        "the hog had gone to sleep"
    );
}

#[test]
fn whoever_has_the_cpu_meanwhile_is_named() {
    let mut events = timely(8);
    let rest = events.split_off(8);
    events.extend([
        event(1_152, 0, 8, What::SoftirqBegins { vector: 3 }),
        event(1_156, 0, 8, What::HandlerBegins { interrupt: 24 }),
        event(1_164, 0, 8, What::HandlerEnds),
        event(1_170, 0, 8, What::SoftirqEnds { vector: 3 }),
        switch(1_180, 0, (8, 0), 11),
        switch(1_190, 0, (11, 0), 8),
    ]);
    events.extend(rest);
    let one = &follow(&events)[0];
    assert_eq!(
        occupants(one),
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
    assert_eq!(one.occupants.iter().map(|one| one.from).collect::<Vec<_>>(), begins);
    let all: Span = one.occupants.iter().fold(Span::ZERO, |sum, one| sum.plus(one.ns));
    assert_eq!(all, one.switched_in.unwrap().since(one.runnable));
}

#[test]
fn a_switch_that_was_not_seen_is_not_guessed() {
    let mut events = timely(8);
    // Nobody told that 12 got the CPU.
    events.insert(8, event(1_170, 0, 12, What::SoftirqBegins { vector: 1 }));
    events.insert(9, event(1_180, 0, 12, What::SoftirqEnds { vector: 1 }));
    events[10] = switch(1_200, 0, (12, 0), ME);
    let one = &follow(&events)[0];
    assert_eq!(
        occupants(one),
        [(HolderKind::NotSeen, "", 20), (HolderKind::Softirq, "TIMER", 10), (HolderKind::Thread, "t12", 20)]
    );
    // It leaves again without a word, and without a name.
    events[10] = switch(1_200, 0, (13, 0), ME);
    let one = &follow(&events)[0];
    assert_eq!(
        occupants(one),
        [(HolderKind::NotSeen, "", 20), (HolderKind::Softirq, "TIMER", 10), (HolderKind::NotSeen, "", 20)]
    );
}

#[test]
fn a_switch_to_it_that_was_not_seen_is_not_replaced_by_the_next() {
    let mut events = timely(8);
    events[8] = event(1_230, 0, ME, What::PageFault);
    events.insert(9, switch(1_250, 0, (ME, 0), 8));
    events.insert(10, switch(1_280, 0, (8, 0), ME));
    let one = &follow(&events)[0];
    assert_eq!((one.switched_in, one.first_fault), (None, Some(at(1_230))));
    assert_eq!(occupants(one), [(HolderKind::NotSeen, "", 80)]);
    assert_eq!((one.lost.len(), one.lost[0].from, one.lost[0].until), (1, at(1_250), at(1_280)));
}

#[test]
fn a_move_to_another_cpu_is_followed() {
    let mut events = timely(8);
    let slept = switch(1_300, 1, (ME, 1), 5);
    events.truncate(7);
    events.insert(3, switch(1_000, 1, (4, 0), 5));
    events.extend([
        event(1_140, 0, 8, What::Migrates { thread: ME, to: 1 }),
        event(1_150, 0, 8, What::TickEnds),
        event(1_160, 1, 5, What::TickBegins),
        event(1_170, 1, 5, What::TickEnds),
        switch(1_200, 1, (5, 0), ME),
        slept,
    ]);
    let one = &follow(&events)[0];
    assert!(one.migrated && one.cpu == 1);
    assert_eq!(one.runnable, at(1_140), "the interrupt on the other CPU is in nobody's way");
    assert_eq!(
        occupants(one),
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
        event(1_160, 1, 5, What::SoftirqBegins { vector: 7 }),
        event(1_170, 1, 5, What::Migrates { thread: ME, to: 1 }),
        event(1_180, 1, 5, What::SoftirqEnds { vector: 7 }),
        switch(1_200, 1, (5, 0), ME),
        switch(1_300, 1, (ME, 1), 5),
    ]);
    let one = &follow(&events)[0];
    assert_eq!((one.migrated, one.runnable, one.cpu), (false, at(1_150), 1));
    assert_eq!(
        occupants(one),
        [(HolderKind::Thread, "t8", 20), (HolderKind::Softirq, "SCHED", 10), (HolderKind::Thread, "t5", 20)]
    );
}

#[test]
fn all_who_had_the_cpu_that_it_lost_are_named() {
    let mut events = timely(8);
    let slept = events.split_off(9);
    events.extend([
        switch(1_210, 0, (ME, 0), 11),
        switch(1_225, 0, (11, 0), 12),
        event(1_230, 1, 5, What::Migrates { thread: ME, to: 1 }),
        switch(1_240, 1, (5, 0), ME),
    ]);
    events.extend(slept);
    let lost = &follow(&events)[0].lost;
    let lost: Vec<_> = lost.iter().map(|one| (one.from, one.until, one.to.name.as_str())).collect();
    let expected = [(1_210, 1_225, "t11"), (1_225, 1_230, "t12"), (1_230, 1_240, "t5")];
    assert_eq!(lost, expected.map(|(from, until, name)| (at(from), at(until), name)));
}

#[test]
fn who_is_woken_without_a_cpu_on_the_way_to_its_sleep_waits() {
    let mut events = timely(8);
    events.truncate(9);
    events.extend([
        switch(1_210, 0, (ME, 0), 11),
        event(1_220, 0, 11, What::Waking { thread: ME, on: 0 }),
        switch(1_240, 0, (11, 0), ME),
        switch(1_300, 0, (ME, 1), 8),
    ]);
    let seen = follow(&events);
    let two = &seen[1];
    assert_eq!((two.runnable, two.switched_in), (at(1_220), Some(at(1_240))));
    assert_eq!(occupants(two), [(HolderKind::Thread, "t11", 20)]);
}

#[test]
fn a_cpu_that_is_lost_again_and_a_page_fault_are_seen() {
    let mut events = timely(8);
    let slept = events.split_off(9);
    events.extend([
        event(1_205, 0, ME, What::PageFault),
        event(1_207, 0, ME, What::PageFault),
        switch(1_210, 0, (ME, 0), 11),
        switch(1_240, 0, (11, 0), ME),
    ]);
    events.extend(slept);
    let one = &follow(&events)[0];
    assert_eq!(one.first_fault, Some(at(1_205)));
    let lost = &one.lost[0];
    assert_eq!((lost.from, lost.until, lost.to.name.as_str()), (at(1_210), at(1_240), "t11"));
}

/// We get the CPU at 1200, lose it to 8 from `lost` on for 1 µs, if at all, and sleep again after the interrupts that come.
fn interrupts_come(is_guest: bool, lost: Option<i64>, come: &[i64]) -> Vec<(HolderKind, i64, i64)> {
    let mut events = timely(8);
    let ends = events.pop().unwrap();
    if let Some(lost) = lost {
        events.extend([switch(lost, 0, (ME, 0), 8), switch(lost + 1_000, 0, (8, 0), ME)]);
    }
    for (number, comes) in come.iter().enumerate() {
        let (begins, over) = match number % 2 {
            0 => (What::TickBegins, What::TickEnds),
            _ => (What::HandlerBegins { interrupt: 24 }, What::HandlerEnds),
        };
        events.extend([event(*comes, 0, ME, begins), event(comes + 500, 0, ME, over)]);
    }
    events.push(Event { at: at(100_000_000), ..ends });
    events.sort_by_key(|event| event.at);
    let lost = &follow_on(&events, is_guest)[0].lost;
    lost.iter().map(|one| (one.to.holder, one.from.as_nanos(), one.until.as_nanos())).collect()
}

#[test]
fn a_guests_cpu_that_took_no_interrupt_did_not_run() {
    let millis = |numbers: &[i64]| numbers.iter().map(|one| one * 1_000_000).collect::<Vec<_>>();
    let still = |lost, come: &[i64]| interrupts_come(true, lost, &millis(come));
    let (nobody, hog) = (HolderKind::NotSeen, HolderKind::Thread);
    assert_eq!(still(None, &[4, 8, 35, 39]), [(nobody, 8_000_000, 35_000_000)]);
    assert_eq!(still(None, &[8, 34, 38]), [(nobody, 8_000_000, 34_000_000)], "a handler is one as well");
    assert_eq!(still(None, &[30, 34]), [(nobody, 1_200, 30_000_000)], "not before it had the CPU");
    let lost = still(Some(20_000_000), &[4, 34]);
    assert_eq!(lost, [(hog, 20_000_000, 20_001_000), (nobody, 20_001_000, 34_000_000)]);
    assert_eq!(still(Some(30_000_000), &[4, 34]), [(hog, 30_000_000, 30_001_000)], "a switch came first");
    assert_eq!(still(None, &[4, 8, 19, 29, 39]), [], "10 ms are a tick of the slowest");
    assert_eq!(interrupts_come(false, None, &millis(&[4, 35])), [], "nobody could stop it");
}
