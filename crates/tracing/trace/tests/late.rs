//! Late waits that are provoked: which thread delayed another, and for how long. Skipped where BPF is not available.

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
    CpuSet, HolderKind, LateWait, Latency, MonotonicTime, Policy, Priority, Span, TracerRefusal, WaitClock,
    WakeSource,
};
use howlate_testing::skip;
use howlate_trace::{LateReader, LateThresholds};
use rustix::event::{PollFd, PollFlags, epoll, poll};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

const LATE: Span = Span::from_millis(4);
/// How long the delayed thread waits each time.
const SLEEP: Span = Span::from_millis(1);
const BUSY: Span = Span::from_millis(12);
const TIMES: u32 = 20;
/// Ring size: far more events than happen meanwhile.
const RING_EVENTS: u32 = 16_384;

/// A real-time thread takes the CPU of a normal thread that waits in the way that `prepare` sets up, and keeps it. `look` reads the
/// events. Their CPU never idles meanwhile: some virtual machines raise no event
/// for the switch that ends idle.
fn delay_thread<W: FnMut()>(prepare: impl FnOnce() -> W + Send + 'static, mut look: impl FnMut()) -> Delay {
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
            let waits_since = clock::now();
            while !ends.load(Ordering::Relaxed) {
                wait();
            }
            waits_since
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
    let waits_since = sleeper.join().unwrap();
    awake.join().unwrap();
    let turns = hog.join().unwrap();
    look();
    Delay { victim: both[0].1, waits_since, hog: both[1].1, turns }
}

/// A thread that was delayed, and the thread that delayed it.
struct Delay {
    /// Its id.
    victim: u32,
    /// When it was ready to wait as it was to; before, it also waits for others.
    waits_since: MonotonicTime,
    /// The id of the other one.
    hog: u32,
    /// Start and end of each occupation by the hog.
    turns: Vec<(i64, i64)>,
}

/// Two tests would delay each other.
static ALONE: Mutex<()> = Mutex::new(());

/// A reader without events of other tests; `None` if it is not available.
fn reader() -> Option<(LateReader, MutexGuard<'static, ()>)> {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if sched::set_policy(sched::THIS_THREAD, Policy::Fifo { priority: Priority::USUAL }).is_err() {
        skip("real-time priority is not allowed");
        return None;
    }
    sched::set_policy(sched::THIS_THREAD, Policy::OTHER).unwrap();
    match LateReader::begin(LateThresholds { above: LATE, loop_above: LATE }, RING_EVENTS) {
        Ok(mut reader) => {
            reader.include_this_process().unwrap();
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
    || drop(clock::sleep_for(SLEEP))
}

fn timerfd() -> OwnedFd {
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC).unwrap();
    let often = clock::timespec_for(SLEEP);
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
        epoll::wait(&events, &mut found, Some(&clock::timespec_for(SLEEP))).unwrap();
    }
}

fn parked() -> impl FnMut() {
    || thread::park_timeout(Duration::from_millis(1))
}

fn signalled() -> impl FnMut() {
    let timer = PosixTimer::new(WaitClock::Monotonic).unwrap();
    move || {
        timer.arm_after(SLEEP).unwrap();
        timer.wait().unwrap();
    }
}

#[test]
fn a_wait_for_a_timer_is_late_since_it_was_due() {
    let Some((mut reader, _alone)) = reader() else { return };
    assert_eq!(reader.unseen().timers, None);
    assert_late_since_due(&mut reader, "a sleep", sleeping);
    assert_late_since_due(&mut reader, "a time-out of epoll_wait(2)", timing_out);
    assert_late_since_due(&mut reader, "a time-out of a futex", parked);
    assert_late_since_due(&mut reader, "read(2) of a timerfd", reading);
    assert_late_since_due(&mut reader, "poll(2) of a timerfd", polling);
    assert_late_since_due(&mut reader, "epoll_wait(2) of a timerfd", waiting_for_events);
    assert_late_since_due(&mut reader, "a signal of a POSIX timer", signalled);
}

/// A thread that was delayed.
struct DelayedThread {
    delay: Delay,
    /// Late waits of all threads meanwhile.
    waits_seen: Vec<LateWait>,
}

/// Attempts on a machine that may be stopped meanwhile.
const TRIES: u32 = 10;

/// Delays a thread, and returns its late waits as well. Repeated if the machine was stopped: it may then raise no event for a timer, as
/// it raises none for switches.
fn delay_and_read<W: FnMut()>(
    reader: &mut LateReader,
    prepare: impl Fn() -> W + Copy + Send + 'static,
) -> Option<DelayedThread> {
    for _ in 0..TRIES {
        let (mut waits_seen, mut unseen): (Vec<LateWait>, u64) = (Vec::new(), 0);
        let delay = delay_thread(prepare, || {
            let (read, waits) = reader.read(|_| true, |all| all).unwrap();
            waits_seen.extend(waits);
            unseen += read.unseen;
        });
        let is_by_timer = |wait: &LateWait| matches!(wait.sleep.woken_by, WakeSource::Timer(_));
        let is_hidden =
            unseen > 0 && waits_seen.iter().any(|wait| wait.sleep.tid == delay.victim && !is_by_timer(wait));
        if !is_hidden {
            return Some(DelayedThread { delay, waits_seen });
        }
    }
    skip("this machine was stopped so often that each time it hid events of what was held up");
    None
}

/// Each delayed wait is late since its timer was due.
fn assert_late_since_due<W: FnMut()>(
    reader: &mut LateReader,
    what: &str,
    prepare: impl Fn() -> W + Copy + Send + 'static,
) {
    let Some(DelayedThread { delay, waits_seen }) = delay_and_read(reader, prepare) else {
        return;
    };
    let Delay { victim, waits_since, turns, .. } = delay;
    let is_of_a_timer =
        |wait: &&LateWait| wait.sleep.tid == victim && wait.sleep.waking >= waits_since && !wait.preempted;
    let own_waits: Vec<&LateWait> = waits_seen.iter().filter(is_of_a_timer).collect();
    assert!(own_waits.len() * 2 > turns.len(), "{what}: {} of {}", own_waits.len(), turns.len());
    for wait in own_waits {
        let WakeSource::Timer(timer) = &wait.sleep.woken_by else {
            panic!("{what}: a timer woke it: {wait:?}")
        };
        assert_eq!(wait.late, wait.sleep.switched_in.unwrap().since(timer.soft), "{what}: {wait:?}");
    }
}

#[test]
fn the_occupant_is_named_once_per_wait() {
    let Some((mut reader, _alone)) = reader() else { return };
    let Some(DelayedThread { delay, waits_seen }) = delay_and_read(&mut reader, sleeping) else {
        return;
    };
    let Delay { victim, hog, turns, .. } = delay;
    let own_waits: Vec<&LateWait> = waits_seen.iter().filter(|wait| wait.sleep.tid == victim).collect();
    let during = |wait: &&&LateWait, (began, ended): (i64, i64)| {
        wait.sleep.waking.as_nanos() < ended && wait.sleep.switched_in.unwrap().as_nanos() > began
    };
    for turn in &turns {
        let waits: Vec<_> = own_waits.iter().filter(|wait| during(wait, *turn)).collect();
        assert_eq!(waits.len(), 1, "{turn:?} of {turns:?}: {own_waits:?}");
        let wait = waits[0];
        let occupied: Span =
            wait.sleep.occupants.iter().map(|occupant| occupant.ns).fold(Span::ZERO, Span::plus);
        let ran = wait.sleep.switched_in.unwrap();
        assert_eq!(
            occupied.plus(wait.sleep.unnamed),
            ran.since(wait.sleep.runnable),
            "without a gap: {wait:?}"
        );
        let WakeSource::Timer(timer) = &wait.sleep.woken_by else { panic!("a timer woke it: {wait:?}") };
        assert_eq!((timer.soft, wait.late), (ran.minus(wait.late), ran.since(timer.soft)), "{wait:?}");
        assert!(timer.soft <= timer.served && timer.served <= wait.sleep.runnable, "{wait:?}");
        let by_hog = wait.sleep.occupants.iter().filter(|occupant| occupant.who.pid == Some(hog));
        assert!(
            by_hog
                .clone()
                .all(|occupant| occupant.who.holder == HolderKind::RealTimeThread
                    && occupant.who.name == "hog")
        );
        let by_hog = by_hog.map(|occupant| occupant.ns).fold(Span::ZERO, Span::plus);
        let from = turn.0.max(wait.sleep.waking.as_nanos());
        let both = (turn.1.min(wait.sleep.switched_in.unwrap().as_nanos()) - from).unsigned_abs();
        // Other tests may delay the hog itself, and have a part in it.
        assert!(by_hog.as_nanos() * 10 > both, "{both} ns of {turn:?}: {wait:?}");
    }
    let groups = reader.groups().unwrap();
    let own = groups.iter().filter(|group| !group.process.is_empty());
    assert!(own.map(|group| group.waits.count()).sum::<u64>() > u64::from(TIMES));
    let late: u64 = groups.iter().map(|group| group.late).sum();
    assert!(late >= waits_seen.len() as u64, "{late} of {}", waits_seen.len());
    let timeline = reader.timeline(clock::now().minus(Span::from_secs(1)), clock::now()).unwrap();
    assert!(timeline.iter().all(|cpu| cpu.stretches.iter().all(|occupant| occupant.from.is_some())));
    assert!(!timeline.is_empty());
}

#[test]
fn the_longest_wait_of_a_group_was_reported() {
    let Some((mut reader, _alone)) = reader() else { return };
    let own = std::fs::read_to_string("/proc/self/comm").unwrap();
    reader.groups().unwrap();
    // On a busy machine a wait of this test's own threads may not be reported: one of three attempts shows all.
    let mut is_reported = || {
        let Some(DelayedThread { mut waits_seen, .. }) = delay_and_read(&mut reader, sleeping) else {
            return true;
        };
        let groups = reader.groups().unwrap();
        waits_seen.extend(reader.read(|_| true, |all| all).unwrap().1);
        // SCHED_OTHER: the thread that waits, and those of this test.
        let own_waits = groups.iter().filter(|group| group.process == own.trim() && group.policy == 0);
        let longest = own_waits.filter_map(|group| group.waits.max()).max().unwrap();
        waits_seen.iter().any(|wait| Latency::from_span(wait.late) == longest)
    };
    for round in 0..4 {
        assert!((0..3).any(|_| is_reported()), "round {round}: the longest is none that was told");
    }
}
