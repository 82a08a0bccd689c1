//! Timelines of all CPUs, kept in files beside the recording: around late wake-ups, or on request.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{IdleCpu, MonotonicTime, WakeupBreakdown};

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
    /// Another CPU that was idle longest while it waited for a CPU, although it could have run there; absent where none was for
    /// 0.1 ms, where that is not known, and in recordings of before that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_cpu: Option<IdleCpu>,
    /// When it was, how late, and why.
    #[serde(flatten)]
    pub wakeup: WakeupBreakdown,
}

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
