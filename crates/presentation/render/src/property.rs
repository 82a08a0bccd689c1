//! The words of a condition's properties: the one table of them.

use crate::numbers::length;
use howlate_model::{
    Activation, Between, HasProperties, Mechanism, Placement, Property, ReceiverCpu, Tuned, Value, WorkKind,
};

/// The heading of a property's column, where all that stand below it do `work`, if they do the same.
pub const fn heading(property: Property, work: Option<WorkKind>) -> &'static str {
    match property {
        Property::Kind => "kind",
        Property::Node => "node",
        Property::Kernel => "kernel",
        Property::HostLoad => "host load",
        Property::VcpuPolicy => "vCPU threads",
        Property::Name => "name",
        Property::Mechanism => "call",
        Property::Clock => "clock",
        Property::Length => match work {
            Some(WorkKind::Cyclic | WorkKind::Foreign) => "period",
            Some(WorkKind::Sleep) => "asked",
            Some(WorkKind::Notify) => "gap",
            Some(WorkKind::Watch) | None => "length",
        },
        Property::Dither => "period",
        Property::Policy => "policy",
        Property::Slack => "slack",
        Property::Load => "load",
        Property::Between => "between",
        Property::Receiver => "receiver",
        Property::RoundTrip => "way",
        Property::Cpu => "CPU",
        Property::Knob => "setting",
        Property::Thread => "thread",
    }
}

/// A value below its heading.
pub fn value(value: &Value<'_>) -> String {
    match value {
        Value::Length(_, span) | Value::Slack(span) => length(*span),
        Value::Knob(tuned) => setting(&tuned.to_string()),
        other => typed(other),
    }
}

/// The condition that settings are tried on, as `compare` calls it.
pub const BASELINE: &str = "baseline";

/// A setting that was tried; the one that turns nothing, for telling what chance finds, by what it does.
pub(crate) fn setting(name: &str) -> String {
    if name == Tuned::NOTHING { "nothing changed".to_owned() } else { name.to_owned() }
}

/// A value with its lengths as they are typed, `1ms`: what programs know it by.
fn typed(value: &Value<'_>) -> String {
    match value {
        Value::Between(Between::Processes) => "processes".to_owned(),
        Value::Between(Between::Threads) => "threads".to_owned(),
        Value::Receiver(ReceiverCpu::HeldAwake) => "CPU held awake".to_owned(),
        Value::Receiver(ReceiverCpu::AsLeft) => "CPU as left".to_owned(),
        Value::RoundTrip(true) => "round trip".to_owned(),
        Value::RoundTrip(false) => "one way".to_owned(),
        Value::Cpus { sender, receiver, .. } if sender == receiver => sender.to_string(),
        Value::Cpus { sender, receiver, placement } => match placement.and_then(relation) {
            None => format!("{sender} → {receiver}"),
            Some(relation) => format!("{sender} → {receiver} ({relation})"),
        },
        other => other.to_string(),
    }
}

/// What two CPUs have in common; `None` where they are one.
const fn relation(placement: Placement) -> Option<&'static str> {
    match placement {
        Placement::SameCpu => None,
        Placement::SmtSibling => Some("one core"),
        Placement::SameCache => Some("one cache"),
        Placement::OtherCache => Some("no common cache"),
        Placement::OtherNode => Some("two nodes"),
    }
}

/// A value where no heading says what it is.
pub fn phrase(of: &Value<'_>) -> String {
    match of {
        Value::Mechanism(Mechanism::Activation(activation)) => {
            late_after(*activation).map_or_else(|| "unseen".to_owned(), |what| format!("after {what}"))
        }
        other => format!("{}{}", before(other), value(other)),
    }
}

/// What a thread of a watched program is late after; `None` where nobody knows.
pub(crate) const fn late_after(activation: Activation) -> Option<&'static str> {
    match activation {
        Activation::Timer => Some("its timer"),
        Activation::Event => Some("being woken"),
        Activation::HandedOn => Some("another's timer"),
        Activation::Loop => Some("its due time"),
        Activation::Unseen => None,
    }
}

/// The same as programs know it by.
pub(crate) fn typed_phrase(of: &Value<'_>) -> String {
    format!("{}{}", before(of), typed(of))
}

/// What stands before a value that has no heading.
const fn before(of: &Value<'_>) -> &'static str {
    match of {
        Value::Kind(_)
        | Value::Node(_)
        | Value::Name(_)
        | Value::Mechanism(_)
        | Value::Dithered
        | Value::Policy(_)
        | Value::Refused { .. }
        | Value::Between(_)
        | Value::RoundTrip(_) => "",
        Value::Clock(_) => "clock ",
        Value::Kernel(_) => "Linux ",
        Value::HostLoad(_) => "host load ",
        Value::VcpuPolicy(_) => "vCPU threads ",
        Value::Length(WorkKind::Cyclic | WorkKind::Foreign, _) => "every ",
        Value::Length(WorkKind::Sleep, _) => "for ",
        Value::Length(WorkKind::Notify, _) => "after ",
        Value::Length(WorkKind::Watch, _) => "",
        Value::Slack(_) => "slack ",
        Value::Load(_) => "load ",
        Value::Receiver(_) => "receiver's ",
        Value::Cpus { sender, receiver, .. } if *sender == *receiver => "both on CPU ",
        Value::Cpu(_) | Value::Cpus { .. } => "CPU ",
        Value::Knob(_) => "with ",
        Value::Thread(_) => "thread ",
    }
}

/// Whether a value goes without saying.
pub fn is_usual(value: &Value<'_>) -> bool {
    match value {
        Value::HostLoad(load) => load.is_idle(),
        Value::Receiver(receiver) => *receiver == ReceiverCpu::AsLeft,
        Value::RoundTrip(round_trip) => !round_trip,
        Value::Thread(thread) => *thread == 0,
        Value::Kind(_) => true,
        _ => false,
    }
}

/// The properties in which `conditions` differ.
pub fn varying(conditions: &[impl HasProperties]) -> Vec<Property> {
    let differs = |property: &Property| {
        let first = conditions.first().and_then(|one| one.value(*property));
        conditions.iter().any(|one| one.value(*property) != first)
    };
    Property::ALL.iter().copied().filter(differs).filter(|property| *property != Property::Kind).collect()
}

/// What kind of work all of them are.
pub fn common_kind(conditions: &[impl HasProperties]) -> Option<WorkKind> {
    let kind = |one: &dyn HasProperties| match one.value(Property::Kind) {
        Some(Value::Kind(kind)) => Some(kind),
        _ => None,
    };
    let first = kind(conditions.first()?)?;
    conditions.iter().all(|one| kind(one) == Some(first)).then_some(first)
}
