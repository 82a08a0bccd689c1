//! Sequences of events and the sleeps that follow from them; and pages of a real kernel.

mod captured;
mod cpu;
mod kernels;
mod pages;
mod timers;

use howlate_model::{HolderKind, MonotonicTime, Occupant, SleepState, Span, TracedSleep, WakeSource};

use super::event::{EventKind, EventParser, ThreadName, TraceEvent, missed};
use super::follow::EventFollower;
use super::format::EventFormat;
use super::page::{PageItem, PageLayout, items};
use super::{page, parse_losses};
use crate::irq_names::InterruptNames;

/// The followed thread, and its process.
const THREAD: u32 = 7;
const PROCESS: u32 = 6;
const TIMER: u64 = 0xffff_8881;

fn comm(name: &str) -> ThreadName {
    let mut comm = ThreadName::default();
    comm[..name.len()].copy_from_slice(name.as_bytes());
    comm
}

const fn at(nanos: i64) -> MonotonicTime {
    MonotonicTime::from_nanos(nanos)
}

fn event(nanos: i64, cpu: u32, pid: u32, kind: EventKind) -> TraceEvent {
    TraceEvent { at: at(nanos), cpu, pid, kind }
}

/// The name of a thread is `t` and its id.
fn switch(nanos: i64, cpu: u32, (from, state): (u32, u32), next: u32) -> TraceEvent {
    let [comm, next_comm] = [from, next].map(|pid| comm(&format!("t{pid}")));
    let (priority, next_priority) = (120, 120);
    event(nanos, cpu, from, EventKind::Switch { comm, state, priority, next, next_comm, next_priority })
}

fn set(nanos: i64) -> TraceEvent {
    event(nanos, 0, THREAD, EventKind::TimerSet { timer: TIMER, soft: at(1_000), hard: at(1_050) })
}

/// 90 sets its timer, 100 sleeps and leaves the CPU to `next_thread`, 1100 interrupt, 1120 another timer, 1130 its own, 1135 waking,
/// 1150 end of the interrupt, 1200 switched in, 1300 sleeps.
fn timely(next_thread: u32) -> Vec<TraceEvent> {
    vec![
        switch(50, 0, (9, 1), THREAD),
        set(90),
        switch(100, 0, (THREAD, 1), next_thread),
        event(1_100, 0, next_thread, EventKind::TickBegins),
        event(1_120, 0, next_thread, EventKind::TimerServed { timer: 1 }),
        event(1_130, 0, next_thread, EventKind::TimerServed { timer: TIMER }),
        event(1_135, 0, next_thread, EventKind::Waking { thread: THREAD, on: 0 }),
        event(1_150, 0, next_thread, EventKind::TickEnds),
        switch(1_200, 0, (next_thread, 0), THREAD),
        switch(1_300, 0, (THREAD, 1), next_thread),
    ]
}

#[track_caller]
fn follow(events: &[TraceEvent]) -> Vec<TracedSleep> {
    follow_on(events, false)
}

/// As [`follow`], on a guest or on bare metal.
#[track_caller]
fn follow_on(events: &[TraceEvent], is_guest: bool) -> Vec<TracedSleep> {
    let names = "           CPU0\n 24:          5   PCI-MSI 65536-edge      eth0\n";
    let mut follower = EventFollower::new(&[PROCESS], InterruptNames::parse(names), is_guest);
    follower.follow(THREAD, None);
    let mut sleeps = Vec::new();
    events.iter().for_each(|event| follower.event(event, &mut |sleep| sleeps.push(sleep)));
    sleeps
}

/// Kind, name and CPU time of each occupant.
fn occupants(sleep: &TracedSleep) -> Vec<(HolderKind, &str, u64)> {
    let holder_and_ns = |occupant: &'_ Occupant| (occupant.who.holder, occupant.ns.as_nanos());
    let names = sleep.occupants.iter().map(|occupant| occupant.who.name.as_str());
    sleep
        .occupants
        .iter()
        .map(holder_and_ns)
        .zip(names)
        .map(|((holder, ns), name)| (holder, name, ns))
        .collect()
}

#[test]
fn a_wake_up_is_seen_whole() {
    let sleeps = follow(&timely(8));
    assert_eq!(sleeps.len(), 1);
    let sleep = &sleeps[0];
    let WakeSource::Timer(expiry) = &sleep.woken_by else { panic!("{sleep:?}") };
    assert_eq!((expiry.soft, expiry.hard, expiry.interrupt), (at(1_000), at(1_050), Some(at(1_100))));
    assert_eq!((expiry.first_served, expiry.served), (at(1_120), at(1_130)));
    assert_eq!((expiry.interrupted.holder, expiry.interrupted.pid), (HolderKind::Thread, Some(8)));
    assert_eq!((sleep.waking, sleep.runnable, sleep.switched_in), (at(1_135), at(1_150), Some(at(1_200))));
    assert_eq!((sleep.asleep_since, sleep.asleep_again), (Some(at(100)), Some(at(1_300))));
    assert_eq!(occupants(sleep), [(HolderKind::Thread, "t8", 50)]);
    assert_eq!(expiry.idle_since, None);
    let sleep = &follow(&timely(0))[0];
    assert_eq!(sleep.occupants[0].who.holder, HolderKind::Idle);
    let WakeSource::Timer(expiry) = &sleep.woken_by else { panic!("{sleep:?}") };
    assert_eq!(expiry.idle_since, Some(at(100)));
}

#[test]
fn the_sender_of_a_stop_signal_is_named() {
    let mut events = timely(8);
    events.truncate(2);
    events.extend([
        switch(95, 1, (4, 0), 44),
        event(96, 1, 44, EventKind::Signal { number: 19, thread: PROCESS }),
        switch(100, 0, (THREAD, 4), 8),
        event(2_000, 1, 44, EventKind::Waking { thread: THREAD, on: 0 }),
        switch(2_010, 0, (8, 0), THREAD),
        switch(2_050, 0, (THREAD, 1), 8),
    ]);
    let sleep = &follow(&events)[0];
    let SleepState::Stopped(Some(who)) = &sleep.asleep else { panic!("{sleep:?}") };
    assert_eq!((who.pid, who.name.as_str()), (Some(44), "t44"));
    let WakeSource::Other(who) = &sleep.woken_by else { panic!("{sleep:?}") };
    assert_eq!(who.pid, Some(44));
    // A signal to another process stops no followed thread.
    events[3].kind = EventKind::Signal { number: 19, thread: 99 };
    assert_eq!(follow(&events)[0].asleep, SleepState::Stopped(None));
}

#[test]
fn a_thread_that_never_left_has_no_switch() {
    let mut events = timely(8);
    events.truncate(2);
    events.extend([
        event(1_100, 0, THREAD, EventKind::TickBegins),
        event(1_130, 0, THREAD, EventKind::TimerServed { timer: TIMER }),
        event(1_135, 0, THREAD, EventKind::Waking { thread: THREAD, on: 0 }),
        event(1_150, 0, THREAD, EventKind::TickEnds),
        switch(1_300, 0, (THREAD, 1), 8),
    ]);
    // It had run since the switch at 50, of which no sleep is known.
    let sleeps = follow(&events);
    assert_eq!(sleeps.len(), 1);
    assert!(sleeps[0].occupants.is_empty());
}

/// Another CPU wakes it at 200 while it is about to sleep, and it leaves its CPU at 205. Then it is switched in, or woken again.
#[test]
fn who_is_woken_while_it_leaves_its_cpu_waits_for_one() {
    let leaves = || {
        let woken = |nanos| event(nanos, 1, 8, EventKind::Waking { thread: THREAD, on: 0 });
        (vec![switch(50, 0, (9, 1), THREAD), set(90), woken(200), switch(205, 0, (THREAD, 1), 9)], woken(600))
    };
    let times =
        |sleep: &TracedSleep| (sleep.asleep_since, sleep.waking, sleep.switched_in, sleep.asleep_again);
    let stayed = (Some(at(200)), at(200), None, Some(at(205)));
    let (mut ready, _) = leaves();
    ready.extend([switch(700, 0, (9, 0), THREAD), switch(900, 0, (THREAD, 1), 9)]);
    let [first, second] = follow(&ready).try_into().unwrap();
    assert_eq!(times(&first), stayed);
    assert_eq!(times(&second), (Some(at(205)), at(205), Some(at(700)), Some(at(900))));
    assert_eq!(occupants(&second), [(HolderKind::Thread, "t9", 495)]);
    let (mut asleep, woken_again) = leaves();
    asleep.extend([woken_again, switch(700, 0, (9, 0), THREAD), switch(900, 0, (THREAD, 1), 9)]);
    let [first, second] = follow(&asleep).try_into().unwrap();
    assert_eq!(times(&first), stayed);
    assert_eq!(times(&second), (Some(at(205)), at(600), Some(at(700)), Some(at(900))));
    assert_eq!(occupants(&second), [(HolderKind::Thread, "t9", 100)]);
}

#[test]
fn missing_events_reset_the_state() {
    let mut events = timely(8);
    events.insert(6, missed(1, 1_132).unwrap());
    let sleep = &follow(&events)[0];
    assert!(sleep.asleep_since.is_none(), "it may have slept and run meanwhile");
    assert!(matches!(sleep.woken_by, WakeSource::Timer(_)));
    events.insert(9, missed(0, 1_160).unwrap());
    assert_eq!(follow(&events), []);
}

const HEADER_PAGE: &str = include_str!("../testdata/header_page");
