//! `/proc/PID/stat`: a process in one line of numbers.

use std::fmt::Display;

use howlate_model::{Nice, Policy, Priority, Span};

use crate::{Root, ticks};

/// A thread that belongs to the kernel: `PF_KTHREAD` of its `sched.h`.
const KERNEL_THREAD: u64 = 0x0020_0000;
/// A thread that is on its way out: `PF_EXITING` of the same.
const EXITING: u64 = 0x0000_0004;

/// A thread whose CPUs nobody may change: `PF_NO_SETAFFINITY` of the same.
const BOUND: u64 = 0x0400_0000;

/// Places of fields after the name, which is the second. Source: `proc_pid_stat(5)`, fields 3, 9, 16 and 17.
const STATE: usize = 0;
const FLAGS: usize = 6;
const OF_ENDED_CHILDREN: [usize; 2] = [13, 14];
/// Field 22.
const BEGUN: usize = 19;
/// Field 39.
const CPU: usize = 36;
/// Fields 19, 40 and 41.
const NICE: usize = 16;
const RT_PRIORITY: usize = 37;
const POLICY: usize = 38;

/// What follows the name, which stands in brackets and may hold any.
#[derive(Clone, Debug)]
pub struct ProcessStat {
    fields: String,
}

impl ProcessStat {
    /// Reads that of a process or thread; `None` when it is gone.
    pub fn read(root: &Root, process: impl Display) -> Option<Self> {
        let text = root.read(&format!("/proc/{process}/stat")).ok()?;
        text.rsplit(')').next().map(|fields| Self { fields: fields.to_owned() })
    }

    fn field(&self, place: usize) -> Option<&str> {
        self.fields.split_whitespace().nth(place)
    }

    fn number(&self, place: usize) -> Option<u64> {
        self.field(place)?.parse().ok()
    }

    /// Whether it has ended, and only its parent has not asked how; so has one that says nothing.
    pub fn has_ended(&self) -> bool {
        self.field(STATE).is_none_or(|state| state.starts_with(['Z', 'X']))
    }

    /// Whether it has ended, or is about to: what it had, it may have given back already.
    pub fn is_ending(&self) -> bool {
        self.has_ended() || self.number(FLAGS).is_some_and(|flags| flags & EXITING != 0)
    }

    /// Whether it is one of the kernel's threads that may be moved to other CPUs.
    pub fn is_movable_kernel_thread(&self) -> bool {
        self.number(FLAGS).is_some_and(|flags| flags & (KERNEL_THREAD | BOUND) == KERNEL_THREAD)
    }

    /// When it began, in ticks since the machine started. Its id may be another's by now: this tells.
    pub fn begun(&self) -> Option<u64> {
        self.number(BEGUN)
    }

    /// Whether it sleeps, or waits for a disk.
    pub fn is_asleep(&self) -> bool {
        self.field(STATE).is_some_and(|state| state.starts_with(['S', 'D']))
    }

    /// Whether a signal or a tracer has stopped it.
    pub fn is_stopped(&self) -> bool {
        self.field(STATE).is_some_and(|state| state.starts_with(['T', 't']))
    }

    /// Whether it belongs to the kernel.
    pub fn is_of_the_kernel(&self) -> bool {
        self.number(FLAGS).is_some_and(|flags| flags & KERNEL_THREAD != 0)
    }

    /// How it is scheduled, as far as that is a policy with a priority or a nice value.
    ///
    /// Source: `SCHED_*` of `include/uapi/linux/sched.h`.
    pub fn policy(&self) -> Option<Policy> {
        let priority = || Priority::new(self.field(RT_PRIORITY)?.parse().ok()?);
        Some(match self.number(POLICY)? {
            0 => Policy::Other { nice: Some(Nice::new(self.field(NICE)?.parse().ok()?)?) },
            1 => Policy::Fifo { priority: priority()? },
            2 => Policy::Rr { priority: priority()? },
            3 => Policy::Batch,
            5 => Policy::Idle,
            _ => return None,
        })
    }

    /// The CPU that it has, or had last.
    pub fn cpu(&self) -> Option<u32> {
        self.field(CPU)?.parse().ok()
    }

    /// CPU time of its children that have ended, to a tick: `cutime` and `cstime`.
    pub fn of_ended_children(&self) -> Span {
        ticks(OF_ENDED_CHILDREN.iter().filter_map(|place| self.number(*place)).fold(0, u64::saturating_add))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tree;

    #[test]
    fn a_name_may_hold_brackets() {
        let line = "7 (a) b) S 1 7 7 0 -1 4 0 0 0 0 10 20 3 4 20 0 1";
        let kernel = "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1";
        let (_folder, root) = tree(&[
            ("/proc/7/stat", line),
            ("/proc/2/stat", kernel),
            ("/proc/9/stat", "9 (S 1) Z 1 9"),
            ("/proc/10/stat", ""),
            ("/proc/11/stat", "11 (T) T 1 11"),
        ]);
        let stat = |pid: u32| ProcessStat::read(&root, pid).unwrap();
        assert_eq!((stat(7).of_ended_children(), stat(7).has_ended()), (ticks(7), false));
        assert_eq!((stat(7).is_of_the_kernel(), stat(2).is_of_the_kernel()), (false, true));
        assert!(stat(9).has_ended() && stat(10).has_ended());
        // 4 is `PF_EXITING`.
        assert!(stat(7).is_ending() && stat(9).is_ending() && !stat(2).is_ending());
        assert!(stat(11).is_stopped() && !stat(7).is_stopped() && !stat(10).is_stopped());
        assert_eq!(stat(9).of_ended_children(), Span::ZERO);
        assert!(ProcessStat::read(&root, 8).is_none());
    }

    #[test]
    fn the_cpu_is_the_field_after_the_exit_signal() {
        // Fields 3 to 40 of proc_pid_stat(5), each its own number.
        let fields = (3..=40).map(|field| field.to_string()).collect::<Vec<_>>().join(" ");
        assert_eq!(ProcessStat { fields }.cpu(), Some(39));
        assert_eq!(ProcessStat { fields: String::new() }.cpu(), None);
    }

    #[test]
    fn a_policy_has_its_priority_or_nice_value() {
        let stat = |nice: i32, priority: u32, policy: u32| {
            let before = "S 1 7 7 0 -1 4 0 0 0 0 10 20 3 4 20";
            let between = "0 ".repeat(20);
            ProcessStat { fields: format!(" {before} {nice} {between}{priority} {policy} 0 0 0") }.policy()
        };
        let told = |nice, priority, policy| stat(nice, priority, policy).map(|policy| policy.to_string());
        assert_eq!(told(0, 0, 0).as_deref(), Some("other"));
        assert_eq!(told(-5, 0, 0).as_deref(), Some("nice:-5"));
        assert_eq!(told(0, 50, 1).as_deref(), Some("fifo:50"));
        assert_eq!((told(0, 7, 2).as_deref(), told(19, 0, 5).as_deref()), (Some("rr:7"), Some("idle")));
        assert_eq!((stat(0, 0, 6), stat(0, 0, 1)), (None, None), "no policy of one number; no priority");
    }
}
