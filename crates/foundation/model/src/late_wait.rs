//! Late threads of the whole machine, as `howlate record` sees them.

use crate::{Distribution, IdleCpu, MonotonicTime, Occupant, Policy, Span, TracedSleep, TracerRefusal};

/// A thread as it was when it ran.
#[derive(Clone, Debug, PartialEq)]
pub struct RunningThread {
    /// Its thread id, `gettid(2)`.
    pub tid: u32,
    /// Its process id.
    pub pid: u32,
    /// User id.
    pub uid: u32,
    /// Id of its control group in the unified hierarchy; 0 if unknown.
    pub cgroup: u64,
    /// Thread name.
    pub name: String,
    /// Process name.
    pub process: String,
    /// `None` if it has further parameters, as `SCHED_DEADLINE` has.
    pub policy: Option<Policy>,
}

/// A thread ran later than allowed: it had waited for a CPU, or its timer was late.
#[derive(Clone, Debug, PartialEq)]
pub struct LateWait {
    /// The wait: `waking` is when the thread became runnable, `switched_in` when it ran.
    pub sleep: TracedSleep,
    /// From the timer's time to running; if no timer woke it, from runnable to running.
    pub late: Span,
    /// The thread that waited.
    pub thread: RunningThread,
    /// Whether it was preempted; otherwise it was woken.
    pub preempted: bool,
    /// The other CPU that was idle longest meanwhile; `None` if none was, or if that is not known.
    pub idle_cpu: Option<IdleCpu>,
}

/// An event loop did not come back to its events for longer than allowed.
#[derive(Clone, Debug, PartialEq)]
pub struct EventLoopStall {
    pub thread: RunningThread,
    /// When the thread returned from waiting for events, in `epoll_wait(2)` or one of its variants.
    pub from: MonotonicTime,
    /// When it waited for events again.
    pub until: MonotonicTime,
    /// Time with a CPU.
    pub running: Span,
    /// Time ready, waiting for a CPU.
    pub ready: Span,
    /// The CPU on which it came back.
    pub cpu: u32,
}

impl EventLoopStall {
    /// How long it did not come back.
    pub fn length(&self) -> Span {
        self.until.since(self.from)
    }

    /// Time blocked in other calls or page faults.
    pub fn blocked(&self) -> Span {
        self.length().minus(self.running).minus(self.ready)
    }
}

/// Occupants of one CPU over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuTimeline {
    pub cpu: u32,
    /// In order; each has its `from`.
    pub stretches: Vec<Occupant>,
}

/// Waits of all threads with the same process name, user, control group and policy.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitGroup {
    pub process: String,
    pub uid: u32,
    /// See [`RunningThread::cgroup`].
    pub cgroup: u64,
    /// Numeric policy, as in `sched_setscheduler(2)`.
    pub policy: u32,
    /// Latencies, counted in the kernel in four buckets per doubling, so that values may be 12 % off; the maximum is exact.
    pub waits: Distribution,
    /// Number of waits above the threshold.
    pub late: u64,
}

/// Probes that are unavailable on this machine, and why; `None` if available.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingProbes {
    /// Event loop stalls.
    pub loops: Option<TracerRefusal>,
    /// Timer expiries: without them only the wait for a CPU counts as lateness.
    pub timers: Option<TracerRefusal>,
}

/// Statistics of one reading, besides the waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LateWaitStats {
    /// Late waits that were dropped in favour of longer ones.
    pub left_out: u64,
    /// Late waits dropped because the kernel-side buffer was full.
    pub lost: u64,
    /// Context switches without an event.
    pub unseen: u64,
    /// Time of the reading.
    pub at: MonotonicTime,
}
