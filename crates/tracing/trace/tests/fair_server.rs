//! Real-time threads that wait while the kernel runs an ordinary one. A tracer that cannot be had here is named, and skipped.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::{JoinHandle, spawn};

use howlate_linux::{clock, sched, thread as linux_thread};
use howlate_model::{CpuSet, HolderKind, MonotonicTime, Occupant, Policy, Priority, Span, TracedSleep};
use howlate_procfs::{Kernel, Root};
use howlate_testing::skip;
use howlate_trace::{Choice, Tier, Tracer, open};
use rustix::thread::{ClockId, clock_nanosleep_absolute};

/// The fair server comes once in a second by default, real-time throttling as well.
const LASTS: Span = Span::from_millis(2_500);
const PERIOD: Span = Span::from_millis(5);

fn real_time(lowered: u32) -> Policy {
    Policy::Fifo { priority: Priority::USUAL.lowered(lowered) }
}

/// Has `cpu` until `end`, whenever it may; it is there when this returns.
fn busy(cpu: &CpuSet, policy: Policy, end: MonotonicTime) -> JoinHandle<u32> {
    let ((here, is_here), cpu) = (channel(), cpu.clone());
    let busy = spawn(move || {
        sched::set_policy(sched::THIS_THREAD, policy).unwrap();
        sched::bind(&cpu).unwrap();
        here.send(()).unwrap();
        while clock::now() < end {}
        linux_thread::id()
    });
    is_here.recv().unwrap();
    busy
}

/// Has an ordinary thread that is busy bound to one CPU after the other until `end`: the kernel's stopper moves it, ahead of
/// the fair server.
fn chase(end: MonotonicTime) -> JoinHandle<()> {
    spawn(move || {
        let cpus = sched::bindable_cpus().unwrap();
        let ((to_me, tid), over) = (channel(), Arc::new(AtomicBool::new(false)));
        let is_over = Arc::clone(&over);
        let chased = spawn(move || {
            to_me.send(linux_thread::id()).unwrap();
            while !is_over.load(Ordering::Relaxed) {}
        });
        let chased_id = tid.recv().unwrap();
        for cpu in cpus.iter().collect::<Vec<_>>().into_iter().cycle().take_while(|_| clock::now() < end) {
            sched::bind_thread(chased_id, &CpuSet::from_iter([cpu])).unwrap();
            clock::sleep_for(Span::from_micros(300)).unwrap();
        }
        sched::bind_thread(chased_id, &cpus).unwrap();
        over.store(true, Ordering::Relaxed);
        chased.join().unwrap();
    })
}

/// A real-time thread that sleeps, above one that never does, beside an ordinary one; returns what was seen of the first, and
/// the id of the last.
fn starve(tracer: &mut dyn Tracer) -> (Vec<TracedSleep>, u32) {
    let cpu = CpuSet::from_iter(sched::bindable_cpus().unwrap().iter().last());
    let end = clock::now().plus(LASTS);
    tracer.start().unwrap();
    let ((to_me, tid), its_cpu) = (channel(), cpu.clone());
    let late = spawn(move || {
        sched::bind(&its_cpu).unwrap();
        sched::set_policy(sched::THIS_THREAD, real_time(0)).unwrap();
        to_me.send(linux_thread::id()).unwrap();
        let mut next = clock::now();
        while next < end {
            clock_nanosleep_absolute(ClockId::Monotonic, &clock::timespec_at(next)).unwrap();
            next = next.plus(PERIOD);
        }
    });
    let mine = tid.recv().unwrap();
    tracer.follow(mine, Span::from_nanos(1)).unwrap();
    let hog = busy(&cpu, real_time(60), end);
    let chasing = chase(end);
    let ordinary = busy(&cpu, Policy::OTHER, end);
    late.join().unwrap();
    chasing.join().unwrap();
    hog.join().unwrap();
    let ordinary = ordinary.join().unwrap();
    tracer.stop();
    let mut seen = Vec::new();
    tracer.read(&mut |one| seen.push(one));
    seen.retain(|one| one.tid == mine);
    (seen, ordinary)
}

#[test]
fn an_ordinary_thread_that_keeps_a_real_time_one_waiting_was_let() {
    // Throttling stops all real-time threads of a CPU at once before; the server is there where nobody has turned it off.
    if Kernel::read(&Root::live()).at_least(6, 12) != Some(true) {
        return skip("this kernel has no fair server");
    }
    let may = spawn(|| sched::set_policy(sched::THIS_THREAD, real_time(0)).is_ok()).join().unwrap();
    for tier in [Tier::Bpf, Tier::Tracefs] {
        let mut opened = open(Choice::Only(tier), &[std::process::id()]);
        let Some(tracer) = opened.tracer.as_deref_mut().filter(|_| may) else {
            skip(&format!("{tier}: not without its rights"));
            continue;
        };
        let (seen, ordinary) = starve(tracer);
        let waits = seen.iter().flat_map(|one| &one.occupants);
        let ordinarys: Vec<_> = waits.filter(|one| one.who.pid == Some(ordinary)).collect();
        if ordinarys.is_empty() {
            skip(&format!("{tier}: no ordinary thread was let; the fair server is off"));
            continue;
        }
        // Whatever the machine hid of it.
        let total = |of: &dyn Fn(&Occupant) -> bool| -> u64 {
            ordinarys.iter().filter(|one| of(one)).map(|one| one.ns.as_nanos()).sum()
        };
        let was_let = total(&|one| one.who.holder == HolderKind::Server);
        assert!(was_let > total(&|_| true) / 10 * 9, "{tier}: {ordinarys:?}");
    }
}
