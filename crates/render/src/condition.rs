//! A condition in words.

use howlate_analyse::Analysis;
use howlate_model::{HasProperties, Property, Value, WorkKind};

use crate::property::{phrase, phrases, telling, typed_phrase, worded};

/// What follows the work in a condition's name.
pub(crate) const CIRCUMSTANCES: [Property; 12] = [
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
    Property::Knob,
    Property::Node,
];

/// `clock_nanosleep every 1 ms · fifo:80 · CPU 1 · load idle`.
pub fn condition(condition: &impl HasProperties) -> String {
    named(condition, phrase)
}

/// The same with lengths as they are typed: what programs know a condition by, from run to run.
pub(crate) fn condition_name(condition: &impl HasProperties) -> String {
    named(condition, typed_phrase)
}

fn named(condition: &impl HasProperties, words: fn(&Value<'_>) -> String) -> String {
    let work = [Property::Name, Property::Mechanism, Property::Length].map(|part| condition.value(part));
    let work: Vec<String> = work.iter().flatten().map(words).collect();
    let in_guest = condition.value(Property::HostLoad).is_some();
    let said = |property: &Property| in_guest || *property != Property::Kernel;
    let mut circumstances: Vec<Property> = CIRCUMSTANCES.into_iter().filter(said).collect();
    // Threads of other programs have nothing else to be told apart by, where their CPU is not known.
    let kind = condition.value(Property::Kind);
    let is_foreign = matches!(kind, Some(Value::Kind(WorkKind::Foreign | WorkKind::Watch)));
    if is_foreign && condition.value(Property::Cpu).is_none() {
        circumstances.push(Property::Thread);
    }
    std::iter::once(work.join(" "))
        .chain(worded(condition, &circumstances, words))
        .collect::<Vec<_>>()
        .join(" · ")
}

/// Names that are listed one by one.
const MOST_NAMES: usize = 3;

/// The conditions of a recording with these indices, named by what tells them from its others; `None` where
/// they are all there is.
pub(crate) fn among(analysis: &Analysis, indices: &[u32]) -> Option<String> {
    let all: Vec<_> = analysis.outcomes().iter().map(|outcome| &outcome.condition).collect();
    if indices.len() >= all.len() {
        return None;
    }
    let telling = telling(&all);
    let of = |index: &u32| analysis.header.conditions.get(*index as usize);
    let name = |condition: &howlate_model::Condition| phrases(condition, &telling).join(" · ");
    let mut names: Vec<String> = indices.iter().filter_map(of).map(name).collect();
    let more = names.len().saturating_sub(MOST_NAMES);
    names.truncate(MOST_NAMES);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!("{}{rest}", names.join("; ")))
}
