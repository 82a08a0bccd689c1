//! The lines of a recording. `docs/recording.md` documents them for readers in other languages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Block, Boot, BootEnd, CauseBlock, Caveat, Command, Condition, Finding, Incident, Instrument,
    LateThreshold, LoadBlock, MonotonicTime, Node, Setting, Snapshot, SourceRecording, Span, StopRule,
    System, TimelineFile, TurnFinished, TurnStarted, WaitMinute, WatchedBlock, WatchedProgram,
};

/// The version of the recording format that this program writes.
pub const FORMAT: u32 = 1;

/// The most conditions of one recording that lines after the header may bring it to.
pub const CONDITIONS_MOST: usize = 65_536;

/// One line of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// The first line: what was asked, where, with what.
    Header(Box<Header>),
    /// A condition that was not known at the start, such as a thread that a watched program began. Its index is the next
    /// one: conditions of the header come first.
    Condition(Box<Condition>),
    /// A thread began a turn of its condition.
    Started(TurnStarted),
    /// Wake-ups of one thread in one stretch of time.
    Block(Box<Block>),
    /// What the background load did in one stretch of time, and how busy the kernel was.
    Load(LoadBlock),
    /// Why the wake-ups of a turn that was traced were late.
    Why(Box<CauseBlock>),
    /// The rhythm of a watched thread, and who woke it.
    Watched(Box<WatchedBlock>),
    /// What is known of a watched program itself.
    Program(Box<WatchedProgram>),
    /// A thread ended a turn of its condition.
    Finished(TurnFinished),
    /// Something to know that belongs to no single condition.
    Caveat(Caveat),
    /// An interrupted run went on; what its unfinished turn had got is not kept.
    Resumed(Resumption),
    /// A recording begins that was merged into this one.
    Source(Box<SourceRecording>),
    /// A guest was booted, and measures.
    Boot(Box<Boot>),
    /// A guest ended.
    BootEnded(BootEnd),
    /// A thread waited for a CPU longer than allowed.
    Incident(Box<Incident>),
    /// How long all threads waited for a CPU, in one minute.
    Minute(Box<WaitMinute>),
    /// Somebody who watched it has marked a moment.
    Mark(Mark),
    /// Somebody asked for what all CPUs had just done.
    Snap(Box<Snapshot>),
    /// What all CPUs did for a while is in a file beside the recording.
    Timeline(Box<TimelineFile>),
    /// The last line: the run ended in order.
    End(RecordingEnd),
}

/// What was asked, where, with what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Header {
    /// [`FORMAT`] of the program that wrote it.
    pub format: u32,
    /// Of this recording and no other: 32 hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Version of the program that wrote it.
    pub howlate: String,
    /// `cyclic`, `sleep`, `notify`, `run`, `guest`, `watch`, `merge`, or `quick` for the quick look.
    pub command: Command,
    /// The command line, program name left out.
    pub arguments: Vec<String>,
    /// Date and time of the start, RFC 3339.
    pub started: String,
    /// The same moment on the clock that all other times are readings of.
    #[serde(rename = "at_ns")]
    pub at: MonotonicTime,
    /// That clock: `CLOCK_MONOTONIC`.
    pub clock: String,
    /// What the order of conditions was drawn with.
    pub seed: u64,
    /// Which machine it is.
    #[serde(default, skip_serializing_if = "Node::is_unknown")]
    pub node: Node,
    /// What machine it is.
    pub system: System,
    /// What on the machine bears on punctuality, as `howlate doctor` found it at the start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// Settings of the machine that were changed for the run, and were to be restored after it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<Setting>,
    /// Which wake-ups count as late in what is said of causes, where `--late-above` was typed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "late_above_ns")]
    pub late_above: Option<Span>,
    /// For `record`: that the limit is this percentile of all waits of the hour before, and `late_above_ns` the least that it may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_above_percentile: Option<f64>,
    /// What it was to go on until, where `--until` was typed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<StopRule>,
    /// How `tune` decides what is measured next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuning: Option<Tuning>,
    /// What measuring itself costs.
    pub instrument: Instrument,
    /// What is measured; blocks refer to these by index.
    pub conditions: Vec<Condition>,
}

impl Header {
    /// Of a recording of which nothing else is known.
    pub fn for_conditions(conditions: Vec<Condition>) -> Self {
        Self {
            format: FORMAT,
            id: None,
            howlate: String::new(),
            command: Command::default(),
            arguments: Vec::new(),
            started: String::new(),
            at: MonotonicTime::default(),
            clock: "CLOCK_MONOTONIC".to_owned(),
            seed: 0,
            node: Node::default(),
            system: System::default(),
            findings: Vec::new(),
            settings: Vec::new(),
            late_above: None,
            late_above_percentile: None,
            until: None,
            tuning: None,
            instrument: Instrument::default(),
            conditions,
        }
    }

    /// Above what waits are late, where that was said.
    pub fn late_rule(&self) -> Option<LateThreshold> {
        self.late_above.map(|least| LateThreshold::from_parts(self.late_above_percentile, least))
    }
}

/// What decisions while settings are tried follow from, together with the turns that were recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tuning {
    /// The number of a turn that is to become smaller: `p50`, `p99` or `max`.
    pub goal: String,
    /// The time that all turns together may take.
    #[serde(rename = "budget_ns")]
    pub budget: Span,
    /// Wake-ups of a turn, where it ends after so many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<u64>,
    /// How long a turn is, where it ends after a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "duration_ns")]
    pub duration: Option<Span>,
}

/// A run that went on after an interruption.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Resumed")]
pub struct Resumption {
    /// When. After a restart of the machine this clock began anew.
    #[serde(rename = "at_ns")]
    pub at: MonotonicTime,
    /// The same moment as date and time, RFC 3339.
    pub started: String,
}

/// A moment that somebody who watched has marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mark {
    /// When.
    #[serde(rename = "at_ns")]
    pub at: MonotonicTime,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "End")]
pub struct RecordingEnd {
    /// When the recording ended.
    #[serde(rename = "at_ns")]
    pub at: MonotonicTime,
    /// In order, interrupted, or by an error.
    pub how: EndReason,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "HowEnded")]
pub enum EndReason {
    /// It did all that was asked.
    Done,
    /// Ctrl-C or `SIGTERM`.
    Interrupted,
    /// `--stop-above` was exceeded.
    StoppedAbove,
    /// A setting of the machine that was to hold for one turn could not be put back.
    NotRestored,
    /// The program ended that was measured.
    ProgramEnded,
    /// The file of another program, which has the result, ends in the middle.
    CutOff,
}
