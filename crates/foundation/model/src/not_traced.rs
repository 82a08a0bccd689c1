//! Why work has no wake-ups that a tracer can follow.

/// Why work has no wake-ups that a tracer can follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UntraceableReason {
    /// Another thread sleeps than the one that comes back.
    #[error("its runtime decides anew which thread, or process, sleeps and which one comes back")]
    RuntimeDecides,
    /// It is no work of ours.
    #[error("no engine starts it")]
    NotStarted,
    /// It was read from a file.
    #[error("another program measured it")]
    OfAnother,
    /// What is measured is no wake-up.
    #[error("a round trip is two wake-ups of two threads; measure one way")]
    RoundTrip,
    /// A thread that spins.
    #[error("it never sleeps, so that nothing wakes it")]
    NeverSleeps,
    /// A thread that spins at the end.
    #[error("it is awake already when its time comes")]
    AwakeAlready,
    /// A receiver that spins.
    #[error("its receiver never sleeps, so that nothing wakes it")]
    ReceiverNeverSleeps,
}
