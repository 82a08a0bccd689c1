//! What a tracer saw of a thread's life besides its sleeps.

use crate::{MonotonicTime, Policy, Span};

/// What became of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LifeEventKind {
    /// It was begun by a thread that was watched, and has not run yet; it is called as that one.
    Born,
    /// It is called otherwise from now on.
    Named,
    /// It has ended.
    Ended,
}

/// A watched thread has begun, got another name, or ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LifeEvent {
    /// Thread id, `gettid(2)`.
    pub tid: u32,
    /// The process that it belongs to.
    pub process: u32,
    /// When it happened.
    pub at: MonotonicTime,
    /// Whether it began, was renamed, or ended.
    pub happened: LifeEventKind,
    /// What it is called since.
    pub name: String,
    /// The policy in force then; `None` where its number does not say all of it.
    pub policy: Option<Policy>,
    /// The timer slack in force then.
    pub slack: Span,
}
