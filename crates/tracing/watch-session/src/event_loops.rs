//! Assigns the iterations of event loops to threads and their kind of wake-up.

use std::collections::{HashMap, HashSet};
use std::mem::take;

use howlate_analyse::cause::PastSleep;
use howlate_analyse::watch::LoopParts;
use howlate_model::{Activation, Iteration, Ledger, MonotonicTime, Span, TracedSleep};
use howlate_watched_program::{Symbolizer, ThreadIdentity};

use crate::loop_sleeps::LoopSleeps;

/// Files that threads wait on and for which sharing is known.
const MAX_FILES: usize = 1_024;

/// Sleeps that wait for their iterations, about a kilobyte each: of all threads together, unless these are so many that each has the least.
const SLEEPS_OF_ALL_THREADS: usize = 16_384;
const SLEEPS_PER_THREAD: usize = 4;

/// A thread that was not seen to be woken for this long does not sleep.
const PATIENCE: Span = Span::from_secs(2);

/// The event loops of a watched program.
#[derive(Default)]
pub(crate) struct EventLoops {
    /// The kind of wake-up of each loop, once it is known.
    owners: HashMap<ThreadIdentity, Activation>,
    /// Threads that wait on a file, by process and file descriptor.
    waiting: HashMap<(u32, u32), HashSet<u32>>,
    /// By thread that has had iterations.
    sleeps: HashMap<u32, LoopSleeps>,
    /// Threads in `sleeps` that have ended.
    ended: HashSet<u32>,
    symbolizer: Symbolizer,
    pending: Vec<PendingIteration>,
    /// What iterations went to, by thread, and the index of the thread that they count for: once its kind of wake-up is known.
    parts: HashMap<u32, (Option<usize>, LoopParts)>,
}

/// An iteration, and what had to be looked up at once.
pub(crate) struct PendingIteration {
    pub(crate) iteration: Iteration,
    pub(crate) identity: ThreadIdentity,
    /// Innermost function with a symbol, for a long iteration.
    pub(crate) function: Option<String>,
    /// Number of threads that wait on the same file.
    pub(crate) shared_by: u64,
}

/// The event loop of an iteration.
pub(crate) enum IterationOwner {
    /// That of a thread with this kind of wake-up.
    EventLoop(Activation),
    /// Not known yet.
    Unknown,
    /// None: the thread never sleeps while it waits for events.
    NotAnEventLoop,
}

impl EventLoops {
    /// An iteration of a thread in `process`.
    pub(crate) fn add_iteration(&mut self, iteration: Iteration, identity: ThreadIdentity, process: u32) {
        let shared_by = self.shared_by(process, &iteration);
        let function = self.symbolizer.innermost(process, &iteration.stack);
        self.ended.remove(&iteration.tid);
        let (_, parts) = self.parts.entry(iteration.tid).or_default();
        parts.record_iteration(iteration.from, iteration.until);
        self.sleeps.entry(iteration.tid).or_default().add_iteration(&iteration);
        self.pending.push(PendingIteration { iteration, identity, function, shared_by });
    }

    /// A sleep of any thread.
    pub(crate) fn add_sleep(&mut self, sleep: &TracedSleep) {
        if let Some(sleeps) = self.sleeps.get_mut(&sleep.tid) {
            sleeps.add_sleep(sleep);
        }
    }

    /// A sleep of any thread, with what the thread waited for.
    pub(crate) fn add_past_sleep(&mut self, past: &PastSleep) {
        let room = (SLEEPS_OF_ALL_THREADS / self.parts.len().max(1)).max(SLEEPS_PER_THREAD);
        if let Some((_, parts)) = self.parts.get_mut(&past.sleep.tid) {
            parts.record_sleep(past, room);
        }
    }

    /// The iterations of a thread count for that of this index.
    pub(crate) fn set_index(&mut self, tid: u32, index: usize) {
        if let Some((thread, _)) = self.parts.get_mut(&tid) {
            *thread = Some(index);
        }
    }

    /// What iterations went to since the last call, by the index of their thread.
    pub(crate) fn take_ledgers(&mut self, now: MonotonicTime) -> Vec<(usize, Ledger)> {
        let taken =
            self.parts.values_mut().filter_map(|(index, parts)| Some(((*index)?, parts.take_ledger(now))));
        taken.filter(|(_, ledger)| !ledger.is_empty()).collect()
    }

    /// A thread has ended.
    pub(crate) fn forget(&mut self, tid: u32) {
        if self.sleeps.contains_key(&tid) {
            self.ended.insert(tid);
        }
    }

    /// Iterations whose loop was not known yet, in their order.
    pub(crate) fn take(&mut self) -> Vec<PendingIteration> {
        take(&mut self.pending)
    }

    /// Keeps iterations whose loop is still not known.
    pub(crate) fn put_back(&mut self, iterations: Vec<PendingIteration>) {
        let is_pending = |tid: &u32| iterations.iter().any(|pending| pending.iteration.tid == *tid);
        for tid in self.ended.extract_if(|tid| !is_pending(tid)) {
            self.sleeps.remove(&tid);
            self.parts.remove(&tid);
        }
        self.pending = iterations;
    }

    /// The loop of an iteration: as in earlier iterations, else `activation`, by which its thread has been woken. Iterations longer than
    /// `above` wait until it is known what kept their thread from its CPU.
    pub(crate) fn owner_of(
        &mut self,
        pending: &mut PendingIteration,
        activation: Option<Activation>,
        above: Span,
        now: MonotonicTime,
    ) -> IterationOwner {
        let is_overdue = now.since(pending.iteration.until) >= PATIENCE;
        if let Some(sleeps) = self.sleeps.get(&pending.iteration.tid) {
            let is_long = pending.iteration.length() > above && !pending.iteration.ready.is_zero();
            let is_settled =
                sleeps.waits_for_events() && (!is_long || sleeps.is_known_until(pending.iteration.until));
            if !is_settled && !is_overdue {
                return IterationOwner::Unknown;
            }
            if sleeps.only_polls() {
                return IterationOwner::NotAnEventLoop;
            }
            pending.iteration.quota = sleeps.throttled_time(&pending.iteration);
        }
        if let Some(owner) = self.owners.get(&pending.identity) {
            return IterationOwner::EventLoop(*owner);
        }
        let Some(owner) = activation.or(is_overdue.then_some(Activation::Event)) else {
            return IterationOwner::Unknown;
        };
        self.owners.insert(pending.identity.clone(), owner);
        IterationOwner::EventLoop(owner)
    }

    /// Number of threads of the process that wait on the same file.
    fn shared_by(&mut self, process: u32, iteration: &Iteration) -> u64 {
        let Some(file) = iteration.file.map(|file| (process, file)) else { return 1 };
        if self.waiting.len() >= MAX_FILES && !self.waiting.contains_key(&file) {
            return 1;
        }
        let threads = self.waiting.entry(file).or_default();
        threads.insert(iteration.tid);
        threads.len() as u64
    }
}
