//! What all CPUs did around late wake-ups of a run, kept in files beside its recording.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{MonotonicTime, WakeupBreakdown};

/// A file beside the recording says what all CPUs did for a while.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "KeptTimeline")]
pub struct TimelineFile {
    /// The name of the file, in the folder of the recording.
    pub file: String,
    /// Where it ends: date and time, RFC 3339, by the clock of the day as it was then.
    pub at: String,
    /// Where it begins on the recording's clock.
    #[serde(rename = "from_ns")]
    pub from: MonotonicTime,
    /// Where it ends on it.
    #[serde(rename = "until_ns")]
    pub until: MonotonicTime,
    /// Late wake-ups of that time, the latest first; none where somebody asked for the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late: Vec<LateWakeup>,
    /// The file that was removed for it, of a wake-up that was less late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
}

/// A late wake-up of which there is a timeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LateWakeup {
    /// Index of the condition in the recording's header.
    pub condition: u32,
    /// The thread's id, `gettid(2)`.
    pub tid: u32,
    /// Its process id; 0 where it had ended.
    pub pid: u32,
    /// The thread's name, `comm` of `proc_pid_comm(5)`; empty where it had ended.
    pub thread: String,
    /// That of its process.
    pub process: String,
    /// When it was, how late, and why.
    #[serde(flatten)]
    pub wakeup: WakeupBreakdown,
}
