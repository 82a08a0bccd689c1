//! What is kept of event loops while they are watched.

use std::collections::{HashMap, HashSet};
use std::mem::take;

use howlate_model::{Activation, Iteration, MonotonicTime, Span};
use howlate_watched_program::{Functions, Identity};

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

impl EventLoops {
    /// Takes an iteration of a thread of this process.
    pub(crate) fn saw(&mut self, iteration: Iteration, identity: Identity, process: u32) {
        let shared_by = self.shared_by(process, &iteration);
        let function = self.functions.innermost(process, &iteration.stack);
        self.pending.push(Seen { iteration, identity, function, shared_by });
    }

    /// All that have not been entered yet, in their order.
    pub(crate) fn take(&mut self) -> Vec<Seen> {
        take(&mut self.pending)
    }

    /// It is too early for this one.
    pub(crate) fn put_back(&mut self, one: Seen) {
        self.pending.push(one);
    }

    /// What the loop of its thread belongs to: what it belonged to at first, else `awake`, by which it has been woken. `None`:
    /// that is still to be told.
    pub(crate) fn belongs_to(
        &mut self,
        one: &Seen,
        awake: Option<Activation>,
        now: MonotonicTime,
    ) -> Option<Activation> {
        if let Some(known) = self.of.get(&one.identity) {
            return Some(*known);
        }
        let never_slept = now.since(one.iteration.until) >= PATIENCE;
        let of = awake.or(never_slept.then_some(Activation::Event))?;
        self.of.insert(one.identity.clone(), of);
        Some(of)
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
