//! `/proc/PID/stat`: scheduling state of a process or thread.

use std::fmt::Display;

use howlate_model::{MonotonicTime, Nice, Policy, Priority, Span};

use crate::{Root, ticks};

/// `PF_KTHREAD` of the kernel's `sched.h`.
const KERNEL_THREAD: u64 = 0x0020_0000;
/// `PF_EXITING` of the kernel's `sched.h`.
const EXITING: u64 = 0x0000_0004;

/// `PF_NO_SETAFFINITY` of the kernel's `sched.h`.
const BOUND: u64 = 0x0400_0000;

/// Indices of fields after the name, which is field 2. Source: `proc_pid_stat(5)`, fields 3, 9, 16 and 17.
const STATE: usize = 0;
const FLAGS: usize = 6;
const ENDED_CHILDREN_TIMES: [usize; 2] = [13, 14];
/// Field 22.
const START_TIME: usize = 19;
/// Field 39.
const CPU: usize = 36;
/// Fields 19, 40 and 41.
const NICE: usize = 16;
const RT_PRIORITY: usize = 37;
const POLICY: usize = 38;

/// The fields after the name, which is in parentheses and may contain any character.
#[derive(Clone, Debug)]
pub struct ProcessStat {
    fields: String,
}

impl ProcessStat {
    /// `None` when the process or thread has ended.
    pub fn read(root: &Root, process: impl Display) -> Option<Self> {
        let text = root.read(&format!("/proc/{process}/stat")).ok()?;
        text.rsplit(')').next().map(|fields| Self { fields: fields.to_owned() })
    }

    fn field(&self, index: usize) -> Option<&str> {
        self.fields.split_whitespace().nth(index)
    }

    fn number(&self, index: usize) -> Option<u64> {
        self.field(index)?.parse().ok()
    }

    /// Whether it is a zombie or dead, or has no fields.
    pub fn has_ended(&self) -> bool {
        self.field(STATE).is_none_or(|state| state.starts_with(['Z', 'X']))
    }

    /// Whether it has ended or is exiting: its resources may have been released already.
    pub fn is_ending(&self) -> bool {
        self.has_ended() || self.number(FLAGS).is_some_and(|flags| flags & EXITING != 0)
    }

    /// Whether it is a kernel thread whose affinity can be changed.
    pub fn is_movable_kernel_thread(&self) -> bool {
        self.number(FLAGS).is_some_and(|flags| flags & (KERNEL_THREAD | BOUND) == KERNEL_THREAD)
    }

    /// Start time in ticks since boot; distinguishes processes that reuse an id.
    pub fn start_ticks(&self) -> Option<u64> {
        self.number(START_TIME)
    }

    /// Whether it existed at that time, when its id may have been another's; `is_named`: it has the name that was seen then. `ahead` is
    /// how far `CLOCK_BOOTTIME` is ahead of `CLOCK_MONOTONIC`. True where its start cannot be read.
    ///
    /// The start is rounded down to whole ticks: within that tick the name decides.
    pub fn existed(&self, at: MonotonicTime, ahead: i64, is_named: bool) -> bool {
        let Some(ticks_since_boot) = self.start_ticks() else { return true };
        let since = |count| i64::try_from(ticks(count).as_nanos()).unwrap_or(i64::MAX).saturating_sub(ahead);
        let at = at.as_nanos();
        since(ticks_since_boot + 1) <= at || (since(ticks_since_boot) <= at && is_named)
    }

    /// Whether it is in interruptible or uninterruptible sleep.
    pub fn is_asleep(&self) -> bool {
        self.field(STATE).is_some_and(|state| state.starts_with(['S', 'D']))
    }

    /// Whether a signal or a tracer has stopped it.
    pub fn is_stopped(&self) -> bool {
        self.field(STATE).is_some_and(|state| state.starts_with(['T', 't']))
    }

    pub fn is_kernel_thread(&self) -> bool {
        self.number(FLAGS).is_some_and(|flags| flags & KERNEL_THREAD != 0)
    }

    /// `None` for `SCHED_DEADLINE` and unknown policies.
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
            7 => Policy::Ext,
            _ => return None,
        })
    }

    /// The CPU that it runs on, or ran on last.
    pub fn cpu(&self) -> Option<u32> {
        self.field(CPU)?.parse().ok()
    }

    /// CPU time of waited-for children in whole ticks: `cutime` and `cstime`.
    pub fn ended_children_cpu_time(&self) -> Span {
        ticks(
            ENDED_CHILDREN_TIMES.iter().filter_map(|index| self.number(*index)).fold(0, u64::saturating_add),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tree;

    #[test]
    fn a_name_may_contain_parentheses() {
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
        assert_eq!((stat(7).ended_children_cpu_time(), stat(7).has_ended()), (ticks(7), false));
        assert_eq!((stat(7).is_kernel_thread(), stat(2).is_kernel_thread()), (false, true));
        assert!(stat(9).has_ended() && stat(10).has_ended());
        // 4 is `PF_EXITING`.
        assert!(stat(7).is_ending() && stat(9).is_ending() && !stat(2).is_ending());
        assert!(stat(11).is_stopped() && !stat(7).is_stopped() && !stat(10).is_stopped());
        assert_eq!(stat(9).ended_children_cpu_time(), Span::ZERO);
        assert!(ProcessStat::read(&root, 8).is_none());
    }

    #[test]
    fn who_began_later_was_not_there() {
        let stat = |start: u64| ProcessStat { fields: format!(" S{}{start} 1", " 0".repeat(18) + " ") };
        let at = |milliseconds: i64| MonotonicTime::from_nanos(milliseconds * 1_000_000);
        let tick = i64::try_from(ticks(1).as_nanos() / 1_000_000).unwrap();
        let existed = |ahead: i64, is_named| {
            [-1, 0, tick]
                .map(|more| stat(500).existed(at(500 * tick - ahead + more), ahead * 1_000_000, is_named))
        };
        assert_eq!((existed(0, true), existed(0, false)), ([false, true, true], [false, false, true]));
        assert_eq!(existed(77, true), [false, true, true], "the machine has slept since its boot");
        assert!(ProcessStat { fields: String::new() }.existed(at(0), 0, false), "its start is not known");
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
        let text = |nice, priority, policy| stat(nice, priority, policy).map(|policy| policy.to_string());
        assert_eq!(text(0, 0, 0).as_deref(), Some("other"));
        assert_eq!(text(-5, 0, 0).as_deref(), Some("nice:-5"));
        assert_eq!(text(0, 50, 1).as_deref(), Some("fifo:50"));
        assert_eq!((text(0, 7, 2).as_deref(), text(19, 0, 5).as_deref()), (Some("rr:7"), Some("idle")));
        assert_eq!(
            (stat(0, 0, 6), stat(0, 0, 1)),
            (None, None),
            "deadline has no single number; fifo needs a priority"
        );
    }
}
