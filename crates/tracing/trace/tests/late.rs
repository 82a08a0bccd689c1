//! Who kept a thread from its CPU, and for how long: made on purpose. Where programs cannot be loaded into the kernel, that
//! is said and skipped.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use howlate_linux::posix_timer::PosixTimer;
use howlate_linux::{clock, sched, thread as linux_thread};
use howlate_model::{
    CpuSet, HolderKind, LateWait, Latency, Policy, Priority, Span, TracerRefusal, WaitClock, WakeSource,
};
use howlate_testing::skip;
use howlate_trace::{LateReader, TooLate};
use rustix::event::{PollFd, PollFlags, epoll, poll};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

const LATE: Span = Span::from_millis(4);
/// How long the other one waits each time.
const WHILE: Span = Span::from_millis(1);
const BUSY: Span = Span::from_millis(12);
const TIMES: u32 = 20;
/// Times that each CPU passed from one to another: far more than happen meanwhile.
const REMEMBERED: u32 = 16_384;

/// A real-time thread takes the CPU of an ordinary one that waits a while in the way that `prepare` makes, and keeps it: returns
/// their ids, and when each of its turns began and ended. What is seen is looked for as often as `look` is called. Their CPU never
/// idles meanwhile: some virtual machines raise no event for what ends an idle CPU's rest.
fn hold_up<W: FnMut()>(
    prepare: impl FnOnce() -> W + Send + 'static,
    mut look: impl FnMut(),
) -> (u32, u32, Vec<(i64, i64)>) {
    let cpu = CpuSet::from_iter(sched::bindable_cpus().unwrap().iter().next());
    let (to_me, ids) = channel();
    let is_over = Arc::new(AtomicBool::new(false));
    let ends = Arc::clone(&is_over);
    let awake = {
        let (cpu, ends) = (cpu.clone(), Arc::clone(&is_over));
        thread::spawn(move || {
            sched::bind(&cpu).unwrap();
            sched::set_policy(sched::THIS_THREAD, Policy::Idle).unwrap();
            while !ends.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        })
    };
    let sleeper = {
        let (cpu, to_me) = (cpu.clone(), to_me.clone());
        thread::Builder::new().name("victim".into()).spawn(move || {
            sched::bind(&cpu).unwrap();
            let mut wait = prepare();
            to_me.send((0, linux_thread::id())).unwrap();
            while !ends.load(Ordering::Relaxed) {
                wait();
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
                drop(clock::sleep_for(Span::from_millis(20)));
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
        drop(clock::sleep_for(Span::from_millis(100)));
        look();
    }
    is_over.store(true, Ordering::Relaxed);
    sleeper.join().unwrap();
    awake.join().unwrap();
    let turns = hog.join().unwrap();
    look();
    (both[0].1, both[1].1, turns)
}

/// Two tests would hold up each other.
static ALONE: Mutex<()> = Mutex::new(());

/// A reader of what happens on this machine, and of nothing of other tests; `None` where none can be had.
fn reader() -> Option<(LateReader, MutexGuard<'static, ()>)> {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if sched::set_policy(sched::THIS_THREAD, Policy::Fifo { priority: Priority::USUAL }).is_err() {
        skip("real-time priority is not allowed");
        return None;
    }
    sched::set_policy(sched::THIS_THREAD, Policy::OTHER).unwrap();
    match LateReader::begin(TooLate { above: LATE, loop_above: LATE }, REMEMBERED) {
        Ok(mut reader) => {
            reader.tell_of_this_process().unwrap();
            Some((reader, alone))
        }
        Err(refused @ TracerRefusal::Kernel { .. }) => panic!("{refused}"),
        Err(refused) => {
            skip(&format!("bpf cannot be had: {refused}"));
            None
        }
    }
}

fn sleeping() -> impl FnMut() {
    || drop(clock::sleep_for(WHILE))
}

fn timerfd() -> OwnedFd {
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC).unwrap();
    let often = clock::timespec_for(WHILE);
    let times = Itimerspec { it_interval: often, it_value: often };
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &times).unwrap();
    timer
}

fn expiries(timer: &OwnedFd) {
    rustix::io::read(timer, &mut [0; 8]).unwrap();
}

fn reading() -> impl FnMut() {
    let timer = timerfd();
    move || expiries(&timer)
}

fn polling() -> impl FnMut() {
    let timer = timerfd();
    move || {
        poll(&mut [PollFd::new(&timer, PollFlags::IN)], None).unwrap();
        expiries(&timer);
    }
}

fn waiting_for_events() -> impl FnMut() {
    let (timer, events) = (timerfd(), epoll::create(epoll::CreateFlags::CLOEXEC).unwrap());
    epoll::add(&events, &timer, epoll::EventData::new_u64(0), epoll::EventFlags::IN).unwrap();
    move || {
        let mut found = [MaybeUninit::uninit(); 1];
        epoll::wait(&events, &mut found, None).unwrap();
        expiries(&timer);
    }
}

fn timing_out() -> impl FnMut() {
    let events = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
    move || {
        let mut found = [MaybeUninit::uninit(); 1];
        epoll::wait(&events, &mut found, Some(&clock::timespec_for(WHILE))).unwrap();
    }
}

fn parked() -> impl FnMut() {
    || thread::park_timeout(Duration::from_millis(1))
}

fn signalled() -> impl FnMut() {
    let timer = PosixTimer::new(WaitClock::Monotonic).unwrap();
    move || {
        timer.arm_after(WHILE).unwrap();
        timer.wait().unwrap();
    }
}

#[test]
fn whoever_waits_for_a_timer_is_late_by_its_time() {
    let Some((mut reader, _alone)) = reader() else { return };
    assert_eq!(reader.unseen().timers, None);
    held(&mut reader, "a sleep", sleeping);
    held(&mut reader, "a time-out of epoll_wait(2)", timing_out);
    held(&mut reader, "a time-out of a futex", parked);
    held(&mut reader, "read(2) of a timerfd", reading);
    held(&mut reader, "poll(2) of a timerfd", polling);
    held(&mut reader, "epoll_wait(2) of a timerfd", waiting_for_events);
    held(&mut reader, "a signal of a POSIX timer", signalled);
}

/// A thread that was held up, and who did it.
struct HeldUp {
    /// The ids of both.
    victim: u32,
    hog: u32,
    /// When each of the hog's turns began and ended.
    turns: Vec<(i64, i64)>,
    /// The waits that were told meanwhile, of all threads.
    seen: Vec<LateWait>,
}

/// How often it is tried to hold somebody up on a machine that is not stopped meanwhile.
const TRIES: u32 = 10;

/// Holds somebody up, and returns what was seen of it as well. Again where the machine hid something: one that was stopped may raise no
/// event for a timer when it goes on, as it then raises none for switches.
fn held_up_and_seen<W: FnMut()>(
    reader: &mut LateReader,
    prepare: impl Fn() -> W + Copy + Send + 'static,
) -> Option<HeldUp> {
    for _ in 0..TRIES {
        let (mut seen, mut unseen): (Vec<LateWait>, u64) = (Vec::new(), 0);
        let (victim, hog, turns) = hold_up(prepare, || {
            let (read, waits) = reader.read(|_| true, |all| all).unwrap();
            seen.extend(waits);
            unseen += read.unseen;
        });
        let is_by_timer = |wait: &LateWait| matches!(wait.sleep.woken_by, WakeSource::Timer(_));
        let is_hidden = unseen > 0 && seen.iter().any(|one| one.sleep.tid == victim && !is_by_timer(one));
        if !is_hidden {
            return Some(HeldUp { victim, hog, turns, seen });
        }
    }
    skip("this machine was stopped so often that each time it hid events of what was held up");
    None
}

/// Each time it is held up, it is late since it was due.
fn held<W: FnMut()>(reader: &mut LateReader, what: &str, prepare: impl Fn() -> W + Copy + Send + 'static) {
    let Some(HeldUp { victim, turns, seen, .. }) = held_up_and_seen(reader, prepare) else { return };
    let mine: Vec<&LateWait> =
        seen.iter().filter(|wait| wait.sleep.tid == victim && !wait.preempted).collect();
    assert!(mine.len() * 2 > turns.len(), "{what}: {} of {}", mine.len(), turns.len());
    for wait in mine {
        let WakeSource::Timer(timer) = &wait.sleep.woken_by else {
            panic!("{what}: a timer woke it: {wait:?}")
        };
        assert_eq!(wait.late, wait.sleep.switched_in.unwrap().since(timer.soft), "{what}: {wait:?}");
    }
}

#[test]
fn whoever_keeps_a_thread_from_its_cpu_is_named_each_time_once() {
    let Some((mut reader, _alone)) = reader() else { return };
    let Some(HeldUp { victim, hog, turns, seen }) = held_up_and_seen(&mut reader, sleeping) else { return };
    let mine: Vec<&LateWait> = seen.iter().filter(|wait| wait.sleep.tid == victim).collect();
    let during = |wait: &&&LateWait, (began, ended): (i64, i64)| {
        wait.sleep.waking.as_nanos() < ended && wait.sleep.switched_in.unwrap().as_nanos() > began
    };
    for turn in &turns {
        let waits: Vec<_> = mine.iter().filter(|wait| during(wait, *turn)).collect();
        assert_eq!(waits.len(), 1, "{turn:?} of {turns:?}: {mine:?}");
        let wait = waits[0];
        let held: Span = wait.sleep.occupants.iter().map(|one| one.ns).fold(Span::ZERO, Span::plus);
        let ran = wait.sleep.switched_in.unwrap();
        assert_eq!(held.plus(wait.sleep.unnamed), ran.since(wait.sleep.runnable), "without a gap: {wait:?}");
        let WakeSource::Timer(timer) = &wait.sleep.woken_by else { panic!("a timer woke it: {wait:?}") };
        assert_eq!((timer.soft, wait.late), (ran.minus(wait.late), ran.since(timer.soft)), "{wait:?}");
        assert!(timer.soft <= timer.served && timer.served <= wait.sleep.runnable, "{wait:?}");
        let by_hog = wait.sleep.occupants.iter().filter(|one| one.who.pid == Some(hog));
        assert!(
            by_hog.clone().all(|one| one.who.holder == HolderKind::RealTimeThread && one.who.name == "hog")
        );
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

#[test]
fn the_longest_wait_of_a_group_is_one_that_was_told_each_time_that_groups_are_read() {
    let Some((mut reader, _alone)) = reader() else { return };
    let own = std::fs::read_to_string("/proc/self/comm").unwrap();
    reader.groups().unwrap();
    // On a crowded machine a wait of this test's own threads may not be told: of three times, one shows all.
    let mut is_told = || {
        let Some(HeldUp { mut seen, .. }) = held_up_and_seen(&mut reader, sleeping) else { return true };
        let groups = reader.groups().unwrap();
        seen.extend(reader.read(|_| true, |all| all).unwrap().1);
        // SCHED_OTHER: the one that waits, and those of this test.
        let mine = groups.iter().filter(|one| one.process == own.trim() && one.policy == 0);
        let longest = mine.filter_map(|one| one.waits.max()).max().unwrap();
        seen.iter().any(|wait| Latency::from_span(wait.late) == longest)
    };
    for round in 0..4 {
        assert!((0..3).any(|_| is_told()), "round {round}: the longest is none that was told");
    }
}
