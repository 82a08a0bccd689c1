//! Settings that may make wake-ups more punctual, and how a condition changed them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Span;

/// Knobs that were turned for a condition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Tuned")]
pub struct TunedKnobs {
    /// Names of the knobs that were turned together.
    pub knobs: Vec<String>,
    /// The slice asked for; absent: the kernel's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "slice_ns")]
    pub slice: Option<Span>,
    /// Settings of the machine that held for each of its turns, and were put back after it; what could not be had of
    /// them is a caveat.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<SettingWrite>,
}

impl TunedKnobs {
    /// The name of the knob that turns nothing: whatever is found of it is chance.
    pub const NOTHING: &str = "nothing";
}

impl fmt::Display for TunedKnobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.knobs.join("+"))
    }
}

/// How the value of a [`SettingWrite`] is put into force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingWriteKind {
    /// It is written, and what was there before is written back.
    Setting,
    /// It holds as long as the file is open.
    Request,
}

/// A value that one of the kernel's files is to hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Write")]
pub struct SettingWrite {
    /// Path of the file that was written.
    pub path: String,
    /// What it holds without; of a choice, the one that is chosen. Empty for a request that holds as long as the file is open.
    pub now: String,
    /// What it is to hold.
    pub value: String,
    /// Whether the kernel may change it together with what else is written, so that it is put back whatever it holds then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub watched: bool,
}

impl SettingWrite {
    /// A request that holds as long as the file is open.
    pub fn request(path: impl Into<String>, value: impl Into<String>) -> Self {
        Self { path: path.into(), now: String::new(), value: value.into(), watched: false }
    }

    /// How it is put into force.
    pub const fn kind(&self) -> SettingWriteKind {
        if self.now.is_empty() { SettingWriteKind::Request } else { SettingWriteKind::Setting }
    }
}

/// What a setting holds for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingScope {
    /// A thread or process that asks for it.
    Thread,
    /// The whole machine, while it runs.
    Machine,
    /// The whole machine, from its start on.
    Boot,
}

impl SettingScope {
    /// All, in the order in which settings are listed.
    pub const ALL: [Self; 3] = [Self::Thread, Self::Machine, Self::Boot];

    /// Its name in JSON and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Thread => "thread",
            Self::Machine => "machine",
            Self::Boot => "boot",
        }
    }
}

/// One way to have a setting for good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "PermanentWay")]
pub struct PermanentSetting {
    /// `systemd`, `sysctl.d`, `tmpfiles.d`, `boot`, `C`, `Rust`, `Python`, `shell`.
    pub by: &'static str,
    /// What to type or to write.
    pub apply: String,
    /// What takes it back.
    pub undo: String,
}
