//! What `howlate merge` says of what it made.

use std::collections::BTreeSet;

use howlate_model::{Condition, Line, Property};
use serde::Serialize;

use crate::numbers::count;
use crate::property::{heading, varying};

/// What became one recording.
#[derive(Clone, Debug, Default)]
pub struct MergeResult {
    recordings: u64,
    wakeups: u64,
    conditions: Vec<Condition>,
    nodes: BTreeSet<String>,
}

impl MergeResult {
    /// Before its first line after the header, which has these conditions.
    pub fn new(conditions: &[Condition]) -> Self {
        Self { conditions: conditions.to_vec(), ..Self::default() }
    }

    /// Takes in one line.
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

    /// The same for programs, written to `file`. Names are public: add, never rename.
    ///
    /// # Errors
    ///
    /// None that is known: numbers and texts are JSON.
    pub fn json(&self, file: &str) -> Result<String, serde_json::Error> {
        let apart = varying(&self.conditions).into_iter().map(|property| KeptApart {
            property: property.name(),
            values: all_values(&self.conditions, property),
        });
        let document = Document {
            format: 1,
            howlate: env!("CARGO_PKG_VERSION"),
            command: "merge",
            out: file,
            recordings: self.recordings,
            machines: self.nodes.len(),
            wakeups: self.wakeups,
            conditions: self.conditions.len(),
            kept_apart_by: apart.collect(),
        };
        serde_json::to_string_pretty(&document).map(|text| text + "\n")
    }

    /// The whole in words, and what was kept apart.
    pub fn words(&self, file: &str) -> String {
        let Self { recordings, wakeups, conditions, nodes } = self;
        let of = |number: usize, one: &str| {
            format!("{} {one}{}", count(number as u64), if number == 1 { "" } else { "s" })
        };
        let recordings = of(usize::try_from(*recordings).unwrap_or(usize::MAX), "recording");
        let machines = of(nodes.len(), "machine");
        let apart = of(conditions.len(), "condition");
        let mut text =
            format!("{file}: {recordings} of {machines}, {} wake-ups of {apart}.\n", count(*wakeups));
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

/// What programs are told.
#[derive(Serialize)]
struct Document<'a> {
    format: u32,
    howlate: &'static str,
    command: &'static str,
    /// The file with all of them.
    out: &'a str,
    recordings: u64,
    machines: usize,
    wakeups: u64,
    conditions: usize,
    kept_apart_by: Vec<KeptApart>,
}

#[derive(Serialize)]
struct KeptApart {
    property: &'static str,
    values: Vec<String>,
}

/// The values of a property, each once, in their order.
fn all_values(conditions: &[Condition], property: Property) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let all = conditions.iter().map(|condition| property.text(condition));
    all.filter(|value| seen.insert(value.clone())).collect()
}

/// The first values of a property, and how many more there are.
fn values(conditions: &[Condition], property: Property) -> String {
    /// More are too many to read.
    const MOST: usize = 6;
    let mut once = all_values(conditions, property);
    let more = once.len().saturating_sub(MOST);
    once.truncate(MOST);
    let rest = if more > 0 { format!(" and {} more", count(more as u64)) } else { String::new() };
    format!("{}{rest}", once.join(", "))
}
