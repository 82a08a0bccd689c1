//! How Linux schedules a thread, as `sched(7)` names it.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Span, SpanError};

/// A real-time priority: 1 (lowest) to 99 (highest).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "u32", into = "u32")]
#[schemars(with = "u32")]
pub struct Priority(u8);

impl Priority {
    /// The priority `value`, if it is one.
    pub fn new(value: u32) -> Option<Self> {
        u8::try_from(value).ok().filter(|p| (1..=99).contains(p)).map(Self)
    }

    /// Common among real-time programs: above threaded interrupt handlers (50), below watchdogs (99).
    pub const USUAL: Self = Self(80);

    /// The number, 1 to 99.
    pub const fn get(self) -> u32 {
        self.0 as u32
    }

    /// `steps` higher, but not above 99.
    #[must_use]
    pub const fn raised(self, steps: u8) -> Self {
        let raised = self.0.saturating_add(steps);
        if raised > 99 { Self(99) } else { Self(raised) }
    }

    /// `steps` lower, but not below 1.
    #[must_use]
    pub fn lowered(self, steps: u32) -> Self {
        let lowered = self.get().saturating_sub(steps).max(1);
        Self(u8::try_from(lowered).unwrap_or(1))
    }
}

impl TryFrom<u32> for Priority {
    type Error = String;
    fn try_from(value: u32) -> Result<Self, String> {
        Self::new(value).ok_or_else(|| format!("priority {value} is out of range [1, 99]"))
    }
}

impl From<Priority> for u32 {
    fn from(priority: Priority) -> Self {
        priority.get()
    }
}

/// A nice value: −20 (runs most) to 19 (runs least).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "i32", into = "i32")]
#[schemars(with = "i32")]
pub struct Nice(i8);

impl Nice {
    /// The nice value `value`, if it is one.
    pub fn new(value: i32) -> Option<Self> {
        i8::try_from(value).ok().filter(|n| (-20..=19).contains(n)).map(Self)
    }

    /// The number, −20 to 19.
    pub const fn get(self) -> i32 {
        self.0 as i32
    }
}

impl TryFrom<i32> for Nice {
    type Error = String;
    fn try_from(value: i32) -> Result<Self, String> {
        Self::new(value).ok_or_else(|| format!("nice value {value} is out of range [-20, 19]"))
    }
}

impl From<Nice> for i32 {
    fn from(nice: Nice) -> Self {
        nice.get()
    }
}

/// A scheduling policy with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "lowercase")]
pub enum Policy {
    /// `SCHED_OTHER`, at the nice value given, or the one inherited.
    Other {
        /// The nice value asked for, if one was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nice: Option<Nice>,
    },
    /// `SCHED_BATCH`: like other, but taken to be busy; it does not preempt on wake-up.
    Batch,
    /// `SCHED_IDLE`: runs when nothing else wants to.
    Idle,
    /// `SCHED_EXT`: scheduled by a program of BPF, if one is loaded; otherwise like other.
    Ext,
    /// `SCHED_FIFO`: runs until it sleeps or a higher priority wakes.
    Fifo {
        /// 1 to 99.
        priority: Priority,
    },
    /// `SCHED_RR`: like FIFO, with time slices among equals.
    Rr {
        /// 1 to 99.
        priority: Priority,
    },
    /// `SCHED_DEADLINE`: up to `runtime` in every `period`, earliest deadline first.
    Deadline {
        /// CPU time granted in each period.
        #[serde(rename = "runtime_ns")]
        runtime: Span,
        /// The period, which is the deadline too.
        #[serde(rename = "deadline_period_ns")]
        deadline_period: Span,
    },
}

impl Policy {
    /// `SCHED_OTHER` at the nice value the process has.
    pub const OTHER: Self = Self::Other { nice: None };

    /// Whether it takes precedence over normal threads.
    pub const fn is_realtime(self) -> bool {
        matches!(self, Self::Fifo { .. } | Self::Rr { .. } | Self::Deadline { .. })
    }

    /// The real-time priority, where the policy has one.
    pub const fn priority(self) -> Option<Priority> {
        match self {
            Self::Fifo { priority } | Self::Rr { priority } => Some(priority),
            _ => None,
        }
    }

    /// Lowers the real-time priority, if any, by `steps`.
    #[must_use]
    pub fn lowered(self, steps: u32) -> Self {
        match self {
            Self::Fifo { priority } => Self::Fifo { priority: priority.lowered(steps) },
            Self::Rr { priority } => Self::Rr { priority: priority.lowered(steps) },
            other => other,
        }
    }

    /// Whether `in_force`, as read back from the kernel, satisfies this request.
    pub fn is_met_by(self, in_force: Self) -> bool {
        match (self, in_force) {
            (Self::Other { nice: None }, Self::Other { .. }) => true,
            (requested, got) => requested == got,
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Other { nice: Some(nice) } if nice.get() != 0 => format!("nice:{}", nice.get()),
            Self::Other { .. } => "other".to_owned(),
            Self::Batch => "batch".to_owned(),
            Self::Idle => "idle".to_owned(),
            Self::Ext => "ext".to_owned(),
            Self::Fifo { priority } => format!("fifo:{}", priority.get()),
            Self::Rr { priority } => format!("rr:{}", priority.get()),
            Self::Deadline { runtime, deadline_period } => {
                format!("deadline:{runtime}/{deadline_period}")
            }
        };
        f.pad(&text)
    }
}

/// Why a text is not a policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// No policy has this name.
    #[error(
        "`{found}` is not a policy; write other, batch, idle, ext, nice:N, fifo:P, rr:P or deadline:RUNTIME/PERIOD"
    )]
    Unknown {
        /// What was typed.
        found: String,
    },
    /// A real-time policy without a priority.
    #[error("`{name}` needs a priority from 1 to 99, such as `{name}:80`")]
    NoPriority {
        /// `fifo` or `rr`.
        name: String,
    },
    /// A priority that is not one.
    #[error("priority `{found}` is out of range; write 1 (lowest) to 99 (highest), such as `{name}:80`")]
    PriorityRange {
        /// `fifo` or `rr`.
        name: String,
        found: String,
    },
    /// A nice value that is not one.
    #[error(
        "nice value `{found}` is out of range; write -20 (runs most) to 19 (runs least), such as `nice:-20`"
    )]
    NiceRange { found: String },
    /// A policy that takes no parameter got one.
    #[error("`{name}` takes no parameter, found `{found}`; write `{name}`")]
    Parameter {
        name: String,
        /// What was typed after the colon.
        found: String,
    },
    /// Runtime and period of a deadline are missing.
    #[error("`{found}` needs a runtime and a period, such as `deadline:200us/1ms`")]
    DeadlineShape {
        /// What was typed.
        found: String,
    },
    /// Runtime or period of a deadline is not a length of time.
    #[error(transparent)]
    DeadlineSpan(#[from] SpanError),
    /// More runtime than period, or less than the kernel grants.
    #[error("runtime {runtime} must be at least 1024ns and no more than the period {period}")]
    DeadlineRange { runtime: Span, period: Span },
}

impl FromStr for Policy {
    type Err = PolicyError;

    /// Also as in `sched.h` and in the files of others: `SCHED_FIFO:80`.
    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let typed = text.trim();
        let lower = typed.to_ascii_lowercase();
        let text = lower.strip_prefix("sched_").unwrap_or(&lower);
        let (name, parameter) = match text.split_once(':') {
            Some((name, parameter)) => (name, Some(parameter.trim())),
            None => (text, None),
        };
        match (name, parameter) {
            ("other" | "normal", None) => Ok(Self::OTHER),
            ("batch", None) => Ok(Self::Batch),
            ("idle", None) => Ok(Self::Idle),
            ("ext", None) => Ok(Self::Ext),
            ("nice", Some(found)) => nice(found),
            ("nice", None) => Err(PolicyError::NiceRange { found: String::new() }),
            ("fifo", found) => Ok(Self::Fifo { priority: priority(name, found)? }),
            ("rr", found) => Ok(Self::Rr { priority: priority(name, found)? }),
            ("deadline", Some(found)) => deadline(found),
            ("deadline", None) => Err(PolicyError::DeadlineShape { found: text.to_owned() }),
            ("other" | "batch" | "idle" | "ext", Some(found)) => {
                Err(PolicyError::Parameter { name: name.to_owned(), found: found.to_owned() })
            }
            _ => Err(PolicyError::Unknown { found: typed.to_owned() }),
        }
    }
}

fn nice(found: &str) -> Result<Policy, PolicyError> {
    let nice = found.parse().ok().and_then(Nice::new);
    match nice {
        Some(nice) => Ok(Policy::Other { nice: Some(nice) }),
        None => Err(PolicyError::NiceRange { found: found.to_owned() }),
    }
}

fn priority(name: &str, found: Option<&str>) -> Result<Priority, PolicyError> {
    let Some(found) = found else {
        return Err(PolicyError::NoPriority { name: name.to_owned() });
    };
    found
        .parse()
        .ok()
        .and_then(Priority::new)
        .ok_or_else(|| PolicyError::PriorityRange { name: name.to_owned(), found: found.to_owned() })
}

fn deadline(found: &str) -> Result<Policy, PolicyError> {
    // sched_setattr(2): "the kernel requires that runtime be at least 1024 ns".
    const LEAST_RUNTIME: Span = Span::from_nanos(1024);
    let Some((runtime, period)) = found.split_once('/') else {
        return Err(PolicyError::DeadlineShape { found: format!("deadline:{found}") });
    };
    let (runtime, period): (Span, Span) = (runtime.parse()?, period.parse()?);
    if runtime < LEAST_RUNTIME || runtime > period {
        return Err(PolicyError::DeadlineRange { runtime, period });
    }
    Ok(Policy::Deadline { runtime, deadline_period: period })
}

/// A policy in a recording, as text: `fifo:80`.
pub(crate) mod text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use super::Policy;

    pub(crate) fn serialize<S: Serializer>(policy: &Policy, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(policy)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Policy, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

/// An optional policy in a recording, as text.
pub(crate) mod optional_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use super::Policy;

    pub(crate) fn serialize<S: Serializer>(policy: &Option<Policy>, to: S) -> Result<S::Ok, S::Error> {
        match policy {
            Some(policy) => to.collect_str(policy),
            None => to.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Policy>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| text.parse().map_err(D::Error::custom)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_read_back_as_written() {
        for text in
            ["other", "batch", "idle", "ext", "nice:-20", "nice:19", "fifo:1", "rr:99", "deadline:200us/1ms"]
        {
            assert_eq!(text.parse::<Policy>().unwrap().to_string(), text);
        }
        for text in ["FIFO:80", "SCHED_FIFO:80", " sched_fifo:80 "] {
            assert_eq!(text.parse::<Policy>().unwrap().to_string(), "fifo:80");
        }
    }

    #[test]
    fn a_wrong_policy_says_what_to_write() {
        for (text, says) in [
            ("fast", "`fast` is not a policy"),
            ("fifo", "`fifo` needs a priority"),
            ("fifo:0", "priority `0` is out of range"),
            ("rr:100", "priority `100` is out of range"),
            ("nice:20", "nice value `20` is out of range"),
            ("other:5", "`other` takes no parameter"),
            ("deadline:1ms", "needs a runtime and a period"),
            ("deadline:2ms/1ms", "no more than the period 1ms"),
            ("deadline:10/1ms", "has no unit"),
        ] {
            let error = text.parse::<Policy>().unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn json_names_the_policy_and_its_parameter() {
        let json = |text: &str| serde_json::to_string(&text.parse::<Policy>().unwrap()).unwrap();
        assert_eq!(json("fifo:80"), r#"{"policy":"fifo","priority":80}"#);
        assert_eq!(json("nice:-20"), r#"{"policy":"other","nice":-20}"#);
        assert!(serde_json::from_str::<Policy>(r#"{"policy":"fifo","priority":100}"#).is_err());
    }

    #[test]
    fn a_staircase_does_not_fall_below_one() {
        let top: Policy = "fifo:3".parse().unwrap();
        let shown: Vec<_> = (0..5).map(|step| top.lowered(step).to_string()).collect();
        assert_eq!(shown, ["fifo:3", "fifo:2", "fifo:1", "fifo:1", "fifo:1"]);
    }
}
