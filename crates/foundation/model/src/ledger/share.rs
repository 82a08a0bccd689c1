//! A cause's share of lateness.

use crate::Span;

/// A cause's share of the lateness of some wake-ups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CauseShare {
    /// Nanoseconds, all wake-ups together.
    pub total: u64,
    /// Number of wake-ups.
    pub wakeups: u64,
    /// Maximum in one wake-up.
    pub max: Span,
    pub pid: Pid,
}

/// The thread behind a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pid {
    /// The cause is not a thread.
    None,
    /// Always this thread.
    One(u32),
    /// Several threads of the same name.
    Several,
}

impl Pid {
    fn with(self, other: Self) -> Self {
        if self == other { self } else { Self::Several }
    }

    /// The thread id, if it was always the same.
    pub const fn single(self) -> Option<u32> {
        if let Self::One(pid) = self { Some(pid) } else { None }
    }
}

impl From<Option<u32>> for Pid {
    fn from(pid: Option<u32>) -> Self {
        pid.map_or(Self::None, Self::One)
    }
}

impl CauseShare {
    /// Adds the share of the same cause in other wake-ups.
    pub fn add(&mut self, other: &Self) {
        self.total = self.total.saturating_add(other.total);
        self.wakeups = self.wakeups.saturating_add(other.wakeups);
        self.max = self.max.max(other.max);
        self.pid = self.pid.with(other.pid);
    }

    /// Adds another segment of the same wake-up.
    pub(super) fn add_segment(&mut self, other: &Self) {
        self.total = self.total.saturating_add(other.total);
        self.max = Span::from_nanos(self.total);
        self.pid = self.pid.with(other.pid);
    }
}
