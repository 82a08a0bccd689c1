//! Settings that may make wake-ups more punctual, and how a condition changed them.

use schemars::JsonSchema;
use serde::Serialize;

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
