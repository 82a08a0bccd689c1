//! What a tracer cannot tell of wake-ups where the kernel lacks an event.

/// What a tracer goes without, and what that costs: events that tell one thing only together are one gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum TracerGap {
    /// Which timer woke a thread.
    #[error(
        "it does not see which timer wakes a thread, so that all from the end of the thread's slack until it could run is `before_runnable`, `undetermined`"
    )]
    Timers,
    /// The interrupt of the CPU's own timer.
    #[error(
        "it does not see the timer's interrupt come, so that `interrupt_delivery` ends with the first timer that was served"
    )]
    TimerInterrupts,
    /// Interrupts of devices.
    #[error(
        "it does not see interrupts of devices, so that threads are not blamed for having had a CPU: that is `undetermined`"
    )]
    Interrupts,
    /// Softirqs.
    #[error(
        "it does not see softirqs, so that threads are not blamed for having had a CPU: that is `undetermined`"
    )]
    Softirqs,
    /// Page faults of programs.
    #[error("it does not see page faults, whose time is in `return`")]
    PageFaults,
    /// Who sends signals.
    #[error("it does not see who sends signals, so that `stopped` has no name")]
    Signals,
    /// Threads that begin, get a name and end.
    #[error("it does not see threads begin and end: they are looked for now and then")]
    Lives,
}
