//! Traced wake-ups and thread events, independent of the tracer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{MonotonicInterval, MonotonicTime, Policy, Span};

/// What can have a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Holder")]
pub enum HolderKind {
    /// Nobody: the idle thread.
    Idle,
    /// A thread; of who had a CPU, one without real-time priority.
    Thread,
    /// A thread without real-time priority that went on after a lazy request to leave the CPU: `TIF_NEED_RESCHED_LAZY`.
    LazyThread,
    /// A thread that had a CPU by real-time priority.
    RealTimeThread,
    /// An interrupt handler.
    Interrupt,
    /// A softirq.
    Softirq,
    /// A switch was not seen, so that nobody knows.
    NotSeen,
    /// A normal thread that the kernel ran ahead of real-time ones that were ready: they were throttled, or its fair server
    /// had come to the aid of those that starve. Told only of the waiting of real-time threads.
    Server,
    /// Those beyond the first ten, who are not told apart.
    Others,
    /// Whoever else: the quota of the thread's control group kept it from running. The name is the group's path.
    Quota,
    /// Whoever else: a thread of `SCHED_DEADLINE` had used up its own runtime.
    Budget,
}

/// Names of softirqs by their number: `enum` in the kernel's `include/linux/interrupt.h`, `kernel/softirq.c`.
pub const SOFTIRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];

/// Vector number of a softirq.
pub fn softirq_vector(name: &str) -> Option<u64> {
    (0..).zip(SOFTIRQS).find(|(_, softirq)| *softirq == name).map(|(number, _)| number)
}

/// Who had a CPU, or woke a thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Who")]
pub struct CpuHolder {
    /// What it is.
    pub holder: HolderKind,
    /// A thread's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// A thread's comm; the interrupt's or softirq's name.
    pub name: String,
}

/// Time for which `who` had the CPU that a thread waited for: one stretch of the wait, or the sum of all stretches of one name if
/// their times are unknown. Several threads of one name have no id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occupant {
    /// Who had the CPU.
    pub who: CpuHolder,
    /// Duration, or sum of durations.
    pub ns: Span,
    /// Start; `None` if only the sum is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<MonotonicTime>,
}

/// Why a thread slept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SleepState {
    /// It waited for something.
    Waiting,
    /// Stopped by a signal or a tracer; the sender if it was seen.
    Stopped(Option<CpuHolder>),
}

/// Where in the kernel a thread slept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SleepSite {
    /// The name of a system call.
    Call(String),
    /// A page fault.
    PageFault,
    /// Nowhere: the thread was started then.
    Start,
}

/// A timer that expired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expiry {
    /// The time it was set to.
    pub soft: MonotonicTime,
    /// Latest expiry: `soft` plus the timer slack.
    pub hard: MonotonicTime,
    /// Arrival of the interrupt that served it; `None` if it was served in a softirq or its thread.
    pub interrupt: Option<MonotonicTime>,
    /// Who had the CPU when the interrupt came.
    pub interrupted: CpuHolder,
    /// Since when the CPU was idle, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_since: Option<MonotonicTime>,
    /// When the timer device was rearmed after the previous interrupt, if that was later than `soft` (Linux 7.1 and later).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rearmed: Option<MonotonicTime>,
    /// When the first timer of the interrupt was served.
    pub first_served: MonotonicTime,
    /// When this timer was served.
    pub served: MonotonicTime,
    /// The time before, if the interrupt deferred it to a softirq and that was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deferred: Option<DeferredTimers>,
}

/// Timers deferred from the interrupt to a softirq; on `PREEMPT_RT` to the softirq's thread, which waits for the CPU like any other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeferredTimers {
    /// When the interrupt came.
    pub interrupt: MonotonicTime,
    /// Who had the CPU then.
    pub interrupted: CpuHolder,
    /// Who had the CPU from then, or from the timer's time if later, until the timer was served.
    pub occupants: Vec<Occupant>,
}

/// What woke a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WakeSource {
    /// Its own timer.
    Timer(Expiry),
    /// Another thread, an interrupt or a softirq.
    Other(CpuHolder),
    /// The tracer does not see wake-up sources.
    NotSeen {
        /// The thread's timer slack.
        slack: Span,
        /// Whether the time at which the thread became runnable is known; otherwise `waking` and `runnable` are the switch.
        runnable_known: bool,
    },
}

/// A stretch in which a thread that had been switched in lost its CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuLoss {
    /// When it lost the CPU.
    pub from: MonotonicTime,
    /// When it had one again.
    pub until: MonotonicTime,
    /// Who got the CPU.
    pub to: CpuHolder,
    /// Whether its control group was throttled.
    pub throttled: bool,
    /// Whether only the length of `from` to `until` is meaningful: several stretches, or at unknown times.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub merged: bool,
}

/// A thread's events from one sleep to the next.
///
/// All times are of `CLOCK_MONOTONIC`. Events that were not seen are `None`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedSleep {
    /// Thread id, `gettid(2)`.
    pub tid: u32,
    /// When it had gone to sleep.
    pub asleep_since: Option<MonotonicTime>,
    /// How it slept.
    pub asleep: SleepState,
    /// Where it slept; `None` if that was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slept_in: Option<SleepSite>,
    /// What woke it.
    pub woken_by: WakeSource,
    /// When the kernel began to wake it.
    pub waking: MonotonicTime,
    /// Start of its wait for the CPU: the end of the interrupt that woke it, or the wake-up.
    pub runnable: MonotonicTime,
    /// Who had the CPU from then until the switch, in order as far as known.
    pub occupants: Vec<Occupant>,
    /// The part of that wait that did not fit the list of occupants.
    pub unnamed: Span,
    /// When it was switched in; `None` if it had not been switched out when it was woken.
    pub switched_in: Option<MonotonicTime>,
    /// The CPU it ran on.
    pub cpu: u32,
    /// Whether it was moved to another CPU to be woken.
    pub migrated: bool,
    /// Whether its control group was throttled when it was woken.
    pub throttled: bool,
    /// Whether real-time throttling was on.
    pub rt_throttled: bool,
    /// Whether its `SCHED_DEADLINE` runtime was used up when it was woken.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub out_of_runtime: bool,
    /// Whether a scheduler of BPF (sched_ext) decided when it got a CPU.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bpf_scheduled: bool,
    /// When its idle CPU took the wake-up interrupt (IPI) from another CPU; `None` if the CPU was not idle, needed no interrupt, or
    /// that was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called: Option<MonotonicTime>,
    /// When the next timer in the same interrupt was served; from then until `runnable` other timers were served. `None` if there
    /// was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_timer: Option<MonotonicTime>,
    /// Lower bound of the steal time of its CPU since it went to sleep; `None` on bare metal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stolen: Option<Span>,
    /// Stretches in which no other CPU took an interrupt that was due: the machine stood still if this CPU was inactive too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others_stood_still: Vec<MonotonicInterval>,
    /// Stretches in which it lost the CPU again.
    pub lost: Vec<CpuLoss>,
    /// Further such stretches that are not listed.
    pub lost_more: u32,
    /// The first page fault after the switch.
    pub first_fault: Option<MonotonicTime>,
    /// When it went to sleep again.
    pub asleep_again: Option<MonotonicTime>,
}

impl TracedSleep {
    /// Whether it was stopped rather than waiting.
    pub const fn is_stopped(&self) -> bool {
        matches!(self.asleep, SleepState::Stopped(_))
    }

    /// The part that later sleeps refer to: when it slept and ran, and where it lost its CPU. Thousands of these are kept, so the
    /// wait for the CPU is left out.
    #[must_use]
    pub fn without_wait(&self) -> Self {
        let unseen = CpuHolder { holder: HolderKind::NotSeen, pid: None, name: String::new() };
        Self {
            asleep_since: self.asleep_since,
            asleep: self.asleep.clone(),
            slept_in: self.slept_in.clone(),
            switched_in: self.switched_in,
            cpu: self.cpu,
            lost: self.lost.clone(),
            lost_more: self.lost_more,
            asleep_again: self.asleep_again,
            ..Self::new(self.tid, self.waking, WakeSource::Other(unseen))
        }
    }

    /// A sleep that ended at `waking`, with nothing else seen yet.
    pub const fn new(tid: u32, waking: MonotonicTime, woken_by: WakeSource) -> Self {
        Self {
            tid,
            asleep_since: None,
            asleep: SleepState::Waiting,
            slept_in: None,
            woken_by,
            waking,
            runnable: waking,
            occupants: Vec::new(),
            unnamed: Span::ZERO,
            switched_in: None,
            cpu: 0,
            migrated: false,
            throttled: false,
            rt_throttled: false,
            out_of_runtime: false,
            bpf_scheduled: false,
            called: None,
            next_timer: None,
            stolen: None,
            others_stood_still: Vec::new(),
            lost: Vec::new(),
            lost_more: 0,
            first_fault: None,
            asleep_again: None,
        }
    }
}

/// What became of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LifeEventKind {
    /// It was begun by a thread that was watched, and has not run yet; it is called as that one.
    Born,
    /// It is called otherwise from now on.
    Named,
    /// It has ended.
    Ended,
}

/// A watched thread has begun, got another name, or ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LifeEvent {
    /// Thread id, `gettid(2)`.
    pub tid: u32,
    /// The process that it belongs to.
    pub process: u32,
    /// When it happened.
    pub at: MonotonicTime,
    /// Whether it began, was renamed, or ended.
    pub happened: LifeEventKind,
    /// What it is called since.
    pub name: String,
    /// The policy in force then; `None` where its number does not say all of it.
    pub policy: Option<Policy>,
    /// The timer slack in force then.
    pub slack: Span,
}
