//! The domain types, with their units.
//!
//! All stages of howlate exchange these types. There is no input or output here. All times are integer nanoseconds
//! of a named clock; `howlate-render` formats them for people.

mod activation;
mod as_text;
mod block;
mod block_builder;
mod cause;
mod caveat;
mod combination;
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
mod knob;
mod late_threshold;
mod late_wait;
mod ledger;
mod limit;
mod line;
mod load;
mod long_reason;
mod margin;
mod marked_loop;
mod mechanism;
mod node;
mod notifier;
mod part;
mod policy;
mod policy_remedy;
mod property;
mod recording;
pub mod refused_option;
mod refused_settings;
mod request;
mod runtime;
mod schema;
mod self_check;
mod setting_refusal;
mod shell;
mod sleeper;
mod snippet;
mod stop_rule;
mod suggestion;
mod system;
mod task;
mod thread_settings;
mod time;
mod time_range;
mod timeline;
mod timer_loop;
mod traced;
mod tracer_refusal;
mod wait;
mod wait_clock;
mod wait_path;
mod waits;
mod wakeup;
mod watched;
mod watched_program;
mod write_failure;

pub use howlate_histogram::{Bucket, HdrError, HdrLayout, PackedBuckets, PackedIter};

pub use activation::Activation;
pub use as_text::AsText;
pub use as_text::OsError;
pub use block::{
    Block, EffectiveSettings, SERIES_KEPT, SeriesPoint, TurnFinished, TurnStarted, Usage, WORST_KEPT,
    WorstWakeup, block_length,
};
pub use block_builder::BlockBuilder;
pub use cause::{Cause, CauseKind, Segment, WakeupBreakdown};
pub use caveat::Caveat;
pub use combination::UntraceableReason;
pub use combination::{Combination, CombinationRefusal};
pub use command::Command;
pub use condition::{Condition, Work, WorkKind};
pub use cpu_gap::{CpuChange, CpuEvent, CpuGap, GapCause, GapKind, SpinCount};
pub use cpu_set::{CpuSet, CpuSetError};
pub use distribution::{Distribution, HIGHEST_TRACKED, MOST_COUNTED};
pub use engine::{
    Engine, EngineError, ProcessState, Sink, ThreadProgress, ThresholdAction, TurnControl, TurnEnd,
    TurnStart, WakeupHook, WakeupHookFactory,
};
pub use event_loop::{
    EventLoopBlock, Iteration, IterationTime, LONGEST_KEPT, LongIteration, LoopWait, STALL_SITES_KEPT,
    StallSite,
};
pub use exchange::{IrregularMessages, Peers, Placement, ReceiverCpu};
pub use finding::{Cost, Evidence, Finding, Remedy, Verdict};
pub use finding_id::FindingId;
pub use foreign::{Claim, ForeignTool, HistogramEnd, ImportNote, TimeUnit};
pub use guest::{Accelerator, Boot, BootEnd, HostCondition, HostThread, STOP_PORT, VcpuTime};
pub use hdr::read_hdr;
pub use incident::{
    IdleCpu, Incident, IncidentCause, IncidentKind, LateThread, RemovalReason, RemovedFiles, RequestCounts,
    WaitCounts, WaitMinute, WallClockState,
};
pub use injected_cause::{InjectedCause, MonotonicInterval};
pub use knob::{PermanentSetting, SettingScope};
pub use knob::{SettingWrite, SettingWriteKind, TunedKnobs};
pub use late_threshold::{LateThreshold, LateThresholdError};
pub use late_wait::{
    CpuTimeline, EventLoopStall, LateWait, LateWaitStats, MissingProbes, RunningThread, WaitGroup,
};
pub use ledger::{CauseBlock, CauseShare, ENTRIES_KEPT, LateCauses, Ledger, OTHERS, Pid, UndecomposedReason};
pub use limit::{Limit, LimitError, LimitScope, LimitStatistic};
pub use line::Reference;
pub use load::{
    Hackbench, Intensity, Load, LoadBlock, LoadError, LoadKind, LoadList, LoadPart, LoadReport, PartEffect,
    add_each,
};
pub use long_reason::{StallReason, StallTotal};
pub use margin::{Margin, MarginError};
pub use marked_loop::{IterationsBlock, LateIteration, LongestIteration, LoopIteration, SpanBlock, SpanTime};
pub use mechanism::Mechanism;
pub use node::{Node, SourceRecording};
pub use notifier::{Notifier, UnknownNotifier};
pub use part::Part;
pub use policy::{Nice, Policy, PolicyError, Priority};
pub use policy_remedy::PolicyRemedy;
pub use property::{HasProperties, Property, PropertyValue, UnknownProperty};
pub use recording::{
    CONDITIONS_MOST, EndReason, FORMAT, Header, Line, Mark, RecordingEnd, Resumption, Tuning,
};
pub use refused_settings::RefusedSettings;
pub use request::{OmittedAnswers, Request, RequestNumber, ServerSocket};
pub use runtime::{OwnProgram, Runtime};
pub use schema::{schema_as_read, schema_as_written};
pub use self_check::{
    CheckScore, CheckedClass, Detection, HITS_NEEDED, MISSES_KEPT, Miss, MissReason, SHARE_NEEDED, SelfCheck,
};
pub use setting_refusal::SettingRefusal;
pub use setting_refusal::TurnFailure;
pub use shell::{shell_path, shell_word};
pub use sleeper::{Sleeper, UnknownSleeper};
pub use snippet::{
    FIFO_CODE, FIFO_OF_THREAD, FIFO_OF_THREAD_CODE, Language, Snippet, Snippets, TIMER_SLACK_CODE,
};
pub use stop_rule::{StopRule, StopRuleError, unit_name};
pub use suggestion::nearest;
pub use system::{Cpu, IdleState, Instrument, Setting, System};
pub use task::{Task, Turn};
pub use thread_settings::ThreadSettings;
pub use time::{Latency, MonotonicTime, Span, SpanError};
pub use time_range::{TimeRange, TimeRangeError};
pub use timeline::{LateWakeup, TimelineFile};
pub use timeline::{SnapProgram, Snapshot};
pub use timer_loop::{Drift, IterationWait, TimerLoopBlock};
pub use traced::{
    CpuHolder, CpuLoss, DeferredTimers, Expiry, HolderKind, Occupant, SOFTIRQS, SleepSite, SleepState,
    TracedSleep, WakeSource, softirq_vector,
};
pub use traced::{LifeEvent, LifeEventKind};
pub use tracer_refusal::TracerGap;
pub use tracer_refusal::TracerRefusal;
pub use wait::{UnknownMechanism, Wait};
pub use wait_clock::{UnknownClock, WaitClock};
pub use wait_path::{PathStep, WaitedThread, path_steps, waited_threads};
pub use waits::{
    CompetingProcess, KernelStack, LostWaits, NOT_SAMPLED, OUT_OF_QUOTA, OngoingWait, ReasonWaits,
    ThreadWaits, Waits, WaitsReport,
};
pub use wakeup::{Wakeup, WakeupGrid};
pub use watched::{HandoffCount, NO_TRACER, RunQueueBlock, WAKERS_KEPT, WakerCount, WatchedBlock};
pub use watched_program::{GroupQuota, GroupWithoutRealtime, ProgramLanguage, ThreadShare, WatchedProgram};
pub use write_failure::WriteFailure;
