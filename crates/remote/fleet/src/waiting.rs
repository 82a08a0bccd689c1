//! Waiting for the nodes of a fleet.

use std::sync::atomic::{AtomicBool, Ordering};

use howlate_linux::clock;
use howlate_model::{MonotonicTime, Span};

use crate::error::FleetError;
use crate::folder::Fleet;
use crate::scheduler::Scheduler;
use crate::state::NodeStatus;

/// Least interval between queries; otherwise a tenth of the time so far. Frequent queries would disturb the measurement.
const LEAST_INTERVAL: Span = Span::from_millis(500);
/// Polling interval for interruptions.
const LOOK: Span = Span::from_millis(50);
/// A node that does not answer for this long is given up.
const SILENCE: Span = Span::from_secs(300);
/// Time for cancelled nodes to write their results.
const CANCEL_GRACE: Span = Span::from_secs(30);

/// Events while waiting for nodes or cancelling them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitEvent {
    /// How many nodes are in which state; replaces the previous line.
    Progress(String),
    /// A node exceeds the time limit, and is cancelled.
    TooLong {
        /// What it is called in files and recordings.
        node: String,
        /// How long nodes may take.
        most: Span,
    },
    /// A node could not be cancelled.
    NotCancelled {
        /// What it is called in files and recordings.
        node: String,
        /// What its scheduler says of it.
        reason: String,
    },
}

/// Waits for the nodes of a fleet.
pub struct FleetWait<'a> {
    fleet: &'a Fleet,
    scheduler: &'a dyn Scheduler,
    began: MonotonicTime,
    /// When each node last answered.
    last_answer: Vec<MonotonicTime>,
    /// The time limit, and whether nodes were cancelled because of it.
    deadline: Option<MonotonicTime>,
    is_cancelled: bool,
    report: &'a mut dyn FnMut(WaitEvent),
}

impl<'a> FleetWait<'a> {
    /// Begins to wait; events are passed to `report`.
    pub fn begin(
        fleet: &'a Fleet,
        scheduler: &'a dyn Scheduler,
        report: &'a mut dyn FnMut(WaitEvent),
    ) -> Self {
        let began = clock::now();
        Self {
            fleet,
            scheduler,
            began,
            last_answer: vec![began; fleet.members.len()],
            deadline: fleet.timeout_s.map(|most| began.plus(Span::from_secs(most))),
            is_cancelled: false,
            report,
        }
    }

    /// Returns when no node is awaited any more; `false` when interrupted.
    ///
    /// # Errors
    ///
    /// When the scheduler does not answer.
    pub fn until_over(mut self, interrupted: &AtomicBool) -> Result<bool, FleetError> {
        loop {
            let open = self.fleet.open_nodes();
            let states = match self.scheduler.look(self.fleet, &open) {
                Ok(states) => states,
                Err(_) if interrupted.load(Ordering::Relaxed) => return Ok(false),
                Err(error) => return Err(error),
            };
            (self.report)(WaitEvent::Progress(progress(self.fleet, &states)));
            let awaited = self.awaited(&open, &states);
            if awaited.is_empty() || self.has_given_up(&awaited)? {
                return Ok(true);
            }
            if self.pause(interrupted) {
                return Ok(false);
            }
        }
    }

    /// The nodes that may still deliver results.
    fn awaited(&mut self, open: &[usize], states: &[NodeStatus]) -> Vec<usize> {
        let now = clock::now();
        let mut awaited = Vec::new();
        for (node, state) in open.iter().zip(states) {
            if !matches!(state, NodeStatus::Unreachable { .. }) {
                self.last_answer[*node] = now;
            }
            if !state.is_over() && now.since(self.last_answer[*node]) < SILENCE {
                awaited.push(*node);
            }
        }
        awaited
    }

    /// Cancels nodes after the time limit, and waits a little for their results.
    fn has_given_up(&mut self, awaited: &[usize]) -> Result<bool, FleetError> {
        let Some(until) = self.deadline.filter(|until| clock::now() >= *until) else { return Ok(false) };
        if self.is_cancelled {
            return Ok(true);
        }
        for node in awaited {
            let node = self.fleet.members[*node].name();
            (self.report)(WaitEvent::TooLong { node, most: until.since(self.began) });
        }
        cancel(self.fleet, self.scheduler, awaited, self.report)?;
        (self.deadline, self.is_cancelled) = (Some(clock::now().plus(CANCEL_GRACE)), true);
        Ok(false)
    }

    /// Waits until the next query; `true` when interrupted.
    fn pause(&self, interrupted: &AtomicBool) -> bool {
        let now = clock::now();
        let tenth = Span::from_nanos(now.since(self.began).as_nanos() / 10);
        let again = now.plus(if self.is_cancelled { LEAST_INTERVAL } else { tenth.max(LEAST_INTERVAL) });
        let again = self.deadline.map_or(again, |until| until.min(again));
        while clock::now() < again {
            if interrupted.load(Ordering::Relaxed) {
                return true;
            }
            // A signal ends the pause early.
            drop(clock::sleep_for(LOOK));
        }
        interrupted.load(Ordering::Relaxed)
    }
}

/// Cancels nodes, and reports those that could not be cancelled; whether all were.
///
/// # Errors
///
/// When the scheduler does not answer.
pub fn cancel(
    fleet: &Fleet,
    scheduler: &dyn Scheduler,
    nodes: &[usize],
    report: &mut dyn FnMut(WaitEvent),
) -> Result<bool, FleetError> {
    let mut is_all = true;
    for (node, cancelled) in nodes.iter().zip(scheduler.cancel(fleet, nodes)?) {
        if let Err(reason) = cancelled {
            report(WaitEvent::NotCancelled { node: fleet.members[*node].name(), reason });
            is_all = false;
        }
    }
    Ok(is_all)
}

/// How many nodes are in which state.
fn progress(fleet: &Fleet, states: &[NodeStatus]) -> String {
    let count = |is: fn(&NodeStatus) -> bool| states.iter().filter(|state| is(state)).count();
    let waits = count(|state| matches!(state, NodeStatus::Waiting { .. }));
    let silent = count(|state| matches!(state, NodeStatus::Unreachable { .. }));
    let measures = count(|state| matches!(state, NodeStatus::Running));
    let over = fleet.members.len() - waits - measures - silent;
    let counts = [(waits, "wait"), (silent, "do not answer")];
    let further: String = counts
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| format!(", {number} {what}"))
        .collect();
    format!("{over} of {} nodes are over, {measures} measure{further}", fleet.members.len())
}
