//! The engine of notifications: one turn after the other.

use std::io;

use howlate_linux::clock;
use howlate_model::{
    AsText, EndReason, Engine, EngineError, Line, Notifier, Sink, Task, Turn, TurnControl, TurnEnd,
    TurnFinished,
};

use super::job::{Job, spec};
use super::prepared::Prepared;

/// The engine of turns in which one thread notifies another.
#[derive(Clone, Copy, Debug, Default)]
pub struct Notifications;

impl Engine for Notifications {
    fn takes(&self, turn: &Turn) -> bool {
        turn.tasks.first().and_then(spec).is_some()
    }

    /// What fails becomes part of the result, so that the rest can run.
    fn run(
        &mut self,
        turn: &Turn,
        bounds: &TurnControl,
        sink: &mut dyn Sink,
    ) -> Result<TurnEnd, EngineError> {
        let mut ended = TurnEnd::from(EndReason::Done);
        for task in &turn.tasks {
            let Some(spec) = spec(task) else { continue };
            let job = Job { turn, task, spec, bounds };
            let result = Prepared::new(&job).and_then(|prepared| prepared.run(sink));
            match result {
                Ok(result) => ended = result,
                Err(error) => sink.line(Line::Finished(failed(task, spec.notifier, &error))),
            }
        }
        Ok(ended)
    }
}

/// The end of a turn that could not begin.
fn failed(task: &Task, notifier: Notifier, error: &io::Error) -> TurnFinished {
    TurnFinished {
        condition: task.condition,
        round: task.round,
        at: clock::now(),
        usage: None,
        unfinished: false,
        load: None,
        error: Some(AsText::Text(format!("{notifier}: {error}"))),
    }
}
