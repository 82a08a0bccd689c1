//! What one cause contributed.

use crate::Span;

/// What one cause contributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CauseShare {
    /// Nanoseconds, all wake-ups together.
    pub total: u64,
    /// In how many wake-ups.
    pub wakeups: u64,
    /// The most in one wake-up.
    pub max: Span,
    /// The thread, if it was always the same one.
    pub pid: Pid,
}

/// The thread behind a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pid {
    /// It is not a thread's.
    None,
    /// Always this one.
    One(u32),
    /// Several threads of the same name.
    Several,
}

impl Pid {
    fn with(self, other: Self) -> Self {
        if self == other { self } else { Self::Several }
    }

    /// The one thread.
    pub const fn one(self) -> Option<u32> {
        if let Self::One(pid) = self { Some(pid) } else { None }
    }
}

impl From<Option<u32>> for Pid {
    fn from(pid: Option<u32>) -> Self {
        pid.map_or(Self::None, Self::One)
    }
}

impl CauseShare {
    /// Adds what the same cause contributed elsewhere.
    pub fn add(&mut self, other: &Self) {
        self.total = self.total.saturating_add(other.total);
        self.wakeups = self.wakeups.saturating_add(other.wakeups);
        self.max = self.max.max(other.max);
        self.pid = self.pid.with(other.pid);
    }
}

impl CauseShare {
    /// Adds another stretch of the same wake-up.
    pub(super) fn again(&mut self, other: &Self) {
        self.total = self.total.saturating_add(other.total);
        self.max = Span::from_nanos(self.total);
        self.pid = self.pid.with(other.pid);
    }
}
