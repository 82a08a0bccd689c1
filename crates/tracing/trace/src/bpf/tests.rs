//! Kernels that lack an event.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;

use howlate_model::WakeSource;
use howlate_testing::skip;

use super::*;

/// The programs and gaps of a kernel that has no such events.
fn without(events: &[&str]) -> Result<(Vec<&'static str>, Gaps), TracerRefusal> {
    those_that_load(|program| Ok(!events.contains(&program.event)))
}

#[test]
fn an_event_that_is_missing_costs_its_part_and_not_the_tracer() {
    let (all, gaps) = without(&[]).unwrap();
    assert_eq!((all.len(), gaps.all()), (PROGRAMS.len(), &[][..]));
    let (programs, gaps) = without(&["softirq_exit", "hrtimer_start_expired"]).unwrap();
    assert_eq!(gaps.all(), [Gap { event: "softirq_exit", costs: TracerGap::Softirqs }]);
    let gone = ["deferred", "softirq_begins", "softirq_ends", "has_passed"];
    assert!(gone.iter().all(|name| !programs.contains(name)), "{programs:?}");
    assert_eq!(programs.len() + gone.len(), PROGRAMS.len());
}

#[test]
fn there_is_no_doing_without_switches() {
    let refused = without(&["softirq_entry", "sched_switch"]).unwrap_err();
    assert_eq!(refused, TracerRefusal::EventMissing { name: "sched_switch".into() });
}

#[test]
fn lives_that_are_not_seen_are_not_claimed() {
    let Ok(mut tracer) = Bpf::open(&[std::process::id()], &["task_rename"]) else {
        return skip("bpf cannot be had");
    };
    assert_eq!(tracer.with_children(), Ok(false));
    assert!(tracer.lives().is_none());
}

/// Somebody sleeps whose wake-ups no event tells of any more.
#[test]
fn a_wake_up_that_was_not_seen_is_counted() {
    let mut tracer = match Bpf::open(&[std::process::id()], &[]) {
        Ok(tracer) => tracer,
        Err(refusal) => return skip(&refusal.to_string()),
    };
    tracer.start().unwrap();
    let sleep = || (0..20).for_each(|_| clock::sleep_for(Span::from_millis(1)).unwrap());
    sleep();
    let before = tracer.missed();
    let place = tracer.attached.iter().position(|(name, _)| *name == "waking").unwrap();
    let (name, link) = tracer.attached.remove(place);
    program(&mut tracer.kernel, name).unwrap().detach(link).unwrap();
    sleep();
    // Switches of some processes raise no event in some virtual machines.
    assert!(tracer.missed() >= before + 10, "{} and {before}", tracer.missed());
    tracer.stop();
}

/// While programs are attached and detached one after the other, timers go on.
#[test]
fn what_a_timer_wakes_is_woken_by_nobody_else_at_the_beginning_and_the_end() {
    let mut tracer = match Bpf::open(&[std::process::id()], &[]) {
        Ok(tracer) => tracer,
        Err(refusal) => return skip(&refusal.to_string()),
    };
    let over = Arc::new(AtomicBool::new(false));
    let (told, tid) = channel();
    let until = Arc::clone(&over);
    let sleeper = std::thread::spawn(move || {
        told.send(howlate_linux::thread::id()).unwrap();
        while !until.load(Ordering::Relaxed) {
            drop(clock::sleep_for(Span::from_micros(100)));
        }
    });
    let tid = tid.recv().unwrap();
    let mut by = [0, 0];
    for _ in 0..5 {
        tracer.start().unwrap();
        clock::sleep_for(Span::from_millis(20)).unwrap();
        tracer.stop();
        tracer.read(&mut |one| {
            if one.tid == tid {
                by[usize::from(matches!(one.woken_by, WakeSource::Other(_)))] += 1;
            }
        });
    }
    over.store(true, Ordering::Relaxed);
    sleeper.join().unwrap();
    assert!(by[0] > 0 && by[1] == 0, "by its timer and by others: {by:?}");
}
