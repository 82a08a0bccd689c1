//! Real-time threads that wait while the kernel runs a normal one. A tracer that is not available is skipped.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::{JoinHandle, spawn};

use howlate_linux::{clock, sched, thread as linux_thread};
use howlate_model::{CpuSet, HolderKind, MonotonicTime, Occupant, Policy, Priority, Span, TracedSleep};
use howlate_procfs::{Kernel, Root};
use howlate_testing::skip;
use howlate_trace::{Choice, Tier, Tracer, open};
use rustix::pipe::{fcntl_getpipe_size, fcntl_setpipe_size};
use rustix::thread::{ClockId, clock_nanosleep_absolute};

/// The fair server runs once per second by default, as does real-time throttling.
const LASTS: Span = Span::from_millis(2_500);
/// Less than that a normal thread can have as the last real-time thread of the CPU ends.
const OF_SERVER: Span = Span::from_millis(1);
const PERIOD: Span = Span::from_millis(5);

fn real_time(lowered: u32) -> Policy {
    Policy::Fifo { priority: Priority::USUAL.lowered(lowered) }
}

/// Keeps `cpu` busy until `end`; the thread is on it when this returns.
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

/// Binds a busy normal thread to one CPU after the other until `end`: the kernel's stopper moves it, ahead of the fair server.
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

/// Sleeps for a period at a time until `end`.
fn sleep_by_timer(end: MonotonicTime) {
    let mut next = clock::now();
    while next < end {
        clock_nanosleep_absolute(ClockId::Monotonic, &clock::timespec_at(next)).unwrap();
        next = next.plus(PERIOD);
    }
}

/// Empties a pipe every few moments until `end`. The thread that fills it, of the same priority on the same CPU, goes to sleep within long
/// calls: on kernels that do not preempt themselves, the fair server becomes due in one of them, and is chosen as that thread sleeps.
fn sleep_beside_long_calls(end: MonotonicTime) {
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    let size = fcntl_getpipe_size(&writer).unwrap() * 16;
    fcntl_setpipe_size(&writer, size).unwrap();
    let filled = spawn(move || {
        let pages = vec![0; size];
        while clock::now() < end {
            writer.write_all(&pages).unwrap();
        }
    });
    let mut pages = vec![0; size];
    while reader.read(&mut pages).unwrap() > 0 {
        clock::sleep_for(Span::from_micros(200)).unwrap();
    }
    filled.join().unwrap();
}

/// A real-time thread that sleeps, above a busy real-time one and beside a busy normal one; returns the sleeps of the first, and the id of
/// the last.
fn starve(tracer: &mut dyn Tracer, sleep_until: fn(MonotonicTime)) -> (Vec<TracedSleep>, u32) {
    let cpu = CpuSet::from_iter(sched::bindable_cpus().unwrap().iter().last());
    let end = clock::now().plus(LASTS);
    tracer.start().unwrap();
    let ((to_me, tid), its_cpu) = (channel(), cpu.clone());
    let late = spawn(move || {
        sched::bind(&its_cpu).unwrap();
        sched::set_policy(sched::THIS_THREAD, real_time(0)).unwrap();
        to_me.send(linux_thread::id()).unwrap();
        sleep_until(end);
    });
    let sleeper_id = tid.recv().unwrap();
    tracer.follow(sleeper_id, Span::from_nanos(1)).unwrap();
    let hog = busy(&cpu, real_time(60), end);
    let chasing = chase(end);
    let ordinary = busy(&cpu, Policy::OTHER, end);
    late.join().unwrap();
    chasing.join().unwrap();
    hog.join().unwrap();
    let ordinary = ordinary.join().unwrap();
    tracer.stop();
    let mut sleeps = Vec::new();
    tracer.read(&mut |sleep| sleeps.push(sleep));
    sleeps.retain(|sleep| sleep.tid == sleeper_id);
    (sleeps, ordinary)
}

/// One after the other: each needs the whole CPU.
#[test]
fn an_ordinary_thread_ahead_of_a_real_time_one_is_a_server_thread() {
    ordinary_threads_are_server_threads(sleep_by_timer);
    ordinary_threads_are_server_threads(sleep_beside_long_calls);
}

fn ordinary_threads_are_server_threads(sleep_until: fn(MonotonicTime)) {
    // Before 6.12, throttling stops all real-time threads of a CPU at once.
    if Kernel::read(&Root::live()).at_least(6, 12) != Some(true) {
        return skip("this kernel has no fair server");
    }
    let is_allowed = spawn(|| sched::set_policy(sched::THIS_THREAD, real_time(0)).is_ok()).join().unwrap();
    for tier in [Tier::Bpf, Tier::Tracefs] {
        let mut opened = open(Choice::Only(tier), &[std::process::id()]);
        let Some(tracer) = opened.tracer.as_deref_mut().filter(|_| is_allowed) else {
            skip(&format!("{tier}: not without its rights"));
            continue;
        };
        let (sleeps, ordinary) = starve(tracer, sleep_until);
        let waits = sleeps.iter().flat_map(|sleep| &sleep.occupants);
        let of_ordinary: Vec<_> = waits.filter(|occupant| occupant.who.pid == Some(ordinary)).collect();
        let total = |is_counted: &dyn Fn(&Occupant) -> bool| -> Span {
            of_ordinary
                .iter()
                .filter(|occupant| is_counted(occupant))
                .fold(Span::ZERO, |sum, occupant| sum.plus(occupant.ns))
        };
        let (all, as_server) =
            (total(&|_| true), total(&|occupant| occupant.who.holder == HolderKind::Server));
        if all < OF_SERVER {
            skip(&format!("{tier}: no normal thread was let for long; the fair server is off"));
            continue;
        }
        // Some virtual machines hide a part of it.
        assert!(as_server > Span::from_nanos(all.as_nanos() / 10 * 9), "{tier}: {of_ordinary:?}");
    }
}
