//! What is measured, under which circumstances.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Load, Policy, Span, Wait};

/// One combination of circumstances under which wake-ups are measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Condition {
    /// What the thread does.
    #[serde(flatten)]
    pub work: Work,
    /// The scheduling policy asked for.
    #[serde(flatten)]
    pub policy: Policy,
    /// The timer slack asked for; absent: as inherited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slack_ns: Option<Span>,
    /// The CPU the thread is bound to; absent: wherever the scheduler puts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// Which of the threads that run side by side, from 0.
    pub thread: u32,
    /// The background load's name; `idle` when howlate applies none.
    pub load: Load,
    /// The kernel's release.
    pub kernel: String,
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
        /// How it waits.
        mechanism: Wait,
        /// How long it asks to sleep.
        target_ns: Span,
    },
}

impl Work {
    /// How the thread waits.
    pub const fn mechanism(self) -> Wait {
        match self {
            Self::Cyclic { mechanism, .. } | Self::Sleep { mechanism, .. } => mechanism,
        }
    }

    /// The period, for periodic work.
    pub const fn period(self) -> Option<Span> {
        match self {
            Self::Cyclic { period_ns, .. } => Some(period_ns),
            Self::Sleep { .. } => None,
        }
    }

    /// The time one wake-up takes when nothing is late.
    pub const fn length(self) -> Span {
        match self {
            Self::Cyclic { period_ns, .. } => period_ns,
            Self::Sleep { target_ns, .. } => target_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_the_published_names() {
        let condition = Condition {
            work: Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) },
            policy: "fifo:80".parse().unwrap(),
            slack_ns: Some(Span::from_nanos(1)),
            cpu: Some(1),
            thread: 0,
            load: Load::Idle,
            kernel: "6.18.44".into(),
        };
        let json = serde_json::to_string(&condition).unwrap();
        assert_eq!(
            json,
            r#"{"kind":"cyclic","mechanism":"clock_nanosleep","period_ns":1000000,"policy":"fifo","priority":80,"slack_ns":1,"cpu":1,"thread":0,"load":"idle","kernel":"6.18.44"}"#
        );
        assert_eq!(serde_json::from_str::<Condition>(&json).unwrap(), condition);
    }
}
