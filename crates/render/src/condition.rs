//! A condition in words.

use howlate_model::{HasProperties, Property};

use crate::property::{phrase, phrases};

/// What follows the work in a condition's name.
pub(crate) const CIRCUMSTANCES: [Property; 10] = [
    Property::Policy,
    Property::Slack,
    Property::Cpu,
    Property::Between,
    Property::Receiver,
    Property::RoundTrip,
    Property::Load,
    Property::Kernel,
    Property::HostLoad,
    Property::VcpuPolicy,
];

/// `clock_nanosleep every 1ms · fifo:80 · CPU 1 · load idle`.
pub fn condition(condition: &impl HasProperties) -> String {
    let work = [Property::Mechanism, Property::Length].map(|part| condition.value(part));
    let work: Vec<String> = work.iter().flatten().map(phrase).collect();
    let in_guest = condition.value(Property::HostLoad).is_some();
    let said = |property: &Property| in_guest || *property != Property::Kernel;
    let circumstances: Vec<Property> = CIRCUMSTANCES.into_iter().filter(said).collect();
    std::iter::once(work.join(" ")).chain(phrases(condition, &circumstances)).collect::<Vec<_>>().join(" · ")
}
