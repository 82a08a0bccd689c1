//! The causes that can be made.

use std::fmt;
use std::str::FromStr;

use howlate_model::{CauseKind, Policy, Priority, Span};
use serde::{Deserialize, Serialize};

/// A cause that can be made on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// A thread of higher priority takes the CPU for a set time.
    Thread,
    /// Ordinary threads want the CPU as well.
    Competitors,
    /// `SIGSTOP`, and `SIGCONT` a while later.
    Stopped,
    /// The control group uses up its quota.
    Throttled,
    /// Many other timers expire just before, or just after.
    OtherTimers,
    /// Packets for many receivers keep the network's softirq busy.
    Softirq,
    /// The program touches memory that is not there any more.
    PageFault,
    /// The kernel may fire the timer later.
    TimerSlack,
    /// The program asks to be woken at a time that has passed.
    LateArming,
    /// The host stops the whole machine.
    MachineStopped,
}

impl Class {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Thread,
        Self::Competitors,
        Self::Stopped,
        Self::Throttled,
        Self::OtherTimers,
        Self::Softirq,
        Self::PageFault,
        Self::TimerSlack,
        Self::LateArming,
        Self::MachineStopped,
    ];

    /// As it is typed and printed for machines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Thread => "thread",
            Self::Competitors => "competitors",
            Self::Stopped => "stopped",
            Self::Throttled => "throttled",
            Self::OtherTimers => "other_timers",
            Self::Softirq => "softirq",
            Self::PageFault => "page_fault",
            Self::TimerSlack => "timer_slack",
            Self::LateArming => "late_arming",
            Self::MachineStopped => "machine_stopped",
        }
    }

    /// What a tracer has to call it.
    pub(crate) const fn kind(self) -> CauseKind {
        match self {
            Self::Thread | Self::Competitors => CauseKind::Thread,
            Self::Stopped => CauseKind::Stopped,
            Self::Throttled => CauseKind::Throttled,
            Self::OtherTimers => CauseKind::OtherTimers,
            Self::Softirq => CauseKind::Softirq,
            Self::PageFault => CauseKind::PageFault,
            Self::TimerSlack => CauseKind::TimerSlack,
            Self::LateArming => CauseKind::LateArming,
            Self::MachineStopped => CauseKind::Hypervisor,
        }
    }

    /// How many processes make it, beside the one that is measured.
    pub(crate) const fn makers(self) -> u32 {
        match self {
            Self::PageFault | Self::TimerSlack | Self::LateArming => 0,
            Self::Competitors | Self::MachineStopped => 2,
            _ => 1,
        }
    }

    /// Whether the control group needs a quota.
    pub(crate) const fn needs_quota(self) -> bool {
        matches!(self, Self::Throttled)
    }

    /// The timer slack of the measured thread.
    pub(crate) const fn slack(self) -> Span {
        match self {
            // Ten times what programs begin with.
            Self::TimerSlack => Span::from_micros(500),
            _ => Span::from_nanos(1),
        }
    }

    /// Time between two planned wake-ups of the measured thread.
    pub(crate) const fn period(self) -> Span {
        match self {
            Self::OtherTimers => Span::from_millis(4),
            // No multiple of a tick's period: a tick within the slack serves the timer, and would do so each time.
            Self::TimerSlack => Span::from_micros(4_300),
            Self::PageFault | Self::LateArming => Span::from_millis(2),
            // It is to be asleep when the machine stops: one that is awake seems to compute.
            Self::MachineStopped => Span::from_millis(5),
            _ => Span::from_millis(1),
        }
    }

    /// The policy of the measured thread. Those that only ordinary threads meet need one; where others would disturb what is
    /// made, it has real-time priority if it may.
    pub(crate) const fn measured_as(self) -> RequestedPolicy {
        let fifo = Policy::Fifo { priority: Priority::USUAL };
        match self {
            Self::Thread => RequestedPolicy::Needed(fifo),
            Self::Competitors | Self::Throttled | Self::TimerSlack => RequestedPolicy::Needed(Policy::OTHER),
            _ => RequestedPolicy::IfAllowed(fifo),
        }
    }
}

/// A policy that a thread is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestedPolicy {
    /// There is no making the class without.
    Needed(Policy),
    /// Less disturbed with it.
    IfAllowed(Policy),
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A text that names no class.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no class; choose from {list}", list = Class::ALL.map(Class::name).join(", "))]
pub struct UnknownClass(String);

impl FromStr for Class {
    type Err = UnknownClass;

    fn from_str(text: &str) -> Result<Self, UnknownClass> {
        let found = Self::ALL.into_iter().find(|class| class.name() == text);
        found.ok_or_else(|| UnknownClass(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_chosen_by_name() {
        for class in Class::ALL {
            assert_eq!(class.name().parse(), Ok(class));
            assert_eq!(serde_json::to_value(class).unwrap(), class.name());
        }
        let unknown = "threads".parse::<Class>().unwrap_err().to_string();
        assert!(unknown.contains("`threads`") && unknown.contains("page_fault"), "{unknown}");
    }
}
