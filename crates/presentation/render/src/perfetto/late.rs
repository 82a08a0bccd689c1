//! Something late, as a trace has it.

use howlate_model::{MonotonicTime, Segment};

/// The thread that it happened to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LateThread<'a> {
    pub(crate) tid: u32,
    pub(crate) pid: u32,
    pub(crate) name: &'a str,
    pub(crate) process: &'a str,
}

/// When a thread could run, and when it did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    pub(crate) from: MonotonicTime,
    pub(crate) until: MonotonicTime,
    /// It had a CPU before and lost it; otherwise it was woken.
    pub(crate) preempted: bool,
}

/// Something late: a slice on its thread's track, with its parts below it.
#[derive(Debug)]
pub(crate) struct Late<'a> {
    pub(crate) thread: LateThread<'a>,
    /// What it was.
    pub(crate) name: String,
    pub(crate) from: MonotonicTime,
    pub(crate) until: MonotonicTime,
    /// One after the other, from the beginning on.
    pub(crate) parts: &'a [Segment],
    /// The wait for a CPU in it, where there was one.
    pub(crate) wait: Option<Wait>,
}
