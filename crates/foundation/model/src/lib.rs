//! The nouns of the field, with their units.
//!
//! Every stage of howlate speaks in these types and in nothing else. There is no
//! input or output here. All times are integer nanoseconds of a named clock;
//! conversion for people happens in `howlate-render`.

mod activation;
mod block;
mod block_builder;
mod cause;
mod caveat;
mod command;
mod condition;
mod cpu_gap;
mod cpu_set;
mod distribution;
mod engine;
mod event_loop;
mod exchange;
mod finding;
mod finding_id;
mod foreign;
mod guest;
mod hdr;
mod incident;
mod injected_cause;
mod instrument;
mod knob;
mod late_above;
mod late_wait;
mod ledger;
mod limit;
mod line;
mod load;
mod long_reason;
mod loop_turn;
mod margin;
mod mechanism;
mod node;
mod not_measured;
mod not_traced;
mod not_written;
mod notifier;
mod os_error;
mod part;
mod policy;
mod policy_remedy;
mod property;
mod recording;
mod refused;
pub mod refused_option;
mod runtime;
mod schema;
mod self_check;
mod setting;
mod setting_refusal;
mod shell;
mod sleeper;
mod snapped;
mod snippet;
mod suggestion;
mod system;
mod task;
mod thread_life;
mod thread_settings;
mod time;
mod time_range;
mod timeline;
mod timer_loop;
mod traced;
mod tracer_gap;
mod tracer_refusal;
mod tuned;
mod turn_failure;
mod until;
mod wait;
mod wait_clock;
mod waits;
mod wakeup;
mod watched;
mod watched_program;
mod worded;

pub use howlate_histogram::{Bucket, HdrError, HdrLayout, Packed, Places};

pub use activation::Activation;
pub use block::{
    Block, Finished, InForce, SERIES_KEPT, SeriesPoint, Started, Usage, WORST_KEPT, Worst, block_length,
};
pub use block_builder::BlockBuilder;
pub use cause::{Cause, CauseKind, Explained, Segment};
pub use caveat::Caveat;
pub use command::Command;
pub use condition::{Condition, Work, WorkKind};
pub use cpu_gap::{CpuChange, CpuEvent, CpuGap, GapCause, GapKind, SpinCount};
pub use cpu_set::{CpuSet, CpuSetError};
pub use distribution::{Distribution, HIGHEST_TRACKED, MOST_COUNTED};
pub use engine::{
    AfterEach, Bounds, Ended, Engine, EngineError, Noted, OnAbove, ProcessState, Progress, Sink, Start,
};
pub use event_loop::{
    EventLoopBlock, Iteration, LONG_IN_KEPT, LONG_KEPT, LongIn, LongIteration, LoopWait, Spent,
};
pub use exchange::{Between, Irregular, Placement, ReceiverCpu};
pub use finding::{Cost, Evidence, Finding, Remedy, Verdict};
pub use finding_id::FindingId;
pub use foreign::{Claim, Foreign, HistogramEnd, ImportNote, TimeUnit};
pub use guest::{Accelerator, Boot, BootEnded, HostThread, OnHost, STOP_PORT, VcpuTime};
pub use hdr::read_hdr;
pub use incident::{
    DayClock, Incident, IncidentCause, IncidentKind, LateThread, Removed, WaitCounts, WaitMinute, WhyRemoved,
};
pub use injected_cause::{InjectedCause, Stamp};
pub use instrument::Instrument;
pub use knob::{PermanentWay, Scope};
pub use late_above::{LateAbove, LateAboveError};
pub use late_wait::{CpuTimeline, LateRead, LateWait, LoopAway, Unseen, WaitGroup};
pub use ledger::{ENTRIES_KEPT, Late, Ledger, NotDecomposed, OTHERS, Pid, Share, WhyBlock};
pub use limit::{Limit, LimitError, Statistic};
pub use line::Reference;
pub use load::{
    Hackbench, Intensity, Load, LoadBlock, LoadError, LoadKind, LoadPart, LoadReport, Loads, PartEffect,
    add_each,
};
pub use long_reason::{LongReason, StallReason};
pub use loop_turn::{LateTurn, LoopTurn, SpanTime};
pub use margin::{Margin, MarginError};
pub use mechanism::Mechanism;
pub use node::{Node, Source};
pub use not_measured::{Combination, NotMeasured};
pub use not_traced::NotTraced;
pub use not_written::NotWritten;
pub use notifier::{Notifier, UnknownNotifier};
pub use os_error::OsError;
pub use part::Part;
pub use policy::{Nice, Policy, PolicyError, Priority};
pub use policy_remedy::PolicyRemedy;
pub use property::{HasProperties, Property, UnknownProperty, Value};
pub use recording::{CONDITIONS_MOST, End, FORMAT, Header, HowEnded, Line, Mark, Resumed, Tuning};
pub use refused::Refused;
pub use runtime::{OwnProgram, Runtime};
pub use schema::{schema_as_read, schema_as_written};
pub use self_check::{
    CheckedClass, Detection, HITS_NEEDED, MISSES_KEPT, Miss, MissReason, SHARE_NEEDED, Score, SelfCheck,
};
pub use setting::Setting;
pub use setting_refusal::SettingRefusal;
pub use shell::{shell_path, shell_word};
pub use sleeper::{Sleeper, UnknownSleeper};
pub use snapped::{SnapProgram, Snapped};
pub use snippet::{
    FIFO_CODE, FIFO_OF_THREAD, FIFO_OF_THREAD_CODE, Language, Snippet, Snippets, TIMER_SLACK_CODE,
};
pub use suggestion::nearest;
pub use system::{Cpu, IdleState, System};
pub use task::{Task, Turn};
pub use thread_life::{Happened, Life};
pub use thread_settings::ThreadSettings;
pub use time::{Latency, MonotonicTime, Span, SpanError};
pub use time_range::{Stretch, StretchError};
pub use timeline::{KeptTimeline, LateWakeup};
pub use timer_loop::{Drift, IterationWait, TimerLoopBlock};
pub use traced::{
    Asleep, Deferred, Expiry, Holder, Lost, Occupant, SOFTIRQS, SleptIn, TracedSleep, Who, WokenBy,
    softirq_vector,
};
pub use tracer_gap::TracerGap;
pub use tracer_refusal::TracerRefusal;
pub use tuned::{Tuned, Write, WriteKind};
pub use turn_failure::TurnFailure;
pub use until::{Until, UntilError, unit_name};
pub use wait::{UnknownMechanism, Wait};
pub use wait_clock::{UnknownClock, WaitClock};
pub use waits::{
    NOT_LOOKED_AT, OUT_OF_QUOTA, Ongoing, ReasonWaits, Rival, Stack, ThreadWaits, Waits, WaitsLost, WaitsRead,
};
pub use wakeup::{Grid, Wakeup};
pub use watched::{
    HandedOn, LongestTurn, NO_TRACER, RunQueueBlock, SpanBlock, TurnsBlock, WAKERS_KEPT, WatchedBlock, Woken,
};
pub use watched_program::{GroupQuota, GroupWithoutRealtime, ProgramLanguage, ThreadShare, WatchedProgram};
pub use worded::Worded;
