//! Properties in which conditions can differ.

use std::fmt;
use std::str::FromStr;

use crate::{
    Condition, HostCondition, Load, Mechanism, Peers, Placement, Policy, ReceiverCpu, Span, TunedKnobs,
    WaitClock, Work, WorkKind,
};

/// Declares the properties once: the variants, their names, and the list of all.
macro_rules! properties {
    ($($(#[$doc:meta])* $property:ident = $name:literal,)*) => {
        /// A property of a condition, in the order used in condition names.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Property {
            $($(#[$doc])* $property,)*
        }

        impl Property {
            pub const ALL: &'static [Self] = &[$(Self::$property,)*];

            /// The name used on the command line and in results.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$property => $name,)*
                }
            }
        }
    };
}

properties! {
    /// Cyclic, sleep or notify.
    Kind = "kind",
    /// Of several machines: which one.
    Node = "node",
    /// Release of the kernel, `uname(2)`.
    Kernel = "kernel",
    /// Of guests: the background load on the host.
    HostLoad = "host-load",
    /// Of guests: the policy asked for the threads that run their CPUs.
    VcpuPolicy = "vcpu-policy",
    /// Of watched programs: what the thread is called.
    Name = "name",
    /// How to wait, or to notify.
    Mechanism = "mechanism",
    /// The clock that is waited on.
    Clock = "clock",
    /// The period, the length of sleep, or the gap.
    Length = "length",
    /// Of periodic threads: whether planned times are moved at random.
    Dither = "dither",
    /// The scheduling policy.
    Policy = "policy",
    /// The timer slack asked for.
    Slack = "slack",
    /// The background load.
    Load = "load",
    /// Of notifications: what sender and receiver are.
    Between = "between",
    /// Of notifications: the state in which the receiver's CPU waits.
    Receiver = "receiver",
    /// Of notifications: whether the latency includes the answer.
    RoundTrip = "round-trip",
    /// The CPU of the thread that is measured, and of the one that notifies it.
    Cpu = "cpu",
    /// What `howlate tune` turned.
    Knob = "knob",
    /// Which of the threads that run side by side.
    Thread = "thread",
}

/// What a condition has of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropertyValue<'a> {
    /// What kind of work it is.
    Kind(WorkKind),
    /// What the machine is called.
    Node(&'a str),
    /// The kernel's release.
    Kernel(&'a str),
    /// The load on the host.
    HostLoad(&'a Load),
    /// The policy of the threads that run a guest's CPUs.
    VcpuPolicy(Policy),
    /// What the thread is called.
    Name(&'a str),
    /// How to wait, or to notify.
    Mechanism(Mechanism),
    /// The clock that is waited on, where it is not the monotonic one.
    Clock(WaitClock),
    /// How long one wake-up takes when nothing is late; what that is called depends on the work.
    Length(WorkKind, Span),
    /// Planned times are moved at random.
    Dithered,
    /// The policy asked for.
    Policy(Policy),
    /// A policy that was refused, and what ran in its place.
    Refused {
        /// What was asked for.
        asked: Policy,
        /// The policy under which it ran.
        ran: Policy,
    },
    /// The timer slack asked for.
    Slack(Span),
    /// The load in the background.
    Load(&'a Load),
    /// What sender and receiver are.
    Between(Peers),
    /// How the receiver's CPU waits.
    Receiver(ReceiverCpu),
    /// Whether the latency includes the answer.
    RoundTrip(bool),
    /// The CPU of the measuring thread.
    Cpu(u32),
    /// The CPUs of sender and receiver, and where they are to each other.
    Cpus {
        /// CPU of the sender.
        sender: u32,
        /// The receiver's, which is measured.
        receiver: u32,
        /// Where they are to each other, if known.
        placement: Option<Placement>,
    },
    /// What was turned.
    Knob(&'a TunedKnobs),
    /// The thread's number.
    Thread(u32),
}

/// Whatever has the properties of a condition.
pub trait HasProperties {
    /// What it has of `property`; `None` where that does not apply, or was left as it is.
    fn value(&self, property: Property) -> Option<PropertyValue<'_>>;
}

impl<T: HasProperties> HasProperties for &T {
    fn value(&self, property: Property) -> Option<PropertyValue<'_>> {
        (*self).value(property)
    }
}

impl HasProperties for Condition {
    fn value(&self, property: Property) -> Option<PropertyValue<'_>> {
        // Every field is named, so that none is added without a property.
        let Self {
            work,
            policy,
            clock,
            dithered,
            slack_ns,
            cpu,
            thread,
            name,
            load,
            kernel,
            on_host,
            tuned,
            node,
        } = self;
        match property {
            Property::Node => node.as_deref().map(PropertyValue::Node),
            Property::Kernel => Some(PropertyValue::Kernel(kernel)).filter(|_| !kernel.is_empty()),
            Property::HostLoad | Property::VcpuPolicy => of_host(on_host.as_ref()?, property),
            Property::Policy => work.says_policy().then_some(PropertyValue::Policy(*policy)),
            Property::Clock => (!clock.is_monotonic()).then_some(PropertyValue::Clock(*clock)),
            Property::Dither => dithered.then_some(PropertyValue::Dithered),
            Property::Slack => slack_ns.map(PropertyValue::Slack),
            Property::Load => work.says_load().then_some(PropertyValue::Load(load)),
            Property::Cpu => cpu.map(|cpu| cpus(*work, cpu)),
            Property::Name => name.as_deref().map(PropertyValue::Name),
            Property::Knob => tuned.as_ref().map(PropertyValue::Knob),
            Property::Thread => Some(PropertyValue::Thread(*thread)),
            Property::Kind
            | Property::Mechanism
            | Property::Length
            | Property::Between
            | Property::Receiver
            | Property::RoundTrip => of_work(*work, property),
        }
    }
}

fn of_host(on_host: &HostCondition, property: Property) -> Option<PropertyValue<'_>> {
    let HostCondition { load, vcpu_policy } = on_host;
    match property {
        Property::HostLoad => Some(PropertyValue::HostLoad(load)),
        _ => vcpu_policy.map(PropertyValue::VcpuPolicy),
    }
}

fn of_work(work: Work, property: Property) -> Option<PropertyValue<'static>> {
    match (property, work) {
        (Property::Kind, _) => Some(PropertyValue::Kind(work.kind())),
        (Property::Mechanism, _) => Some(PropertyValue::Mechanism(work.mechanism())),
        (Property::Length, Work::Watch { .. } | Work::Foreign { period_ns: None, .. }) => None,
        (Property::Length, _) => Some(PropertyValue::Length(work.kind(), work.length())),
        (Property::Between, Work::Notify { between, .. }) => Some(PropertyValue::Between(between)),
        (Property::Receiver, Work::Notify { receiver, .. }) => Some(PropertyValue::Receiver(receiver)),
        (Property::RoundTrip, Work::Notify { round_trip, .. }) => Some(PropertyValue::RoundTrip(round_trip)),
        _ => None,
    }
}

const fn cpus(work: Work, receiver: u32) -> PropertyValue<'static> {
    match work {
        Work::Notify { sender_cpu: Some(sender), placement, .. } => {
            PropertyValue::Cpus { sender, receiver, placement }
        }
        _ => PropertyValue::Cpu(receiver),
    }
}

impl Property {
    /// The condition's value; `None` if the property does not apply.
    pub fn value_in(self, condition: &Condition) -> Option<PropertyValue<'_>> {
        condition.value(self)
    }

    /// The condition's value as on the command line: `fifo:80`, `50us`; or a default such as `inherited`, `any`, or nothing.
    pub fn text(self, condition: &impl HasProperties) -> String {
        condition.value(self).map_or_else(|| self.absent().to_owned(), |value| value.to_string())
    }

    const fn absent(self) -> &'static str {
        match self {
            Self::Clock => "monotonic",
            Self::Dither => "fixed",
            Self::Slack => "inherited",
            Self::Cpu => "any",
            Self::Knob => "baseline",
            _ => "",
        }
    }

    /// Whether it can be used with `--by`.
    pub const fn is_choice(self) -> bool {
        !matches!(self, Self::Kind | Self::Name | Self::Thread)
    }

    /// Properties for `--by`.
    pub fn choices() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|property| property.is_choice())
    }
}

impl fmt::Display for PropertyValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => f.pad(kind.name()),
            Self::Kernel(release) => f.pad(release),
            Self::Node(name) | Self::Name(name) => f.pad(name),
            Self::HostLoad(load) | Self::Load(load) => load.fmt(f),
            Self::VcpuPolicy(policy) | Self::Policy(policy) => policy.fmt(f),
            Self::Refused { asked, ran } => write!(f, "{asked} refused, ran as {ran}"),
            Self::Mechanism(mechanism) => mechanism.fmt(f),
            Self::Knob(tuned) => tuned.fmt(f),
            Self::Clock(clock) => clock.fmt(f),
            Self::Dithered => f.pad("dithered"),
            Self::Length(_, span) | Self::Slack(span) => span.fmt(f),
            Self::Between(between) => f.pad(between.name()),
            Self::Receiver(receiver) => f.pad(receiver.name()),
            Self::RoundTrip(yes) => yes.fmt(f),
            Self::Cpu(number) | Self::Thread(number) => number.fmt(f),
            Self::Cpus { sender, receiver, .. } => write!(f, "{sender},{receiver}"),
        }
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Not the name of a property.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not a property; choose from {}", names())]
pub struct UnknownProperty {
    /// What was typed.
    pub found: String,
}

fn names() -> String {
    Property::choices().map(Property::name).collect::<Vec<_>>().join(", ")
}

impl FromStr for Property {
    type Err = UnknownProperty;

    fn from_str(text: &str) -> Result<Self, UnknownProperty> {
        let named = Self::choices().find(|property| property.name() == text.trim());
        named.ok_or_else(|| UnknownProperty { found: text.trim().to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Notifier, Wait};

    fn condition(work: Work) -> Condition {
        Condition { cpu: Some(1), ..Condition::new(work, "6.1.0") }
    }

    fn typed(condition: &Condition) -> Vec<String> {
        let with_name = |property: &Property| format!("{property}={}", property.text(condition));
        Property::ALL.iter().map(with_name).collect()
    }

    #[test]
    fn every_property_is_typed_as_on_the_command_line() {
        let cyclic =
            condition(Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) });
        assert_eq!(
            typed(&cyclic).join(" "),
            "kind=cyclic node= kernel=6.1.0 host-load= vcpu-policy= name= mechanism=clock_nanosleep clock=monotonic length=1ms dither=fixed policy=other \
             slack=inherited load=idle between= receiver= round-trip= cpu=1 knob=baseline thread=0"
        );
    }

    #[test]
    fn notification_has_properties_of_its_own() {
        let notify = condition(Work::Notify {
            mechanism: Notifier::Futex,
            after_ns: Span::from_micros(10),
            between: Peers::Threads,
            sender_cpu: Some(0),
            placement: Some(Placement::SameCache),
            receiver: ReceiverCpu::HeldAwake,
            round_trip: true,
        });
        let shown = typed(&notify).join(" ");
        for part in ["between=threads", "receiver=held_awake", "round-trip=true", "cpu=0,1", "length=10us"] {
            assert!(shown.contains(part), "{shown}");
        }
    }

    #[test]
    fn what_can_be_chosen_reads_back() {
        for property in Property::choices() {
            assert_eq!(property.name().parse(), Ok(property));
        }
        let wrong = "thread".parse::<Property>().unwrap_err().to_string();
        assert!(wrong.contains("is not a property; choose from node, kernel"), "{wrong}");
    }
}
