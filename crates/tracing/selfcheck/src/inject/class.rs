//! The classes of causes that can be injected.

use std::fmt;
use std::str::FromStr;

use howlate_model::{CauseKind, Policy, Priority, Span};
use serde::{Deserialize, Serialize};

/// A class of causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CauseClass {
    /// A thread of higher priority takes the CPU for a fixed time.
    Thread,
    /// Normal threads compete for the CPU.
    Competitors,
    /// `SIGSTOP`, followed by `SIGCONT`.
    Stopped,
    /// The cgroup exhausts its quota.
    Throttled,
    /// Many other timers expire just before or after.
    OtherTimers,
    /// Packets for many receivers keep the network softirq busy.
    Softirq,
    /// The program touches memory that it has given back.
    PageFault,
    /// The kernel may delay the timer by the slack.
    TimerSlack,
    /// The program arms its timer for a time that has passed.
    LateArming,
    /// The host stops the whole machine.
    MachineStopped,
}

impl CauseClass {
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

    /// As on the command line and in JSON.
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

    /// The cause that a tracer has to report.
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

    /// Number of processes that inject it, besides the measured one.
    pub(crate) const fn injectors(self) -> u32 {
        match self {
            Self::PageFault | Self::TimerSlack | Self::LateArming => 0,
            Self::Competitors | Self::MachineStopped => 2,
            _ => 1,
        }
    }

    pub(crate) const fn needs_quota(self) -> bool {
        matches!(self, Self::Throttled)
    }

    /// Timer slack of the measured thread.
    pub(crate) const fn slack(self) -> Span {
        match self {
            // Ten times the default of 50 µs.
            Self::TimerSlack => Span::from_micros(500),
            _ => Span::from_nanos(1),
        }
    }

    /// Time between two expected wake-ups of the measured thread.
    pub(crate) const fn period(self) -> Span {
        match self {
            Self::OtherTimers => Span::from_millis(4),
            // No multiple of a tick's period: a tick within the slack serves the timer, and would do so each time.
            Self::TimerSlack => Span::from_micros(4_300),
            Self::PageFault | Self::LateArming => Span::from_millis(2),
            // It has to be asleep when the machine stops: an awake thread would seem to compute.
            Self::MachineStopped => Span::from_millis(5),
            _ => Span::from_millis(1),
        }
    }

    /// Policy of the measured thread. Causes that only affect normal threads need `SCHED_OTHER`; where other threads would disturb the
    /// measurement, it is a real-time thread if allowed.
    pub(crate) const fn measured_policy(self) -> RequestedPolicy {
        let fifo = Policy::Fifo { priority: Priority::USUAL };
        match self {
            Self::Thread => RequestedPolicy::Required(fifo),
            Self::Competitors | Self::Throttled | Self::TimerSlack => {
                RequestedPolicy::Required(Policy::OTHER)
            }
            _ => RequestedPolicy::IfAllowed(fifo),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestedPolicy {
    /// Required for the class.
    Required(Policy),
    /// Reduces disturbance, but is not required.
    IfAllowed(Policy),
}

impl fmt::Display for CauseClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A text that is no class.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no class; choose from {list}", list = CauseClass::ALL.map(CauseClass::name).join(", "))]
pub struct UnknownClass(String);

impl FromStr for CauseClass {
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
        for class in CauseClass::ALL {
            assert_eq!(class.name().parse(), Ok(class));
            assert_eq!(serde_json::to_value(class).unwrap(), class.name());
        }
        let unknown = "threads".parse::<CauseClass>().unwrap_err().to_string();
        assert!(unknown.contains("`threads`") && unknown.contains("page_fault"), "{unknown}");
    }
}
