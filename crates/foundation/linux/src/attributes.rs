//! A thread's `sched_attr`, to be changed in part and restored exactly.

use std::fmt;
use std::io;
use std::str::FromStr;
use std::sync::OnceLock;

use howlate_model::{Nice, Policy, Span};

use crate::sched::{empty_attr, get_attr, number, set_attr, slice};

/// A `struct sched_attr`. As text it is one line of `name=number` pairs.
///
/// Source: <https://man7.org/linux/man-pages/man2/sched_setattr.2.html>
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedAttributes {
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

impl SchedAttributes {
    /// `sched_getattr(tid, …)`. The kernel's default slice is stored as 0, which asks for the default when it is set.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/sched_setattr.2.html>
    ///
    /// # Errors
    ///
    /// `ESRCH` when there is no such thread.
    pub fn of_thread(tid: u32) -> io::Result<Self> {
        let attr = get_attr(tid)?;
        let is_default = has_slices(attr.sched_policy) && attr.sched_runtime == default_slice();
        Ok(Self {
            policy: attr.sched_policy,
            flags: attr.sched_flags,
            nice: attr.sched_nice,
            priority: attr.sched_priority,
            runtime: if is_default { 0 } else { attr.sched_runtime },
            deadline: attr.sched_deadline,
            period: attr.sched_period,
        })
    }

    /// `sched_setattr(tid, …)`.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/sched_setattr.2.html>
    ///
    /// # Errors
    ///
    /// As [`crate::sched::set_policy`].
    pub fn set(&self, tid: u32) -> io::Result<()> {
        let mut attr = empty_attr();
        (attr.sched_policy, attr.sched_flags) = (self.policy, self.flags);
        (attr.sched_nice, attr.sched_priority) = (self.nice, self.priority);
        attr.sched_runtime = self.runtime;
        (attr.sched_deadline, attr.sched_period) = (self.deadline, self.period);
        set_attr(tid, &attr)
    }

    /// Whether its policy is one of the fair scheduler that has slices and nice values.
    pub const fn is_fair(&self) -> bool {
        has_slices(self.policy)
    }

    /// Whether its policy is `SCHED_FIFO`, `SCHED_RR` or `SCHED_DEADLINE`.
    pub const fn is_realtime(&self) -> bool {
        matches!(self.policy, number::FIFO | number::RR | number::DEADLINE)
    }

    /// Replaces the policy by `SCHED_OTHER`, `SCHED_FIFO` or `SCHED_RR`; any other `policy` changes nothing.
    #[must_use]
    pub fn with_policy(self, policy: Policy) -> Self {
        let fixed = |policy, priority| Self { policy, priority, nice: 0, runtime: 0, ..self };
        match policy {
            Policy::Other { nice } => {
                Self { policy: number::OTHER, nice: nice.map_or(self.nice, Nice::get), ..self }
            }
            Policy::Fifo { priority } => fixed(number::FIFO, priority.get()),
            Policy::Rr { priority } => fixed(number::RR, priority.get()),
            Policy::Batch | Policy::Idle | Policy::Ext | Policy::Deadline { .. } => self,
        }
    }

    /// Replaces the slice of the fair scheduler.
    #[must_use]
    pub const fn with_slice(self, slice: Span) -> Self {
        Self { runtime: slice.as_nanos(), ..self }
    }
}

const fn has_slices(policy: u32) -> bool {
    matches!(policy, number::OTHER | number::BATCH)
}

/// The default slice, in nanoseconds: that of the first thread of this process to call this.
fn default_slice() -> u64 {
    static DEFAULT: OnceLock<u64> = OnceLock::new();
    *DEFAULT.get_or_init(|| slice().ok().flatten().map_or(0, Span::as_nanos))
}

impl fmt::Display for SchedAttributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { policy, flags, nice, priority, runtime, deadline, period } = self;
        write!(f, "policy={policy} flags={flags} nice={nice} priority={priority} ")?;
        write!(f, "runtime={runtime} deadline={deadline} period={period}")
    }
}

impl FromStr for SchedAttributes {
    type Err = io::Error;

    fn from_str(text: &str) -> io::Result<Self> {
        Ok(Self {
            policy: number_in(text, "policy")?,
            flags: number_in(text, "flags")?,
            nice: number_in(text, "nice")?,
            priority: number_in(text, "priority")?,
            runtime: number_in(text, "runtime")?,
            deadline: number_in(text, "deadline")?,
            period: number_in(text, "period")?,
        })
    }
}

/// The number after `name=`.
fn number_in<T: FromStr>(text: &str, name: &str) -> io::Result<T> {
    let value = text.split(' ').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')?.parse().ok());
    value.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, format!("`{text}` says no {name}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sched::THIS_THREAD;

    #[test]
    fn what_is_read_is_written_as_one_line_and_read_again() {
        let own = SchedAttributes::of_thread(THIS_THREAD).unwrap();
        assert!(own.is_fair() && !own.is_realtime(), "{own}");
        assert_eq!(own.to_string().parse::<SchedAttributes>().unwrap(), own);
        let fifo = own.with_policy("fifo:80".parse().unwrap());
        assert!(fifo.is_realtime() && fifo.to_string().contains("priority=80 runtime=0"), "{fifo}");
        for wrong in ["", "policy=0", "policy=-1 flags=0 nice=0 priority=0 runtime=0 deadline=0 period=0"] {
            assert!(wrong.parse::<SchedAttributes>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn one_part_is_changed_and_the_rest_is_as_it_was() {
        let thread = std::thread::spawn(|| {
            let now = || SchedAttributes::of_thread(THIS_THREAD).unwrap();
            let nicer = now().with_policy(Policy::Other { nice: Nice::new(19) });
            nicer.set(THIS_THREAD).unwrap();
            let short = nicer.with_slice(Span::from_micros(700));
            short.set(THIS_THREAD).unwrap();
            let knows_slices = slice().unwrap().is_some();
            assert_eq!(now(), if knows_slices { short } else { nicer });
            nicer.set(THIS_THREAD).unwrap();
            assert_eq!(now(), nicer, "the default slice is in force again");
        });
        thread.join().unwrap();
    }
}
