//! What a tracer saw of one wake-up, whichever tracer it was.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{MonotonicInterval, MonotonicTime, Span};

/// What can have a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Holder")]
pub enum HolderKind {
    /// Nobody: the idle thread.
    Idle,
    /// A thread; of who had a CPU, one without real-time priority.
    Thread,
    /// A thread that had a CPU by real-time priority.
    RealTimeThread,
    /// An interrupt handler.
    Interrupt,
    /// A softirq.
    Softirq,
    /// A switch was not seen, so that nobody knows.
    NotSeen,
    /// An ordinary thread that the kernel ran ahead of real-time ones that were ready: they were throttled, or its fair server
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

/// The number of a softirq of this name.
pub fn softirq_vector(name: &str) -> Option<u64> {
    (0..).zip(SOFTIRQS).find(|(_, known)| *known == name).map(|(number, _)| number)
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

/// How long somebody had the CPU that a thread waited for: one stretch of the wait, or all stretches of one name of which
/// nobody knows when they were. Threads of one name have no id together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occupant {
    /// Who had the CPU.
    pub who: CpuHolder,
    /// For how long, added up.
    pub ns: Span,
    /// Since when; `None`: stretches that are only known together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<MonotonicTime>,
}

/// What a thread slept on, or was kept from running by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SleepState {
    /// A wait of its own.
    Waiting,
    /// Stopped by a signal or a tracer; by whom, where that was seen.
    Stopped(Option<CpuHolder>),
}

/// Where in the kernel a thread slept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SleepSite {
    /// A system call, by its name.
    Call(String),
    /// No call of its own: a page fault.
    PageFault,
}

/// A timer that expired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expiry {
    /// The time asked for.
    pub soft: MonotonicTime,
    /// The time it had to expire by: `soft` and the slack.
    pub hard: MonotonicTime,
    /// When the interrupt came that served it; `None`: it was served in a softirq or its thread.
    pub interrupt: Option<MonotonicTime>,
    /// Who had the CPU when the interrupt came.
    pub interrupted: CpuHolder,
    /// If nobody had, since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_since: Option<MonotonicTime>,
    /// Where the device that interrupts is armed anew only after the interrupt before (Linux 7.1 and later): when that was, if it
    /// was past the time asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rearmed: Option<MonotonicTime>,
    /// When the first timer of the interrupt was served.
    pub first_served: MonotonicTime,
    /// When this one was.
    pub served: MonotonicTime,
    /// What became of it until then, where an interrupt left it to a softirq and that was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deferred: Option<DeferredTimers>,
}

/// Timers that their interrupt left to a softirq; on `PREEMPT_RT` to that one's thread, which waits for the CPU like any other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeferredTimers {
    /// When the interrupt came.
    pub interrupt: MonotonicTime,
    /// Who had the CPU then.
    pub interrupted: CpuHolder,
    /// Who had it from then, or from the timer's own time if that was later, until the timer was served.
    pub occupants: Vec<Occupant>,
}

/// What woke a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WakeSource {
    /// The timer that it slept on.
    Timer(Expiry),
    /// Another thread, an interrupt or a softirq.
    Other(CpuHolder),
    /// The tracer does not see what wakes.
    NotSeen {
        /// The slack that the thread's timer may have.
        slack: Span,
        /// Whether it is known when the thread could run; otherwise `waking` and `runnable` are the switch.
        runnable_known: bool,
    },
}

/// A stretch in which a thread that had been switched in was off its CPU again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuLoss {
    /// When it lost the CPU.
    pub from: MonotonicTime,
    /// When it had one again.
    pub until: MonotonicTime,
    /// Who got the CPU.
    pub to: CpuHolder,
    /// Whether its control group had no time left.
    pub throttled: bool,
    /// Whether `from` and `until` only say how long: it was in several stretches, or nobody knows when.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub merged: bool,
}

/// What was seen of a thread from one sleep to the next.
///
/// All times are of `CLOCK_MONOTONIC`. What was not seen is absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedSleep {
    /// Thread id, `gettid(2)`.
    pub tid: u32,
    /// When it had gone to sleep.
    pub asleep_since: Option<MonotonicTime>,
    /// How it slept.
    pub asleep: SleepState,
    /// Where; `None`: nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slept_in: Option<SleepSite>,
    /// What woke it.
    pub woken_by: WakeSource,
    /// When the kernel began to wake it.
    pub waking: MonotonicTime,
    /// From when on it waited for its CPU: the end of the interrupt that woke it, or the wake-up.
    pub runnable: MonotonicTime,
    /// Who had the CPU from then until the switch: in order, as far as that is known.
    pub occupants: Vec<Occupant>,
    /// The part of that wait for which the record of occupants was too short.
    pub unnamed: Span,
    /// When it was switched in; `None`: it had not been switched out yet when it was woken.
    pub switched_in: Option<MonotonicTime>,
    /// The CPU it ran on.
    pub cpu: u32,
    /// Whether it was moved to another CPU to be woken.
    pub migrated: bool,
    /// Whether its control group had no time left when it was woken.
    pub throttled: bool,
    /// Whether real-time throttling was on.
    pub rt_throttled: bool,
    /// When its CPU, which was idle, took the interrupt by which another one told it; `None`: it was not idle, needed none, or
    /// nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called: Option<MonotonicTime>,
    /// When the first timer after the one that woke it was served in the same interrupt; from then until `runnable` others
    /// were served. `None`: none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_timer: Option<MonotonicTime>,
    /// In a virtual machine: what the hypervisor is known to have taken from its CPU since it had gone to sleep; it may have
    /// been more. `None`: there is no hypervisor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stolen: Option<Span>,
    /// Stretches in which no other CPU of the machine took an interrupt that was due there: it stood still, if nothing happened
    /// on this one either.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others_stood_still: Vec<MonotonicInterval>,
    /// Stretches in which it lost the CPU again.
    pub lost: Vec<CpuLoss>,
    /// How many more of those there were than are listed.
    pub lost_more: u32,
    /// The first page fault after the switch.
    pub first_fault: Option<MonotonicTime>,
    /// When it went to sleep again.
    pub asleep_again: Option<MonotonicTime>,
}

impl TracedSleep {
    /// Whether it was stopped, and did not wait for anything of its own.
    pub const fn is_stopped(&self) -> bool {
        matches!(self.asleep, SleepState::Stopped(_))
    }

    /// What of it tells on the next ones: when it slept and ran, and where it lost its CPU. Thousands of threads are remembered by it:
    /// who kept it waiting is left out.
    #[must_use]
    pub fn without_wait(&self) -> Self {
        let nobody = CpuHolder { holder: HolderKind::NotSeen, pid: None, name: String::new() };
        Self {
            asleep_since: self.asleep_since,
            asleep: self.asleep.clone(),
            slept_in: self.slept_in.clone(),
            switched_in: self.switched_in,
            cpu: self.cpu,
            lost: self.lost.clone(),
            lost_more: self.lost_more,
            asleep_again: self.asleep_again,
            ..Self::woken(self.tid, self.waking, WakeSource::Other(nobody))
        }
    }

    /// One that was woken `waking` from a wait of its own; nothing else was seen yet.
    pub const fn woken(tid: u32, waking: MonotonicTime, woken_by: WakeSource) -> Self {
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
