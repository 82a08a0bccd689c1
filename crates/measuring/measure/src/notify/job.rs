//! The work of one turn of notifications.

use howlate_model::{Notifier, Peers, ReceiverCpu, Span, Task, Turn, TurnControl, Work};

/// How long sender and receiver may take to get ready.
pub(super) const READY_TIMEOUT: Span = Span::from_secs(5);

#[derive(Clone, Copy)]
pub(super) struct NotifySettings {
    pub(super) notifier: Notifier,
    pub(super) gap: Span,
    pub(super) between: Peers,
    pub(super) sender_cpu: Option<u32>,
    pub(super) receiver: ReceiverCpu,
    /// Whether sender and receiver are bound to one CPU.
    pub(super) shares_cpu: bool,
    pub(super) round_trip: bool,
}

/// `None` if `task` is not a notification.
pub(super) fn notify_settings(task: &Task) -> Option<NotifySettings> {
    match task.work {
        Work::Notify { mechanism, after_ns, between, sender_cpu, receiver, round_trip, .. } => {
            Some(NotifySettings {
                notifier: mechanism,
                gap: after_ns,
                between,
                sender_cpu,
                receiver,
                shares_cpu: sender_cpu.is_some() && sender_cpu == task.cpu,
                round_trip,
            })
        }
        _ => None,
    }
}

pub(super) struct NotifyJob<'a> {
    pub(super) turn: &'a Turn,
    pub(super) task: &'a Task,
    pub(super) spec: NotifySettings,
    pub(super) bounds: &'a TurnControl,
}

impl NotifyJob<'_> {
    /// Number of messages including warm-up.
    pub(super) fn count(&self) -> u64 {
        self.task.warm_up + self.task.samples.unwrap_or(1)
    }
}
