//! What is kept of event loops while they are watched.

use std::collections::{HashMap, HashSet};
use std::mem::take;

use howlate_model::{Activation, Iteration, MonotonicTime, Span, TracedSleep};
use howlate_watched_program::{Functions, Identity};

use crate::loop_sleeps::LoopSleeps;

/// Files that threads wait on which are kept apart; of those beyond, nobody knows who shares them.
const FILES_KEPT: usize = 1_024;

/// An iteration whose thread was not seen to be woken for so long is of one that does not sleep.
const PATIENCE: Span = Span::from_secs(2);

/// The event loops of a watched program.
#[derive(Default)]
pub(crate) struct EventLoops {
    /// What each belongs to, once that is known.
    of: HashMap<Identity, Activation>,
    /// Who waits on each file of a process.
    waiting: HashMap<(u32, u32), HashSet<u32>>,
    /// Of threads that came back to such a call.
    sleeps: HashMap<u32, LoopSleeps>,
    /// Those of them that have ended.
    ended: HashSet<u32>,
    functions: Functions,
    pending: Vec<Seen>,
}

/// An iteration, and what is to be known of it at once.
pub(crate) struct Seen {
    pub(crate) iteration: Iteration,
    pub(crate) identity: Identity,
    /// The innermost function that has a name, where it was long.
    pub(crate) function: Option<String>,
    /// Threads that wait on the same events.
    pub(crate) shared_by: u64,
}

/// What is to become of an iteration.
pub(crate) enum Belongs {
    /// It is of the event loop of a thread that is woken so.
    To(Activation),
    /// That is still to be told.
    NotKnown,
    /// Its thread never waits for events.
    ToNone,
}

impl EventLoops {
    /// Takes an iteration of a thread of this process.
    pub(crate) fn saw(&mut self, iteration: Iteration, identity: Identity, process: u32) {
        let shared_by = self.shared_by(process, &iteration);
        let function = self.functions.innermost(process, &iteration.stack);
        self.ended.remove(&iteration.tid);
        self.sleeps.entry(iteration.tid).or_default().iterated(&iteration);
        self.pending.push(Seen { iteration, identity, function, shared_by });
    }

    /// Takes a sleep of any thread.
    pub(crate) fn slept(&mut self, one: &TracedSleep) {
        if let Some(of) = self.sleeps.get_mut(&one.tid) {
            of.slept(one);
        }
    }

    /// Nothing more will come of a thread.
    pub(crate) fn forget(&mut self, tid: u32) {
        if self.sleeps.contains_key(&tid) {
            self.ended.insert(tid);
        }
    }

    /// All that have not been entered yet, in their order.
    pub(crate) fn take(&mut self) -> Vec<Seen> {
        take(&mut self.pending)
    }

    /// It is too early for these.
    pub(crate) fn put_back(&mut self, those: Vec<Seen>) {
        let is_pending = |tid: &u32| those.iter().any(|one| one.iteration.tid == *tid);
        for gone in self.ended.extract_if(|tid| !is_pending(tid)) {
            self.sleeps.remove(&gone);
        }
        self.pending = those;
    }

    /// What the loop of its thread belongs to: what it belonged to at first, else `awake`, by which it has been woken. Those
    /// that are longer than `above` wait until it is known what kept their thread from its CPU.
    pub(crate) fn belongs_to(
        &mut self,
        one: &mut Seen,
        awake: Option<Activation>,
        above: Span,
        now: MonotonicTime,
    ) -> Belongs {
        let is_over = now.since(one.iteration.until) >= PATIENCE;
        if let Some(sleeps) = self.sleeps.get(&one.iteration.tid) {
            let is_long = one.iteration.length() > above && !one.iteration.ready.is_zero();
            let is_settled = sleeps.waits() && (!is_long || sleeps.is_known_until(one.iteration.until));
            if !is_settled && !is_over {
                return Belongs::NotKnown;
            }
            if sleeps.only_looks() {
                return Belongs::ToNone;
            }
            one.iteration.quota = sleeps.without_quota(&one.iteration);
        }
        if let Some(known) = self.of.get(&one.identity) {
            return Belongs::To(*known);
        }
        let Some(of) = awake.or(is_over.then_some(Activation::Event)) else { return Belongs::NotKnown };
        self.of.insert(one.identity.clone(), of);
        Belongs::To(of)
    }

    /// How many threads of its process wait on the same events.
    fn shared_by(&mut self, process: u32, one: &Iteration) -> u64 {
        let Some(file) = one.file.map(|file| (process, file)) else { return 1 };
        if self.waiting.len() >= FILES_KEPT && !self.waiting.contains_key(&file) {
            return 1;
        }
        let threads = self.waiting.entry(file).or_default();
        threads.insert(one.tid);
        threads.len() as u64
    }
}
