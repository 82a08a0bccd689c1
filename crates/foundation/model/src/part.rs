//! The parts of a wake-up, from the time asked for to the thread's own reading of the clock.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A stretch on the way of a wake-up. In the order in which they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The thread did not sleep yet when it asked to be woken, or asked for a later time than it meant.
    Arming,
    /// It slept on for a reason of its own: stopped, or waiting for something that is not its timer.
    Blocked,
    /// The kernel was free to fire the timer later, so as to join it with others.
    TimerSlack,
    /// From the timer's time until the thread could run, where the tracer sees nothing in between.
    BeforeRunnable,
    /// From the timer's time until the CPU took the interrupt.
    InterruptDelivery,
    /// From the interrupt until the first timer was served.
    InterruptEntry,
    /// Timers served before this one in the same interrupt.
    OtherTimers,
    /// From the timer's time until a timer softirq, or its thread, served it; there is no interrupt to tell apart.
    TimerSoftirq,
    /// From the send until the receiver was being woken.
    Sending,
    /// The wake-up itself, and what is left of the interrupt.
    WakeUp,
    /// From the wake-up on another CPU until the thread's own, which was idle, took the interrupt that tells of it.
    Called,
    /// Others had the CPU.
    Waiting,
    /// Another thread went on after a lazy request to leave the CPU: until it returned to user space, or to the next tick.
    LazyPreemption,
    /// The thread had the CPU and lost it again before it was back in its program.
    LostAgain,
    /// From the switch to the thread until its program read the clock.
    Return,
    /// The same from a page fault on.
    PageFault,
    /// The thread had the CPU and went on with its program; of work, not of wake-ups.
    AtWork,
    /// The thread had the CPU and answered earlier requests; of requests that wait meanwhile.
    OtherRequests,
    /// The wake-up was not seen, or seen in part.
    NotSeen,
}

impl Part {
    /// All parts, in their order.
    pub const ALL: [Self; 19] = [
        Self::Arming,
        Self::Blocked,
        Self::TimerSlack,
        Self::BeforeRunnable,
        Self::InterruptDelivery,
        Self::InterruptEntry,
        Self::OtherTimers,
        Self::TimerSoftirq,
        Self::Sending,
        Self::WakeUp,
        Self::Called,
        Self::Waiting,
        Self::LazyPreemption,
        Self::LostAgain,
        Self::Return,
        Self::PageFault,
        Self::AtWork,
        Self::OtherRequests,
        Self::NotSeen,
    ];

    /// The name used in recordings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Arming => "arming",
            Self::Blocked => "blocked",
            Self::TimerSlack => "timer_slack",
            Self::BeforeRunnable => "before_runnable",
            Self::InterruptDelivery => "interrupt_delivery",
            Self::InterruptEntry => "interrupt_entry",
            Self::OtherTimers => "other_timers",
            Self::TimerSoftirq => "timer_softirq",
            Self::Sending => "sending",
            Self::WakeUp => "wake_up",
            Self::Called => "called",
            Self::Waiting => "waiting",
            Self::LazyPreemption => "lazy_preemption",
            Self::LostAgain => "lost_again",
            Self::Return => "return",
            Self::PageFault => "page_fault",
            Self::AtWork => "at_work",
            Self::OtherRequests => "other_requests",
            Self::NotSeen => "not_seen",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_recordings() {
        for part in Part::ALL {
            assert_eq!(serde_json::to_value(part).unwrap(), part.name());
        }
        assert!(Part::ALL.is_sorted());
    }
}
