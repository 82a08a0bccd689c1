//! What the threads of a machine wait for, as somebody reads it now and then.

use crate::Span;

/// Waits of one kind, added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Their lengths together.
    pub time: Span,
    /// How many there were.
    pub count: u64,
    /// The longest one.
    pub longest: Span,
}

/// A place in the kernel at which threads wait: known by a number, its functions told once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelStack {
    /// The number that [`ReasonWaits`] know it by.
    pub id: u64,
    /// The functions, the innermost first.
    pub functions: Vec<String>,
}

/// The stack of a wait that nobody looked at.
pub const NOT_LOOKED_AT: u64 = 0;

/// Waits at one place in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReasonWaits {
    /// Where: a [`KernelStack`], or [`NOT_LOOKED_AT`].
    pub stack: u64,
    /// How often, and how long.
    pub waits: Waits,
    /// Of how many of them the stack was looked at; the others waited in the same call as one of these.
    pub looked_at: u64,
}

/// In place of a process: the thread's control group had used up its CPU quota, whoever had the CPU.
pub const OUT_OF_QUOTA: u32 = u32::MAX;

/// Who had the CPU that a thread was ready for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompetingProcess {
    /// The process; 0 if the CPU was idle and had to wake up; [`OUT_OF_QUOTA`].
    pub pid: u32,
    /// For how long.
    pub time: Span,
}

/// A wait that is not over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OngoingWait {
    /// Where in the kernel; `None` while it is ready to run.
    pub stack: Option<u64>,
    /// How long it has lasted.
    pub lasts: Span,
}

/// What one thread has waited for since it was last read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadWaits {
    /// Thread id, `gettid(2)`.
    pub tid: u32,
    /// Process id, as in `/proc`.
    pub pid: u32,
    /// What it is called.
    pub name: String,
    /// What its process is called.
    pub process: String,
    /// Part of the kernel.
    pub of_kernel: bool,
    /// It has ended; no more will come of it.
    pub ended: bool,
    /// For how long it was seen since then.
    pub seen: Span,
    /// Ready to run, and without a CPU.
    pub cpu: Waits,
    /// Who had that CPU.
    pub rivals: Vec<CompetingProcess>,
    /// The same of those that there was no room for.
    pub more_rivals: Span,
    /// Not ready to run.
    pub reasons: Vec<ReasonWaits>,
    /// The same at places that there was no room for.
    pub more_reasons: Waits,
    /// What it waits for now.
    pub ongoing: Option<OngoingWait>,
}

/// What all threads have waited for since they were last read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaitsReport {
    /// Each thread that there is, or was.
    pub threads: Vec<ThreadWaits>,
    /// Places that were not told before.
    pub stacks: Vec<KernelStack>,
    /// What of it nobody saw.
    pub lost: LostWaits,
}

/// What nobody saw, or nobody could keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostWaits {
    /// Times without CPU that no event told of.
    pub unseen: u64,
    /// Threads that have ended without being told of.
    pub threads: u64,
    /// Places that there was no room for.
    pub stacks: u64,
}
