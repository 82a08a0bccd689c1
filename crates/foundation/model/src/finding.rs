//! What `howlate doctor` finds. What it is about and what it means are values, and whatever decides by a finding decides by
//! those; what was found, why it matters and what to do are sentences that nothing decides by, finished where the machine was
//! read. They are data, each beside the rule that it belongs to: worded elsewhere, every finding would be written twice.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::FindingId;

/// One property of the system that bears on punctuality.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// A stable name for scripts: `clocksource`, `rt_group_scheduling`, ….
    #[schemars(with = "String")]
    pub id: FindingId,
    /// What it means for punctuality.
    pub verdict: Verdict,
    /// What was found, in one line.
    pub found: String,
    /// What was read, and where.
    pub evidence: Vec<Evidence>,
    /// Why it matters, in one or two sentences.
    pub why: String,
    /// What it typically costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// What to do, and how to undo it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<Remedy>,
}

/// What a finding means for punctuality, from worst to best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Real-time work is impossible until this is changed.
    Blocks,
    /// It makes wake-ups late.
    Costs,
    /// It could not be read; the finding says why.
    Unknown,
    /// Worth knowing; neither good nor bad.
    Note,
    /// As it should be.
    Good,
}

/// One file or call and what it said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The file's path on the examined system.
    pub path: String,
    /// Its content, trimmed; or why it could not be read.
    pub value: String,
}

/// A typical price, with its source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// How much, with a unit.
    pub typical: String,
    /// Where the figure is from.
    pub source: String,
}

/// What to type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Remedy {
    /// Commands, or one sentence where no command does it.
    pub apply: Vec<String>,
    /// What puts it back.
    pub undo: Vec<String>,
    /// The same for good, where it lasts until the next start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lasting: Vec<String>,
    /// What it takes from others: power, throughput, safety.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<String>,
}
