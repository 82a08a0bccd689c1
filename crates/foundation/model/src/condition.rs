//! Conditions: what is measured, with which settings, under which load.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Activation, ForeignTool, HostCondition, Load, Mechanism, Notifier, Peers, Placement, Policy, ReceiverCpu,
    Runtime, Sleeper, Span, TunedKnobs, Wait, WaitClock,
};

/// One combination of circumstances under which wake-ups are measured.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Condition {
    /// What the thread does.
    #[serde(flatten)]
    pub work: Work,
    /// The scheduling policy asked for.
    #[serde(flatten)]
    pub policy: Policy,
    /// The clock that the thread waits on and is measured with; absent: the monotonic one.
    #[serde(default, skip_serializing_if = "WaitClock::is_monotonic")]
    pub clock: WaitClock,
    /// Whether each planned time is moved by a random part of half a period, so that no rhythm hides behind the thread's own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dithered: bool,
    /// The timer slack asked for; absent: as inherited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slack_ns: Option<Span>,
    /// The CPU the thread is bound to; absent: wherever the scheduler puts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// Which of the threads that run side by side, from 0.
    pub thread: u32,
    /// What the thread is called; absent where it is one of howlate's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The background load as typed; `idle` when howlate applies none.
    pub load: Load,
    /// The kernel's release; where two kernels of one recording have the same, what tells them apart
    /// follows in brackets.
    pub kernel: String,
    /// What was done on the host meanwhile; absent where it is not measured in a guest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_host: Option<HostCondition>,
    /// What `howlate tune` tried in it; absent in its baseline, and in every other recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuned: Option<TunedKnobs>,
    /// Which machine it was measured on, in recordings merged from several; absent in those of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

impl Condition {
    /// One unbound thread with normal scheduling, without load.
    pub fn new(work: Work, kernel: impl Into<String>) -> Self {
        Self {
            work,
            policy: Policy::OTHER,
            clock: WaitClock::Monotonic,
            dithered: false,
            slack_ns: None,
            cpu: None,
            thread: 0,
            name: None,
            load: Load::IDLE,
            kernel: kernel.into(),
            on_host: None,
            tuned: None,
            node: None,
        }
    }
}

/// The kinds of work that are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WorkKind {
    /// Periodic wake-ups.
    Cyclic,
    /// Sleeps of a given length.
    Sleep,
    /// Notification by another thread.
    Notify,
    /// A watched program.
    Watch,
    /// Imported results of another program.
    Foreign,
}

impl WorkKind {
    /// The name used on the command line and in recordings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cyclic => "cyclic",
            Self::Sleep => "sleep",
            Self::Notify => "notify",
            Self::Watch => "watch",
            Self::Foreign => "foreign",
        }
    }
}

/// What a measured thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Work {
    /// Wakes at equal distances, at times fixed in advance.
    Cyclic {
        /// How it waits.
        mechanism: Wait,
        /// Time between two planned wake-ups.
        period_ns: Span,
    },
    /// Sleeps for a length of time, again and again.
    Sleep {
        /// The call or runtime that sleeps.
        mechanism: Sleeper,
        /// How long it asks to sleep.
        target_ns: Span,
    },
    /// Is notified by another process or thread, again and again.
    Notify {
        /// How it is notified.
        mechanism: Notifier,
        /// How long the sender sleeps before each notification.
        after_ns: Span,
        /// What sender and receiver are.
        between: Peers,
        /// The CPU the sender is bound to; absent: wherever the scheduler puts it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sender_cpu: Option<u32>,
        /// Where the two CPUs are to each other; absent where they are not bound.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        placement: Option<Placement>,
        /// The state in which the receiver's CPU waits.
        receiver: ReceiverCpu,
        /// Whether the latency runs until the sender has its answer.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        round_trip: bool,
    },
    /// Does what it does in a program that was watched. howlate applies no load to it.
    Watch {
        /// What makes it run again.
        mechanism: Activation,
    },
    /// Was measured by another program; see the caveat on what that does not say.
    Foreign {
        /// Which, and what of it.
        mechanism: ForeignTool,
        /// Time between two planned wake-ups; absent where there is none, or it is not said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        period_ns: Option<Span>,
        /// Whether the policy is known; where it is not, it stands as `other`.
        says_policy: bool,
        /// Whether the load is known; where it is not, it stands as `idle`.
        says_load: bool,
    },
}

impl Work {
    /// Whether the policy of its condition is known; imported results may lack it.
    pub const fn says_policy(self) -> bool {
        !matches!(self, Self::Foreign { says_policy: false, .. })
    }

    /// Whether the load of its condition is known.
    pub const fn says_load(self) -> bool {
        !matches!(self, Self::Foreign { says_load: false, .. } | Self::Watch { .. })
    }

    pub const fn kind(self) -> WorkKind {
        match self {
            Self::Cyclic { .. } => WorkKind::Cyclic,
            Self::Sleep { .. } => WorkKind::Sleep,
            Self::Notify { .. } => WorkKind::Notify,
            Self::Watch { .. } => WorkKind::Watch,
            Self::Foreign { .. } => WorkKind::Foreign,
        }
    }

    /// The mechanism that wakes the thread.
    pub fn mechanism(self) -> Mechanism {
        match self {
            Self::Cyclic { mechanism, .. } => Mechanism::Wait(mechanism),
            Self::Sleep { mechanism, .. } => mechanism.into(),
            Self::Notify { mechanism, .. } => Mechanism::Notifier(mechanism),
            Self::Watch { mechanism } => Mechanism::Activation(mechanism),
            Self::Foreign { mechanism, .. } => Mechanism::Foreign(mechanism),
        }
    }

    /// The wait of a howlate thread; `None` if it is notified, or a program sleeps.
    pub const fn wait(self) -> Option<Wait> {
        match self {
            Self::Cyclic { mechanism, .. } => Some(mechanism),
            Self::Sleep { mechanism, .. } => mechanism.wait(),
            Self::Notify { .. } | Self::Watch { .. } | Self::Foreign { .. } => None,
        }
    }

    /// The runtime of the sleeping program; `None` if a howlate thread sleeps.
    pub const fn runtime(self) -> Option<Runtime> {
        match self {
            Self::Sleep { mechanism, .. } => mechanism.runtime(),
            Self::Cyclic { .. } | Self::Notify { .. } | Self::Watch { .. } | Self::Foreign { .. } => None,
        }
    }

    /// The notifier; `None` if the thread waits for a time.
    pub const fn notifier(self) -> Option<Notifier> {
        match self {
            Self::Notify { mechanism, .. } => Some(mechanism),
            Self::Cyclic { .. } | Self::Sleep { .. } | Self::Watch { .. } | Self::Foreign { .. } => None,
        }
    }

    /// The sender's CPU, if it is bound.
    pub const fn sender_cpu(self) -> Option<u32> {
        match self {
            Self::Notify { sender_cpu, .. } => sender_cpu,
            Self::Cyclic { .. } | Self::Sleep { .. } | Self::Watch { .. } | Self::Foreign { .. } => None,
        }
    }

    /// The period, for periodic work.
    pub const fn period(self) -> Option<Span> {
        match self {
            Self::Cyclic { period_ns, .. } => Some(period_ns),
            Self::Sleep { .. } | Self::Notify { .. } | Self::Watch { .. } | Self::Foreign { .. } => None,
        }
    }

    /// Nominal time per wake-up: period, sleep length or gap; 0 if unknown.
    pub const fn length(self) -> Span {
        match self {
            Self::Cyclic { period_ns, .. } => period_ns,
            Self::Sleep { target_ns, .. } => target_ns,
            Self::Notify { after_ns, .. } => after_ns,
            Self::Foreign { period_ns: Some(period), .. } => period,
            Self::Watch { .. } | Self::Foreign { period_ns: None, .. } => Span::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_the_published_names() {
        let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };
        let condition = Condition {
            policy: "fifo:80".parse().unwrap(),
            slack_ns: Some(Span::from_nanos(1)),
            cpu: Some(1),
            ..Condition::new(work, "6.18.44")
        };
        let json = serde_json::to_string(&condition).unwrap();
        assert_eq!(
            json,
            r#"{"kind":"cyclic","mechanism":"clock_nanosleep","period_ns":1000000,"policy":"fifo","priority":80,"slack_ns":1,"cpu":1,"thread":0,"load":"idle","kernel":"6.18.44"}"#
        );
        assert_eq!(serde_json::from_str::<Condition>(&json).unwrap(), condition);
    }

    #[test]
    fn notification_has_its_own_names() {
        let work = Work::Notify {
            mechanism: Notifier::Futex,
            after_ns: Span::from_micros(10),
            between: Peers::Processes,
            sender_cpu: Some(0),
            placement: Some(Placement::SameCache),
            receiver: ReceiverCpu::AsLeft,
            round_trip: false,
        };
        let json = serde_json::to_string(&work).unwrap();
        assert_eq!(
            json,
            r#"{"kind":"notify","mechanism":"futex","after_ns":10000,"between":"processes","sender_cpu":0,"placement":"same_cache","receiver":"as_left"}"#
        );
        assert_eq!(serde_json::from_str::<Work>(&json).unwrap(), work);
    }
}
