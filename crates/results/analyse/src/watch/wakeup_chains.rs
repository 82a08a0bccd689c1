//! Deadlines that are handed on: a timer wakes one thread of a program, and that wakes the one which has something to do.
//!
//! A thread that another of its process woke, while that was at work because its timer's time had come, was to run at that
//! time: runtimes such as tokio and Go let whichever thread waits in epoll wake the one that runs the task.
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
use crate::cause::{LOCK_CALL, Past, PastSleep, activity, handed_on, waited_in};

/// Nobody waits longer than this for what its waker did.
const PATIENCE: Span = Span::from_millis(500);
/// Threads that a deadline goes through, at most: what is further away is another matter.
const LONGEST: usize = 4;
/// Runs of each thread that are remembered, where there are few.
const REMEMBERED: usize = 256;
/// Fewer sleeps are not folded.
const FOLDED_AT_LEAST: usize = 4;
/// Room for runs of each that is made at once.
const AT_FIRST: usize = 4;
/// Runs of all of them together, each of about a kilobyte: what a crowd does costs no more than what 64 threads do.
const REMEMBERED_OF_ALL: usize = 16_384;

/// The sleeps of a program's threads, and the deadlines that they hand on.
#[derive(Debug, Default)]
pub struct Chains {
    threads: HashMap<u32, ChainThread>,
    /// Those of which a sleep is not known yet: of thousands of threads, few.
    waiting: BTreeSet<u32>,
    /// Those that have ended, and are not forgotten yet.
    ended: Vec<u32>,
}

#[derive(Debug, Default)]
struct ChainThread {
    process: u32,
    has_ended: bool,
    waiting: VecDeque<TracedSleep>,
    /// Its last sleeps, and what it waited for in each.
    past: VecDeque<PastSleep>,
    /// The last time that it was stopped: while it catches up, it is late for that.
    stopped: Option<Box<TracedSleep>>,
    runs: VecDeque<Run>,
    /// Its sleeps so far, and those in the call that locks wait in.
    slept: u64,
    slept_in_locks: u64,
}

/// From one sleep of a thread to the next.
#[derive(Debug)]
struct Run {
    from: MonotonicTime,
    until: MonotonicTime,
    /// What it was late for, if that was a time.
    deadline: Option<Deadline>,
}

#[derive(Debug)]
struct Deadline {
    explained: WakeupBreakdown,
    expected: MonotonicTime,
    through: Vec<CpuHolder>,
}

/// What a sleep is to become.
enum Resolution {
    Known(Option<Awakening>),
    /// What its waker was up to is not told yet.
    Later,
}

impl Chains {
    /// There is a thread of `process`, of which something may be seen.
    pub fn follow(&mut self, tid: u32, process: u32) {
        let thread = self.threads.entry(tid).or_default();
        (thread.process, thread.has_ended) = (process, false);
    }

    /// Takes what was seen of a thread of `process`.
    pub fn saw(&mut self, one: TracedSleep, process: u32) {
        let thread = self.threads.entry(one.tid).or_default();
        thread.process = process;
        self.waiting.insert(one.tid);
        thread.waiting.push_back(one);
    }

    /// A thread has ended: it is forgotten as soon as nothing of it is left to be told.
    pub fn forget(&mut self, tid: u32) {
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.has_ended = true;
            self.ended.push(tid);
        }
    }

    /// Whether anything may still be told of a thread.
    pub fn knows(&self, tid: u32) -> bool {
        self.threads.contains_key(&tid)
    }

    /// Tells of the sleeps that are known by now, one after the other in the order in which they ended; `None` for those that
    /// were none. At the end, `now` is long past.
    ///
    /// A waker had been woken itself before it woke another: whoever is asked in the order of time meets every deadline before it is
    /// handed on, however much was read at once.
    pub fn settle(&mut self, now: MonotonicTime, mut each: impl FnMut(&PastSleep, Option<Awakening>)) {
        let mut next: BinaryHeap<_> =
            self.waiting.iter().filter_map(|tid| self.first_waiting(*tid)).collect();
        while let Some(Reverse((_, tid))) = next.pop() {
            let Some((one, awakening)) = self.settle_one(tid, now) else { continue };
            each(one, awakening);
            match self.first_waiting(tid) {
                Some(waiting) => next.push(waiting),
                None => drop(self.waiting.remove(&tid)),
            }
        }
        self.forget_those_that_have_ended();
    }

    /// When the first sleep of a thread ended that is not settled, the earliest of all first.
    fn first_waiting(&self, tid: u32) -> Option<Reverse<(MonotonicTime, u32)>> {
        let one = self.threads.get(&tid)?.waiting.front()?;
        Some(Reverse((one.waking, tid)))
    }

    fn forget_those_that_have_ended(&mut self) {
        let Self { threads, waiting, ended } = self;
        ended.retain(|tid| {
            // Another may have its id by now.
            let has_ended = threads.get(tid).is_some_and(|thread| thread.has_ended);
            let is_over = has_ended && !waiting.contains(tid);
            if is_over {
                threads.remove(tid);
            }
            has_ended && !is_over
        });
    }

    /// The first sleep of a thread that is not settled, if it is known by now.
    fn settle_one(&mut self, tid: u32, now: MonotonicTime) -> Option<(&PastSleep, Option<Awakening>)> {
        let room = (REMEMBERED_OF_ALL / self.threads.len().max(1)).clamp(1, REMEMBERED);
        let first = self.threads.get_mut(&tid)?.waiting.pop_front()?;
        let Resolution::Known(mut awakening) = self.find(&first, now) else {
            self.threads.get_mut(&tid)?.waiting.push_front(first);
            return None;
        };
        let process = self.threads.get(&tid)?.process;
        let blocked = self.blocked(&first, process);
        if let Some(awakening) = &mut awakening {
            self.tell_own(&mut awakening.parts.wakeup.parts, process);
        }
        let thread = self.threads.get_mut(&tid)?;
        if thread.waiting.is_empty() {
            // Of ten thousand threads, the room for what is to come is most of what is known of them.
            thread.waiting = VecDeque::new();
        }
        let one = thread.ran(PastSleep::new(first, blocked), awakening.as_ref(), room);
        Some((one, awakening))
    }

    fn find(&self, one: &TracedSleep, now: MonotonicTime) -> Resolution {
        let thread = &self.threads[&one.tid];
        let past: Vec<PastSleep> = thread.past_since(due(one)).cloned().collect();
        let Some(own) = Awakening::from_sleep(one, thread.past(&past)) else {
            return Resolution::Known(None);
        };
        let Some((by, waker)) = self.waker(one, thread.process).filter(|_| !thread.keeps_time()) else {
            return Resolution::Known(Some(own));
        };
        if thread.is_at_work(one) {
            return Resolution::Known(Some(thread.goes_on(one, by, own, self.blocked(one, thread.process))));
        }
        let runs = waker.runs.iter().rev();
        let Some(run) = runs.into_iter().find(|run| run.from <= one.waking && one.waking <= run.until) else {
            let is_to_come = waker.runs.back().is_none_or(|last| last.until < one.waking);
            let may_wait = is_to_come && now.since(one.waking) < PATIENCE;
            return if may_wait { Resolution::Later } else { Resolution::Known(Some(own)) };
        };
        let Some(deadline) = run.deadline.as_ref().filter(|deadline| deadline.through.len() < LONGEST) else {
            return Resolution::Known(Some(own));
        };
        let working = Cause { own: true, ..Cause::new(Part::Blocked, CauseKind::Thread, by.name.clone()) };
        let work = waker.between(run.from, one.waking, &Segment::new(working, by.pid, run.from, Span::ZERO));
        Resolution::Known(Some(deadline.hand_on(by, &own, &work)))
    }

    /// The thread of the same process that ended a sleep, and who that is.
    fn waker<'a>(&self, one: &'a TracedSleep, process: u32) -> Option<(&'a CpuHolder, &ChainThread)> {
        let WakeSource::Other(who) = &one.woken_by else { return None };
        let waker = self.threads.get(&who.pid.filter(|_| who.holder == HolderKind::Thread)?)?;
        (waker.process == process).then_some((who, waker))
    }

    /// What a thread waited for while it slept: where another thread of its program woke it, what that one did meanwhile. Nothing
    /// where the sleep itself tells as much.
    fn blocked(&self, one: &TracedSleep, process: u32) -> Vec<Segment> {
        let Some((who, waker)) = self.waker(one, process) else { return Vec::new() };
        let (Some(since), SleepState::Waiting) = (one.asleep_since, &one.asleep) else { return Vec::new() };
        let waited = Cause { own: true, ..waited_in(one, Some(who)) };
        let mut parts =
            waker.between(since, one.waking, &Segment::new(waited.clone(), who.pid, since, Span::ZERO));
        for part in &mut parts {
            part.cause.call.clone_from(&waited.call);
            if part.cause != waited {
                part.cause.through.clone_from(&who.name);
            }
        }
        self.tell_own(&mut parts, process);
        parts
    }

    /// Says of which threads it is known that they are of the program itself.
    fn tell_own(&self, parts: &mut [Segment], process: u32) {
        for part in parts.iter_mut().filter(|part| part.cause.kind == CauseKind::Thread) {
            let thread = part.pid.and_then(|pid| self.threads.get(&pid));
            part.cause.own |= thread.is_some_and(|thread| thread.process == process);
        }
    }
}

/// From when on a sleep may have made its thread late.
fn due(one: &TracedSleep) -> MonotonicTime {
    match &one.woken_by {
        WakeSource::Timer(expiry) => expiry.soft,
        WakeSource::Other(_) | WakeSource::NotSeen { .. } => one.asleep_since.unwrap_or(one.waking),
    }
}

impl ChainThread {
    /// Whether it is at work for a time of its own, which it slept until: what it waits for then is no deadline of another thread.
    fn keeps_time(&self) -> bool {
        let by_itself = |one: &PastSleep| match (&one.sleep.woken_by, &one.sleep.slept_in) {
            (WakeSource::Timer(_), Some(SleepSite::Call(call))) => Some(TIMED_CALLS.contains(&call.as_str())),
            (WakeSource::Timer(_), _) => Some(false),
            _ => None,
        };
        self.past.iter().rev().find_map(by_itself).unwrap_or(false)
    }

    /// Whether it waited for a lock within its work: it usually waits in other calls for something to do. Whoever is handed work by a
    /// condition variable sleeps in that call most of the time.
    fn is_at_work(&self, one: &TracedSleep) -> bool {
        is_in_lock(one) && self.slept_in_locks * 2 < self.slept
    }

    /// Whoever has the lock hands nothing on: the thread is late for what it was at work for, and the lock is a part of that.
    fn goes_on(&self, one: &TracedSleep, by: &CpuHolder, own: Awakening, blocked: Vec<Segment>) -> Awakening {
        let run = self.runs.back();
        let handed = run.and_then(|run| Some((run.from, run.deadline.as_ref()?)));
        let Some((from, deadline)) = handed.filter(|(_, deadline)| !deadline.through.is_empty()) else {
            return own;
        };
        let working = Cause { own: true, ..Cause::new(Part::Blocked, CauseKind::LongWork, String::new()) };
        let working = Segment::new(working, None, from, Span::ZERO);
        let this = PastSleep::new(one.clone(), blocked);
        let past: Vec<&PastSleep> = self.past_since(from).chain([&this]).collect();
        deadline.goes_on(by, &own, &activity(&past, from, one.waking, &working))
    }

    /// Its sleeps of which something came after `since`.
    fn past_since(&self, since: MonotonicTime) -> impl Iterator<Item = &PastSleep> {
        let is_over = move |one: &&PastSleep| one.sleep.asleep_again.is_some_and(|again| again <= since);
        self.past.iter().skip_while(is_over)
    }

    fn past<'a>(&'a self, sleeps: &'a [PastSleep]) -> Past<'a> {
        Past { stopped: self.stopped.as_deref(), sleeps, running: CauseKind::LongWork }
    }

    /// What it did in a stretch: of that in which it ran, or of which nothing is known, `otherwise` is told.
    fn between(&self, from: MonotonicTime, until: MonotonicTime, otherwise: &Segment) -> Vec<Segment> {
        let past: Vec<&PastSleep> =
            self.past_since(from).take_while(|one| one.sleep.asleep_since <= Some(until)).collect();
        activity(&past, from, until, otherwise)
    }

    /// The older half of its past in half as many pieces, so that a long stretch is known as well as a short one; of a crowd, where there
    /// is little room for each thread, what is old is forgotten.
    fn fold(&mut self) {
        let old = self.past.len() / 2;
        if old < FOLDED_AT_LEAST {
            return;
        }
        let old: Vec<PastSleep> = self.past.drain(..old).collect();
        for pair in old.rchunks(2) {
            match pair {
                [one, next] => match one.folded_with(next) {
                    Some(folded) => self.past.push_front(folded),
                    None => self.past.push_front(next.clone()),
                },
                others => others.iter().rev().for_each(|one| self.past.push_front(one.clone())),
            }
        }
    }

    fn ran(&mut self, one: PastSleep, awakening: Option<&Awakening>, room: usize) -> &PastSleep {
        if one.sleep.is_stopped() {
            self.stopped = Some(Box::new(one.sleep.without_wait()));
        }
        // The time limit of a wait for a lock is none by which anything is to be done.
        let is_limit = is_in_lock(&one.sleep);
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
            self.runs.reserve_exact(room.min(AT_FIRST));
        }
        let until = one.sleep.asleep_again.unwrap_or(one.sleep.waking);
        self.runs.push_back(Run { from: one.sleep.waking, until, deadline });
        self.past.push_back(one);
        &self.past[self.past.len() - 1]
    }
}

fn is_in_lock(one: &TracedSleep) -> bool {
    matches!(&one.slept_in, Some(SleepSite::Call(call)) if call == LOCK_CALL)
}

impl Deadline {
    /// Of the same thread, which has waited for a lock meanwhile.
    fn goes_on(&self, by: &CpuHolder, own: &Awakening, work: &[Segment]) -> Awakening {
        Awakening { through: self.through.clone(), ..self.hand_on(by, own, work) }
    }

    fn hand_on(&self, by: &CpuHolder, own: &Awakening, work: &[Segment]) -> Awakening {
        let wakeup = Wakeup { expected: self.expected, ran: own.wakeup.ran };
        Awakening {
            activation: Activation::HandedOn,
            by: Some(by.clone()),
            through: self.through.iter().chain([by]).cloned().collect(),
            sleeps_by_call: own.sleeps_by_call,
            wakeup,
            parts: handed_on(&self.explained, work, &own.parts, wakeup),
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

    fn until(again: i64, one: TracedSleep) -> TracedSleep {
        TracedSleep { asleep_again: Some(at(again)), ..one }
    }

    /// A worker that a timer wakes, set to 1000; it wakes the main thread at 1500, which wakes a third at 1700.
    fn tokio() -> [TracedSleep; 3] {
        [
            until(2_000, by_timer(7, 1_000, 1_400)),
            until(1_900, woken(8, thread(7, "tokio-rt-worker"), 1_500, 1_560)),
            until(3_000, woken(9, thread(8, "main"), 1_700, 1_730)),
        ]
    }

    fn all_settled(chains: &mut Chains, now: i64) -> Vec<(TracedSleep, Option<Awakening>)> {
        let mut all = Vec::new();
        chains.settle(at(now), |one, awakening| all.push((one.sleep.clone(), awakening)));
        all
    }

    fn settled(chains: &mut Chains, now: i64) -> Vec<(u32, Activation, i64, usize)> {
        let mut all: Vec<_> = all_settled(chains, now)
            .into_iter()
            .map(|(one, awakening)| {
                let awakening = awakening.unwrap();
                let parts: u64 = awakening.parts.wakeup.parts.iter().map(|part| part.ns.as_nanos()).sum();
                let late = awakening.wakeup.latency().as_nanos();
                assert_eq!(i64::try_from(parts).unwrap(), late, "{awakening:?}");
                (one.tid, awakening.activation, late, awakening.through.len())
            })
            .collect();
        all.sort_unstable_by_key(|one| one.0);
        all
    }

    #[test]
    fn what_a_crowd_did_is_remembered_within_bounds_and_forgotten_with_it() {
        let mut chains = Chains::default();
        for turn in 0..20 {
            for tid in 0..4_096 {
                chains.follow(tid, 7);
                chains.saw(by_timer(tid, turn * 1_000, turn * 1_000 + 400), 7);
            }
            assert_eq!(all_settled(&mut chains, turn * 1_000 + 500).len(), 4_096);
        }
        let runs = |chains: &Chains| chains.threads.values().map(|one| one.runs.len()).sum::<usize>();
        assert_eq!((runs(&chains), chains.waiting.len()), (REMEMBERED_OF_ALL, 0));
        (0..4_096).for_each(|tid| chains.forget(tid));
        chains.follow(5, 7);
        assert_eq!(all_settled(&mut chains, 30_000).len(), 0);
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
        let wanted = [
            (7, Activation::Timer, 400, 0),
            (8, Activation::HandedOn, 560, 1),
            (9, Activation::HandedOn, 730, 2),
        ];
        // What a thread did is told when it sleeps again: in any order.
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [2, 0, 1]] {
            let mut chains = Chains::default();
            [7, 8, 9].into_iter().for_each(|tid| chains.follow(tid, 7));
            let all = tokio();
            let mut found = Vec::new();
            for place in order {
                chains.saw(all[place].clone(), 7);
                found.extend(settled(&mut chains, 2_000));
            }
            found.sort_unstable_by_key(|one| one.0);
            assert_eq!(found, wanted, "{order:?}");
        }
    }

    #[test]
    fn what_the_first_did_until_then_is_a_part() {
        let mut chains = Chains::default();
        tokio().into_iter().for_each(|one| chains.saw(one, 7));
        let all = all_settled(&mut chains, 2_000);
        let main = all.iter().find(|(one, _)| one.tid == 8).unwrap().1.clone().unwrap();
        let work = main.parts.wakeup.parts.iter().find(|part| part.cause.part == Part::Blocked).unwrap();
        assert_eq!((work.cause.kind, work.cause.name.as_str()), (CauseKind::Thread, "tokio-rt-worker"));
        assert_eq!((work.from, work.ns.as_nanos(), work.pid), (at(1_400), 100, Some(7)));
        assert_eq!(main.by, Some(thread(7, "tokio-rt-worker")));
    }

    #[test]
    fn who_slept_in_between_hands_nothing_on() {
        let mut chains = Chains::default();
        // The worker was woken by something else when it woke the main thread.
        chains.saw(until(1_450, by_timer(7, 1_000, 1_400)), 7);
        chains.saw(until(2_000, woken(7, thread(99, "other"), 1_480, 1_490)), 7);
        chains.saw(until(1_900, woken(8, thread(7, "tokio-rt-worker"), 1_500, 1_560)), 7);
        let found = settled(&mut chains, 2_000);
        assert_eq!(found[2], (8, Activation::Event, 60, 0), "{found:?}");
    }

    #[test]
    fn another_process_hands_nothing_on() {
        let mut chains = Chains::default();
        let [worker, main, _] = tokio();
        chains.saw(worker, 7);
        chains.saw(main, 70);
        assert_eq!(settled(&mut chains, 2_000)[1], (8, Activation::Event, 60, 0));
    }

    #[test]
    fn nobody_waits_for_ever_for_what_its_waker_did() {
        let mut chains = Chains::default();
        chains.follow(7, 7);
        let [worker, main, _] = tokio();
        chains.saw(main, 7);
        chains.saw(until(900, by_timer(7, 100, 200)), 7);
        assert_eq!(settled(&mut chains, 2_000).len(), 1, "only what the worker did before");
        assert_eq!(settled(&mut chains, 600_000_000), [(8, Activation::Event, 60, 0)]);
        chains.saw(worker, 7);
        assert_eq!(settled(&mut chains, 600_000_000).len(), 1);
    }

    /// As at the end of a run, or where the machine is so busy that nothing was read for a while.
    #[test]
    fn what_is_read_late_is_handed_on_like_the_rest() {
        let mut chains = Chains::default();
        [8, 9].into_iter().for_each(|tid| chains.follow(tid, 7));
        // The main thread has the lower id, as everywhere.
        for turn in 0..3 {
            let ahead = turn * 10_000;
            chains.saw(until(ahead + 1_900, woken(8, thread(9, "worker"), ahead + 1_500, ahead + 1_560)), 7);
            chains.saw(until(ahead + 2_000, by_timer(9, ahead + 1_000, ahead + 1_400)), 7);
        }
        let found = settled(&mut chains, 900_000_000);
        let handed = found.iter().filter(|one| one.1 == Activation::HandedOn).count();
        assert_eq!(handed, 3, "{found:?}");
    }

    #[test]
    fn a_chain_has_an_end() {
        let mut chains = Chains::default();
        chains.saw(until(100_000, by_timer(1, 1_000, 1_400)), 7);
        for tid in 2..10 {
            let woken_at = 1_500 + i64::from(tid) * 100;
            chains.saw(until(100_000, woken(tid, thread(tid - 1, "link"), woken_at, woken_at + 10)), 7);
        }
        let found = settled(&mut chains, 2_000);
        let handed: Vec<usize> = found.iter().map(|one| one.3).collect();
        assert_eq!(handed, [0, 1, 2, 3, 4, 0, 0, 0, 0]);
    }

    fn occupied(one: TracedSleep, who: CpuHolder, from: i64, until: i64) -> TracedSleep {
        let ns = at(until).since(at(from));
        TracedSleep { occupants: vec![Occupant { who, ns, from: Some(at(from)) }], ..one }
    }

    /// Blocked in a call since then.
    fn in_call(since: i64, call: &str, one: TracedSleep) -> TracedSleep {
        TracedSleep { asleep_since: Some(at(since)), slept_in: Some(SleepSite::Call(call.to_owned())), ..one }
    }

    /// Kind, name, for whom and how much of each part of the last wake-up of a thread.
    fn causes(chains: &mut Chains, tid: u32) -> Vec<(CauseKind, String, String, u64)> {
        let all = all_settled(chains, 100_000_000);
        let last = all.iter().rfind(|(one, _)| one.tid == tid).unwrap();
        let wakeup = &last.1.as_ref().unwrap().parts.wakeup;
        let sum: u64 = wakeup.parts.iter().map(|part| part.ns.as_nanos()).sum();
        assert_eq!(i64::try_from(sum).unwrap(), wakeup.latency.as_nanos(), "{wakeup:?}");
        let told = |part: &Segment| {
            (part.cause.kind, part.cause.name.clone(), part.cause.through.clone(), part.ns.as_nanos())
        };
        wakeup.parts.iter().map(told).collect()
    }

    // 1000        2000       3000         61000   61010      61020
    // |-----------|----------|------------|-------|----------|
    // due         due        due          runs    asleep     asleep for 3000, late by what kept it from 2000 and 1000
    //             taker has the CPU
    #[test]
    fn who_catches_up_is_late_by_what_made_the_first_one_late() {
        let mut chains = Chains::default();
        let first = occupied(until(61_010, by_timer(7, 1_000, 61_000)), thread(99, "taker"), 1_100, 61_000);
        chains.saw(TracedSleep { asleep_since: Some(at(500)), ..first }, 7);
        let again = |since: i64, due: i64| {
            let mut one = until(since + 10, by_timer(7, due, since + 5));
            one.asleep_since = Some(at(since));
            one
        };
        chains.saw(again(61_010, 2_000), 7);
        chains.saw(again(61_020, 3_000), 7);
        let found = causes(&mut chains, 7);
        let of = |kind| found.iter().filter(|one| one.0 == kind).map(|one| one.3).sum::<u64>();
        assert_eq!(of(CauseKind::Thread), 58_000, "{found:?}");
        assert!(found.iter().any(|one| one.1 == "taker"));
        assert_eq!(of(CauseKind::LateArming), 0, "that is no cause: {found:?}");
        assert!(of(CauseKind::LongWork) <= 20, "{found:?}");
    }

    #[test]
    fn a_loop_that_keeps_its_own_time_inherits_no_deadline() {
        let mut chains = Chains::default();
        let own = until(1_450, by_timer(8, 1_000, 1_010));
        chains.saw(TracedSleep { slept_in: Some(SleepSite::Call("clock_nanosleep".to_owned())), ..own }, 7);
        chains.saw(until(2_000, by_timer(7, 1_000, 1_400)), 7);
        chains.saw(in_call(1_450, "futex", until(1_900, woken(8, thread(7, "worker"), 1_500, 1_560))), 7);
        let found = settled(&mut chains, 2_000);
        assert_eq!(found.last(), Some(&(8, Activation::Event, 60, 0)), "{found:?}");
    }

    // client:  due 1000, runs 1110, wakes worker 1150
    // worker:                               1150, runs 1160, blocked 1200 ......... woken 1500, runs 1510
    // keeper:  due 400, runs 900, has the lock ............................ gives it back 1500
    #[test]
    fn whose_lock_it_waits_for_hands_nothing_on() {
        let mut chains = Chains::default();
        [7, 8, 9].into_iter().for_each(|tid| chains.follow(tid, 7));
        let asks = |turn: i64| {
            let one = until(turn + 200, woken(8, thread(7, "client"), turn + 150, turn + 160));
            in_call(turn, "read", one)
        };
        let client = |turn: i64| until(turn + 170, by_timer(7, turn, turn + 110));
        for turn in [-20_000, -10_000, 1_000] {
            chains.saw(client(turn), 7);
            chains.saw(asks(turn), 7);
        }
        chains.saw(until(1_600, by_timer(9, 400, 900)), 7);
        let waits = until(1_700, woken(8, thread(9, "keeper"), 1_500, 1_510));
        chains.saw(in_call(1_200, "futex", waits), 7);
        let all = all_settled(&mut chains, 100_000_000);
        let last = all.iter().rfind(|(one, _)| one.tid == 8).unwrap().1.clone().unwrap();
        assert_eq!(
            (last.activation, last.wakeup.expected, last.through),
            (Activation::HandedOn, at(1_000), vec![thread(7, "client")])
        );
        let parts = &last.parts.wakeup.parts;
        let lock: u64 =
            parts.iter().filter(|one| one.cause.kind == CauseKind::Lock).map(|one| one.ns.as_nanos()).sum();
        assert_eq!((lock, parts.iter().map(|one| one.ns.as_nanos()).sum::<u64>()), (300, 510), "{parts:?}");
        assert!(
            parts.iter().all(|one| one.cause.kind != CauseKind::Lock || one.cause.name == "keeper"),
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
        let mut chains = Chains::default();
        chains.follow(9, 7);
        inversion().into_iter().for_each(|one| chains.saw(one, 7));
        let mut next = until(20_000, by_timer(7, 2_000, 9_520));
        next.asleep_since = Some(at(9_500));
        chains.saw(next, 7);
        let found = causes(&mut chains, 7);
        let of = |kind, name: &str, through: &str| {
            let these = found.iter().filter(|one| one.0 == kind && one.1 == name && one.2 == through);
            these.map(|one| one.3).sum::<u64>()
        };
        assert_eq!(of(CauseKind::Thread, "middle", "low"), 7_200, "{found:?}");
        assert_eq!(of(CauseKind::Lock, "low", ""), 200, "it ran, and held the lock: {found:?}");
    }

    #[test]
    fn whose_program_a_culprit_is_of_is_told() {
        let mut chains = Chains::default();
        chains.follow(9, 7);
        let own = |who: CpuHolder, chains: &mut Chains| {
            chains.saw(occupied(until(2_000, by_timer(7, 1_000, 1_400)), who, 1_100, 1_400), 7);
            let all = all_settled(chains, 100_000_000);
            let parts = &all[0].1.as_ref().unwrap().parts.wakeup.parts;
            parts.iter().any(|part| part.cause.kind == CauseKind::Thread && part.cause.own)
        };
        assert!(own(thread(9, "middle"), &mut chains));
        assert!(!own(thread(77, "stranger"), &mut chains));
    }

    #[test]
    fn what_a_call_of_ones_own_waited_for_is_told_with_the_call() {
        let mut chains = Chains::default();
        let mut first = until(1_100, by_timer(7, 1_000, 1_010));
        first.asleep_since = Some(at(900));
        chains.saw(first, 7);
        chains.saw(in_call(1_100, "write", until(5_100, woken(7, thread(99, "python3"), 5_000, 5_010))), 7);
        let mut late = until(20_000, by_timer(7, 2_000, 5_120));
        late.asleep_since = Some(at(5_100));
        chains.saw(late, 7);
        let all = all_settled(&mut chains, 100_000_000);
        let parts = &all[2].1.as_ref().unwrap().parts.wakeup.parts;
        let blocked = parts.iter().find(|part| part.cause.kind == CauseKind::SystemCall).unwrap();
        assert_eq!((blocked.cause.call.as_str(), blocked.cause.name.as_str()), ("write", "python3"));
        assert_eq!((blocked.ns.as_nanos(), blocked.pid, blocked.cause.own), (3_000, Some(99), false));
    }
}
