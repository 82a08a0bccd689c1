//! When a thread starts to wait for its CPU, while interrupts there wake other threads. A tracer that is not available is skipped.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::mpsc::{Sender, channel};
use std::thread;

use howlate_linux::{clock, sched, thread as linux_thread};
use howlate_model::{CpuSet, MonotonicTime, Policy, Priority, Span, TracedSleep, WakeSource};
use howlate_testing::skip;
use howlate_trace::{Choice, Tier, Tracer, open};
use rustix::thread::{ClockId, clock_nanosleep_absolute};

const PERIOD: Span = Span::from_millis(2);
const PERIODS: u64 = 100;
/// How long the CPU is busy in each period, and how often other threads are woken.
const BUSY: Span = Span::from_millis(1);
const OFTEN: Span = Span::from_micros(200);

fn real_time(lowered: u32) -> Policy {
    Policy::Fifo { priority: Priority::USUAL.lowered(lowered) }
}

fn sleep_until(time: MonotonicTime) {
    while clock_nanosleep_absolute(ClockId::Monotonic, &clock::timespec_at(time)).is_err() {}
}

/// A thread on `cpu` that sleeps until one time after the other, and then is busy for a while.
fn sleeper(
    (cpu, policy): (CpuSet, Policy),
    start: MonotonicTime,
    (every, count, busy): (Span, u64, Span),
    tid: &Sender<u32>,
) -> thread::JoinHandle<()> {
    let tid = tid.clone();
    thread::spawn(move || {
        sched::bind(&cpu).unwrap();
        sched::set_policy(sched::THIS_THREAD, policy).unwrap();
        tid.send(linux_thread::id()).unwrap();
        for number in 1..=count {
            let time = start.plus(every.times(number));
            sleep_until(time);
            while clock::now() < time.plus(busy) {}
        }
    })
}

/// A thread that waits, behind a busy one, on a CPU that wakes a third one meanwhile.
fn follow(tracer: &mut dyn Tracer) -> (u32, Vec<TracedSleep>) {
    let cpu = CpuSet::from_iter(sched::bindable_cpus().unwrap().iter().next());
    let start = clock::now().plus(Span::from_millis(50));
    tracer.start().unwrap();
    let (to_me, tids) = channel();
    let mut ids = Vec::new();
    let often = (OFTEN, PERIODS * 10, Span::ZERO);
    let sleepers = [
        (Policy::OTHER, (PERIOD, PERIODS, Span::ZERO)),
        (real_time(40), (PERIOD, PERIODS, BUSY)),
        (real_time(20), often),
    ]
    .map(|(policy, pattern)| {
        let handle = sleeper((cpu.clone(), policy), start, pattern, &to_me);
        let tid = tids.recv().unwrap();
        tracer.follow(tid, Span::from_micros(50)).unwrap();
        ids.push(tid);
        handle
    });
    sleepers.into_iter().for_each(|sleeper| sleeper.join().unwrap());
    tracer.stop();
    let mut sleeps = Vec::new();
    tracer.read(&mut |sleep| sleeps.push(sleep));
    (ids[0], sleeps)
}

fn interrupt(sleep: &TracedSleep) -> Option<MonotonicTime> {
    if let WakeSource::Timer(expiry) = &sleep.woken_by { expiry.interrupt } else { None }
}

#[test]
fn a_thread_waits_from_the_end_of_the_interrupt_that_woke_it() {
    let as_real_time = || sched::set_policy(sched::THIS_THREAD, real_time(0)).is_ok();
    let real_time = thread::spawn(as_real_time).join().unwrap();
    for tier in [Tier::Bpf, Tier::Tracefs] {
        let mut opened = open(Choice::Only(tier), &[std::process::id()]);
        let Some(tracer) = opened.tracer.as_deref_mut().filter(|_| real_time) else {
            skip(&format!("{tier}: not without its rights"));
            continue;
        };
        let (waiting, sleeps) = follow(tracer);
        let own_sleeps: Vec<_> =
            sleeps.iter().filter(|sleep| sleep.tid == waiting && interrupt(sleep).is_some()).collect();
        assert!(own_sleeps.len() > 50, "{tier}: {}", own_sleeps.len());
        let is_within = |other: &TracedSleep, sleep: &TracedSleep| {
            let came = interrupt(other).filter(|_| other.cpu == sleep.cpu && other.tid != sleep.tid);
            came.is_some_and(|came| interrupt(sleep).unwrap() < came && came < sleep.runnable)
        };
        for sleep in own_sleeps {
            let later = sleeps.iter().find(|other| is_within(other, sleep));
            assert_eq!(later, None, "{tier}: another interrupt came before it could run: {sleep:?}");
        }
    }
}
