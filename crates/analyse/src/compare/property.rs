//! What conditions can differ in.

use std::fmt;
use std::str::FromStr;

use howlate_model::{Condition, OnHost, Work};

/// A property of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Property {
    /// Cyclic, sleep or notify.
    Kind,
    /// How to wait, or to notify.
    Mechanism,
    /// The period, the length of sleep, or the gap.
    Length,
    /// The scheduling policy.
    Policy,
    /// The timer slack asked for.
    Slack,
    /// The CPU of the thread that is measured.
    Cpu,
    /// The background load.
    Load,
    /// The kernel.
    Kernel,
    /// Of guests: the background load on the host.
    HostLoad,
    /// Of guests: the policy asked for the threads that run their CPUs.
    VcpuPolicy,
    /// Everything else that notification knows.
    Notification,
}

impl Property {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Kind,
        Self::Mechanism,
        Self::Length,
        Self::Policy,
        Self::Slack,
        Self::Cpu,
        Self::Load,
        Self::Kernel,
        Self::HostLoad,
        Self::VcpuPolicy,
        Self::Notification,
    ];
    /// Those that one can ask to be compared.
    pub const CHOICES: [Self; 9] = [
        Self::Policy,
        Self::Load,
        Self::Mechanism,
        Self::Kernel,
        Self::Slack,
        Self::Cpu,
        Self::Length,
        Self::HostLoad,
        Self::VcpuPolicy,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kind => "kind",
            Self::Mechanism => "mechanism",
            Self::Length => "length",
            Self::Policy => "policy",
            Self::Slack => "slack",
            Self::Cpu => "cpu",
            Self::Load => "load",
            Self::Kernel => "kernel",
            Self::HostLoad => "host-load",
            Self::VcpuPolicy => "vcpu-policy",
            Self::Notification => "notification",
        }
    }

    /// What a condition has of it, in words; empty where it has none.
    pub fn of(self, condition: &Condition) -> String {
        match self {
            Self::Kind => kind(condition.work).to_owned(),
            Self::Mechanism => condition.work.mechanism().to_string(),
            Self::Length => condition.work.length().to_string(),
            Self::Policy => condition.policy.to_string(),
            Self::Slack => {
                condition.slack_ns.map_or_else(|| "inherited".to_owned(), |slack| slack.to_string())
            }
            Self::Cpu => condition.cpu.map_or_else(|| "any".to_owned(), |cpu| cpu.to_string()),
            Self::Load => condition.load.to_string(),
            Self::Kernel => condition.kernel.clone(),
            Self::HostLoad => on_host(condition, |on_host| Some(on_host.load.to_string())),
            Self::VcpuPolicy => on_host(condition, |on_host| on_host.vcpu_policy.clone()),
            Self::Notification => notification(condition.work),
        }
    }
}

/// Empty for what was not measured in a guest.
fn on_host(condition: &Condition, of: impl Fn(&OnHost) -> Option<String>) -> String {
    condition.on_host.as_ref().and_then(of).unwrap_or_default()
}

const fn kind(work: Work) -> &'static str {
    match work {
        Work::Cyclic { .. } => "cyclic",
        Work::Sleep { .. } => "sleep",
        Work::Notify { .. } => "notify",
    }
}

fn notification(work: Work) -> String {
    let Work::Notify { between, sender_cpu, placement, receiver, round_trip, .. } = work else {
        return String::new();
    };
    let mut parts = vec![between.name().to_owned(), receiver.name().to_owned()];
    parts.extend(sender_cpu.map(|cpu| format!("from CPU {cpu}")));
    parts.extend(placement.map(|placement| placement.to_string()));
    parts.extend(round_trip.then(|| "round trip".to_owned()));
    parts.join(" ")
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that is no property.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not a property; choose from {}", Property::CHOICES.map(Property::name).join(", "))]
pub struct UnknownProperty {
    /// What was typed.
    pub found: String,
}

impl FromStr for Property {
    type Err = UnknownProperty;

    fn from_str(text: &str) -> Result<Self, UnknownProperty> {
        let named = Self::CHOICES.into_iter().find(|property| property.name() == text.trim());
        named.ok_or_else(|| UnknownProperty { found: text.trim().to_owned() })
    }
}
