//! What the threads of a machine wait for, read periodically.

use crate::Span;

/// Sum of waits of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Total time.
    pub time: Span,
    pub count: u64,
    pub longest: Span,
}

/// A kernel stack at which threads wait. Each is reported once, and then referred to by its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelStack {
    /// Id used in [`ReasonWaits`].
    pub id: u64,
    /// Function names, innermost first.
    pub functions: Vec<String>,
}

/// Stack id of waits that were not sampled.
pub const NOT_SAMPLED: u64 = 0;

/// Waits at one kernel stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReasonWaits {
    /// Id of a [`KernelStack`], or [`NOT_SAMPLED`].
    pub stack: u64,
    pub waits: Waits,
    /// Number of waits whose stack was sampled; the others waited in the same call as one of these.
    pub sampled: u64,
}

/// In place of a process id: the thread's control group had used up its CPU quota.
pub const OUT_OF_QUOTA: u32 = u32::MAX;

/// The process that had the CPU while a thread was ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompetingProcess {
    /// Process id; 0 if the CPU was idle and had to wake up; or [`OUT_OF_QUOTA`].
    pub pid: u32,
    pub time: Span,
}

/// An unfinished wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OngoingWait {
    /// Kernel stack; `None` while the thread is ready to run.
    pub stack: Option<u64>,
    /// Duration so far.
    pub lasts: Span,
}

/// Waits of one thread since the previous reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadWaits {
    /// Thread id, `gettid(2)`.
    pub tid: u32,
    /// Process id, as in `/proc`.
    pub pid: u32,
    /// Thread name.
    pub name: String,
    /// Process name.
    pub process: String,
    /// Whether it is a kernel thread.
    pub of_kernel: bool,
    /// Whether it has ended.
    pub ended: bool,
    /// Time observed since the previous reading.
    pub seen: Span,
    /// Waits for a CPU.
    pub cpu: Waits,
    /// Processes that had the CPU meanwhile.
    pub rivals: Vec<CompetingProcess>,
    /// Time of further such processes that did not fit.
    pub more_rivals: Span,
    /// Waits while not ready to run.
    pub reasons: Vec<ReasonWaits>,
    /// Waits at further stacks that did not fit.
    pub more_reasons: Waits,
    /// Current wait.
    pub ongoing: Option<OngoingWait>,
}

/// Waits of all threads since the previous reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaitsReport {
    /// Running and ended threads.
    pub threads: Vec<ThreadWaits>,
    /// Stacks that are new in this reading.
    pub stacks: Vec<KernelStack>,
    pub lost: LostWaits,
}

/// Numbers of dropped or unseen items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostWaits {
    /// Waits for a CPU without an event.
    pub unseen: u64,
    /// Threads that ended without being reported.
    pub threads: u64,
    /// Stacks that did not fit.
    pub stacks: u64,
}
