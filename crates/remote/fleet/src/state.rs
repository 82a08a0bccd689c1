//! How a node is doing.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The exit status after `SIGTERM`, as shells report it.
pub(crate) const CANCELLED: u8 = 143;

/// How a node is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
#[schemars(rename = "State")]
pub enum NodeStatus {
    /// It was not asked yet, or could not be.
    NotStarted {
        /// Why it was not, in the scheduler's words.
        reason: String,
    },
    /// Its scheduler has it wait.
    Waiting {
        /// What for, in the scheduler's words.
        reason: String,
    },
    /// It was started and has not ended.
    Running,
    /// It was started, and does not answer now.
    Unreachable {
        /// What whoever asked it was told.
        reason: String,
    },
    /// It ended, and left a recording.
    Done {
        /// The program's exit status: 0, 1 or 3.
        status: u8,
    },
    /// It was told to end before it was done, and may have left a recording.
    Cancelled,
    /// It ended without having measured, or not in order.
    Failed {
        /// What it said last, or the scheduler.
        reason: String,
    },
}

impl NodeStatus {
    /// Whether nothing more is to be expected of it.
    pub const fn is_over(&self) -> bool {
        matches!(self, Self::Done { .. } | Self::Cancelled | Self::Failed { .. } | Self::NotStarted { .. })
    }

    /// From the exit status of the program, and the last line of its log.
    pub fn ended(status: u8, message: Option<String>) -> Self {
        match status {
            0 | 1 | 3 => Self::Done { status },
            CANCELLED => Self::Cancelled,
            _ => Self::Failed { reason: message.unwrap_or_else(|| format!("it ended with status {status}")) },
        }
    }
}

impl fmt::Display for NodeStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted { reason } => write!(f, "not started: {reason}"),
            Self::Waiting { reason } => write!(f, "waits: {reason}"),
            Self::Running => f.write_str("measures"),
            Self::Unreachable { reason } => write!(f, "does not answer: {reason}"),
            Self::Done { status: 0 } => f.write_str("done"),
            Self::Done { status: 1 } => f.write_str("done; a limit was exceeded"),
            Self::Done { .. } => f.write_str("done, but not as asked"),
            Self::Cancelled => f.write_str("cancelled: what it measured until then counts"),
            Self::Failed { reason } => write!(f, "failed: {reason}"),
        }
    }
}
