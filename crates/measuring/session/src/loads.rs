//! Where the load of a turn comes from.

use howlate_load::{Running, StartError};
use howlate_model::Load;

/// Starts the load of each turn, or lets that of the turn before go on.
#[derive(Default)]
pub(crate) struct Loads {
    /// Whether it goes on as long as turns have the same, so that it comes to its pace once. Otherwise each turn has one
    /// of its own, which ends with it: turns of other loads come between, or turns change the machine, and what a load has
    /// (its memory, its place) may come from the time when it began.
    pub(crate) go_on: bool,
    /// That of the turn before.
    before: Option<(Load, Running)>,
}

impl Loads {
    /// The load of a turn that begins, at its pace.
    pub(crate) fn begin(&mut self, load: &Load) -> Result<Running, StartError> {
        let same = self.before.take().and_then(|(of, running)| (of == *load).then_some(running));
        match same.and_then(Running::going_on) {
            Some(running) => Ok(running),
            None => Running::start(load).map(Running::settled),
        }
    }

    /// Takes the load of a turn that has ended.
    pub(crate) fn end(&mut self, load: Load, running: Running) {
        self.before = self.go_on.then_some((load, running));
    }
}
