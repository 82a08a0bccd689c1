//! Which machine a recording was made on, and which recordings became one.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Command, Finding, Instrument, MonotonicTime, Setting, System};

/// Which machine it was; [`System`] says what kind of one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Node {
    /// The host's name, or what `--node` said; absent with `--anonymous`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The same on each run on this machine and on no other: a hash of `/etc/machine-id`, which it does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// The kernel's id of this boot: `CLOCK_MONOTONIC` of recordings that share it is one clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
    /// What `--label` said of it, such as the rack it stands in.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

impl Node {
    /// Whether nothing is known, as of recordings that other programs or earlier versions made.
    pub fn is_unknown(&self) -> bool {
        self.name.is_none() && self.machine.is_none()
    }
}

/// A recording that became part of a merged one. Its lines follow, up to the next of these.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Source")]
pub struct SourceRecording {
    /// Its id: one that is given twice counts once.
    pub id: String,
    /// What its machine is called in the conditions.
    pub called: String,
    /// The node that measured it.
    pub node: Node,
    /// The command that the node ran.
    pub command: Command,
    /// Date and time of its start, RFC 3339.
    pub started: String,
    /// The same moment on the clock of the merged recording.
    #[serde(rename = "at_ns")]
    pub at: MonotonicTime,
    /// Was added to all its times. Clocks of different machines are only as right to each other as their clocks of the
    /// day were, to the second.
    pub moved_by_ns: i64,
    /// The machine, as it describes itself.
    pub system: System,
    /// What on it bears on punctuality.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// Settings of it that were changed for the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<Setting>,
    /// What measuring costs there.
    pub instrument: Instrument,
}
