//! The engine of notifications.

use std::io;

use howlate_linux::clock;
use howlate_model::{
    AsText, EndReason, Engine, EngineError, Line, Notifier, Sink, Task, Turn, TurnControl, TurnEnd,
    TurnFinished,
};

use super::job::{NotifyJob, notify_settings};
use super::prepared::PreparedTurn;

/// The engine of turns in which one thread notifies another.
#[derive(Clone, Copy, Debug, Default)]
pub struct NotifyEngine;

impl Engine for NotifyEngine {
    fn takes(&self, turn: &Turn) -> bool {
        turn.tasks.first().and_then(notify_settings).is_some()
    }

    /// A failed task is reported in the recording, so that the others still run.
    fn run(
        &mut self,
        turn: &Turn,
        bounds: &TurnControl,
        sink: &mut dyn Sink,
    ) -> Result<TurnEnd, EngineError> {
        let mut ended = TurnEnd::from(EndReason::Done);
        for task in &turn.tasks {
            let Some(spec) = notify_settings(task) else { continue };
            let job = NotifyJob { turn, task, spec, bounds };
            let result = PreparedTurn::new(&job).and_then(|prepared| prepared.run(sink));
            match result {
                Ok(result) => ended = result,
                Err(error) => sink.line(Line::Finished(failed(task, spec.notifier, &error))),
            }
        }
        Ok(ended)
    }
}

/// The result of a task that could not start.
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
