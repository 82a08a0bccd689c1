//! Why a stretch of a wake-up took its time.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Latency, MonotonicTime, Part, Priority, Span};

/// What kind of thing took the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Kind")]
pub enum CauseKind {
    /// The thread itself: it asked too late.
    LateArming,
    /// The thread itself: the work of the iteration before took longer than there was time. With a name: the work of the thread that
    /// wakes it.
    LongWork,
    /// It waited for a lock or another signal of a thread of its own program, by whose name: that ran meanwhile. Told by `futex(2)`.
    Lock,
    /// It was blocked in a system call of its own, whose name is the cause's `call`; `name` is who ended the wait, if a thread did.
    SystemCall,
    /// A thread of `SCHED_DEADLINE` that had used up its own runtime, and waited for its next period.
    DeadlineBudget,
    /// The kernel was allowed to join timers.
    TimerSlack,
    /// The CPU was idle and had to leave that state; in a virtual machine the hypervisor's part is in it.
    IdleExit,
    /// The thread was ready and its CPU ran idle: the scheduler, a program of BPF (sched_ext), did not let it run.
    Scheduler,
    /// The handler of another interrupt.
    Interrupt,
    /// A softirq of the kernel, by its name.
    Softirq,
    /// Another thread, by name and process.
    Thread,
    /// Other timers of the same interrupt.
    OtherTimers,
    /// The kernel's own way: interrupt entry, wake-up, switch, return.
    Kernel,
    /// A signal or a tracer had stopped the thread.
    Stopped,
    /// Its control group had used up its quota.
    Throttled,
    /// Real-time throttling, or the server that keeps time for normal threads.
    RtThrottled,
    /// Page faults of the thread itself.
    PageFault,
    /// It was moved to another CPU.
    Migration,
    /// The hypervisor ran something else.
    Hypervisor,
    /// All CPUs of the machine stood still together: its firmware had them, or whatever else is below the kernel.
    Machine,
    /// Whoever had the CPU beyond the first ten names of a wait, which are told apart.
    Others,
    /// One of several that the events cannot tell apart.
    Undetermined,
    /// No event says anything.
    Unexplained,
}

impl CauseKind {
    /// The name used in recordings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LateArming => "late_arming",
            Self::LongWork => "long_work",
            Self::Lock => "lock",
            Self::SystemCall => "system_call",
            Self::DeadlineBudget => "deadline_budget",
            Self::TimerSlack => "timer_slack",
            Self::IdleExit => "idle_exit",
            Self::Scheduler => "scheduler",
            Self::Interrupt => "interrupt",
            Self::Softirq => "softirq",
            Self::Thread => "thread",
            Self::OtherTimers => "other_timers",
            Self::Kernel => "kernel",
            Self::Stopped => "stopped",
            Self::Throttled => "throttled",
            Self::RtThrottled => "rt_throttled",
            Self::PageFault => "page_fault",
            Self::Migration => "migration",
            Self::Hypervisor => "hypervisor",
            Self::Machine => "machine",
            Self::Others => "others",
            Self::Undetermined => "undetermined",
            Self::Unexplained => "unexplained",
        }
    }

    /// Whether it identifies a culprit.
    pub const fn is_named(self) -> bool {
        !matches!(self, Self::Others | Self::Undetermined | Self::Unexplained)
    }
}

/// A part of wake-ups, and who took the time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// Where on the way.
    pub part: Part,
    /// What kind of thing.
    pub kind: CauseKind,
    /// The thread's comm, the interrupt's or softirq's name, the group's path; empty where there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Whether it is a thread of real-time priority; older recordings do not tell.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub real_time: bool,
    /// Whether it is a thread of the late thread's own program; only told of watched programs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own: bool,
    /// The thread's real-time priority, where it has one and that was read while it was watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// The system call that the thread slept in meanwhile, or the thread that it waited for, where that waited itself; empty where it did not
    /// sleep, or where that was not seen.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub call: String,
    /// The thread of its own program that it waited for meanwhile, where it was that one that was kept from going on: by `name`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub through: String,
    /// Threads between the two, where it did not wait for `through` itself: it waited for the first of them, each for the next, and the last
    /// for `through`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub via: Vec<String>,
}

impl Cause {
    /// A cause without details: no real-time thread, no own wait.
    pub const fn new(part: Part, kind: CauseKind, name: String) -> Self {
        Self {
            part,
            kind,
            name,
            real_time: false,
            own: false,
            priority: None,
            call: String::new(),
            through: String::new(),
            via: Vec::new(),
        }
    }
}

/// One part of one wake-up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Segment {
    /// Where on the way, and who.
    #[serde(flatten)]
    pub cause: Cause,
    /// The thread's id, where it is one thread's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// That of the thread that the cause's `through` names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through_pid: Option<u32>,
    /// When it began; of a merged one, where there is room for it.
    #[serde(rename = "from_ns")]
    pub from: MonotonicTime,
    /// How long it took; never zero.
    pub ns: Span,
    /// Whether only its length is known: several stretches of one name, whose order among other such parts is not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub merged: bool,
}

impl Segment {
    /// A segment with a known position.
    pub const fn new(cause: Cause, pid: Option<u32>, from: MonotonicTime, ns: Span) -> Self {
        Self { cause, pid, through_pid: None, from, ns, merged: false }
    }
}

/// A wake-up with all its parts: their sum is its latency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Explained")]
pub struct WakeupBreakdown {
    /// When the thread ran.
    #[serde(rename = "at_ns")]
    pub at: MonotonicTime,
    /// Lateness of the wake-up that is explained.
    #[serde(rename = "latency_ns")]
    pub latency: Latency,
    /// The CPU it ran on; absent where that was not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// From the time asked for to `at_ns`, without a gap.
    pub parts: Vec<Segment>,
}

impl WakeupBreakdown {
    /// Sums the parts by cause, in order of first appearance, with the number of parts. The pid is kept if all parts have the same.
    pub fn by_cause(&self) -> Vec<(Segment, usize)> {
        // A wait of a second on a busy machine has thousands of parts.
        let (mut all, mut places): (Vec<(Segment, usize)>, HashMap<&Cause, usize>) = Default::default();
        for part in &self.parts {
            match places.entry(&part.cause) {
                Entry::Occupied(place) => {
                    let (segment, times) = &mut all[*place.get()];
                    segment.ns = segment.ns.plus(part.ns);
                    segment.pid = segment.pid.filter(|pid| Some(*pid) == part.pid);
                    segment.merged |= part.merged;
                    *times += 1;
                }
                Entry::Vacant(place) => {
                    place.insert(all.len());
                    all.push((part.clone(), 1));
                }
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_of_one_cause_add_up_and_have_a_pid_where_it_is_one_threads() {
        let part = |name: &str, pid, from, ns| {
            let cause = Cause::new(Part::Waiting, CauseKind::Thread, name.to_owned());
            Segment::new(cause, Some(pid), MonotonicTime::from_nanos(from), Span::from_nanos(ns))
        };
        let parts = vec![part("a", 1, 0, 5), part("b", 2, 5, 7), part("a", 1, 12, 1), part("b", 3, 13, 2)];
        let (at, latency) = (MonotonicTime::from_nanos(15), Latency::from_nanos(15));
        let all = WakeupBreakdown { at, latency, cpu: None, parts }.by_cause();
        let sums: Vec<_> = all
            .iter()
            .map(|(segment, times)| (segment.cause.name.as_str(), segment.pid, segment.ns.as_nanos(), *times))
            .collect();
        assert_eq!(sums, [("a", Some(1), 6, 2), ("b", None, 9, 2)]);
    }
}
