//! Who kept a thread from its CPU, and for how long: made on purpose. Where programs cannot be loaded into the kernel, that
//! is said and skipped.

#![allow(missing_docs)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use howlate_linux::{clock, sched, thread as linux_thread};
use howlate_model::{CpuSet, Holder, LateWait, Policy, Priority, Span};
use howlate_testing::skip;
use howlate_trace::LateReader;

const LATE: Span = Span::from_millis(4);
const BUSY: Span = Span::from_millis(12);
const TIMES: u32 = 20;
/// Times that each CPU passed from one to another: far more than happen meanwhile.
const REMEMBERED: u32 = 16_384;

/// A real-time thread takes the CPU of an ordinary one that sleeps a while, and keeps it: returns their ids, and when each
/// of its turns began and ended. What is seen is looked for as often as `look` is called.
fn hold_up(mut look: impl FnMut()) -> (u32, u32, Vec<(i64, i64)>) {
    let cpu = CpuSet::from_iter(sched::bindable().unwrap().iter().next());
    let (to_me, ids) = channel();
    let is_over = Arc::new(AtomicBool::new(false));
    let ends = Arc::clone(&is_over);
    let sleeper = {
        let (cpu, to_me) = (cpu.clone(), to_me.clone());
        thread::Builder::new().name("victim".into()).spawn(move || {
            sched::bind(&cpu).unwrap();
            to_me.send((0, linux_thread::id())).unwrap();
            while !ends.load(Ordering::Relaxed) {
                drop(clock::pause(Span::from_millis(1)));
            }
        })
    }
    .unwrap();
    let hog = thread::Builder::new()
        .name("hog".into())
        .spawn(move || {
            sched::bind(&cpu).unwrap();
            sched::set_policy(sched::THIS_THREAD, Policy::Fifo { priority: Priority::USUAL }).unwrap();
            to_me.send((1, linux_thread::id())).unwrap();
            let turn = |_| {
                drop(clock::pause(Span::from_millis(20)));
                let began = clock::now();
                while clock::now().since(began) < BUSY {}
                (began.as_nanos(), clock::now().as_nanos())
            };
            (0..TIMES).map(turn).collect::<Vec<_>>()
        })
        .unwrap();
    let mut both: Vec<(u32, u32)> = ids.iter().take(2).collect();
    both.sort_unstable();
    while !hog.is_finished() {
        drop(clock::pause(Span::from_millis(100)));
        look();
    }
    is_over.store(true, Ordering::Relaxed);
    sleeper.join().unwrap();
    let turns = hog.join().unwrap();
    look();
    (both[0].1, both[1].1, turns)
}

#[test]
fn whoever_keeps_a_thread_from_its_cpu_is_named_each_time_once() {
    if sched::set_policy(sched::THIS_THREAD, Policy::Fifo { priority: Priority::USUAL }).is_err() {
        return skip("real-time priority is not allowed");
    }
    sched::set_policy(sched::THIS_THREAD, Policy::OTHER).unwrap();
    let mut reader = match LateReader::begin(LATE, REMEMBERED) {
        Ok(reader) => reader,
        Err(refused) => return skip(&format!("bpf cannot be had: {refused}")),
    };
    reader.tell_of_this_process(LATE).unwrap();
    let mut seen: Vec<LateWait> = Vec::new();
    let (victim, hog, turns) = hold_up(|| seen.extend(reader.read(|_| true, |all| all).unwrap().1));
    let mine: Vec<&LateWait> = seen.iter().filter(|wait| wait.sleep.tid == victim).collect();
    let during = |wait: &&&LateWait, (began, ended): (i64, i64)| {
        wait.sleep.waking.as_nanos() < ended && wait.sleep.switched_in.unwrap().as_nanos() > began
    };
    for turn in &turns {
        let waits: Vec<_> = mine.iter().filter(|wait| during(wait, *turn)).collect();
        assert_eq!(waits.len(), 1, "{turn:?} of {turns:?}: {mine:?}");
        let wait = waits[0];
        let held: Span = wait.sleep.occupants.iter().map(|one| one.ns).fold(Span::ZERO, Span::plus);
        assert_eq!(held.plus(wait.sleep.unnamed), wait.waited, "without a gap: {wait:?}");
        let by_hog = wait.sleep.occupants.iter().filter(|one| one.who.pid == Some(hog));
        assert!(by_hog.clone().all(|one| one.who.holder == Holder::RealTimeThread && one.who.name == "hog"));
        let by_hog = by_hog.map(|one| one.ns).fold(Span::ZERO, Span::plus);
        let from = turn.0.max(wait.sleep.waking.as_nanos());
        let both = (turn.1.min(wait.sleep.switched_in.unwrap().as_nanos()) - from).unsigned_abs();
        // Who holds up the hog itself has a part in it, which others' tests may.
        assert!(by_hog.as_nanos() * 10 > both, "{both} ns of {turn:?}: {wait:?}");
    }
    let groups = reader.groups().unwrap();
    let own = groups.iter().filter(|group| !group.process.is_empty());
    assert!(own.map(|group| group.waits.count()).sum::<u64>() > u64::from(TIMES));
    let late: u64 = groups.iter().map(|group| group.late).sum();
    assert!(late >= seen.len() as u64, "{late} of {}", seen.len());
    let timeline = reader.timeline(clock::now().minus(Span::from_secs(1)), clock::now()).unwrap();
    assert!(timeline.iter().all(|cpu| cpu.stretches.iter().all(|one| one.from.is_some())));
    assert!(!timeline.is_empty());
}
