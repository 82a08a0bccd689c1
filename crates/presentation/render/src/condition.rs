//! A condition in words: what it is called by itself, by some of its properties, and among others. Every name of a condition
//! is made here; the words of single values are in `property.rs`.

use std::collections::HashSet;

use howlate_analyse::Analysis;
use howlate_model::{Condition, HasProperties, Property, PropertyValue, WorkKind};

use crate::property::{BASELINE, is_usual, phrase, typed_phrase, varying};

/// The parts of a name as one.
pub fn joined(parts: &[String]) -> String {
    parts.join(" · ")
}

/// What a condition is called where there is nothing to tell it from.
pub const ALL: &str = "all wake-ups";

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

fn named(condition: &impl HasProperties, words: fn(&PropertyValue<'_>) -> String) -> String {
    let work = [Property::Name, Property::Mechanism, Property::Length].map(|part| condition.value(part));
    let work: Vec<String> = work.iter().flatten().map(words).collect();
    let in_guest = condition.value(Property::HostLoad).is_some();
    let said = |property: &Property| in_guest || *property != Property::Kernel;
    let mut circumstances: Vec<Property> = CIRCUMSTANCES.into_iter().filter(said).collect();
    // Threads of other programs have nothing else to be told apart by, where their CPU is not known.
    let kind = condition.value(Property::Kind);
    let is_foreign = matches!(kind, Some(PropertyValue::Kind(WorkKind::Foreign | WorkKind::Watch)));
    if is_foreign && condition.value(Property::Cpu).is_none() {
        circumstances.push(Property::Thread);
    }
    let mut parts = vec![work.join(" ")];
    parts.extend(worded(condition, &circumstances, words));
    joined(&parts)
}

/// A condition by these properties, without what goes without saying.
pub(crate) fn named_by(condition: &impl HasProperties, properties: &[Property]) -> String {
    joined(&phrases(condition, properties))
}

/// A condition by properties that tell it from others: what goes without saying elsewhere is said, as it is what differs.
pub fn told_by(condition: &impl HasProperties, properties: &[Property]) -> String {
    let said = |property: &Property| match condition.value(*property) {
        None if *property == Property::Knob => Some(BASELINE.to_owned()),
        None if *property == Property::Clock => Some(format!("clock {}", property.text(condition))),
        value => value.map(|value| phrase(&value)),
    };
    joined(&properties.iter().filter_map(said).collect::<Vec<_>>())
}

/// Each of several conditions by that in which not all are the same.
pub fn beside_one_another(conditions: &[impl HasProperties]) -> Vec<String> {
    let mut parts = telling(conditions);
    // A number says little beside what tells the threads apart.
    if parts.len() > 1 {
        parts.retain(|part| *part != Property::Thread);
    }
    let name = |one| Some(told_by(one, &parts)).filter(|name| !name.is_empty());
    conditions.iter().map(|one| name(one).unwrap_or_else(|| ALL.to_owned())).collect()
}

/// What all of several conditions have in common, a phrase each, without what goes without saying.
pub fn in_common(conditions: &[impl HasProperties]) -> Vec<String> {
    let Some(first) = conditions.first() else { return Vec::new() };
    let different = varying(conditions);
    let in_guest = first.value(Property::HostLoad).is_some();
    let is_said =
        |property: &&Property| !different.contains(property) && (in_guest || **property != Property::Kernel);
    let values = Property::ALL.iter().filter(is_said).filter_map(|property| first.value(*property));
    values.filter(|value| !is_usual(value)).map(|value| phrase(&value)).collect()
}

/// The phrases of these properties, without what goes without saying.
pub(crate) fn phrases(condition: &impl HasProperties, properties: &[Property]) -> Vec<String> {
    worded(condition, properties, phrase)
}

/// What `words` makes of the values of these properties, without what goes without saying.
pub(crate) fn worded(
    condition: &impl HasProperties,
    properties: &[Property],
    words: fn(&PropertyValue<'_>) -> String,
) -> Vec<String> {
    let values = properties.iter().filter_map(|property| condition.value(*property));
    values.filter(|value| !is_usual(value)).map(|value| words(&value)).collect()
}

/// Those that it takes to name each of `conditions`: a thread that is told apart by its CPU needs no number.
pub(crate) fn telling(conditions: &[impl HasProperties]) -> Vec<Property> {
    let all = varying(conditions);
    let without: Vec<Property> =
        all.iter().copied().filter(|property| *property != Property::Thread).collect();
    if told_apart(conditions, &without) == told_apart(conditions, &all) { without } else { all }
}

/// How many of `conditions` these properties tell apart.
fn told_apart(conditions: &[impl HasProperties], properties: &[Property]) -> usize {
    let typed = |one| properties.iter().map(|property| property.text(one)).collect::<Vec<_>>();
    conditions.iter().map(typed).collect::<HashSet<_>>().len()
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
    let name = |condition| named_by(condition, &telling);
    let mut names: Vec<String> = indices.iter().filter_map(of).map(name).collect();
    let more = names.len().saturating_sub(MOST_NAMES);
    names.truncate(MOST_NAMES);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!("{}{rest}", names.join("; ")))
}

/// Each condition in one word of letters, digits and `._:%+-`, as tags, identifiers and paths need it. To those that would
/// be called the same is added what tells them apart: the machine, the slack, what was tuned; a number where nothing does.
pub(crate) fn tags(analysis: &Analysis) -> Vec<String> {
    let conditions: Vec<&Condition> = analysis.outcomes().iter().map(|outcome| &outcome.condition).collect();
    let short: Vec<String> = conditions.iter().map(|one| tag(one)).collect();
    let mut tags: Vec<String> = Vec::new();
    for (condition, tag) in conditions.iter().zip(&short) {
        let alike = conditions.iter().zip(&short).filter(|(_, other)| *other == tag);
        let alike: Vec<&Condition> = alike.map(|(one, _)| *one).collect();
        let apart = varying(&alike).into_iter().map(|property| property.text(*condition));
        let long = std::iter::once(tag.clone()).chain(apart.filter(|part| !part.is_empty()));
        let one = in_one_word(&long.collect::<Vec<_>>().join("-"));
        let before = tags.iter().filter(|other| **other == one || other.starts_with(&format!("{one}.")));
        let again = before.count();
        tags.push(if again == 0 { one } else { format!("{one}.{}", again + 1) });
    }
    tags
}

/// What most conditions are told apart by.
fn tag(condition: &Condition) -> String {
    let known = [Property::Mechanism, Property::Length, Property::Policy, Property::Load];
    let mut parts: Vec<String> = known.iter().map(|property| property.text(condition)).collect();
    parts.retain(|part| !part.is_empty());
    parts.extend(condition.work.sender_cpu().map(|cpu| format!("from{cpu}")));
    parts.extend(condition.cpu.map(|cpu| format!("cpu{cpu}")));
    parts.push(format!("thread{}", condition.thread));
    in_one_word(&parts.join("-"))
}

fn in_one_word(text: &str) -> String {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "._:%+-".contains(letter);
    text.chars().map(|letter| if fits(letter) { letter } else { '_' }).collect()
}
