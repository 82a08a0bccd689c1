//! What all CPUs had done when somebody asked for it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::MonotonicTime;

/// Somebody asked a recorder to keep what all CPUs had just done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Snapped")]
pub struct Snapshot {
    /// When: date and time, RFC 3339.
    pub at: String,
    /// The same moment on the recording's clock.
    #[serde(rename = "at_ns")]
    pub at_ns: MonotonicTime,
    /// Why, in the words of the program that asked; absent where nobody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The program that asked; absent where it was `howlate snap` or a signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<SnapProgram>,
    /// The file that was kept, beside the recording; absent where there was no room for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<String>,
}

/// A program that asked for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SnapProgram {
    /// The name of its process; of one that had ended by then, what its thread said that it was called.
    pub process: String,
    /// Its process id, as the kernel has it.
    pub pid: u32,
    /// Whose it is, as the kernel has it.
    pub uid: u32,
}
