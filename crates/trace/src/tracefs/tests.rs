//! Time-lines drawn as events, then asserted; and what a real kernel wrote.

use howlate_model::{Asleep, Holder, MonotonicTime, Occupant, Span, TracedSleep, WokenBy};

use super::event::{Comm, Event, Records, What, missed};
use super::follow::Follower;
use super::format::Format;
use super::page::{Item, Layout, items};
use super::{lost_of, page};
use crate::names::Interrupts;

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
    event(nanos, cpu, from, What::Switch { comm, state, next, next_comm })
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
    let names = "           CPU0\n 24:          5   PCI-MSI 65536-edge      eth0\n";
    let mut follower = Follower::new(&[MINE], Interrupts::parse(names));
    follower.follow(ME, None);
    let mut seen = Vec::new();
    events.iter().for_each(|event| follower.event(event, &mut |one| seen.push(one)));
    seen
}

/// Kind, name and length of each who had the CPU.
fn occupants(one: &TracedSleep) -> Vec<(Holder, &str, u64)> {
    let named = |one: &'_ Occupant| (one.who.holder, one.ns.as_nanos());
    let names = one.occupants.iter().map(|one| one.who.name.as_str());
    one.occupants.iter().map(named).zip(names).map(|((holder, ns), name)| (holder, name, ns)).collect()
}

#[test]
fn a_wake_up_is_seen_whole() {
    let seen = follow(&timely(8));
    assert_eq!(seen.len(), 1);
    let one = &seen[0];
    let WokenBy::Timer(expiry) = &one.woken_by else { panic!("{one:?}") };
    assert_eq!((expiry.soft, expiry.hard, expiry.interrupt), (at(1_000), at(1_050), Some(at(1_100))));
    assert_eq!((expiry.first_served, expiry.served), (at(1_120), at(1_130)));
    assert_eq!((expiry.interrupted.holder, expiry.interrupted.pid), (Holder::Thread, Some(8)));
    assert_eq!((one.waking, one.runnable, one.switched_in), (at(1_135), at(1_150), Some(at(1_200))));
    assert_eq!((one.asleep_since, one.asleep_again), (Some(at(100)), Some(at(1_300))));
    assert_eq!(occupants(one), [(Holder::Thread, "t8", 50)]);
    assert_eq!(expiry.idle_since, None);
    let one = &follow(&timely(0))[0];
    assert_eq!(one.occupants[0].who.holder, Holder::Idle);
    let WokenBy::Timer(expiry) = &one.woken_by else { panic!("{one:?}") };
    assert_eq!(expiry.idle_since, Some(at(100)));
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
            (Holder::Thread, "t8", 2 + 10 + 10),
            (Holder::Softirq, "NET_RX", 4 + 6),
            (Holder::Interrupt, "eth0", 8),
            (Holder::Thread, "t11", 10),
        ]
    );
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
        [(Holder::NotSeen, "", 20), (Holder::Softirq, "TIMER", 10), (Holder::Thread, "t12", 20)]
    );
    // It leaves again without a word, and without a name.
    events[10] = switch(1_200, 0, (13, 0), ME);
    let one = &follow(&events)[0];
    assert_eq!(occupants(one), [(Holder::NotSeen, "", 40), (Holder::Softirq, "TIMER", 10)]);
}

#[test]
fn a_switch_to_it_that_was_not_seen_is_not_replaced_by_the_next() {
    let mut events = timely(8);
    events[8] = event(1_230, 0, ME, What::PageFault);
    events.insert(9, switch(1_250, 0, (ME, 0), 8));
    events.insert(10, switch(1_280, 0, (8, 0), ME));
    let one = &follow(&events)[0];
    assert_eq!((one.switched_in, one.first_fault), (None, Some(at(1_230))));
    assert_eq!(occupants(one), [(Holder::NotSeen, "", 80)]);
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
    assert_eq!(occupants(one), [(Holder::Thread, "t5", 50), (Holder::Interrupt, "local_timer", 10)]);
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
        [(Holder::Thread, "t8", 20), (Holder::Softirq, "SCHED", 10), (Holder::Thread, "t5", 20)]
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
    assert_eq!(occupants(two), [(Holder::Thread, "t11", 20)]);
}

#[test]
fn other_machines_have_a_handler_or_a_softirq_for_timers() {
    // The timer's interrupt has a handler, as on aarch64: that is no one that it interrupted.
    let mut events = timely(8);
    events[3].what = What::HandlerBegins { interrupt: 24 };
    events[7].what = What::HandlerEnds;
    let one = &follow(&events)[0];
    let WokenBy::Timer(expiry) = &one.woken_by else { panic!("{one:?}") };
    assert_eq!((expiry.interrupt, expiry.interrupted.pid), (Some(at(1_100)), Some(8)));
    assert_eq!(one.runnable, at(1_150));
    // A softirq serves timers, as for normal threads on PREEMPT_RT.
    events[3].what = What::SoftirqBegins { vector: 8 };
    events[7].what = What::SoftirqEnds { vector: 8 };
    let one = &follow(&events)[0];
    let WokenBy::Timer(expiry) = &one.woken_by else { panic!("{one:?}") };
    assert_eq!((expiry.interrupt, expiry.interrupted.name.as_str()), (None, "HRTIMER"));
    // No event tells of the interrupt.
    events.remove(3);
    let one = &follow(&events)[0];
    let WokenBy::Timer(expiry) = &one.woken_by else { panic!("{one:?}") };
    assert_eq!(expiry.interrupt, Some(expiry.first_served));
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
    let WokenBy::Timer(expiry) = &one.woken_by else { panic!("{one:?}") };
    assert_eq!((expiry.interrupt, expiry.served), (None, at(1_620)));
    let deferred = expiry.deferred.as_ref().unwrap();
    assert_eq!((deferred.interrupt, deferred.interrupted.name.as_str()), (at(1_100), "t9"));
    let names: Vec<_> =
        deferred.occupants.iter().map(|one| (one.who.name.as_str(), one.ns.as_nanos())).collect();
    assert_eq!(names, [("local_timer", 20), ("t9", 380 + 60), ("t15", 10 + 20), ("HRTIMER", 20 + 10)]);
    assert_eq!(occupants(one), [(Holder::Thread, "t15", 5)]);
    // The softirq of the next interrupt is another one.
    let mut events = left_to_a_thread();
    events.remove(4);
    let WokenBy::Timer(expiry) = &follow(&events)[0].woken_by else { panic!() };
    assert_eq!(expiry.deferred, None);
}

#[test]
fn of_a_timer_that_came_due_meanwhile_only_what_came_after_counts() {
    let mut events = left_to_a_thread();
    events[1].what = What::TimerSet { timer: TIMER, soft: at(1_450), hard: at(1_450) };
    let WokenBy::Timer(expiry) = &follow(&events)[0].woken_by.clone() else { panic!() };
    let deferred = expiry.deferred.as_ref().unwrap();
    assert_eq!(
        (deferred.occupants[0].who.name.as_str(), deferred.occupants[0].ns.as_nanos()),
        ("t9", 50 + 60)
    );
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
    let Asleep::Stopped(Some(who)) = &one.asleep else { panic!("{one:?}") };
    assert_eq!((who.pid, who.name.as_str()), (Some(44), "t44"));
    let WokenBy::Other(who) = &one.woken_by else { panic!("{one:?}") };
    assert_eq!(who.pid, Some(44));
    // Somebody else's signal stops nobody here.
    events[3].what = What::Signal { number: 19, thread: 99 };
    assert_eq!(follow(&events)[0].asleep, Asleep::Stopped(None));
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
    assert!(matches!(&one.woken_by, WokenBy::Other(who) if who.pid == Some(ME)), "{one:?}");
    assert_eq!(seen[seen.len() - 2].asleep_again, Some(at(1_300)), "the one before is as it was");
}

#[test]
fn nothing_is_made_up_around_what_is_missing() {
    let mut events = timely(8);
    events.insert(6, missed(1, 1_132).unwrap());
    let one = &follow(&events)[0];
    assert!(one.asleep_since.is_none(), "it may have slept and run meanwhile");
    assert!(matches!(one.woken_by, WokenBy::Timer(_)));
    events.insert(9, missed(0, 1_160).unwrap());
    assert_eq!(follow(&events), []);
}

#[test]
fn a_timer_on_another_clock_is_not_one_of_these() {
    let mut events = timely(8);
    let (soft, hard) = (at(1_700_000_000_000_000_000), at(1_700_000_000_000_000_050));
    events[1].what = What::TimerSet { timer: TIMER, soft, hard };
    assert!(matches!(follow(&events)[0].woken_by, WokenBy::Other(_)));
}

const HEADER_PAGE: &str = include_str!("testdata/header_page");

/// A page of records with their heads, at `time`.
fn page(time: u64, commit: u64, data: &[u32]) -> Vec<u8> {
    let data: Vec<u8> = data.iter().flat_map(|word| word.to_le_bytes()).collect();
    let commit = commit | data.len() as u64;
    time.to_le_bytes().into_iter().chain(commit.to_le_bytes()).chain(data).collect()
}

/// The times and lengths of what a page holds; `None` for a loss.
fn held(page: &[u8]) -> (Vec<(u64, Option<usize>)>, bool) {
    let layout = Layout::parse(HEADER_PAGE).unwrap();
    let mut held = Vec::new();
    let whole = page::items(page, &layout, &mut |at, item| {
        held.push((at, if let Item::Record(record) = item { Some(record.len()) } else { None }));
    });
    (held, whole.is_some())
}

#[test]
fn times_add_up_over_a_page() {
    assert_eq!(Layout::parse(HEADER_PAGE).unwrap().page_size(), 4096);
    let data = [
        3 | 10 << 5,
        1,
        2,
        3, // 12 bytes, 10 ns later
        30 | 5 << 5,
        2, // time goes on by 2 << 27 and 5
        1 << 5,
        12,
        1,
        2, // a length of its own: 8 bytes
        29 | 4 << 5,
        8,
        9, // taken back: 4 bytes behind its length
        31 | 7 << 5,
        3, // the time itself
        1 | 1 << 5,
        1,
        29,
        77,
        77, // the rest is empty
    ];
    let extended = 1_010 + (2 << 27) + 5;
    let absolute = (3 << 27) + 7;
    let expected = [(1_010, Some(12)), (extended + 1, Some(8)), (absolute + 1, Some(4))];
    assert_eq!(held(&page(1_000, 0, &data)), (expected.to_vec(), true));
    // The uppermost five bits of the time are those from before.
    let high = 3 << 59;
    assert_eq!(held(&page(high, 0, &[31 | 7 << 5, 3, 1, 1])).0, [(high | absolute, Some(4))]);
    assert_eq!(held(&page(5, 1 << 31, &[1 | 1 << 5, 1])).0, [(5, None), (6, Some(4))]);
}

#[test]
fn a_damaged_page_ends_where_it_is_damaged() {
    assert_eq!(held(&page(5, 0, &[1 | 1 << 5, 1, 9, 1])), (vec![(6, Some(4))], false));
    for data in [[1 << 5, 2, 1], [1 << 5, u32::MAX, 1], [29 | 1 << 5, u32::MAX, 1]] {
        assert_eq!(held(&page(5, 0, &data)), (vec![], false), "{data:?}");
    }
    assert_eq!(held(&page(5, 4_000, &[1, 1])), (vec![], false));
    assert_eq!(held(&[1, 2, 3]), (vec![], false));
}

#[test]
fn losses_of_all_kinds_are_counted() {
    let stats = "entries: 143\noverrun: 4\ncommit overrun: 2\nbytes: 8756\noldest event ts: 14.5\ndropped events: 3\nread events: 1\n";
    assert_eq!(lost_of(stats), 9);
}

/// What a real kernel wrote: the formats of its events, and a few pages of one CPU on which a thread slept.
const FORMATS: &str = include_str!("testdata/formats");
const PAGES: &[u8] = include_bytes!("testdata/pages");

fn records() -> Records {
    let mut records = Records::default();
    for text in FORMATS.split("name: ").skip(1) {
        let name = text.lines().next().unwrap();
        records.add(name, &Format::parse(text).unwrap()).unwrap();
    }
    records
}

#[test]
fn whoever_is_preempted_does_not_sleep() {
    let format = Format::parse(&FORMATS[FORMATS.find("name: sched_switch").unwrap()..]).unwrap();
    let state = format.field("prev_state").unwrap();
    for (written, read) in [(0_u64, 0), (1, 1), (0x100, 0), (0x102, 2)] {
        let mut record = vec![0; 64];
        record[..2].copy_from_slice(&format.id.to_le_bytes());
        record[state.offset..state.offset + 8].copy_from_slice(&written.to_le_bytes());
        let What::Switch { state, .. } = records().read(0, 5, &record).unwrap().what else { unreachable!() };
        assert_eq!(state, read);
    }
    assert!(records().read(0, 5, &[0xff; 64]).is_none(), "an event of another kind");
}

/// The events of the captured pages.
fn captured() -> Vec<Event> {
    let records = records();
    let layout = Layout::parse(HEADER_PAGE).unwrap();
    let mut events = Vec::new();
    for page in PAGES.chunks(layout.page_size()) {
        let whole = items(page, &layout, &mut |at, item| {
            let Item::Record(record) = item else { panic!("nothing was lost") };
            events.push(records.read(0, at, record).unwrap());
        });
        assert!(whole.is_some());
    }
    events
}

#[test]
fn what_a_real_kernel_wrote_is_read() {
    let events = captured();
    assert!(events.windows(2).all(|pair| pair[0].at <= pair[1].at), "times go on");
    let switches: Vec<_> = events.iter().filter(|event| matches!(event.what, What::Switch { .. })).collect();
    let next = |event: &Event| if let What::Switch { next, .. } = event.what { next } else { unreachable!() };
    assert!(
        switches.windows(2).all(|pair| next(pair[0]) == pair[1].pid),
        "each begins with whom the last went to"
    );
    let sleeper = events.iter().find_map(|event| match event.what {
        What::Waking { thread, .. } => Some(thread),
        _ => None,
    });
    let mut follower = Follower::new(&[], Interrupts::parse(""));
    follower.follow(sleeper.unwrap(), None);
    let mut seen = Vec::new();
    events.iter().for_each(|event| follower.event(event, &mut |one| seen.push(one)));
    assert!(seen.len() >= 3, "{seen:?}");
    for one in &seen[1..] {
        let WokenBy::Timer(expiry) = &one.woken_by else { panic!("{one:?}") };
        assert_eq!(expiry.hard.since(expiry.soft), Span::from_micros(50));
        assert!(expiry.soft <= expiry.interrupt.unwrap() && expiry.interrupt.unwrap() <= expiry.first_served);
        assert!(expiry.served <= one.waking && one.waking <= one.runnable);
        let waited: Span = one.occupants.iter().fold(Span::ZERO, |sum, one| sum.plus(one.ns));
        assert_eq!(waited, one.switched_in.unwrap().since(one.runnable));
    }
}

#[test]
fn pages_that_were_cut_or_damaged_end_somewhere() {
    let layout = Layout::parse(HEADER_PAGE).unwrap();
    let page = &PAGES[..layout.page_size()];
    for length in 0..page.len() {
        let _ = items(&page[..length], &layout, &mut |_, _| {});
        let mut damaged = page.to_vec();
        damaged[length] = !damaged[length];
        let _ = items(&damaged, &layout, &mut |_, _| {});
    }
}
