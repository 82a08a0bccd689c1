//! What one turn is to do, and with what.

use howlate_model::{Notifier, Peers, ReceiverCpu, Span, Task, Turn, TurnControl, Work};

/// How long sender and receiver may take to get ready.
pub(super) const PATIENCE: Span = Span::from_secs(5);

/// What a turn of notifications asks for.
#[derive(Clone, Copy)]
pub(super) struct Spec {
    pub(super) notifier: Notifier,
    pub(super) gap: Span,
    pub(super) between: Peers,
    pub(super) sender_cpu: Option<u32>,
    pub(super) receiver: ReceiverCpu,
    /// Whether sender and receiver are bound to one CPU.
    pub(super) shares_cpu: bool,
    pub(super) round_trip: bool,
}

/// What is asked for when `task` is about notification.
pub(super) fn spec(task: &Task) -> Option<Spec> {
    match task.work {
        Work::Notify { mechanism, after_ns, between, sender_cpu, receiver, round_trip, .. } => Some(Spec {
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

/// What one turn is given.
pub(super) struct Job<'a> {
    pub(super) turn: &'a Turn,
    pub(super) task: &'a Task,
    pub(super) spec: Spec,
    pub(super) bounds: &'a TurnControl,
}

impl Job<'_> {
    /// How many messages, those that are not counted included.
    pub(super) fn count(&self) -> u64 {
        self.task.warm_up + self.task.samples.unwrap_or(1)
    }
}
