//! Waiting for the nodes of a fleet.

use std::sync::atomic::{AtomicBool, Ordering};

use howlate_linux::clock;
use howlate_model::{MonotonicTime, Span};

use crate::error::FleetError;
use crate::folder::Fleet;
use crate::scheduler::Scheduler;
use crate::state::State;

/// Nodes are asked no more often than this, and later than after a tenth of the time that they have taken so far: who is
/// asked often is late because of it.
const AT_LEAST: Span = Span::from_millis(500);
/// How often it is looked whether to go on.
const LOOK: Span = Span::from_millis(50);
/// How long a node may be silent before it is no longer waited for.
const SILENCE: Span = Span::from_secs(300);
/// How long nodes that are cancelled have to write what they have.
const LAST_WORDS: Span = Span::from_secs(30);

/// What is to be told while nodes are waited for, or ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitEvent {
    /// How many nodes are how far: in place of what was said of it before.
    Progress(String),
    /// A node takes longer than it may, and is cancelled.
    TooLong {
        /// What it is called in files and recordings.
        node: String,
        /// How long nodes may take.
        most: Span,
    },
    /// A node could not be told to end.
    NotCancelled {
        /// What it is called in files and recordings.
        node: String,
        /// What its scheduler says of it.
        reason: String,
    },
}

/// A fleet that was started.
pub struct Waiting<'a> {
    fleet: &'a Fleet,
    scheduler: &'a dyn Scheduler,
    began: MonotonicTime,
    /// When each node last answered.
    heard: Vec<MonotonicTime>,
    /// When nodes are given up, and whether they were cancelled for it already.
    until: Option<MonotonicTime>,
    is_cancelled: bool,
    say: &'a mut dyn FnMut(WaitEvent),
}

impl<'a> Waiting<'a> {
    /// Begins to wait; `say` is told what there is to tell.
    pub fn begin(fleet: &'a Fleet, scheduler: &'a dyn Scheduler, say: &'a mut dyn FnMut(WaitEvent)) -> Self {
        let began = clock::now();
        Self {
            fleet,
            scheduler,
            began,
            heard: vec![began; fleet.members.len()],
            until: fleet.timeout_s.map(|most| began.plus(Span::from_secs(most))),
            is_cancelled: false,
            say,
        }
    }

    /// Returns when nothing more is to be expected of any node; `false` when it was interrupted before.
    ///
    /// # Errors
    ///
    /// When the scheduler cannot be asked.
    pub fn until_over(mut self, interrupted: &AtomicBool) -> Result<bool, FleetError> {
        loop {
            let open = self.fleet.open_nodes();
            let states = match self.scheduler.look(self.fleet, &open) {
                Ok(states) => states,
                Err(_) if interrupted.load(Ordering::Relaxed) => return Ok(false),
                Err(error) => return Err(error),
            };
            (self.say)(WaitEvent::Progress(progress(self.fleet, &states)));
            let awaited = self.awaited(&open, &states);
            if awaited.is_empty() || self.has_given_up(&awaited)? {
                return Ok(true);
            }
            if self.pause(interrupted) {
                return Ok(false);
            }
        }
    }

    /// The nodes that may still come to something.
    fn awaited(&mut self, open: &[usize], states: &[State]) -> Vec<usize> {
        let now = clock::now();
        let mut awaited = Vec::new();
        for (node, state) in open.iter().zip(states) {
            if !matches!(state, State::Unreachable { .. }) {
                self.heard[*node] = now;
            }
            if !state.is_over() && now.since(self.heard[*node]) < SILENCE {
                awaited.push(*node);
            }
        }
        awaited
    }

    /// Ends the nodes that take too long, and waits a little for what they have measured.
    fn has_given_up(&mut self, awaited: &[usize]) -> Result<bool, FleetError> {
        let Some(until) = self.until.filter(|until| clock::now() >= *until) else { return Ok(false) };
        if self.is_cancelled {
            return Ok(true);
        }
        for node in awaited {
            let node = self.fleet.members[*node].name();
            (self.say)(WaitEvent::TooLong { node, most: until.since(self.began) });
        }
        cancel(self.fleet, self.scheduler, awaited, self.say)?;
        (self.until, self.is_cancelled) = (Some(clock::now().plus(LAST_WORDS)), true);
        Ok(false)
    }

    /// Waits until nodes are to be asked again; `true` when it is interrupted.
    fn pause(&self, interrupted: &AtomicBool) -> bool {
        let now = clock::now();
        let tenth = Span::from_nanos(now.since(self.began).as_nanos() / 10);
        let again = now.plus(if self.is_cancelled { AT_LEAST } else { tenth.max(AT_LEAST) });
        let again = self.until.map_or(again, |until| until.min(again));
        while clock::now() < again {
            if interrupted.load(Ordering::Relaxed) {
                return true;
            }
            // A signal makes the look come earlier.
            drop(clock::sleep_for(LOOK));
        }
        interrupted.load(Ordering::Relaxed)
    }
}

/// Cancels nodes, and names those that could not be told; whether all were.
///
/// # Errors
///
/// When the scheduler cannot be asked.
pub fn cancel(
    fleet: &Fleet,
    scheduler: &dyn Scheduler,
    nodes: &[usize],
    say: &mut dyn FnMut(WaitEvent),
) -> Result<bool, FleetError> {
    let mut is_all = true;
    for (node, cancelled) in nodes.iter().zip(scheduler.cancel(fleet, nodes)?) {
        if let Err(reason) = cancelled {
            say(WaitEvent::NotCancelled { node: fleet.members[*node].name(), reason });
            is_all = false;
        }
    }
    Ok(is_all)
}

/// How many nodes are how far.
fn progress(fleet: &Fleet, states: &[State]) -> String {
    let count = |is: fn(&State) -> bool| states.iter().filter(|state| is(state)).count();
    let waits = count(|state| matches!(state, State::Waiting { .. }));
    let silent = count(|state| matches!(state, State::Unreachable { .. }));
    let measures = count(|state| matches!(state, State::Running));
    let over = fleet.members.len() - waits - measures - silent;
    let others = [(waits, "wait"), (silent, "do not answer")];
    let others: String =
        others.iter().filter(|one| one.0 > 0).map(|(number, what)| format!(", {number} {what}")).collect();
    format!("{over} of {} nodes are over, {measures} measure{others}", fleet.members.len())
}
