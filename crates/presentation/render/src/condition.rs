//! Names of conditions: in full, by some properties, and among others. `property.rs` has the names of single values.

use std::collections::HashSet;

use howlate_analyse::Analysis;
use howlate_model::{Condition, HasProperties, Property, PropertyValue, WorkKind};

use crate::property::{BASELINE, is_usual, phrase, typed_phrase, varying};

/// Joins the parts of a name.
pub fn joined(parts: &[String]) -> String {
    parts.join(" · ")
}

/// Name of a condition where there is no other.
pub const ALL: &str = "all wake-ups";

/// The properties after the work in a condition's name.
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
    named_with(condition, phrase)
}

/// Like `condition`, with lengths as typed: a stable identifier for programs.
pub(crate) fn condition_name(condition: &impl HasProperties) -> String {
    named_with(condition, typed_phrase)
}

fn named_with(condition: &impl HasProperties, format_value: fn(&PropertyValue<'_>) -> String) -> String {
    let work = [Property::Name, Property::Mechanism, Property::Length].map(|part| condition.value(part));
    let work: Vec<String> = work.iter().flatten().map(format_value).collect();
    let in_guest = condition.value(Property::HostLoad).is_some();
    let is_mentioned = |property: &Property| in_guest || *property != Property::Kernel;
    let mut circumstances: Vec<Property> = CIRCUMSTANCES.into_iter().filter(is_mentioned).collect();
    // Threads of other programs without a known CPU have only their number.
    let kind = condition.value(Property::Kind);
    let is_foreign = matches!(kind, Some(PropertyValue::Kind(WorkKind::Foreign | WorkKind::Watch)));
    if is_foreign && condition.value(Property::Cpu).is_none() {
        circumstances.push(Property::Thread);
    }
    let mut parts = vec![work.join(" ")];
    parts.extend(values_text(condition, &circumstances, format_value));
    joined(&parts)
}

/// These properties of a condition, without default values.
pub(crate) fn named_by(condition: &impl HasProperties, properties: &[Property]) -> String {
    joined(&phrases(condition, properties))
}

/// These properties of a condition, including default values: they are what differs.
pub fn distinguished_by(condition: &impl HasProperties, properties: &[Property]) -> String {
    let text = |property: &Property| match condition.value(*property) {
        None if *property == Property::Knob => Some(BASELINE.to_owned()),
        None if *property == Property::Clock => Some(format!("clock {}", property.text(condition))),
        value => value.map(|value| phrase(&value)),
    };
    joined(&properties.iter().filter_map(text).collect::<Vec<_>>())
}

/// Names of several conditions, each by the properties in which they differ.
pub fn beside_one_another(conditions: &[impl HasProperties]) -> Vec<String> {
    let mut parts = distinguishing_properties(conditions);
    // The thread number adds little to other properties.
    if parts.len() > 1 {
        parts.retain(|part| *part != Property::Thread);
    }
    let name = |condition| Some(distinguished_by(condition, &parts)).filter(|name| !name.is_empty());
    conditions.iter().map(|condition| name(condition).unwrap_or_else(|| ALL.to_owned())).collect()
}

/// Phrases for what several conditions have in common, without default values.
pub fn in_common(conditions: &[impl HasProperties]) -> Vec<String> {
    let Some(first) = conditions.first() else { return Vec::new() };
    let different = varying(conditions);
    let in_guest = first.value(Property::HostLoad).is_some();
    let is_mentioned =
        |property: &&Property| !different.contains(property) && (in_guest || **property != Property::Kernel);
    let values = Property::ALL.iter().filter(is_mentioned).filter_map(|property| first.value(*property));
    values.filter(|value| !is_usual(value)).map(|value| phrase(&value)).collect()
}

/// Phrases for these properties, without default values.
pub(crate) fn phrases(condition: &impl HasProperties, properties: &[Property]) -> Vec<String> {
    values_text(condition, properties, phrase)
}

/// These properties formatted by `format_value`, without default values.
pub(crate) fn values_text(
    condition: &impl HasProperties,
    properties: &[Property],
    format_value: fn(&PropertyValue<'_>) -> String,
) -> Vec<String> {
    let values = properties.iter().filter_map(|property| condition.value(*property));
    values.filter(|value| !is_usual(value)).map(|value| format_value(&value)).collect()
}

/// The properties that distinguish `conditions`. The thread number is left out if the others suffice.
pub(crate) fn distinguishing_properties(conditions: &[impl HasProperties]) -> Vec<Property> {
    let all = varying(conditions);
    let without: Vec<Property> =
        all.iter().copied().filter(|property| *property != Property::Thread).collect();
    if number_of_names(conditions, &without) == number_of_names(conditions, &all) { without } else { all }
}

/// How many of `conditions` have distinct values of these properties.
fn number_of_names(conditions: &[impl HasProperties], properties: &[Property]) -> usize {
    let values = |condition| properties.iter().map(|property| property.text(condition)).collect::<Vec<_>>();
    conditions.iter().map(values).collect::<HashSet<_>>().len()
}

/// Most names in a list.
const MOST_NAMES: usize = 3;

/// Names of these conditions of a recording, by the properties in which all of its conditions differ; `None` for all of them.
pub(crate) fn among(analysis: &Analysis, indices: &[u32]) -> Option<String> {
    let all: Vec<_> = analysis.outcomes().iter().map(|outcome| &outcome.condition).collect();
    if indices.len() >= all.len() {
        return None;
    }
    let properties = distinguishing_properties(&all);
    let by_index = |index: &u32| analysis.header.conditions.get(*index as usize);
    let name = |condition| named_by(condition, &properties);
    let mut names: Vec<String> = indices.iter().filter_map(by_index).map(name).collect();
    let more = names.len().saturating_sub(MOST_NAMES);
    names.truncate(MOST_NAMES);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!("{}{rest}", names.join("; ")))
}

/// A short identifier per condition, of letters, digits and `._:%+-`, for tags and paths. Equal ones are made unique by further
/// properties, or a number.
pub(crate) fn tags(analysis: &Analysis) -> Vec<String> {
    let conditions: Vec<&Condition> = analysis.outcomes().iter().map(|outcome| &outcome.condition).collect();
    let short: Vec<String> = conditions.iter().map(|condition| tag(condition)).collect();
    let mut tags: Vec<String> = Vec::new();
    for (condition, tag) in conditions.iter().zip(&short) {
        let same_tag = conditions.iter().zip(&short).filter(|(_, other)| *other == tag);
        let same_tag: Vec<&Condition> = same_tag.map(|(condition, _)| *condition).collect();
        let differences = varying(&same_tag).into_iter().map(|property| property.text(*condition));
        let long = std::iter::once(tag.clone()).chain(differences.filter(|part| !part.is_empty()));
        let unique = in_one_word(&long.collect::<Vec<_>>().join("-"));
        let same_before =
            tags.iter().filter(|other| **other == unique || other.starts_with(&format!("{unique}.")));
        let repeats = same_before.count();
        tags.push(if repeats == 0 { unique } else { format!("{unique}.{}", repeats + 1) });
    }
    tags
}

/// The identifier by the most common properties.
fn tag(condition: &Condition) -> String {
    let properties = [Property::Mechanism, Property::Length, Property::Policy, Property::Load];
    let mut parts: Vec<String> = properties.iter().map(|property| property.text(condition)).collect();
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
