//! Time-lines drawn as events, then asserted; and what a real kernel wrote.

mod captured;
mod cpu;
mod kernels;
mod pages;
mod timers;

use howlate_model::{HolderKind, MonotonicTime, Occupant, SleepState, Span, TracedSleep, WakeSource};

use super::event::{Comm, Event, Records, What, missed};
use super::follow::Follower;
use super::format::Format;
use super::page::{Item, Layout, items};
use super::{lost_of, page};
use crate::irq_names::Interrupts;

/// The thread that is followed, and its process.
const ME: u32 = 7;
const MINE: u32 = 6;
const TIMER: u64 = 0xffff_8881;

fn comm(name: &str) -> Comm {
    let mut comm = Comm::default();
    comm[..name.len()].copy_from_slice(name.as_bytes());
    comm
}

const fn at(nanos: i64) -> MonotonicTime {
    MonotonicTime::from_nanos(nanos)
}

fn event(nanos: i64, cpu: u32, pid: u32, what: What) -> Event {
    Event { at: at(nanos), cpu, pid, what }
}

/// The thread's names are its numbers.
fn switch(nanos: i64, cpu: u32, (from, state): (u32, u32), next: u32) -> Event {
    let [comm, next_comm] = [from, next].map(|pid| comm(&format!("t{pid}")));
    let (priority, next_priority) = (120, 120);
    event(nanos, cpu, from, What::Switch { comm, state, priority, next, next_comm, next_priority })
}

fn set(nanos: i64) -> Event {
    event(nanos, 0, ME, What::TimerSet { timer: TIMER, soft: at(1_000), hard: at(1_050) })
}

/// 90 sets its timer, 100 sleeps and leaves the CPU to `then`, 1100 interrupt, 1120 another timer, 1130 ours, 1135 waking,
/// 1150 the interrupt's end, 1200 switched in, 1300 sleeps.
fn timely(then: u32) -> Vec<Event> {
    vec![
        switch(50, 0, (9, 1), ME),
        set(90),
        switch(100, 0, (ME, 1), then),
        event(1_100, 0, then, What::TickBegins),
        event(1_120, 0, then, What::TimerServed { timer: 1 }),
        event(1_130, 0, then, What::TimerServed { timer: TIMER }),
        event(1_135, 0, then, What::Waking { thread: ME, on: 0 }),
        event(1_150, 0, then, What::TickEnds),
        switch(1_200, 0, (then, 0), ME),
        switch(1_300, 0, (ME, 1), then),
    ]
}

#[track_caller]
fn follow(events: &[Event]) -> Vec<TracedSleep> {
    follow_on(events, false)
}

/// The same on a machine that is a guest, or is none.
#[track_caller]
fn follow_on(events: &[Event], is_guest: bool) -> Vec<TracedSleep> {
    let names = "           CPU0\n 24:          5   PCI-MSI 65536-edge      eth0\n";
    let mut follower = Follower::new(&[MINE], Interrupts::parse(names), is_guest);
    follower.follow(ME, None);
    let mut seen = Vec::new();
    events.iter().for_each(|event| follower.event(event, &mut |one| seen.push(one)));
    seen
}

/// Kind, name and length of each who had the CPU.
fn occupants(one: &TracedSleep) -> Vec<(HolderKind, &str, u64)> {
    let named = |one: &'_ Occupant| (one.who.holder, one.ns.as_nanos());
    let names = one.occupants.iter().map(|one| one.who.name.as_str());
    one.occupants.iter().map(named).zip(names).map(|((holder, ns), name)| (holder, name, ns)).collect()
}

#[test]
fn a_wake_up_is_seen_whole() {
    let seen = follow(&timely(8));
    assert_eq!(seen.len(), 1);
    let one = &seen[0];
    let WakeSource::Timer(expiry) = &one.woken_by else { panic!("{one:?}") };
    assert_eq!((expiry.soft, expiry.hard, expiry.interrupt), (at(1_000), at(1_050), Some(at(1_100))));
    assert_eq!((expiry.first_served, expiry.served), (at(1_120), at(1_130)));
    assert_eq!((expiry.interrupted.holder, expiry.interrupted.pid), (HolderKind::Thread, Some(8)));
    assert_eq!((one.waking, one.runnable, one.switched_in), (at(1_135), at(1_150), Some(at(1_200))));
    assert_eq!((one.asleep_since, one.asleep_again), (Some(at(100)), Some(at(1_300))));
    assert_eq!(occupants(one), [(HolderKind::Thread, "t8", 50)]);
    assert_eq!(expiry.idle_since, None);
    let one = &follow(&timely(0))[0];
    assert_eq!(one.occupants[0].who.holder, HolderKind::Idle);
    let WakeSource::Timer(expiry) = &one.woken_by else { panic!("{one:?}") };
    assert_eq!(expiry.idle_since, Some(at(100)));
}

#[test]
fn who_stopped_it_is_named() {
    let mut events = timely(8);
    events.truncate(2);
    events.extend([
        switch(95, 1, (4, 0), 44),
        event(96, 1, 44, What::Signal { number: 19, thread: MINE }),
        switch(100, 0, (ME, 4), 8),
        event(2_000, 1, 44, What::Waking { thread: ME, on: 0 }),
        switch(2_010, 0, (8, 0), ME),
        switch(2_050, 0, (ME, 1), 8),
    ]);
    let one = &follow(&events)[0];
    let SleepState::Stopped(Some(who)) = &one.asleep else { panic!("{one:?}") };
    assert_eq!((who.pid, who.name.as_str()), (Some(44), "t44"));
    let WakeSource::Other(who) = &one.woken_by else { panic!("{one:?}") };
    assert_eq!(who.pid, Some(44));
    // Somebody else's signal stops nobody here.
    events[3].what = What::Signal { number: 19, thread: 99 };
    assert_eq!(follow(&events)[0].asleep, SleepState::Stopped(None));
}

#[test]
fn a_thread_that_never_left_has_no_switch() {
    let mut events = timely(8);
    events.truncate(2);
    events.extend([
        event(1_100, 0, ME, What::TickBegins),
        event(1_130, 0, ME, What::TimerServed { timer: TIMER }),
        event(1_135, 0, ME, What::Waking { thread: ME, on: 0 }),
        event(1_150, 0, ME, What::TickEnds),
        switch(1_300, 0, (ME, 1), 8),
    ]);
    // It had run since the switch at 50, of which no sleep is known.
    let seen = follow(&events);
    assert_eq!(seen.len(), 1);
    assert!(seen[0].occupants.is_empty());
}

#[test]
fn nothing_is_made_up_around_what_is_missing() {
    let mut events = timely(8);
    events.insert(6, missed(1, 1_132).unwrap());
    let one = &follow(&events)[0];
    assert!(one.asleep_since.is_none(), "it may have slept and run meanwhile");
    assert!(matches!(one.woken_by, WakeSource::Timer(_)));
    events.insert(9, missed(0, 1_160).unwrap());
    assert_eq!(follow(&events), []);
}

const HEADER_PAGE: &str = include_str!("../testdata/header_page");
