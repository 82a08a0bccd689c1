//! Lines of `howlate record`: incidents of late threads, and counts of all other waits per minute.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    CauseKind, Distribution, LateIteration, MonotonicTime, OmittedAnswers, Policy, Segment, ServerSocket,
    Span,
};

/// A thread ran later than allowed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Incident {
    /// When it ran at last, or the turn's work was done: date and time, RFC 3339, by the clock of the day as it was then.
    pub at: String,
    /// The same moment on the recording's clock.
    #[serde(rename = "at_ns")]
    pub at_ns: MonotonicTime,
    /// By how much it was late: since it was ready to run, or since its timer was to wake it; of an event loop, how long it was
    /// away from its events; of a turn, how long after its deadline its work was done; of a request, from the arrival of its data to the
    /// answer.
    #[serde(rename = "latency_ns")]
    pub latency: Span,
    /// The thread that waited.
    pub thread: LateThread,
    /// How it came to wait.
    pub kind: IncidentKind,
    /// The CPU on which it ran; of a turn, the one that its thread had last when it was read, 0 if it was gone by then.
    pub cpu: u32,
    /// From the beginning of the wait to its end, without a gap: their sum is the latency. Of waits with many stretches, those
    /// of one cause are joined.
    pub parts: Vec<Segment>,
    /// Who took the time, the longest first.
    pub causes: Vec<IncidentCause>,
    /// The CPU that was idle longest while the thread, which could have run there, waited for another one; absent where none was for
    /// 0.1 ms, and in recordings of before that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_cpu: Option<IdleCpu>,
    /// Above what a wait was late then, where that changes: with `--late-above p99.9`.
    #[serde(rename = "late_above_ns", default, skip_serializing_if = "Option::is_none")]
    pub late_above: Option<Span>,
    /// The file with what all CPUs did around it, beside the recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<String>,
    /// The loop whose turn missed its deadline; absent where a thread waited.
    #[serde(rename = "loop", default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<LateIteration>,
    /// The server's end of the connection at which a request was answered late; absent where it was no request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerSocket>,
}

/// A CPU that was idle while a thread waited for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdleCpu {
    /// Its number.
    pub cpu: u32,
    /// For how long of the wait, at least.
    #[serde(rename = "ns")]
    pub idle: Span,
}

impl IdleCpu {
    /// Of shorter times a scheduler cannot know as it chooses a CPU.
    pub const SHORTEST: Span = Span::from_micros(100);

    /// The one that was idle longest, of equal ones the first; `None` if none was for [`Self::SHORTEST`].
    pub fn longest(all: impl IntoIterator<Item = Self>) -> Option<Self> {
        let long = all.into_iter().filter(|of| of.idle >= Self::SHORTEST);
        long.min_by_key(|of| (std::cmp::Reverse(of.idle), of.cpu))
    }
}

/// A thread that was late.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LateThread {
    /// Its name, `comm` of `proc_pid_comm(5)`.
    pub name: String,
    /// That of its process.
    pub process: String,
    /// Its process id.
    pub pid: u32,
    /// Its thread id, `gettid(2)`.
    pub tid: u32,
    /// What its process runs, where its name is only that of an interpreter: the script, module, class or archive, up to 40 letters;
    /// absent where there is none, where that is not known, and in recordings of before that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Whose it is.
    pub uid: u32,
    /// The path of its control group; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// How it is scheduled; absent where that takes more than a policy, as of `SCHED_DEADLINE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
}

/// What a thread was late for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IncidentKind {
    /// It waited for a CPU after it was woken, or was new.
    Woken,
    /// Its timer was to wake it, at the latest, so long before it ran: the timer was late, or it waited for a CPU, or both.
    Timer,
    /// It had a CPU and lost it to another one.
    Preempted,
    /// No wait: a thread that waits for events, again and again, did not come back to them.
    EventLoop,
    /// No wait: a turn of a loop that its program has marked was not done when the next one was due, as the program says.
    Loop,
    /// No wait: a request to a server, for which it is the thread that answered it.
    Request,
}

impl IncidentKind {
    /// The name used in recordings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Woken => "woken",
            Self::Timer => "timer",
            Self::Preempted => "preempted",
            Self::EventLoop => "event_loop",
            Self::Loop => "loop",
            Self::Request => "request",
        }
    }

    /// Whether a thread waited for a CPU.
    pub const fn is_wait(self) -> bool {
        matches!(self, Self::Woken | Self::Timer | Self::Preempted)
    }
}

/// What one name took of an incident.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IncidentCause {
    /// What kind of thing.
    pub kind: CauseKind,
    /// The thread's comm, the interrupt's or softirq's name, the group's path; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The thread, where it is one thread's: its thread id, `gettid(2)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The process id of that thread; absent where it was gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_id: Option<u32>,
    /// What its process is called; absent where it was gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
    /// What its process runs, as in [`LateThread::command`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Whether it is a thread of the recorder itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_recorder: bool,
    /// How the thread is scheduled; absent where it was gone, or where that takes more than a policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
    /// The path of its control group; absent where it was gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Time that the cause took.
    #[serde(rename = "ns")]
    pub took: Span,
    /// The same as a share of the latency, from 0 to 1.
    pub share: f64,
}

/// How late threads ran in one minute, all of them, by group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaitMinute {
    /// When it ended: date and time, RFC 3339.
    pub at: String,
    /// When it began on the recording's clock.
    #[serde(rename = "from_ns")]
    pub from: MonotonicTime,
    /// When it ended on it.
    #[serde(rename = "until_ns")]
    pub until: MonotonicTime,
    /// Groups with at least one wait.
    pub groups: Vec<WaitCounts>,
    /// Requests to servers of programs named with `--requests`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<RequestCounts>,
    /// Late waits that are no incidents here: there was no room for them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub incidents_lost: u64,
    /// Late waits that are no incidents here: there were too many.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub incidents_left_out: u64,
    /// Switches that no event told of.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub switches_unseen: u64,
    /// Lines before this one that could not be written, since the last that says so.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lines_lost: u64,
    /// Turns of marked loops that are not known: there was no room for them, or they cannot have been.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub turns_lost: u64,
    /// Marked loops that are not read, as there were too many.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub loops_left_out: u64,
    /// Requests of programs to keep what all CPUs had done that were too many to be obeyed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub snaps_left_out: u64,
    /// Above what a wait was late, where that changes: with `--late-above p99.9`.
    #[serde(rename = "late_above_ns", default, skip_serializing_if = "Option::is_none")]
    pub late_above: Option<Span>,
    /// What was removed to make room.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<RemovedFiles>,
    /// How well the clock of the day was set when it ended, as the kernel has it; absent in recordings of before that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<WallClockState>,
}

/// How well a machine's clock of the day is set, by `adjtimex(2)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DayClock")]
pub struct WallClockState {
    /// Whether something such as chrony sets it by another clock.
    pub synchronised: bool,
    /// How far off it may be then: what that something has found, and 500 ns more for each millisecond since.
    #[serde(rename = "max_error_ns")]
    pub max_error: Span,
}

/// Files of the recording that were removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Removed")]
pub struct RemovedFiles {
    /// Files that were removed.
    pub files: u64,
    /// The limit that they were beyond.
    pub reason: RemovalReason,
}

/// Why files of a recording were removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "WhyRemoved")]
pub enum RemovalReason {
    /// The folder was larger than `--max-size`.
    MaxSize,
    /// They were older than `--max-age`.
    MaxAge,
    /// The disk was full.
    DiskFull,
}

/// How late the threads of one group ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaitCounts {
    /// What their processes are called.
    pub process: String,
    /// Whose they are.
    pub uid: u32,
    /// The path of their control group; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Their policy: `other`, `fifo`, …
    pub policy: String,
    /// How many waits were late.
    pub late: u64,
    /// All waits, since a timer was to end them where one did: counted in four buckets to each doubling, so that a value may be 12 % off; the longest is exact.
    pub waits: Distribution,
}

/// How long the requests took that one program answered at one end of connections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestCounts {
    /// What its process is called.
    pub process: String,
    /// The server's end of the connections.
    pub server: ServerSocket,
    /// How many took longer than `--late-above`.
    pub late: u64,
    /// From the arrival of the data to the answer.
    pub requests: Distribution,
    /// Answers that are not among them.
    #[serde(default)]
    pub omitted: OmittedAnswers,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}
