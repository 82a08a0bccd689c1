//! Background loads.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Span;

/// A background load that conditions are measured under.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// None by howlate; whatever else runs on the machine goes on.
    #[default]
    Idle,
    /// Two normal threads per CPU that never sleep.
    Cpu,
}

impl Load {
    /// Every load, in the order in which they are listed.
    pub const ALL: [Self; 2] = [Self::Idle, Self::Cpu];

    /// The name used on the command line and in recordings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Cpu => "cpu",
        }
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A text that names no load.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not a load; choose from {}", Load::ALL.map(Load::name).join(", "))]
pub struct UnknownLoad {
    /// What was typed.
    pub found: String,
}

impl FromStr for Load {
    type Err = UnknownLoad;

    fn from_str(text: &str) -> Result<Self, UnknownLoad> {
        let named = Self::ALL.into_iter().find(|load| load.name() == text.trim());
        named.ok_or_else(|| UnknownLoad { found: text.trim().to_owned() })
    }
}

/// What a load really did during one turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoadReport {
    /// CPU time it got, all its threads together.
    pub cpu_ns: Span,
    /// How long it ran.
    pub elapsed_ns: Span,
}
