//! What the kernel's side sends of a late wait, as `bpf/late.h` lays it out.

use howlate_linux::sched;
use howlate_model::{LateWait, MonotonicTime, Span, TracedSleep, WokenBy};

use super::quotas::Quotas;
use super::ring::{Left, Rings};
use crate::fields::Fields;
use crate::irq_names::Interrupts;

/// One late wait.
#[derive(Clone, Debug)]
pub(super) struct Late {
    ended: MonotonicTime,
    waited: Span,
    here: Span,
    cgroup: u64,
    tid: u32,
    pid: u32,
    uid: u32,
    cpu: u32,
    came_from: u32,
    policy: (u32, u32, i32),
    name: String,
    process: String,
}

impl Late {
    /// Reads one record; `None` if it is not one.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let (ended, waited, here, cgroup) = (fields.time()?, fields.span()?, fields.span()?, fields.u64()?);
        let (tid, pid, uid) = (fields.u32()?, fields.u32()?, fields.u32()?);
        let (cpu, came_from) = (fields.u32()?, fields.u32()?);
        let policy = (fields.u32()?, fields.u32()?, fields.u32()?.cast_signed());
        let (name, process) = (fields.comm()?, fields.comm()?);
        Some(Self { ended, waited, here, cgroup, tid, pid, uid, cpu, came_from, policy, name, process })
    }

    fn began(&self) -> MonotonicTime {
        self.ended.minus(self.waited)
    }

    /// When it began to wait for the CPU that it got.
    fn moved(&self) -> MonotonicTime {
        self.ended.minus(self.here.min(self.waited))
    }

    fn was_moved(&self) -> bool {
        self.here < self.waited
    }

    pub(super) const fn ended(&self) -> MonotonicTime {
        self.ended
    }

    /// How long it waited.
    pub(super) const fn waited(&self) -> Span {
        self.waited
    }

    /// The CPUs that it waited for, each with since when.
    pub(super) fn where_it_waited(&self) -> Vec<(u32, MonotonicTime)> {
        let before = self.was_moved().then(|| (self.came_from, self.began()));
        before.into_iter().chain([(self.cpu, self.moved())]).collect()
    }

    /// The wait, with who had the CPUs meanwhile.
    pub(super) fn with(&self, rings: &Rings, interrupts: &mut Interrupts, quotas: &mut Quotas) -> LateWait {
        let (mut occupants, mut unnamed) = (Vec::new(), Span::ZERO);
        if self.was_moved() {
            (occupants, unnamed) = rings.between(self.came_from, self.began(), self.moved(), interrupts);
        }
        let (here, not_here) = rings.between(self.cpu, self.moved(), self.ended, interrupts);
        occupants.extend(here);
        let first = if self.was_moved() { self.came_from } else { self.cpu };
        let left = rings.how_it_left(first, self.tid, self.began());
        let mut wait = self.alone();
        wait.preempted = left.is_some();
        let sleep = &mut wait.sleep;
        (sleep.occupants, sleep.unnamed) = (occupants, unnamed.plus(not_here));
        sleep.throttled = left == Some(Left::SetAside);
        quotas.name(sleep);
        wait
    }

    /// The wait, without who had the CPUs meanwhile.
    pub(super) fn alone(&self) -> LateWait {
        let by = WokenBy::NotSeen { slack: Span::ZERO, runnable_known: true };
        let sleep = TracedSleep {
            switched_in: Some(self.ended),
            asleep_again: Some(self.ended),
            cpu: self.cpu,
            migrated: self.was_moved(),
            ..TracedSleep::woken(self.tid, self.began(), by)
        };
        let (policy, priority, nice) = self.policy;
        LateWait {
            sleep,
            waited: self.waited,
            pid: self.pid,
            name: self.name.clone(),
            process: self.process.clone(),
            uid: self.uid,
            cgroup: self.cgroup,
            policy: sched::policy_of(policy, priority, nice),
            preempted: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use howlate_procfs::Root;

    use super::*;

    fn record(times: [u64; 4], numbers: [u32; 8]) -> Vec<u8> {
        let mut bytes: Vec<u8> = times.iter().flat_map(|time| time.to_ne_bytes()).collect();
        bytes.extend(numbers.iter().flat_map(|number| number.to_ne_bytes()));
        bytes.extend(b"worker\0\0\0\0\0\0\0\0\0\0server\0\0\0\0\0\0\0\0\0\0");
        bytes
    }

    #[test]
    fn a_record_is_read_field_by_field() {
        let bytes = record([9_000, 5_000, 2_000, 77], [8, 7, 1_000, 1, 0, 1, 80, 0]);
        let late = Late::parse(&bytes).unwrap();
        let at = MonotonicTime::from_nanos;
        assert_eq!(late.where_it_waited(), [(0, at(4_000)), (1, at(7_000))], "it was moved on the way");
        let wait =
            late.with(&Rings::none(), &mut Interrupts::default(), &mut Quotas::new(Root::at("/nonexistent")));
        assert_eq!((wait.name.as_str(), wait.process.as_str()), ("worker", "server"));
        assert_eq!((wait.sleep.tid, wait.pid, wait.uid, wait.cgroup), (8, 7, 1_000, 77));
        assert_eq!((wait.sleep.waking, wait.sleep.switched_in), (at(4_000), Some(at(9_000))));
        assert_eq!(wait.sleep.unnamed, Span::from_nanos(5_000), "nobody remembers who had the CPUs");
        assert_eq!(wait.policy.unwrap().to_string(), "fifo:80");
        assert!(Late::parse(&bytes[..90]).is_none(), "it is cut short");
    }

    #[test]
    fn one_that_stayed_waited_for_one_cpu() {
        let late = Late::parse(&record([9_000, 5_000, 5_000, 77], [8, 7, 0, 1, 0, 0, 0, 5])).unwrap();
        assert_eq!(late.where_it_waited(), [(1, MonotonicTime::from_nanos(4_000))]);
    }
}
