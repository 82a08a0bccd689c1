//! What is seen of threads that run late, of all that there are.

use crate::{Distribution, MonotonicTime, Occupant, Policy, Span, TracedSleep, TracerRefusal};

/// A thread ran later than allowed: it had waited for a CPU, or its timer was late.
#[derive(Clone, Debug, PartialEq)]
pub struct LateWait {
    /// The wait, as [`decompose`](TracedSleep) takes it: `waking` is when the thread could run, `switched_in` when it did.
    pub sleep: TracedSleep,
    /// From when its timer was to wake it to running; where no timer did, from runnable to running.
    pub late: Span,
    /// Process id of the thread that waited.
    pub pid: u32,
    /// What the thread is called.
    pub name: String,
    /// What its process is called.
    pub process: String,
    /// Whose it is.
    pub uid: u32,
    /// The kernel's number of its control group in the unified hierarchy; 0: not known.
    pub cgroup: u64,
    /// `None` where its number does not say all of it, as of `SCHED_DEADLINE`.
    pub policy: Option<Policy>,
    /// Whether it had a CPU before and lost it; otherwise it was woken.
    pub preempted: bool,
}

/// An event loop did not come back to its events for longer than allowed.
#[derive(Clone, Debug, PartialEq)]
pub struct EventLoopStall {
    /// When the thread returned from waiting for events, in `epoll_wait(2)` or one of its variants.
    pub from: MonotonicTime,
    /// When it waited for events again.
    pub until: MonotonicTime,
    /// In between it had a CPU,
    pub running: Span,
    /// and it was ready, and waited for one.
    pub ready: Span,
    /// As of [`LateWait::cgroup`].
    pub cgroup: u64,
    /// Its thread id.
    pub tid: u32,
    /// Its process id.
    pub pid: u32,
    /// Whose it is.
    pub uid: u32,
    /// The CPU on which it came back.
    pub cpu: u32,
    /// As of [`LateWait::policy`].
    pub policy: Option<Policy>,
    /// What the thread is called.
    pub name: String,
    /// What its process is called.
    pub process: String,
}

impl EventLoopStall {
    /// How long it did not come back.
    pub fn length(&self) -> Span {
        self.until.since(self.from)
    }

    /// Of that, it was blocked: in other calls, or page faults.
    pub fn blocked(&self) -> Span {
        self.length().minus(self.running).minus(self.ready)
    }
}

/// Who had a CPU, one stretch after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuTimeline {
    /// Number of the CPU.
    pub cpu: u32,
    /// In their order; each has its `from`.
    pub stretches: Vec<Occupant>,
}

/// All waits of threads that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitGroup {
    /// What their processes are called.
    pub process: String,
    /// Whose they are.
    pub uid: u32,
    /// As of [`LateWait::cgroup`].
    pub cgroup: u64,
    /// The kernel's number of their policy.
    pub policy: u32,
    /// How late each was: counted by the kernel in four buckets to each doubling, so that a value may be 12 % off; the
    /// longest is exact.
    pub waits: Distribution,
    /// How many of them were longer than allowed.
    pub late: u64,
}

/// What is not seen on this machine, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingProbes {
    /// Event loops that do not come back.
    pub loops: Option<TracerRefusal>,
    /// By when timers were due: threads are late by their waits for a CPU only.
    pub timers: Option<TracerRefusal>,
}

/// What was seen since the last look, beside the waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LateWaitStats {
    /// Late waits for which there was no room, by what was said: they were shorter.
    pub left_out: u64,
    /// Late waits for which the kernel's side had no room.
    pub lost: u64,
    /// Switches that no event told of.
    pub unseen: u64,
    /// When it was looked.
    pub at: MonotonicTime,
}
