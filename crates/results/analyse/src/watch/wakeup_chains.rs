//! Deadlines passed along a chain of wake-ups: a timer wakes one thread of a program, which wakes the thread that does the work.
//!
//! A thread woken by another thread of its process, while that one handles an expired timer, was due at the timer's time:
//! runtimes such as tokio and Go let any thread that waits in epoll wake the one that runs the task.
//!
//! ```text
//! timer's time   worker runs   wakes main   main runs   wakes third   third runs
//! |--------------|-------------|------------|-----------|-------------|
//! |- worker is late
//! |------------ main is late ---------------|
//! |------------------------ third is late ----------------------------|
//! ```

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, VecDeque};

use howlate_model::{
    Activation, Cause, CauseKind, CpuHolder, HolderKind, MonotonicTime, Part, Segment, SleepSite, SleepState,
    Span, TracedSleep, WakeSource, Wakeup, WakeupBreakdown,
};

use super::Awakening;
use super::observed_wakeup::TIMED_CALLS;
use super::passed_deadlines::{PassingWakeup, last_passed};
use crate::cause::{LOCK_CALL, Past, PastSleep, activity, inherit_deadline, wait_cause};

/// A wake-up waits at most this long for the record of what its waker did.
const WAKER_TIMEOUT: Span = Span::from_millis(500);
/// Most threads that a deadline is passed along; longer chains are hardly one task any more.
const LONGEST_CHAIN: usize = 4;
/// Most runs and sleeps stored per thread, if the program has few threads.
const RUNS_PER_THREAD: usize = 256;
/// Below this many old sleeps nothing is merged.
const MERGED_AT_LEAST: usize = 4;
/// Runs that each thread has room for from the start.
const INITIAL_RUNS: usize = 4;
/// A thread with fewer limits of locks per sleep on a timer keeps its time by those sleeps. Of the interpreter's lock, a limit passes
/// for each thread that holds it meanwhile.
const LIMITS_PER_SLEEP: u64 = 8;
/// A wait goes on if the thread sleeps again within this after the limit: time for which it had or waited for its CPU in between is
/// charged to the lock as well.
const AGAIN_WITHIN: Span = Span::from_micros(500);
/// Whoever holds a lock gives it up at the limit, and often before the other waits again.
const PASSED_PER_FOLLOWED: u64 = 8;
/// Runs of all threads together, about a kilobyte each: bounds the memory for programs with thousands of threads.
const RUNS_OF_ALL_THREADS: usize = 16_384;

/// The sleeps of a program's threads, and the deadlines that their wake-ups pass along.
#[derive(Debug, Default)]
pub struct WakeupChains {
    threads: HashMap<u32, ChainThread>,
    /// Threads with sleeps that are not settled yet.
    waiting: BTreeSet<u32>,
    /// Threads that have ended, but still have sleeps to settle.
    ended: Vec<u32>,
}

#[derive(Debug, Default)]
struct ChainThread {
    process: u32,
    has_ended: bool,
    waiting: VecDeque<TracedSleep>,
    /// Its last sleeps, and what it waited for in each.
    past: VecDeque<PastSleep>,
    /// The last time that a signal stopped it: wake-ups that catch up are late because of that.
    stopped: Option<Box<TracedSleep>>,
    runs: VecDeque<RunInterval>,
    /// Number of sleeps so far, and of those in the call that locks wait in.
    slept: u64,
    slept_in_locks: u64,
    /// Number of sleeps that a timer ended: in the call that locks wait in, with another sleep in it next or without, and in others.
    limits_followed: u64,
    limits_passed: u64,
    timed: u64,
}

/// What a thread did from one sleep to the next.
#[derive(Debug)]
struct RunInterval {
    from: MonotonicTime,
    until: MonotonicTime,
    /// The deadline that it was late for, if it had one.
    deadline: Option<Deadline>,
}

#[derive(Debug)]
struct Deadline {
    explained: WakeupBreakdown,
    expected: MonotonicTime,
    through: Vec<CpuHolder>,
}

/// Result of looking for the origin of a wake-up.
enum Resolution {
    Known(Option<Awakening>),
    /// What its waker did is not recorded yet.
    Pending,
}

impl WakeupChains {
    /// Adds a thread of `process`.
    pub fn follow(&mut self, tid: u32, process: u32) {
        let thread = self.threads.entry(tid).or_default();
        (thread.process, thread.has_ended) = (process, false);
    }

    /// Takes a recorded sleep of a thread of `process`.
    pub fn record_sleep(&mut self, sleep: TracedSleep, process: u32) {
        let thread = self.threads.entry(sleep.tid).or_default();
        thread.process = process;
        self.waiting.insert(sleep.tid);
        thread.waiting.push_back(sleep);
    }

    /// A thread has ended; its history is dropped once all of its sleeps are settled.
    pub fn forget(&mut self, tid: u32) {
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.has_ended = true;
            self.ended.push(tid);
        }
    }

    /// Whether the thread is followed, or has sleeps to settle.
    pub fn is_followed(&self, tid: u32) -> bool {
        self.threads.contains_key(&tid)
    }

    /// Calls `each` for the sleeps that can be explained by `now`, in the order in which they ended; with `None` for those
    /// that were no wake-up. At the end of a recording, `now` is far in the future.
    ///
    /// Order matters: a waker was itself woken before it woke another, so its own deadline is known when it is passed along.
    pub fn settle(&mut self, now: MonotonicTime, mut each: impl FnMut(&PastSleep, Option<Awakening>)) {
        let mut next: BinaryHeap<_> =
            self.waiting.iter().filter_map(|tid| self.first_waiting(*tid)).collect();
        while let Some(Reverse((_, tid))) = next.pop() {
            let Some((sleep, awakening)) = self.settle_one(tid, now) else { continue };
            each(sleep, awakening);
            match self.first_waiting(tid) {
                Some(waiting) => next.push(waiting),
                None => drop(self.waiting.remove(&tid)),
            }
        }
        self.remove_ended_threads();
    }

    /// When the first unsettled sleep of a thread ended; `Reverse` puts the earliest at the top of the heap.
    fn first_waiting(&self, tid: u32) -> Option<Reverse<(MonotonicTime, u32)>> {
        let sleep = self.threads.get(&tid)?.waiting.front()?;
        Some(Reverse((sleep.waking, tid)))
    }

    fn remove_ended_threads(&mut self) {
        let Self { threads, waiting, ended } = self;
        ended.retain(|tid| {
            // A new thread may have the same id by now.
            let has_ended = threads.get(tid).is_some_and(|thread| thread.has_ended);
            let is_over = has_ended && !waiting.contains(tid);
            if is_over {
                threads.remove(tid);
            }
            has_ended && !is_over
        });
    }

    /// Settles the first sleep of a thread, if everything needed is recorded.
    fn settle_one(&mut self, tid: u32, now: MonotonicTime) -> Option<(&PastSleep, Option<Awakening>)> {
        let room = (RUNS_OF_ALL_THREADS / self.threads.len().max(1)).clamp(1, RUNS_PER_THREAD);
        let first = self.threads.get_mut(&tid)?.next_sleep(now)?;
        let Resolution::Known(mut awakening) = self.find(&first, now) else {
            self.threads.get_mut(&tid)?.waiting.push_front(first);
            return None;
        };
        let process = self.threads.get(&tid)?.process;
        let (blocked, own_threads) = (self.blocked(&first, process), self.own_threads(&first, process));
        if let Some(awakening) = &mut awakening {
            self.mark_own_threads(&mut awakening.parts.wakeup.parts, process);
        }
        let thread = self.threads.get_mut(&tid)?;
        if thread.waiting.is_empty() {
            // With ten thousand threads, the spare room of these queues would take most of the memory.
            thread.waiting = VecDeque::new();
        }
        let past = PastSleep::new(first, blocked).beside(own_threads);
        let sleep = thread.record_run(past, awakening.as_ref(), room);
        Some((sleep, awakening))
    }

    fn find(&self, sleep: &TracedSleep, now: MonotonicTime) -> Resolution {
        let thread = &self.threads[&sleep.tid];
        if thread.is_limit(sleep) {
            return Resolution::Known(None);
        }
        let past: Vec<PastSleep> = thread.past_since(due(sleep)).cloned().collect();
        let Some(own) = Awakening::from_sleep(sleep, thread.causes_before(&past)) else {
            return Resolution::Known(None);
        };
        let Some((by, waker)) = self.waker(sleep, thread.process).filter(|_| !thread.keeps_time()) else {
            return Resolution::Known(Some(own));
        };
        if thread.waits_for_lock_at_work(sleep) {
            return Resolution::Known(Some(thread.after_lock_wait(
                sleep,
                by,
                own,
                self.blocked(sleep, thread.process),
            )));
        }
        let runs = waker.runs.iter().rev();
        let Some(run) = runs.into_iter().find(|run| run.from <= sleep.waking && sleep.waking <= run.until)
        else {
            let is_not_recorded = waker.runs.back().is_none_or(|last| last.until < sleep.waking);
            let may_wait = is_not_recorded && now.since(sleep.waking) < WAKER_TIMEOUT;
            return if may_wait { Resolution::Pending } else { Resolution::Known(Some(own)) };
        };
        let Some((deadline, through)) = self.passed_on(run, thread, sleep) else {
            return Resolution::Known(Some(own));
        };
        // It may have run on another CPU: its work takes time, not the CPU.
        let working = Cause { own: true, ..Cause::new(Part::Blocked, CauseKind::LongWork, by.name.clone()) };
        let work =
            waker.between(run.from, sleep.waking, &Segment::new(working, by.pid, run.from, Span::ZERO));
        let through = through.iter().chain([by]).cloned().collect();
        Resolution::Known(Some(deadline.hand_on(through, &own, &work, by)))
    }

    /// The deadline that a waker's run passes on by ending `sleep` of `woken`, and through whom it came. The run's own one, unless the
    /// timer's thread had later ones meanwhile.
    fn passed_on<'a>(
        &'a self,
        run: &'a RunInterval,
        woken: &ChainThread,
        sleep: &TracedSleep,
    ) -> Option<(&'a Deadline, &'a [CpuHolder])> {
        let first = run.deadline.as_ref().filter(|deadline| deadline.through.len() < LONGEST_CHAIN)?;
        let origin = first.through.first().and_then(|who| self.threads.get(&who.pid?));
        let dues = || origin.into_iter().flat_map(|origin| origin.due_until(sleep.waking));
        let is_only = dues().next_back().is_none_or(|(_, last)| last.expected <= first.expected);
        if is_only {
            return Some((first, &first.through));
        }
        let later = dues().skip_while(|(_, due)| due.expected <= first.expected);
        let wakeups = woken.woken_by_run(run.from, sleep)?;
        let times = later.map(|(ran, due)| (due.expected, ran));
        let passed = last_passed(run.from, first.expected, times, wakeups)?;
        if passed == first.expected {
            return Some((first, &first.through));
        }
        // All between them are known only if the first one is.
        let is_whole = dues().any(|(_, due)| due.expected <= first.expected);
        let found = dues().find(|(_, due)| due.expected == passed).filter(|_| is_whole);
        found.map(|(_, due)| (due, first.through.as_slice()))
    }

    /// The thread of the same process that ended a sleep, with its identity as traced.
    fn waker<'a>(&self, sleep: &'a TracedSleep, process: u32) -> Option<(&'a CpuHolder, &ChainThread)> {
        self.followed_waker(sleep).filter(|(_, waker)| waker.process == process)
    }

    /// The same, of any process that is watched.
    fn followed_waker<'a>(&self, sleep: &'a TracedSleep) -> Option<(&'a CpuHolder, &ChainThread)> {
        let WakeSource::Other(who) = &sleep.woken_by else { return None };
        Some((who, self.threads.get(&who.pid.filter(|_| who.holder == HolderKind::Thread)?)?))
    }

    /// What a thread waited for while it slept: if another thread that is watched woke it, what that thread did meanwhile. Empty
    /// where the sleep itself has the reason.
    fn blocked(&self, sleep: &TracedSleep, process: u32) -> Vec<Segment> {
        let Some((who, waker)) = self.followed_waker(sleep) else { return Vec::new() };
        let (Some(since), SleepState::Waiting) = (sleep.asleep_since, &sleep.asleep) else {
            return Vec::new();
        };
        let waited = Cause { own: waker.process == process, ..wait_cause(sleep, Some(who)) };
        let mut parts =
            waker.between(since, sleep.waking, &Segment::new(waited.clone(), who.pid, since, Span::ZERO));
        parts
            .iter_mut()
            .filter(|part| part.cause != waited)
            .for_each(|part| extend_chain(part, who, &waited));
        self.mark_own_threads(&mut parts, process);
        parts
    }

    /// The threads of the program itself that woke a thread, or had its CPU around that.
    fn own_threads(&self, sleep: &TracedSleep, process: u32) -> Vec<u32> {
        let holders = sleep.occupants.iter().map(|occupant| &occupant.who);
        let waker = match &sleep.woken_by {
            WakeSource::Other(who) => Some(who),
            _ => None,
        };
        let holders = holders.chain(sleep.lost.iter().map(|lost| &lost.to)).chain(waker);
        let is_own = |tid: &u32| self.threads.get(tid).is_some_and(|thread| thread.process == process);
        holders.filter_map(|who| who.pid).filter(is_own).collect()
    }

    /// Marks the causes that are threads of the program itself.
    fn mark_own_threads(&self, parts: &mut [Segment], process: u32) {
        for part in parts.iter_mut().filter(|part| part.cause.kind == CauseKind::Thread) {
            let thread = part.pid.and_then(|pid| self.threads.get(&pid));
            part.cause.own |= thread.is_some_and(|thread| thread.process == process);
        }
    }
}

/// What kept `who` from going on, as a part of the wait for it. A call that it slept in itself stays.
fn extend_chain(part: &mut Segment, who: &CpuHolder, waited: &Cause) {
    let cause = &mut part.cause;
    if !matches!(cause.kind, CauseKind::Lock | CauseKind::SystemCall) {
        cause.call.clone_from(&waited.call);
    }
    if cause.through.is_empty() {
        cause.through.clone_from(&who.name);
        part.through_pid = who.pid;
    } else if cause.via.len() < LONGEST_CHAIN {
        cause.via.insert(0, who.name.clone());
    }
}

/// From when on a sleep may have made its thread late.
fn due(sleep: &TracedSleep) -> MonotonicTime {
    match &sleep.woken_by {
        WakeSource::Timer(expiry) => expiry.soft,
        WakeSource::Other(_) | WakeSource::NotSeen { .. } => sleep.asleep_since.unwrap_or(sleep.waking),
    }
}

impl ChainThread {
    /// The first sleep that waits to be settled. A wait for a lock that goes on when its limit has passed is one sleep; `None` while it
    /// is not known whether it does.
    fn next_sleep(&mut self, now: MonotonicTime) -> Option<TracedSleep> {
        loop {
            let first = self.waiting.pop_front()?;
            let may_be_limit = self.may_be_limit(&first);
            match self.waiting.front_mut() {
                Some(next) if may_be_limit && goes_on(&first, next) => {
                    next.asleep_since = first.asleep_since;
                    self.limits_followed += 1;
                }
                None if may_be_limit && now.since(first.waking) < WAKER_TIMEOUT => {
                    self.waiting.push_front(first);
                    return None;
                }
                _ => return Some(first),
            }
        }
    }

    /// Whether this may be the time limit of a lock: a thread that keeps its time otherwise has slept in the call of locks.
    fn may_be_limit(&self, sleep: &TracedSleep) -> bool {
        let by_timer = matches!(sleep.woken_by, WakeSource::Timer(_));
        let limits = self.limits_followed + self.limits_passed;
        by_timer && is_in_lock(sleep) && self.timed > 0 && limits <= self.timed * LIMITS_PER_SLEEP
    }

    /// Whether it is one, and no deadline: often such limits are followed by another wait for the lock, as those of condition
    /// variables are not.
    fn is_limit(&self, sleep: &TracedSleep) -> bool {
        self.limits_passed < self.limits_followed * PASSED_PER_FOLLOWED && self.may_be_limit(sleep)
    }

    /// Whether it handles a timer of its own: what wakes it in between is then no deadline of another thread.
    fn keeps_time(&self) -> bool {
        let slept_by_itself = |past: &PastSleep| match (&past.sleep.woken_by, &past.sleep.slept_in) {
            (WakeSource::Timer(_), Some(SleepSite::Call(call))) => Some(TIMED_CALLS.contains(&call.as_str())),
            (WakeSource::Timer(_), _) => Some(false),
            _ => None,
        };
        self.past.iter().rev().find_map(slept_by_itself).unwrap_or(false)
    }

    /// Whether it waited for a lock in the middle of its work, as opposed to a condition variable that hands work to it: a thread
    /// of the latter kind sleeps in the futex call most of the time.
    fn waits_for_lock_at_work(&self, sleep: &TracedSleep) -> bool {
        is_in_lock(sleep) && self.slept_in_locks * 2 < self.slept
    }

    /// The owner of a lock passes no deadline on: the thread is late for its earlier deadline, and the lock is a part of that.
    fn after_lock_wait(
        &self,
        sleep: &TracedSleep,
        by: &CpuHolder,
        own: Awakening,
        blocked: Vec<Segment>,
    ) -> Awakening {
        let run = self.runs.back();
        let inherited = run.and_then(|run| Some((run.from, run.deadline.as_ref()?)));
        let Some((from, deadline)) = inherited.filter(|(_, deadline)| !deadline.through.is_empty()) else {
            return own;
        };
        let working = Cause { own: true, ..Cause::new(Part::Blocked, CauseKind::LongWork, String::new()) };
        let working = Segment::new(working, None, from, Span::ZERO);
        let this = PastSleep::new(sleep.clone(), blocked);
        let past: Vec<&PastSleep> = self.past_since(from).chain([&this]).collect();
        deadline.after_lock_wait(by, &own, &activity(&past, from, sleep.waking, &working))
    }

    /// Its sleeps that were not over by `since`.
    fn past_since(&self, since: MonotonicTime) -> impl Iterator<Item = &PastSleep> {
        let is_over = move |past: &&PastSleep| past.sleep.asleep_again.is_some_and(|again| again <= since);
        self.past.iter().skip_while(is_over)
    }

    /// Its own timers' deadlines that it had run for by `until`, in order, with the time at which each of these runs began.
    fn due_until(&self, until: MonotonicTime) -> impl DoubleEndedIterator<Item = (MonotonicTime, &Deadline)> {
        let runs = self.runs.iter().filter(move |run| run.from <= until);
        let of_timer = |deadline: &&Deadline| deadline.through.is_empty();
        runs.filter_map(move |run| Some((run.from, run.deadline.as_ref().filter(of_timer)?)))
    }

    /// Its wake-ups since `run` by the thread that ended `last`, and that one. `None` where some are not known singly.
    fn woken_by_run<'a>(
        &'a self,
        run: MonotonicTime,
        last: &'a TracedSleep,
    ) -> Option<impl Iterator<Item = PassingWakeup>> {
        let is_earlier = |past: &PastSleep| past.sleep.waking < run;
        let from = self.past.partition_point(is_earlier);
        let sleeps = self.past.range(from..);
        let is_known = from > 0 && sleeps.clone().all(|past| !past.is_merged());
        let since_run = sleeps.map(|past| &past.sleep).chain([last]);
        let by_same = since_run.filter(|sleep| waker_tid(sleep) == waker_tid(last));
        is_known.then(|| by_same.map(|sleep| PassingWakeup { asleep: sleep.asleep_since, at: sleep.waking }))
    }

    fn causes_before<'a>(&'a self, sleeps: &'a [PastSleep]) -> Past<'a> {
        Past { stopped: self.stopped.as_deref(), sleeps, running: CauseKind::LongWork }
    }

    /// What it did between two times; `otherwise` stands for the time in which it ran, or of which nothing is recorded.
    fn between(&self, from: MonotonicTime, until: MonotonicTime, otherwise: &Segment) -> Vec<Segment> {
        let past: Vec<&PastSleep> =
            self.past_since(from).take_while(|past| past.sleep.asleep_since <= Some(until)).collect();
        activity(&past, from, until, otherwise)
    }

    /// Merges the older half of its sleeps pairwise, so that the fixed room covers a longer time. With so little room per thread
    /// that there are hardly any, old ones are dropped.
    fn fold(&mut self) {
        let old = self.past.len() / 2;
        if old < MERGED_AT_LEAST {
            return;
        }
        let old: Vec<PastSleep> = self.past.drain(..old).collect();
        for pair in old.rchunks(2) {
            match pair {
                [first, next] => match first.merged_with(next) {
                    Some(merged) => self.past.push_front(merged),
                    None => self.past.push_front(next.clone()),
                },
                rest => rest.iter().rev().for_each(|sleep| self.past.push_front(sleep.clone())),
            }
        }
    }

    fn record_run(&mut self, past: PastSleep, awakening: Option<&Awakening>, room: usize) -> &PastSleep {
        if past.sleep.is_stopped() {
            self.stopped = Some(Box::new(past.sleep.without_wait()));
        }
        // The time limit of a lock is no deadline.
        let is_limit = is_in_lock(&past.sleep);
        self.slept += 1;
        self.slept_in_locks += u64::from(is_limit);
        if matches!(past.sleep.woken_by, WakeSource::Timer(_)) {
            let ended = if is_limit { &mut self.limits_passed } else { &mut self.timed };
            *ended += 1;
        }
        let has_deadline = |awakening: &&Awakening| match awakening.activation {
            Activation::Event => false,
            Activation::Timer => !is_limit,
            _ => true,
        };
        let timed = awakening.filter(has_deadline);
        let deadline = timed.map(|awakening| Deadline {
            explained: awakening.parts.wakeup.clone(),
            expected: awakening.wakeup.expected,
            through: awakening.through.clone(),
        });
        while self.runs.len() >= room {
            self.runs.pop_front();
        }
        if self.past.len() >= room {
            self.fold();
        }
        while self.past.len() >= room {
            self.past.pop_front();
        }
        if self.runs.is_empty() {
            self.runs.reserve_exact(room.min(INITIAL_RUNS));
        }
        let until = past.sleep.asleep_again.unwrap_or(past.sleep.waking);
        self.runs.push_back(RunInterval { from: past.sleep.waking, until, deadline });
        self.past.push_back(past);
        &self.past[self.past.len() - 1]
    }
}

/// Whether `next` waits on for the lock of `first`, whose limit has passed.
fn goes_on(first: &TracedSleep, next: &TracedSleep) -> bool {
    is_in_lock(next) && next.asleep_since.is_some_and(|since| since.since(first.waking) <= AGAIN_WITHIN)
}

fn waker_tid(sleep: &TracedSleep) -> Option<u32> {
    match &sleep.woken_by {
        WakeSource::Other(who) => who.pid,
        _ => None,
    }
}

fn is_in_lock(sleep: &TracedSleep) -> bool {
    matches!(&sleep.slept_in, Some(SleepSite::Call(call)) if call == LOCK_CALL)
}

impl Deadline {
    /// For the same thread, which has waited for a lock meanwhile.
    fn after_lock_wait(&self, by: &CpuHolder, own: &Awakening, work: &[Segment]) -> Awakening {
        self.hand_on(self.through.clone(), own, work, by)
    }

    fn hand_on(
        &self,
        through: Vec<CpuHolder>,
        own: &Awakening,
        work: &[Segment],
        by: &CpuHolder,
    ) -> Awakening {
        let wakeup = Wakeup { expected: self.expected, ran: own.wakeup.ran };
        Awakening {
            activation: Activation::HandedOn,
            by: Some(by.clone()),
            through,
            sleeps_by_call: own.sleeps_by_call,
            wakeup,
            parts: inherit_deadline(&self.explained, work, &own.parts, wakeup),
        }
    }
}

#[cfg(test)]
mod tests;
