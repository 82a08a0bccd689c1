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
        let first = self.threads.get_mut(&tid)?.waiting.pop_front()?;
        let Resolution::Known(mut awakening) = self.find(&first, now) else {
            self.threads.get_mut(&tid)?.waiting.push_front(first);
            return None;
        };
        let process = self.threads.get(&tid)?.process;
        let blocked = self.blocked(&first, process);
        if let Some(awakening) = &mut awakening {
            self.mark_own_threads(&mut awakening.parts.wakeup.parts, process);
        }
        let thread = self.threads.get_mut(&tid)?;
        if thread.waiting.is_empty() {
            // With ten thousand threads, the spare room of these queues would take most of the memory.
            thread.waiting = VecDeque::new();
        }
        let sleep = thread.record_run(PastSleep::new(first, blocked), awakening.as_ref(), room);
        Some((sleep, awakening))
    }

    fn find(&self, sleep: &TracedSleep, now: MonotonicTime) -> Resolution {
        let thread = &self.threads[&sleep.tid];
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
        let WakeSource::Other(who) = &sleep.woken_by else { return None };
        let waker = self.threads.get(&who.pid.filter(|_| who.holder == HolderKind::Thread)?)?;
        (waker.process == process).then_some((who, waker))
    }

    /// What a thread waited for while it slept: if another thread of its program woke it, what that thread did meanwhile. Empty
    /// where the sleep itself has the reason.
    fn blocked(&self, sleep: &TracedSleep, process: u32) -> Vec<Segment> {
        let Some((who, waker)) = self.waker(sleep, process) else { return Vec::new() };
        let (Some(since), SleepState::Waiting) = (sleep.asleep_since, &sleep.asleep) else {
            return Vec::new();
        };
        let waited = Cause { own: true, ..wait_cause(sleep, Some(who)) };
        let mut parts =
            waker.between(since, sleep.waking, &Segment::new(waited.clone(), who.pid, since, Span::ZERO));
        for part in &mut parts {
            part.cause.call.clone_from(&waited.call);
            if part.cause != waited {
                part.cause.through.clone_from(&who.name);
            }
        }
        self.mark_own_threads(&mut parts, process);
        parts
    }

    /// Marks the causes that are threads of the program itself.
    fn mark_own_threads(&self, parts: &mut [Segment], process: u32) {
        for part in parts.iter_mut().filter(|part| part.cause.kind == CauseKind::Thread) {
            let thread = part.pid.and_then(|pid| self.threads.get(&pid));
            part.cause.own |= thread.is_some_and(|thread| thread.process == process);
        }
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
mod tests {
    use super::*;
    use crate::watch::thread::testing::{at, by_timer, woken};
    use howlate_model::{CpuLoss, Occupant};

    fn thread(tid: u32, name: &str) -> CpuHolder {
        CpuHolder { holder: HolderKind::Thread, pid: Some(tid), name: name.to_owned() }
    }

    fn until(again: i64, sleep: TracedSleep) -> TracedSleep {
        TracedSleep { asleep_again: Some(at(again)), ..sleep }
    }

    /// A worker that a timer wakes, set to 1000; it wakes the main thread at 1500, which wakes a third at 1700.
    fn tokio() -> [TracedSleep; 3] {
        [
            until(2_000, by_timer(7, 1_000, 1_400)),
            until(1_900, woken(8, thread(7, "tokio-rt-worker"), 1_500, 1_560)),
            until(3_000, woken(9, thread(8, "main"), 1_700, 1_730)),
        ]
    }

    fn settle_all(chains: &mut WakeupChains, now: i64) -> Vec<(TracedSleep, Option<Awakening>)> {
        let mut settled = Vec::new();
        chains.settle(at(now), |past, awakening| settled.push((past.sleep.clone(), awakening)));
        settled
    }

    fn settle_summary(chains: &mut WakeupChains, now: i64) -> Vec<(u32, Activation, i64, usize)> {
        let mut all: Vec<_> = settle_all(chains, now)
            .into_iter()
            .map(|(past, awakening)| {
                let awakening = awakening.unwrap();
                let parts: u64 = awakening.parts.wakeup.parts.iter().map(|part| part.ns.as_nanos()).sum();
                let late = awakening.wakeup.latency().as_nanos();
                assert_eq!(i64::try_from(parts).unwrap(), late, "{awakening:?}");
                (past.tid, awakening.activation, late, awakening.through.len())
            })
            .collect();
        all.sort_unstable_by_key(|row| row.0);
        all
    }

    #[test]
    fn what_a_crowd_did_is_remembered_within_bounds_and_forgotten_with_it() {
        let mut chains = WakeupChains::default();
        for round in 0..20 {
            for tid in 0..4_096 {
                chains.follow(tid, 7);
                chains.record_sleep(by_timer(tid, round * 1_000, round * 1_000 + 400), 7);
            }
            assert_eq!(settle_all(&mut chains, round * 1_000 + 500).len(), 4_096);
        }
        let runs =
            |chains: &WakeupChains| chains.threads.values().map(|thread| thread.runs.len()).sum::<usize>();
        assert_eq!((runs(&chains), chains.waiting.len()), (RUNS_OF_ALL_THREADS, 0));
        (0..4_096).for_each(|tid| chains.forget(tid));
        chains.follow(5, 7);
        assert_eq!(settle_all(&mut chains, 30_000).len(), 0);
        assert_eq!(
            (chains.threads.len(), chains.ended.len()),
            (1, 0),
            "another has the id of one that ended"
        );
    }

    // 1000      1400          1500  1560         1700 1730
    // |---------|-------------|-----|------------|----|
    // timer     worker runs   main  runs         third runs
    #[test]
    fn who_is_woken_because_a_timers_time_had_come_is_late_from_that() {
        let expected = [
            (7, Activation::Timer, 400, 0),
            (8, Activation::HandedOn, 560, 1),
            (9, Activation::HandedOn, 730, 2),
        ];
        // Sleeps are recorded when the thread sleeps again: in any order.
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [2, 0, 1]] {
            let mut chains = WakeupChains::default();
            [7, 8, 9].into_iter().for_each(|tid| chains.follow(tid, 7));
            let all = tokio();
            let mut found = Vec::new();
            for place in order {
                chains.record_sleep(all[place].clone(), 7);
                found.extend(settle_summary(&mut chains, 2_000));
            }
            found.sort_unstable_by_key(|row| row.0);
            assert_eq!(found, expected, "{order:?}");
        }
    }

    #[test]
    fn what_the_first_did_until_then_is_a_part() {
        let mut chains = WakeupChains::default();
        tokio().into_iter().for_each(|sleep| chains.record_sleep(sleep, 7));
        let all = settle_all(&mut chains, 2_000);
        let main = all.iter().find(|(sleep, _)| sleep.tid == 8).unwrap().1.clone().unwrap();
        let work = main.parts.wakeup.parts.iter().find(|part| part.cause.part == Part::Blocked).unwrap();
        assert_eq!((work.cause.kind, work.cause.name.as_str()), (CauseKind::LongWork, "tokio-rt-worker"));
        assert_eq!((work.from, work.ns.as_nanos(), work.pid), (at(1_400), 100, Some(7)));
        assert_eq!(main.by, Some(thread(7, "tokio-rt-worker")));
    }

    // timer:   due 1000   2000   3000   4000      (thread 6, on time)
    // feeder:  woken 1200, has no CPU until 3500, then passes on one every 100 from 3600 on; never sleeps
    // main:    woken 3600, 3700, 3800
    #[test]
    fn who_catches_up_passes_on_one_deadline_after_the_other() {
        let mut chains = WakeupChains::default();
        for due in [-1_000, 1_000, 2_000, 3_000, 4_000] {
            chains.record_sleep(until(due + 300, by_timer(6, due, due + 150)), 7);
        }
        let feeder = occupied(woken(7, thread(6, "timer"), 1_200, 3_500), thread(99, "hog"), 1_210, 3_500);
        chains.record_sleep(until(9_000, feeder), 7);
        chains.record_sleep(until(600, woken(8, thread(7, "feeder"), 500, 510)), 7);
        for (since, now) in [(600, 3_600), (3_620, 3_700), (3_720, 3_800)] {
            let main = until(now + 20, woken(8, thread(7, "feeder"), now, now + 5));
            chains.record_sleep(TracedSleep { asleep_since: Some(at(since)), ..main }, 7);
        }
        let found = settle_summary(&mut chains, 10_000_000_000);
        let late: Vec<i64> = found.iter().filter(|row| row.0 == 8).map(|row| row.2).collect();
        assert_eq!(late, [10, 2_605, 1_705, 805], "each since its own deadline: {found:?}");
        assert_eq!(found.last(), Some(&(8, Activation::HandedOn, 805, 2)));
    }

    #[test]
    fn who_slept_in_between_hands_nothing_on() {
        let mut chains = WakeupChains::default();
        // The worker was woken by something else when it woke the main thread.
        chains.record_sleep(until(1_450, by_timer(7, 1_000, 1_400)), 7);
        chains.record_sleep(until(2_000, woken(7, thread(99, "other"), 1_480, 1_490)), 7);
        chains.record_sleep(until(1_900, woken(8, thread(7, "tokio-rt-worker"), 1_500, 1_560)), 7);
        let found = settle_summary(&mut chains, 2_000);
        assert_eq!(found[2], (8, Activation::Event, 60, 0), "{found:?}");
    }

    #[test]
    fn another_process_hands_nothing_on() {
        let mut chains = WakeupChains::default();
        let [worker, main, _] = tokio();
        chains.record_sleep(worker, 7);
        chains.record_sleep(main, 70);
        assert_eq!(settle_summary(&mut chains, 2_000)[1], (8, Activation::Event, 60, 0));
    }

    #[test]
    fn nobody_waits_for_ever_for_what_its_waker_did() {
        let mut chains = WakeupChains::default();
        chains.follow(7, 7);
        let [worker, main, _] = tokio();
        chains.record_sleep(main, 7);
        chains.record_sleep(until(900, by_timer(7, 100, 200)), 7);
        assert_eq!(settle_summary(&mut chains, 2_000).len(), 1, "only what the worker did before");
        assert_eq!(settle_summary(&mut chains, 600_000_000), [(8, Activation::Event, 60, 0)]);
        chains.record_sleep(worker, 7);
        assert_eq!(settle_summary(&mut chains, 600_000_000).len(), 1);
    }

    /// As at the end of a run, or where the machine is so busy that nothing was read for a while.
    #[test]
    fn what_is_read_late_is_handed_on_like_the_rest() {
        let mut chains = WakeupChains::default();
        [8, 9].into_iter().for_each(|tid| chains.follow(tid, 7));
        // The main thread has the lower id, as everywhere.
        for round in 0..3 {
            let ahead = round * 10_000;
            chains.record_sleep(
                until(ahead + 1_900, woken(8, thread(9, "worker"), ahead + 1_500, ahead + 1_560)),
                7,
            );
            chains.record_sleep(until(ahead + 2_000, by_timer(9, ahead + 1_000, ahead + 1_400)), 7);
        }
        let found = settle_summary(&mut chains, 900_000_000);
        let handed = found.iter().filter(|row| row.1 == Activation::HandedOn).count();
        assert_eq!(handed, 3, "{found:?}");
    }

    #[test]
    fn a_chain_has_an_end() {
        let mut chains = WakeupChains::default();
        chains.record_sleep(until(100_000, by_timer(1, 1_000, 1_400)), 7);
        for tid in 2..10 {
            let woken_at = 1_500 + i64::from(tid) * 100;
            chains.record_sleep(
                until(100_000, woken(tid, thread(tid - 1, "link"), woken_at, woken_at + 10)),
                7,
            );
        }
        let found = settle_summary(&mut chains, 2_000);
        let handed: Vec<usize> = found.iter().map(|row| row.3).collect();
        assert_eq!(handed, [0, 1, 2, 3, 4, 0, 0, 0, 0]);
    }

    fn occupied(sleep: TracedSleep, who: CpuHolder, from: i64, until: i64) -> TracedSleep {
        let ns = at(until).since(at(from));
        TracedSleep { occupants: vec![Occupant { who, ns, from: Some(at(from)) }], ..sleep }
    }

    /// Blocked in a call since then.
    fn in_call(since: i64, call: &str, sleep: TracedSleep) -> TracedSleep {
        TracedSleep {
            asleep_since: Some(at(since)),
            slept_in: Some(SleepSite::Call(call.to_owned())),
            ..sleep
        }
    }

    /// Kind, name, `through` and length in ns of each part of the last wake-up of a thread.
    fn causes(chains: &mut WakeupChains, tid: u32) -> Vec<(CauseKind, String, String, u64)> {
        let all = settle_all(chains, 100_000_000);
        let last = all.iter().rfind(|(sleep, _)| sleep.tid == tid).unwrap();
        let wakeup = &last.1.as_ref().unwrap().parts.wakeup;
        let sum: u64 = wakeup.parts.iter().map(|part| part.ns.as_nanos()).sum();
        assert_eq!(i64::try_from(sum).unwrap(), wakeup.latency.as_nanos(), "{wakeup:?}");
        let row = |part: &Segment| {
            (part.cause.kind, part.cause.name.clone(), part.cause.through.clone(), part.ns.as_nanos())
        };
        wakeup.parts.iter().map(row).collect()
    }

    // 1000        2000       3000         61000   61010      61020
    // |-----------|----------|------------|-------|----------|
    // due         due        due          runs    asleep     asleep for 3000, late by what kept it from 2000 and 1000
    //             taker has the CPU
    #[test]
    fn who_catches_up_is_late_by_what_made_the_first_one_late() {
        let mut chains = WakeupChains::default();
        let first = occupied(until(61_010, by_timer(7, 1_000, 61_000)), thread(99, "taker"), 1_100, 61_000);
        chains.record_sleep(TracedSleep { asleep_since: Some(at(500)), ..first }, 7);
        let again = |since: i64, due: i64| {
            let mut sleep = until(since + 10, by_timer(7, due, since + 5));
            sleep.asleep_since = Some(at(since));
            sleep
        };
        chains.record_sleep(again(61_010, 2_000), 7);
        chains.record_sleep(again(61_020, 3_000), 7);
        let found = causes(&mut chains, 7);
        let of = |kind| found.iter().filter(|row| row.0 == kind).map(|row| row.3).sum::<u64>();
        assert_eq!(of(CauseKind::Thread), 58_000, "{found:?}");
        assert!(found.iter().any(|row| row.1 == "taker"));
        assert_eq!(of(CauseKind::LateArming), 0, "that is no cause: {found:?}");
        assert!(of(CauseKind::LongWork) <= 20, "{found:?}");
    }

    #[test]
    fn a_loop_that_keeps_its_own_time_inherits_no_deadline() {
        let mut chains = WakeupChains::default();
        let own = until(1_450, by_timer(8, 1_000, 1_010));
        chains.record_sleep(
            TracedSleep { slept_in: Some(SleepSite::Call("clock_nanosleep".to_owned())), ..own },
            7,
        );
        chains.record_sleep(until(2_000, by_timer(7, 1_000, 1_400)), 7);
        chains.record_sleep(
            in_call(1_450, "futex", until(1_900, woken(8, thread(7, "worker"), 1_500, 1_560))),
            7,
        );
        let found = settle_summary(&mut chains, 2_000);
        assert_eq!(found.last(), Some(&(8, Activation::Event, 60, 0)), "{found:?}");
    }

    // client:  due 1000, runs 1110, wakes worker 1150
    // worker:                               1150, runs 1160, blocked 1200 ......... woken 1500, runs 1510
    // keeper:  due 400, runs 900, has the lock ............................ gives it back 1500
    #[test]
    fn whose_lock_it_waits_for_hands_nothing_on() {
        let mut chains = WakeupChains::default();
        [7, 8, 9].into_iter().for_each(|tid| chains.follow(tid, 7));
        let request = |start: i64| {
            let sleep = until(start + 200, woken(8, thread(7, "client"), start + 150, start + 160));
            in_call(start, "read", sleep)
        };
        let client = |start: i64| until(start + 170, by_timer(7, start, start + 110));
        for start in [-20_000, -10_000, 1_000] {
            chains.record_sleep(client(start), 7);
            chains.record_sleep(request(start), 7);
        }
        chains.record_sleep(until(1_600, by_timer(9, 400, 900)), 7);
        let waits = until(1_700, woken(8, thread(9, "keeper"), 1_500, 1_510));
        chains.record_sleep(in_call(1_200, "futex", waits), 7);
        let all = settle_all(&mut chains, 100_000_000);
        let last = all.iter().rfind(|(sleep, _)| sleep.tid == 8).unwrap().1.clone().unwrap();
        assert_eq!(
            (last.activation, last.wakeup.expected, last.through),
            (Activation::HandedOn, at(1_000), vec![thread(7, "client")])
        );
        let parts = &last.parts.wakeup.parts;
        let lock: u64 = parts
            .iter()
            .filter(|part| part.cause.kind == CauseKind::Lock)
            .map(|part| part.ns.as_nanos())
            .sum();
        assert_eq!((lock, parts.iter().map(|part| part.ns.as_nanos()).sum::<u64>()), (300, 510), "{parts:?}");
        assert!(
            parts.iter().all(|part| part.cause.kind != CauseKind::Lock || part.cause.name == "keeper"),
            "{parts:?}"
        );
    }

    // high:    1000 runs 1010, blocked 1100 .......................... woken 9400; asleep on its timer 9500, due 2000
    // low:     500 runs ..  1200 loses the CPU to middle ..... 9200, runs, 9400 wakes high, asleep 9450
    fn inversion() -> [TracedSleep; 3] {
        let due = until(1_100, by_timer(7, 1_000, 1_010));
        let mutex = in_call(1_100, "futex", until(9_500, woken(7, thread(8, "low"), 9_400, 9_410)));
        let lost = CpuLoss {
            from: at(1_200),
            until: at(9_200),
            to: thread(9, "middle"),
            throttled: false,
            merged: false,
        };
        let low = TracedSleep { lost: vec![lost], ..until(9_450, by_timer(8, 400, 500)) };
        [
            TracedSleep { asleep_since: Some(at(900)), ..due },
            mutex,
            TracedSleep { asleep_since: Some(at(100)), ..low },
        ]
    }

    #[test]
    fn of_a_lock_it_is_what_its_holder_did_that_took_the_time() {
        let mut chains = WakeupChains::default();
        chains.follow(9, 7);
        inversion().into_iter().for_each(|sleep| chains.record_sleep(sleep, 7));
        let mut next = until(20_000, by_timer(7, 2_000, 9_520));
        next.asleep_since = Some(at(9_500));
        chains.record_sleep(next, 7);
        let found = causes(&mut chains, 7);
        let of = |kind, name: &str, through: &str| {
            let matching = found.iter().filter(|part| part.0 == kind && part.1 == name && part.2 == through);
            matching.map(|part| part.3).sum::<u64>()
        };
        assert_eq!(of(CauseKind::Thread, "middle", "low"), 7_200, "{found:?}");
        assert_eq!(of(CauseKind::Lock, "low", ""), 200, "it ran, and held the lock: {found:?}");
    }

    #[test]
    fn whose_program_a_culprit_is_of_is_told() {
        let mut chains = WakeupChains::default();
        chains.follow(9, 7);
        let own = |who: CpuHolder, chains: &mut WakeupChains| {
            chains.record_sleep(occupied(until(2_000, by_timer(7, 1_000, 1_400)), who, 1_100, 1_400), 7);
            let all = settle_all(chains, 100_000_000);
            let parts = &all[0].1.as_ref().unwrap().parts.wakeup.parts;
            parts.iter().any(|part| part.cause.kind == CauseKind::Thread && part.cause.own)
        };
        assert!(own(thread(9, "middle"), &mut chains));
        assert!(!own(thread(77, "stranger"), &mut chains));
    }

    #[test]
    fn what_a_call_of_ones_own_waited_for_is_told_with_the_call() {
        let mut chains = WakeupChains::default();
        let mut first = until(1_100, by_timer(7, 1_000, 1_010));
        first.asleep_since = Some(at(900));
        chains.record_sleep(first, 7);
        chains.record_sleep(
            in_call(1_100, "write", until(5_100, woken(7, thread(99, "python3"), 5_000, 5_010))),
            7,
        );
        let mut late = until(20_000, by_timer(7, 2_000, 5_120));
        late.asleep_since = Some(at(5_100));
        chains.record_sleep(late, 7);
        let all = settle_all(&mut chains, 100_000_000);
        let parts = &all[2].1.as_ref().unwrap().parts.wakeup.parts;
        let blocked = parts.iter().find(|part| part.cause.kind == CauseKind::SystemCall).unwrap();
        assert_eq!((blocked.cause.call.as_str(), blocked.cause.name.as_str()), ("write", "python3"));
        assert_eq!((blocked.ns.as_nanos(), blocked.pid, blocked.cause.own), (3_000, Some(99), false));
    }
}
