//! Waiting for the nodes of a fleet.

use std::sync::atomic::{AtomicBool, Ordering};

use howlate_fleet::{Fleet, Scheduler, State};
use howlate_linux::clock;
use howlate_model::{MonotonicTime, Span};

use crate::error::Error;
use crate::terminal::{InPlace, is_watched, tell};

/// Nodes are asked no more often than this, and later than after a tenth of the time that they have taken so far: who is
/// asked often is late because of it.
const AT_LEAST: Span = Span::from_millis(500);
/// How often it is looked whether to go on.
const LOOK: Span = Span::from_millis(50);
/// How long a node may be silent before it is no longer waited for.
const SILENCE: Span = Span::from_secs(300);
/// How long nodes that are cancelled have to write what they have.
const LAST_WORDS: Span = Span::from_secs(30);

/// A fleet that was started.
pub(super) struct Waiting<'a> {
    fleet: &'a Fleet,
    scheduler: &'a dyn Scheduler,
    began: MonotonicTime,
    /// When each node last answered.
    heard: Vec<MonotonicTime>,
    /// When nodes are given up, and whether they were cancelled for it already.
    until: Option<MonotonicTime>,
    is_cancelled: bool,
    place: Option<InPlace>,
}

impl<'a> Waiting<'a> {
    pub(super) fn for_(fleet: &'a Fleet, scheduler: &'a dyn Scheduler, quiet: bool) -> Self {
        let began = clock::now();
        Self {
            fleet,
            scheduler,
            began,
            heard: vec![began; fleet.members.len()],
            until: fleet.timeout_s.map(|most| began.plus(Span::from_secs(most))),
            is_cancelled: false,
            place: (!quiet && is_watched()).then(InPlace::default),
        }
    }

    /// Returns when nothing more is to be expected of any node; `false` when it was interrupted before.
    pub(super) fn until_over(mut self, interrupted: &AtomicBool) -> Result<bool, Error> {
        let over = loop {
            let open = self.fleet.open_nodes();
            let states = match self.scheduler.look(self.fleet, &open) {
                Ok(states) => states,
                Err(_) if interrupted.load(Ordering::Relaxed) => break false,
                Err(error) => return Err(error.into()),
            };
            if let Some(place) = &mut self.place {
                place.show(&progress(self.fleet, &states));
            }
            let awaited = self.awaited(&open, &states);
            if awaited.is_empty() || self.has_given_up(&awaited)? {
                break true;
            }
            if self.pause(interrupted)? {
                break false;
            }
        };
        self.place.iter_mut().for_each(InPlace::clear);
        Ok(over)
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
    fn has_given_up(&mut self, awaited: &[usize]) -> Result<bool, Error> {
        let Some(until) = self.until.filter(|until| clock::now() >= *until) else { return Ok(false) };
        if self.is_cancelled {
            return Ok(true);
        }
        for node in awaited {
            let name = self.fleet.members[*node].name();
            tell(&format!("{name} is not done after {} and is cancelled.\n", until.since(self.began)));
        }
        cancel(self.fleet, self.scheduler, awaited)?;
        (self.until, self.is_cancelled) = (Some(clock::now().plus(LAST_WORDS)), true);
        Ok(false)
    }

    /// Waits until nodes are to be asked again; `true` when it is interrupted.
    fn pause(&self, interrupted: &AtomicBool) -> Result<bool, Error> {
        let now = clock::now();
        let tenth = Span::from_nanos(now.since(self.began).as_nanos() / 10);
        let again = now.plus(if self.is_cancelled { AT_LEAST } else { tenth.max(AT_LEAST) });
        let again = self.until.map_or(again, |until| until.min(again));
        while clock::now() < again {
            if interrupted.load(Ordering::Relaxed) {
                return Ok(true);
            }
            match clock::pause(LOOK) {
                Err(error) if error.kind() != std::io::ErrorKind::Interrupted => return Err(error.into()),
                _ => {}
            }
        }
        Ok(interrupted.load(Ordering::Relaxed))
    }
}

/// Cancels nodes, and names those that could not be told; whether all were.
pub(super) fn cancel(fleet: &Fleet, scheduler: &dyn Scheduler, nodes: &[usize]) -> Result<bool, Error> {
    let mut is_all = true;
    for (node, cancelled) in nodes.iter().zip(scheduler.cancel(fleet, nodes)?) {
        if let Err(reason) = cancelled {
            tell(&format!("{} is not cancelled: {reason}\n", fleet.members[*node].name()));
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
