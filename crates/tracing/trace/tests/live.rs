//! The tracers on the running kernel. A tracer that is not available is skipped.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::{ErrorKind, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;

use howlate_linux::{clock, sched, thread as linux_thread};
use howlate_model::{
    CpuHolder, CpuSet, HolderKind, Policy, SleepState, Span, TracedSleep, WakeSource, Wakeup,
    WakeupHookFactory,
};
use howlate_testing::skip;
use howlate_trace::{Choice, Tier, Tracer, open};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{ClockId, clock_nanosleep_absolute};

const PERIOD: Span = Span::from_millis(2);
const SLEEPS: i64 = 50;

/// A thread that sleeps until one time after the other, and does after each wake-up what the tracer requires.
fn sleeper(
    after_each: Option<WakeupHookFactory>,
    tid: &Sender<u32>,
    may_begin: &Receiver<()>,
) -> Vec<Wakeup> {
    tid.send(linux_thread::id()).unwrap();
    may_begin.recv().unwrap();
    let mut after_wakeup = after_each.map(|after_each| after_each.create());
    let mut expected = clock::now().plus(PERIOD);
    let mut wakeups = Vec::new();
    for _ in 0..SLEEPS {
        clock_nanosleep_absolute(ClockId::Monotonic, &clock::timespec_at(expected)).unwrap();
        let wakeup = Wakeup { expected, ran: clock::now() };
        wakeups.push(wakeup);
        after_wakeup.iter_mut().for_each(|after_wakeup| after_wakeup(wakeup));
        expected = clock::now().plus(PERIOD);
    }
    wakeups
}

/// Lets a thread sleep that `tracer` follows; returns its id and its wake-ups. Its CPU never idles meanwhile: some virtual machines raise
/// no event for a switch that ends idle.
fn sleep_a_while(tracer: &mut dyn Tracer) -> (u32, Vec<Wakeup>) {
    let cpu = CpuSet::from_iter(sched::bindable_cpus().unwrap().iter().next());
    let (_sleeping, slept) = channel();
    let its_cpu = cpu.clone();
    thread::spawn(move || keep_awake(&its_cpu, &slept));
    sleep_on(cpu, tracer)
}

/// Spins on `cpu` with the lowest priority until the channel is closed.
fn keep_awake(cpu: &CpuSet, ended: &Receiver<()>) {
    sched::bind(cpu).unwrap();
    sched::set_policy(sched::THIS_THREAD, Policy::Idle).unwrap();
    while ended.try_recv() == Err(TryRecvError::Empty) {
        std::hint::spin_loop();
    }
}

fn sleep_on(cpu: CpuSet, tracer: &mut dyn Tracer) -> (u32, Vec<Wakeup>) {
    let ((to_me, from_thread), (go, may_begin)) = (channel(), channel());
    let after_each = tracer.after_each();
    let thread = thread::spawn(move || {
        sched::bind(&cpu).unwrap();
        sleeper(after_each, &to_me, &may_begin)
    });
    let tid = from_thread.recv().unwrap();
    tracer.follow(tid, Span::from_micros(50)).unwrap();
    go.send(()).unwrap();
    (tid, thread.join().unwrap())
}

#[test]
fn every_sleep_is_seen_with_its_own_times() {
    for tier in Tier::ALL {
        let mut opened = open(Choice::Only(tier), &[std::process::id()]);
        let Some(tracer) = &mut opened.tracer else {
            skip(&format!("{tier}: {}", opened.refused[0].1));
            continue;
        };
        tracer.start().unwrap();
        let (tid, wakeups) = sleep_a_while(tracer.as_mut());
        tracer.stop();
        let mut sleeps: Vec<TracedSleep> = Vec::new();
        let lost = tracer.read(&mut |sleep| sleeps.push(sleep));
        sleeps.retain(|sleep| sleep.tid == tid);
        assert_eq!(lost, 0);
        let found =
            wakeups.iter().filter(|wakeup| sleeps.iter().any(|sleep| matches_wakeup(sleep, **wakeup)));
        // Switches to and from some processes raise no event in some virtual machines.
        assert!(found.count() >= 45, "{tier}: {sleeps:?}");
        // A stopped tracer sees nothing.
        tracer.read(&mut |sleep| panic!("{sleep:?}"));
    }
}

#[test]
fn a_tracer_sees_again_when_it_is_started_again() {
    for tier in Tier::ALL {
        let Some(mut tracer) = open(Choice::Only(tier), &[std::process::id()]).tracer else { continue };
        for _ in 0..2 {
            tracer.start().unwrap();
            let (tid, _) = sleep_a_while(tracer.as_mut());
            tracer.stop();
            let mut sleeps = 0;
            tracer.read(&mut |sleep| sleeps += u32::from(sleep.tid == tid));
            assert!(sleeps >= 45, "{tier}: {sleeps}");
        }
    }
}

/// A program that is stopped in a sleep, continues, and sleeps for the rest of it.
#[test]
fn the_sender_of_a_stop_signal_is_known_after_later_sleeps() {
    for tier in [Tier::Bpf, Tier::Tracefs] {
        let mut process = Command::new("sleep").arg("infinity").spawn().unwrap();
        let mut opened = open(Choice::Only(tier), &[process.id()]);
        let Some(tracer) = &mut opened.tracer else {
            process.kill().unwrap();
            skip(&format!("{tier}: {}", opened.refused[0].1));
            continue;
        };
        await_state(&process, 'S');
        tracer.start().unwrap();
        tracer.follow(process.id(), Span::from_micros(50)).unwrap();
        for _ in 0..STOPS {
            stop_and_continue(&process);
        }
        tracer.stop();
        let mut stoppers = Vec::new();
        tracer.read(&mut |sleep| stoppers.extend(stopper(sleep.asleep)));
        process.kill().unwrap();
        process.wait().unwrap();
        // Switches to and from some processes raise no event in some virtual machines: then the sender may be unknown.
        let is_not_me =
            |who: &&CpuHolder| who.holder != HolderKind::NotSeen && who.pid != Some(linux_thread::id());
        assert_eq!(stoppers.iter().find(is_not_me), None, "{tier}");
        assert!(stoppers.iter().any(|who| who.pid.is_some()), "{tier}: {stoppers:?}");
    }
}

const STOPS: usize = 20;

fn stop_and_continue(process: &Child) {
    let pid = Pid::from_child(process);
    kill_process(pid, Signal::STOP).unwrap();
    await_state(process, 'T');
    kill_process(pid, Signal::CONT).unwrap();
    await_state(process, 'S');
}

/// Waits until it is stopped (`T`) or asleep (`S`).
fn await_state(process: &Child, state: char) {
    let path = format!("/proc/{}/stat", process.id());
    let is_in_state = || std::fs::read_to_string(&path).unwrap().contains(&format!(") {state} "));
    while !is_in_state() {
        clock::sleep_for(Span::from_millis(1)).unwrap();
    }
}

/// Sender of the stop signal, which must be known, if the sleep was a stop.
fn stopper(asleep: SleepState) -> Option<CpuHolder> {
    match asleep {
        SleepState::Stopped(by) => Some(by.unwrap()),
        SleepState::Waiting => None,
    }
}

/// Whether this is the sleep that ended with `wakeup`, and its times are in order.
fn matches_wakeup(sleep: &TracedSleep, wakeup: Wakeup) -> bool {
    let Some(switched_in) = sleep.switched_in else { return false };
    let in_order = sleep.waking <= sleep.runnable
        && sleep.runnable <= switched_in
        && switched_in <= wakeup.ran
        && sleep.asleep_again.is_none_or(|again| again >= wakeup.ran);
    in_order
        && match &sleep.woken_by {
            WakeSource::Timer(expiry) => {
                expiry.soft == wakeup.expected
                    && expiry.soft <= expiry.hard
                    && expiry.first_served <= expiry.served
                    && expiry.served <= sleep.waking
            }
            WakeSource::NotSeen { .. } => switched_in >= wakeup.expected,
            WakeSource::Other(_) => false,
        }
}

/// Its client, on another CPU, answers at once: often while it is about to leave its CPU.
#[test]
fn who_is_woken_while_it_leaves_its_cpu_is_seen() {
    const ROUND_TRIPS: u64 = 20_000;
    let cpus: Vec<u32> = sched::bindable_cpus().unwrap().iter().collect();
    let [first, .., last] = cpus[..] else { return skip("needs two CPUs") };
    sched::bind(&CpuSet::from_iter([last])).unwrap();
    let mut server = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    sched::bind(&CpuSet::from_iter([first])).unwrap();
    let (mut to, mut from) = (server.stdin.take().unwrap(), server.stdout.take().unwrap());
    rustix::io::ioctl_fionbio(&from, true).unwrap();
    let mut opened = open(Choice::Only(Tier::Bpf), &[server.id()]);
    if let Some(tracer) = &mut opened.tracer {
        tracer.start().unwrap();
        for number in 0..ROUND_TRIPS {
            let mut byte = [1];
            to.write_all(&byte).unwrap();
            while let Err(error) = from.read(&mut byte) {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
            }
            if number % 1_000 == 0 {
                tracer.read(&mut drop);
            }
        }
        tracer.stop();
        let missed = tracer.missed();
        assert!(missed <= ROUND_TRIPS / 1_000, "{missed} of {ROUND_TRIPS} wake-ups were not seen");
    } else {
        skip(&format!("bpf: {}", opened.refused[0].1));
    }
    drop(to);
    server.wait().unwrap();
}
