//! The output of `howlate merge`.

use std::collections::BTreeSet;

use howlate_model::{Condition, Line, Property};
use serde::Serialize;

use crate::numbers::count;
use crate::property::{heading, varying};

/// Counts of the merged recording.
#[derive(Clone, Debug, Default)]
pub struct MergeResult {
    recordings: u64,
    wakeups: u64,
    conditions: Vec<Condition>,
    nodes: BTreeSet<String>,
}

impl MergeResult {
    /// Counts before the first line after the header, which has these conditions.
    pub fn new(conditions: &[Condition]) -> Self {
        Self { conditions: conditions.to_vec(), ..Self::default() }
    }

    pub fn add(&mut self, line: &Line) {
        match line {
            Line::Source(source) => {
                self.recordings += 1;
                self.nodes.insert(source.called.clone());
            }
            Line::Condition(condition) => self.conditions.push((**condition).clone()),
            Line::Block(block) => self.wakeups += block.latency.count(),
            _ => {}
        }
    }

    /// The JSON output, for a recording written to `file`. Names are public: add, never rename.
    pub fn json(&self, file: &str) -> Result<String, serde_json::Error> {
        let varying_properties = varying(&self.conditions).into_iter().map(|property| VaryingProperty {
            property: property.name(),
            values: all_values(&self.conditions, property),
        });
        let document = MergeDocument {
            format: 1,
            howlate: env!("CARGO_PKG_VERSION"),
            command: "merge",
            out: file,
            recordings: self.recordings,
            machines: self.nodes.len(),
            wakeups: self.wakeups,
            conditions: self.conditions.len(),
            kept_apart_by: varying_properties.collect(),
        };
        serde_json::to_string_pretty(&document).map(|text| text + "\n")
    }

    /// The text output, with the properties that conditions differ in.
    pub fn text(&self, file: &str) -> String {
        let Self { recordings, wakeups, conditions, nodes } = self;
        let number_of = |number: usize, noun: &str| {
            format!("{} {noun}{}", count(number as u64), if number == 1 { "" } else { "s" })
        };
        let recordings = number_of(usize::try_from(*recordings).unwrap_or(usize::MAX), "recording");
        let machines = number_of(nodes.len(), "machine");
        let number_of_conditions = number_of(conditions.len(), "condition");
        let mut text = format!(
            "{file}: {recordings} of {machines}, {} wake-ups of {number_of_conditions}.\n",
            count(*wakeups)
        );
        for property in varying(conditions) {
            text.push_str(&format!(
                "Kept apart by {}: {}.\n",
                heading(property, None),
                values(conditions, property)
            ));
        }
        text
    }
}

/// The JSON output.
#[derive(Serialize)]
struct MergeDocument<'a> {
    format: u32,
    howlate: &'static str,
    command: &'static str,
    out: &'a str,
    recordings: u64,
    machines: usize,
    wakeups: u64,
    conditions: usize,
    kept_apart_by: Vec<VaryingProperty>,
}

#[derive(Serialize)]
struct VaryingProperty {
    property: &'static str,
    values: Vec<String>,
}

/// The distinct values of a property, in order of appearance.
fn all_values(conditions: &[Condition], property: Property) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let all = conditions.iter().map(|condition| property.text(condition));
    all.filter(|value| seen.insert(value.clone())).collect()
}

/// The first distinct values of a property, and the number of others.
fn values(conditions: &[Condition], property: Property) -> String {
    /// Most values that are listed.
    const MOST: usize = 6;
    let mut once = all_values(conditions, property);
    let more = once.len().saturating_sub(MOST);
    once.truncate(MOST);
    let rest = if more > 0 { format!(" and {} more", count(more as u64)) } else { String::new() };
    format!("{}{rest}", once.join(", "))
}
