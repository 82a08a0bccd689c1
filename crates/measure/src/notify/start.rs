//! One turn: makes the ends, starts sender and receiver, watches, and cleans up.

mod other;
mod prepared;
mod sending;

use std::io;

use howlate_linux::clock;
use howlate_model::{
    Between, Bounds, Ended, Engine, EngineError, Finished, HowEnded, Line, Notifier, ReceiverCpu, Sink, Span,
    Task, Turn, Work,
};

pub(super) use other::Other;
use prepared::Prepared;
pub(super) use sending::Ready;

/// How long sender and receiver may take to get ready.
const PATIENCE: Span = Span::from_secs(5);

/// What a turn of notifications asks for.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    pub(super) notifier: Notifier,
    pub(super) gap: Span,
    pub(super) between: Between,
    pub(super) sender_cpu: Option<u32>,
    pub(super) receiver: ReceiverCpu,
    /// Whether sender and receiver are bound to one CPU.
    pub(super) shares_cpu: bool,
    pub(super) round_trip: bool,
}

/// What is asked for when `task` is about notification.
fn asked(task: &Task) -> Option<Asked> {
    match task.work {
        Work::Notify { mechanism, after_ns, between, sender_cpu, receiver, round_trip, .. } => Some(Asked {
            notifier: mechanism,
            gap: after_ns,
            between,
            sender_cpu,
            receiver,
            shares_cpu: sender_cpu.is_some() && sender_cpu == task.cpu,
            round_trip,
        }),
        _ => None,
    }
}

/// The engine of turns in which one thread notifies another.
#[derive(Clone, Copy, Debug, Default)]
pub struct Notifications;

impl Engine for Notifications {
    fn takes(&self, turn: &Turn) -> bool {
        turn.tasks.first().and_then(asked).is_some()
    }

    /// What fails becomes part of the result, so that the rest can run.
    fn run(&mut self, turn: &Turn, bounds: &Bounds, sink: &mut dyn Sink) -> Result<Ended, EngineError> {
        let mut ended = Ended::from(HowEnded::Done);
        for task in &turn.tasks {
            let Some(asked) = asked(task) else { continue };
            let begun = Begun { turn, task, asked, bounds };
            let result = Prepared::new(&begun).and_then(|prepared| prepared.run(sink));
            match result {
                Ok(result) => ended = result,
                Err(error) => sink.line(Line::Finished(failed(task, asked.notifier, &error))),
            }
        }
        Ok(ended)
    }
}

/// The end of a turn that could not begin.
fn failed(task: &Task, notifier: Notifier, error: &io::Error) -> Finished {
    Finished {
        condition: task.condition,
        round: task.round,
        at_ns: clock::now(),
        usage: None,
        unfinished: false,
        load: None,
        error: Some(format!("{notifier}: {error}")),
    }
}

/// What one turn is given.
pub(super) struct Begun<'a> {
    pub(super) turn: &'a Turn,
    pub(super) task: &'a Task,
    pub(super) asked: Asked,
    pub(super) bounds: &'a Bounds,
}

impl Begun<'_> {
    /// How many messages, those that are not counted included.
    fn count(&self) -> u64 {
        self.task.warm_up + self.task.samples.unwrap_or(1)
    }
}
