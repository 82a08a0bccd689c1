//! What a reader must know to judge a result. Values, not words: `howlate-render` words them. What others have said, such as
//! QEMU, a load or the reader of a file, is kept as they said it.

mod spoils;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    AsText, Combination, CombinationRefusal, CpuSet, ImportNote, Nice, Policy, PolicyRemedy, SettingRefusal,
    Span, TracerGap, TracerRefusal, TurnFailure, UntraceableReason, WaitClock, WriteFailure,
};

/// Something that was refused, changed, lost or is uncertain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "caveat", rename_all = "snake_case")]
pub enum Caveat {
    /// The kernel did not give the policy asked for.
    PolicyRefused {
        /// What was asked for.
        #[serde(with = "crate::policy::text")]
        #[schemars(with = "String")]
        asked: Policy,
        /// What is in force instead.
        #[serde(with = "crate::policy::text")]
        #[schemars(with = "String")]
        in_force: Policy,
        /// The kernel's words.
        reason: AsText<SettingRefusal>,
        /// What to do about it, in words: only in recordings of before it was data.
        #[serde(default, rename = "remedy", skip_serializing_if = "String::is_empty")]
        worded_remedy: String,
        /// What would help.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        would_help: Option<PolicyRemedy>,
    },
    /// `other` is not what a normal program gets: howlate was started with another nice value.
    NiceInherited {
        /// The nice value in force.
        nice: Nice,
    },
    /// A normal policy without timer slack: howlate was started with a real-time one.
    SlackInherited {
        /// The policy asked for.
        #[serde(with = "crate::policy::text")]
        #[schemars(with = "String")]
        asked: Policy,
    },
    /// A measured program has threads that its policy was not given to.
    ThreadsApart {
        /// Threads that run under another policy.
        threads: u32,
    },
    /// The timer slack in force is not the one asked for.
    SlackDiffers {
        /// What was asked for.
        asked_ns: Span,
        /// What `PR_GET_TIMERSLACK` says.
        in_force_ns: Span,
    },
    /// The thread has no slice of its own, though one was asked for.
    SliceRefused {
        /// What was asked for.
        asked_ns: Span,
        /// The kernel's reason.
        reason: AsText<SettingRefusal>,
    },
    /// The thread may run elsewhere than asked.
    AffinityDiffers {
        /// Where it was to run.
        asked: CpuSet,
        /// Where it may run.
        in_force: CpuSet,
        /// Why it was refused.
        reason: AsText<SettingRefusal>,
    },
    /// Somebody else gave a measuring thread another policy, priority or nice value while it measured.
    PolicyChanged {
        /// What was in force when it began.
        began: Policy,
        /// What was in force at the end of a turn.
        ended: Policy,
    },
    /// Somebody else gave a measuring thread another timer slack while it measured.
    SlackChanged {
        /// What was in force when it began.
        began_ns: Span,
        /// What was in force at the end of a turn.
        ended_ns: Span,
    },
    /// Somebody else gave a measuring thread another slice of the fair scheduler while it measured.
    SliceChanged {
        /// What was in force when it began.
        began_ns: Span,
        /// What was in force at the end of a turn.
        ended_ns: Span,
    },
    /// Somebody else moved a measuring thread to another control group while it measured.
    GroupChanged {
        /// `/proc/PID/cgroup` when it began.
        began: String,
        /// The same at the end of a turn.
        ended: String,
    },
    /// The clock that a thread waits on was set, or jumped for another reason, while it measured.
    ClockStepped {
        /// The clock that was stepped.
        clock: WaitClock,
        /// By how far it went ahead of the monotonic one; behind, where it is negative.
        by_ns: i64,
    },
    /// `RLIMIT_RTTIME`: the kernel ends this process when a real-time thread of it runs for longer without sleeping.
    RealtimeTime {
        /// The limit that was found.
        found_ns: Span,
        /// The limit during this run, as far as it could be raised; absent: none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        now_ns: Option<Span>,
    },
    /// The memory could not be locked, so that page faults may delay wake-ups.
    MemoryNotLocked {
        /// The kernel's words.
        reason: AsText<SettingRefusal>,
    },
    /// `/dev/cpu_dma_latency` could not be held at the value asked for.
    DmaLatencyRefused {
        /// Microseconds asked for.
        asked_us: i32,
        /// The kernel's words.
        reason: AsText<SettingRefusal>,
    },
    /// There was no CPU left for the observer; it may have delayed the measured threads.
    ObserverShares {
        /// The measured CPUs.
        measured: CpuSet,
    },
    /// More threads than CPUs: they delay one another.
    ThreadsShareCpus {
        /// How many threads.
        threads: u32,
        /// How many CPUs they may run on.
        cpus: u32,
    },
    /// `ext` was asked for where no scheduler of BPF (sched_ext) is loaded: the kernel's own runs such threads like any other.
    NoBpfScheduler,
    /// A watched program started more processes than can be followed.
    ProcessesNotFollowed {
        /// How many were there and left out, at most.
        count: u64,
    },
    /// Threads came while a program was watched by a tracer that does not see them come: they were found by looking now and
    /// then, and what came and went in between was not.
    ThreadsFoundLate {
        /// How many were found.
        count: u64,
        /// How often it was looked.
        every_ns: Span,
    },
    /// The kernel's account of a thread's waiting grew by more than the thread can have waited, as it counts some sleep since
    /// Linux 6.12: what is told of the wait is the most that it can have been.
    WaitsBounded {
        /// How often.
        count: u64,
    },
    /// Requests to servers were to be measured, and none was answered.
    NoRequests,
    /// A watched program had more threads than are told apart: the others of a kind of name are counted together.
    ThreadsJoined {
        /// How many are not told apart.
        count: u64,
    },
    /// A watched program marked more loops than there were rings for.
    LoopsNotMeasured {
        /// How many were left out.
        count: u64,
    },
    /// Spans within iterations of marked loops did not fit the memory, or cannot have been.
    SpansLost {
        /// How many.
        count: u64,
    },
    /// A marked loop has more names of spans than are told apart.
    SpansNotMeasured {
        /// The loop's name.
        name: String,
        /// The first name that was left out.
        first: String,
        /// How many names are told apart.
        kept: u64,
    },
    /// One thread per CPU was asked for, and the mask that the process inherited holds fewer CPUs than
    /// threads could be bound to.
    CpusNotMeasured {
        /// The inherited mask, which was followed.
        followed: CpuSet,
        /// CPUs that could have been measured besides.
        others: CpuSet,
        /// Those of them that are isolated.
        isolated: CpuSet,
    },
    /// A combination that was asked for cannot be measured here.
    LeftOut {
        /// The combination, in words.
        condition: AsText<Combination>,
        /// Why it was left out.
        reason: AsText<CombinationRefusal>,
    },
    /// A setting of the machine that was asked for is not in force.
    SettingLeftOut {
        /// The setting, as written in the plan.
        setting: String,
        /// The value asked for.
        asked: String,
        /// Why it was refused.
        reason: AsText<SettingRefusal>,
    },
    /// A control that tells causes apart was not tried, because its setting cannot be had.
    ControlNotTried {
        /// Path of the setting's file.
        setting: String,
        /// Why it was refused.
        reason: AsText<SettingRefusal>,
    },
    /// A setting of the machine could not be put back.
    SettingNotRestored {
        /// Path of the setting's file.
        path: String,
        /// What it held before.
        before: String,
        /// Why it was refused.
        reason: AsText<SettingRefusal>,
    },
    /// Somebody else changed a setting of the machine that the run had set.
    SettingChanged {
        /// Path of the setting's file.
        path: String,
        /// What the run had set, and read back.
        set: String,
        /// What it held at the end.
        found: String,
    },
    /// A howlate that was killed had left a setting of the machine changed; it was put back before this run.
    SettingLeftBehind {
        /// Path of the setting's file.
        path: String,
        /// What it held.
        left: String,
        /// What it was put back to.
        restored: String,
    },
    /// A control group that was made for the run could not be removed afterwards.
    GroupNotRemoved {
        /// Folder of the control group.
        path: String,
        /// The kernel's reason.
        reason: AsText<SettingRefusal>,
    },
    /// A howlate that was killed had left a control group; it was removed before this run.
    GroupLeftBehind {
        /// Folder of the control group.
        path: String,
    },
    /// The process that puts settings of the machine back was killed during the run, which then did so itself.
    GuardianGone,
    /// Wake-ups were measured but not kept.
    SamplesLost {
        /// Wake-ups that were not kept.
        count: u64,
    },
    /// Threads slept and ran again, and no event told of what woke them.
    WakeupsNotSeen {
        /// Wake-ups that are not in the numbers.
        count: u64,
    },
    /// Notifications did not arrive once and in order; they are not in the latencies.
    MessagesIrregular {
        /// Sent and never received, or merged with another.
        lost: u64,
        /// Received again, or never sent.
        duplicated: u64,
        /// Received after a later one.
        reordered: u64,
    },
    /// Wake-ups came before the time asked for.
    EarlyWakeups {
        /// Wake-ups before their time.
        count: u64,
    },
    /// A condition was cut before it had done what was asked.
    Unfinished {
        /// How many wake-ups it got to.
        got: u64,
        /// Why the turn failed.
        reason: AsText<TurnFailure>,
    },
    /// The measured threads met page faults while they measured.
    PageFaults {
        /// Without disk access.
        minor: u64,
        /// With disk access.
        major: u64,
    },
    /// The machine was busy before anything was started, so that "idle" is not idle.
    MachineBusy {
        /// Its load average over the last minute, in hundredths.
        load_average_percent: u64,
        /// The CPUs of the machine.
        cpus: u32,
    },
    /// A load does not run as a normal program would.
    LoadNice {
        /// The load, as typed.
        load: String,
        /// The nice value that it has, as howlate was started with.
        nice: Nice,
    },
    /// A load ended by itself while conditions were measured under it.
    LoadEnded {
        /// The load, as typed.
        load: String,
        /// What it said last, or how it ended.
        words: String,
    },
    /// A tracer that cannot be had; the next one, or none, is used.
    TracerRefused {
        /// `bpf`, `tracefs` or `switches`.
        tracer: String,
        /// Why, and what to type.
        reason: AsText<TracerRefusal>,
    },
    /// What all CPUs did was to be kept around late wake-ups, and cannot be seen.
    TimelinesRefused {
        /// Why, and what to type.
        reason: AsText<TracerRefusal>,
    },
    /// It was to be kept, and there is no recording in a folder to keep it beside.
    TimelinesWithoutFile,
    /// Timelines of late wake-ups that were to be kept and are not.
    TimelinesMissing {
        /// It was asked for too late: so long ago was remembered no more.
        too_late: u64,
        /// The file could not be written, or there were too many that somebody had asked for.
        not_written: u64,
    },
    /// Commands of `--on-late` that were not run, as an earlier one still ran.
    CommandsLeftOut {
        /// How many.
        count: u64,
    },
    /// The tracer that is used does not see what this kernel has no event for.
    TracerGoesWithout {
        /// `bpf` or `tracefs`.
        tracer: String,
        /// The event, without its group: `softirq_entry`.
        event: String,
        /// What is not seen, and what that costs.
        costs: AsText<TracerGap>,
    },
    /// Turns that no tracer can follow were taken without one.
    NotTraced {
        /// The way to sleep or to notify.
        mechanism: String,
        /// Why nothing was traced.
        reason: AsText<UntraceableReason>,
    },
    /// A load did nothing while the condition was measured.
    LoadIneffective {
        /// The load, as typed.
        load: String,
    },
    /// Part of the recording could not be written.
    RecordingIncomplete {
        /// Lines that are missing.
        lines_lost: u64,
        /// The kernel's words.
        reason: AsText<WriteFailure>,
    },
    /// The file of single wake-ups lacks some: a turn keeps so many one by one, and no more.
    SamplesIncomplete {
        /// Path of the file of wake-ups.
        path: String,
        /// How many are missing.
        missing: u64,
    },
    /// The file of single wake-ups could not be completed.
    SamplesUnreadable {
        /// Path of the file of wake-ups.
        path: String,
        /// The kernel's words.
        reason: String,
    },
    /// The last line of a recording is cut off, as after a crash; the rest was read.
    RecordingCutOff {
        /// Path of the recording.
        path: String,
    },
    /// The recording does not say that the run ended; it was killed or is still going.
    NoEnd {
        /// Path of the recording.
        path: String,
    },
    /// Another recording begins in the middle of this one; it was not read.
    RecordingsJoined {
        /// Path of the recording.
        path: String,
        /// The line on which the other one begins, from 1.
        line: u64,
    },
    /// Lines are about conditions that the recording does not list, and were left out.
    UnknownConditions {
        /// Path of the recording.
        path: String,
        /// How many lines.
        lines: u64,
    },
    /// Of several recordings one cannot be read, or is damaged, and is not in the numbers.
    SourceLeftOut {
        /// Path of the recording.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Of several recordings one was given before, and counts once.
    SourceTwice {
        /// Path of the recording that was named twice.
        path: String,
    },
    /// A receiver had not gone to sleep again when it was notified.
    FoundAwake {
        /// Notifications that found the receiver awake.
        messages: u64,
        /// Of how many.
        of: u64,
    },
    /// The control group used up its CPU quota while it was measured, and stood still.
    Throttled {
        /// The group, as seen from inside.
        group: String,
        /// Periods in which it stood still.
        stopped: u64,
        /// Periods that passed.
        periods: u64,
        /// How long it stood still, all CPUs together.
        stopped_ns: Span,
    },
    /// The CPU quota of a watched program's control group was used up meanwhile.
    QuotaUsedUp {
        /// The process that is watched.
        process: u32,
        /// The group.
        group: String,
        /// Periods in which it was used up.
        stopped: u64,
        /// Periods that passed.
        periods: u64,
        /// How long its threads were stopped, all CPUs together.
        stopped_ns: Span,
    },
    /// A control group was frozen meanwhile: all threads in it stood still.
    GroupFrozen {
        /// The process that is watched; absent where the group is howlate's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        process: Option<u32>,
        /// The group.
        group: String,
        /// For how long.
        frozen_ns: Span,
    },
    /// A CPU of the same core was busy while an idle machine was to be measured.
    SiblingBusy {
        /// The measured CPU.
        cpu: u32,
        /// The other one.
        sibling: u32,
        /// How much of the time, in percent.
        percent: u64,
    },
    /// Another program measured this; what its file does not say stands at its default.
    Imported {
        /// The program, as its file names it.
        program: String,
        /// What is not said.
        unsaid: Vec<String>,
        /// What else there is to know.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<ImportNote>,
    },
    /// The guest's CPU is software: its times are not those of a machine.
    EmulatedCpu,
    /// One thread of the host emulates all CPUs of the guest in turn: this QEMU can stand still where several do
    /// and the guest traces.
    OneTcgThread {
        /// Version that QEMU printed.
        qemu: String,
    },
    /// A guest's kernel faulted while it booted, on an emulator that may make it fault, and was booted again.
    GuestRestarted {
        /// The kernel's first line about it; empty where it ended without a word.
        fault: String,
        /// Version that QEMU printed.
        qemu: String,
    },
    /// `/dev/kvm` is there, but guests do not run on it; their CPUs were emulated.
    KvmFailed {
        /// What went wrong, as the system words it.
        reason: String,
    },
    /// The threads waited on `CLOCK_REALTIME`; their times are shifted to `CLOCK_MONOTONIC`.
    RealtimeClock,
    /// A sentence of a recording made before every caveat was data. Read, never written.
    #[serde(rename = "note")]
    OldNote {
        /// The whole sentence, as the recording had it.
        text: String,
    },
}

impl Caveat {
    /// The caveat for a policy that was refused.
    pub const fn policy_refused(
        asked: Policy,
        in_force: Policy,
        reason: AsText<SettingRefusal>,
        would_help: Option<PolicyRemedy>,
    ) -> Self {
        Self::PolicyRefused { asked, in_force, reason, worded_remedy: String::new(), would_help }
    }

    /// Of a setting that is not in force: which one and why, as what is to have it fails by.
    pub fn setting_left_out(&self) -> Option<TurnFailure> {
        match self {
            Self::SettingLeftOut { setting, reason, .. } => {
                Some(TurnFailure::Setting { setting: setting.clone(), reason: reason.clone() })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Caveat {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn sentences_of_old_recordings_stay_readable() {
        let note = r#"{"caveat":"note","text":"The machine was busy."}"#;
        assert_eq!(read(note), Caveat::OldNote { text: "The machine was busy.".into() });
        let refused = r#"{"caveat":"policy_refused","asked":"fifo:80","in_force":"other","reason":"no","remedy":"Run as root."}"#;
        assert!(
            matches!(read(refused), Caveat::PolicyRefused { worded_remedy, .. } if worded_remedy == "Run as root.")
        );
        assert_eq!(serde_json::to_string(&read(refused)).unwrap(), refused);
    }

    #[test]
    fn a_refused_policy_is_written_as_data() {
        let [asked, in_force] = ["fifo:80", "other"].map(|text| text.parse().unwrap());
        let priority = crate::Priority::USUAL;
        let help = Some(PolicyRemedy::RealtimeLimit { priority });
        let refused = Caveat::policy_refused(asked, in_force, SettingRefusal::ReportsAnother.into(), help);
        let json = serde_json::to_string(&refused).unwrap();
        assert_eq!(
            json,
            r#"{"caveat":"policy_refused","asked":"fifo:80","in_force":"other","reason":"the kernel accepted it but reports another","would_help":{"kind":"realtime_limit","priority":80}}"#
        );
        assert_eq!(read(&json), refused);
        assert!(refused.spoils() && !Caveat::EmulatedCpu.spoils());
    }
}
