//! Names and formats of a condition's properties: the only table of them.

use crate::numbers::length;
use howlate_model::{
    Activation, HasProperties, Mechanism, Peers, Placement, Property, PropertyValue, ReceiverCpu, TunedKnobs,
    WorkKind,
};

/// Heading of a property's column; `work` is the kind of work, if all rows have the same.
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

/// A value for a table cell.
pub fn value(value: &PropertyValue<'_>) -> String {
    match value {
        PropertyValue::Length(_, span) | PropertyValue::Slack(span) => length(*span),
        PropertyValue::Knob(tuned) => setting(&tuned.to_string()),
        other => value_as_typed(other),
    }
}

/// The condition that settings are compared with, as `compare` calls it.
pub const BASELINE: &str = "baseline";

/// Name of a setting under test; the control that changes nothing is spelled out.
pub(crate) fn setting(name: &str) -> String {
    if name == TunedKnobs::NOTHING { "nothing changed".to_owned() } else { name.to_owned() }
}

/// A value with lengths as typed, `1ms`: stable for programs.
fn value_as_typed(value: &PropertyValue<'_>) -> String {
    match value {
        PropertyValue::Between(Peers::Processes) => "processes".to_owned(),
        PropertyValue::Between(Peers::Threads) => "threads".to_owned(),
        PropertyValue::Receiver(ReceiverCpu::HeldAwake) => "CPU held awake".to_owned(),
        PropertyValue::Receiver(ReceiverCpu::AsLeft) => "CPU as left".to_owned(),
        PropertyValue::RoundTrip(true) => "round trip".to_owned(),
        PropertyValue::RoundTrip(false) => "one way".to_owned(),
        PropertyValue::Cpus { sender, receiver, .. } if sender == receiver => sender.to_string(),
        PropertyValue::Cpus { sender, receiver, placement } => match placement.and_then(relation) {
            None => format!("{sender} → {receiver}"),
            Some(relation) => format!("{sender} → {receiver} ({relation})"),
        },
        other => other.to_string(),
    }
}

/// Relation of two CPUs; `None` if they are the same.
const fn relation(placement: Placement) -> Option<&'static str> {
    match placement {
        Placement::SameCpu => None,
        Placement::SmtSibling => Some("one core"),
        Placement::SameCache => Some("one cache"),
        Placement::OtherCache => Some("no common cache"),
        Placement::OtherNode => Some("two nodes"),
    }
}

/// A value with its unit or name, where there is no heading.
pub fn phrase(property_value: &PropertyValue<'_>) -> String {
    match property_value {
        PropertyValue::Mechanism(Mechanism::Activation(activation)) => {
            late_after(*activation).map_or_else(|| "unseen".to_owned(), |what| format!("after {what}"))
        }
        other => format!("{}{}", before(other), value(other)),
    }
}

/// What a thread of a watched program is late after; `None` where unknown.
pub(crate) const fn late_after(activation: Activation) -> Option<&'static str> {
    match activation {
        Activation::Timer => Some("its timer"),
        Activation::Event => Some("being woken"),
        Activation::HandedOn => Some("another's timer"),
        Activation::Loop => Some("its due time"),
        Activation::Request => Some("a request"),
        Activation::Unseen => None,
    }
}

/// Like `phrase`, with lengths as typed.
pub(crate) fn typed_phrase(value: &PropertyValue<'_>) -> String {
    format!("{}{}", before(value), value_as_typed(value))
}

/// Prefix of a value without heading.
const fn before(value: &PropertyValue<'_>) -> &'static str {
    match value {
        PropertyValue::Kind(_)
        | PropertyValue::Node(_)
        | PropertyValue::Name(_)
        | PropertyValue::Mechanism(_)
        | PropertyValue::Dithered
        | PropertyValue::Policy(_)
        | PropertyValue::Refused { .. }
        | PropertyValue::Between(_)
        | PropertyValue::RoundTrip(_) => "",
        PropertyValue::Clock(_) => "clock ",
        PropertyValue::Kernel(_) => "Linux ",
        PropertyValue::HostLoad(_) => "host load ",
        PropertyValue::VcpuPolicy(_) => "vCPU threads ",
        PropertyValue::Length(WorkKind::Cyclic | WorkKind::Foreign, _) => "every ",
        PropertyValue::Length(WorkKind::Sleep, _) => "for ",
        PropertyValue::Length(WorkKind::Notify, _) => "after ",
        PropertyValue::Length(WorkKind::Watch, _) => "",
        PropertyValue::Slack(_) => "slack ",
        PropertyValue::Load(_) => "load ",
        PropertyValue::Receiver(_) => "receiver's ",
        PropertyValue::Cpus { sender, receiver, .. } if *sender == *receiver => "both on CPU ",
        PropertyValue::Cpu(_) | PropertyValue::Cpus { .. } => "CPU ",
        PropertyValue::Knob(_) => "with ",
        PropertyValue::Thread(_) => "thread ",
    }
}

/// Whether a value is the default, which is not mentioned.
pub fn is_usual(value: &PropertyValue<'_>) -> bool {
    match value {
        PropertyValue::HostLoad(load) => load.is_idle(),
        PropertyValue::Receiver(receiver) => *receiver == ReceiverCpu::AsLeft,
        PropertyValue::RoundTrip(round_trip) => !round_trip,
        PropertyValue::Thread(thread) => *thread == 0,
        PropertyValue::Kind(_) => true,
        _ => false,
    }
}

/// The properties in which `conditions` differ.
pub fn varying(conditions: &[impl HasProperties]) -> Vec<Property> {
    let differs = |property: &Property| {
        let first = conditions.first().and_then(|condition| condition.value(*property));
        conditions.iter().any(|condition| condition.value(*property) != first)
    };
    Property::ALL.iter().copied().filter(differs).filter(|property| *property != Property::Kind).collect()
}

/// The kind of work, if all conditions have the same.
pub fn common_kind(conditions: &[impl HasProperties]) -> Option<WorkKind> {
    let kind = |condition: &dyn HasProperties| match condition.value(Property::Kind) {
        Some(PropertyValue::Kind(kind)) => Some(kind),
        _ => None,
    };
    let first = kind(conditions.first()?)?;
    conditions.iter().all(|condition| kind(condition) == Some(first)).then_some(first)
}
