//! What the kernel's side sends of a late wait, as `bpf/late.h` lays it out.

use howlate_linux::sched;
use howlate_model::{LateWait, MonotonicTime, Span, TracedSleep, WokenBy};

use super::quotas::Quotas;
use super::ring::{Event, Left, Rings, SAME_SWITCH, between, how_it_left};
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
    /// Who had the CPU that it got, as far as that came with it, in order: however much was written over its ring meanwhile.
    turns: Vec<Event>,
}

impl Late {
    /// Reads one record; `None` if it is not one.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let (ended, waited, here, cgroup) = (fields.time()?, fields.span()?, fields.span()?, fields.u64()?);
        let (tid, pid, uid) = (fields.u32()?, fields.u32()?, fields.u32()?);
        let (cpu, came_from) = (fields.u32()?, fields.u32()?);
        let policy = (fields.u32()?, fields.u32()?, fields.u32()?.cast_signed());
        let (turns, _) = (fields.u32()?, fields.u32()?);
        let (name, process) = (fields.comm()?, fields.comm()?);
        let mut turns: Vec<Event> = (0..turns).map_while(|_| Event::parse(&mut fields)).collect();
        turns.reverse();
        Some(Self {
            ended,
            waited,
            here,
            cgroup,
            tid,
            pid,
            uid,
            cpu,
            came_from,
            policy,
            name,
            process,
            turns,
        })
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

    /// The CPUs whose rings have to be read for it, each with since when.
    pub(super) fn rings_wanted(&self) -> Vec<(u32, MonotonicTime)> {
        let before = self.was_moved().then(|| (self.came_from, self.began()));
        let oldest = self.turns.first().map(|turn| turn.until);
        let came_with_it = oldest.is_some_and(|oldest| oldest <= self.moved().minus(SAME_SWITCH));
        let at_last = (!came_with_it).then(|| (self.cpu, self.moved()));
        before.into_iter().chain(at_last).collect()
    }

    /// The wait, with who had the CPUs meanwhile.
    pub(super) fn with(&self, rings: &Rings, interrupts: &mut Interrupts, quotas: &mut Quotas) -> LateWait {
        let (mut occupants, mut unnamed) = (Vec::new(), Span::ZERO);
        let at_last = further_back(rings.of(self.cpu), &self.turns);
        let at_first = if self.was_moved() { rings.of(self.came_from) } else { at_last };
        if self.was_moved() {
            (occupants, unnamed) = between(at_first, self.began(), self.moved(), interrupts);
        }
        let (here, not_here) = between(at_last, self.moved(), self.ended, interrupts);
        occupants.extend(here);
        let left = how_it_left(at_first, self.tid, self.began());
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

/// Of two accounts that end alike, the one that begins earlier.
fn further_back<'a>(one: &'a [Event], other: &'a [Event]) -> &'a [Event] {
    let is_earlier = other.first().is_some_and(|other| one.first().is_none_or(|one| other.until < one.until));
    if is_earlier { other } else { one }
}

#[cfg(test)]
mod tests {
    use howlate_procfs::Root;

    use super::*;

    fn record(times: [u64; 4], numbers: [u32; 8], turns: &[Event]) -> Vec<u8> {
        let mut bytes: Vec<u8> = times.iter().flat_map(|time| time.to_ne_bytes()).collect();
        bytes.extend(numbers.iter().flat_map(|number| number.to_ne_bytes()));
        bytes.extend([u32::try_from(turns.len()).unwrap(), 0].iter().flat_map(|number| number.to_ne_bytes()));
        bytes.extend(b"worker\0\0\0\0\0\0\0\0\0\0server\0\0\0\0\0\0\0\0\0\0");
        for turn in turns {
            bytes.extend(turn.until.as_nanos().to_ne_bytes());
            bytes.extend([turn.id, turn.kind].iter().flat_map(|number| number.to_ne_bytes()));
            bytes.extend(turn.name);
        }
        bytes
    }

    #[test]
    fn a_record_is_read_field_by_field() {
        let bytes = record([9_000, 5_000, 2_000, 77], [8, 7, 1_000, 1, 0, 1, 80, 0], &[]);
        let late = Late::parse(&bytes).unwrap();
        let at = MonotonicTime::from_nanos;
        assert_eq!(late.rings_wanted(), [(0, at(4_000)), (1, at(7_000))], "it was moved on the way");
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
        let late = Late::parse(&record([9_000, 5_000, 5_000, 77], [8, 7, 0, 1, 0, 0, 0, 5], &[])).unwrap();
        assert_eq!(late.rings_wanted(), [(1, MonotonicTime::from_nanos(4_000))]);
    }

    /// Its ring was written over before it was read; who had the CPU came with it, the last first.
    #[test]
    fn what_a_ring_has_forgotten_came_with_the_wait() {
        let turn = |until, id, kind| Event {
            until: MonotonicTime::from_nanos(until),
            id,
            kind,
            name: *b"hog\0\0\0\0\0\0\0\0\0\0\0\0\0",
        };
        let turns =
            [turn(9_000_000, 5, 5), turn(4_500_000, 0, 3), turn(4_400_000, 5, 5), turn(2_900_000, 8, 0x100)];
        let late = |turns: &[Event]| {
            let numbers = [8, 7, 0, 1, 0, 0, 0, 0];
            Late::parse(&record([9_000_000, 6_000_000, 6_000_000, 0], numbers, turns)).unwrap()
        };
        let told = |turns: &[Event]| {
            let mut quotas = Quotas::new(Root::at("/nonexistent"));
            late(turns).with(&Rings::none(), &mut Interrupts::default(), &mut quotas)
        };
        let whole = told(&turns);
        let took: Vec<u64> = whole.sleep.occupants.iter().map(|one| one.ns.as_nanos()).collect();
        assert_eq!(took, [1_400_000, 100_000, 4_500_000]);
        assert_eq!((whole.sleep.unnamed, whole.preempted), (Span::ZERO, true));
        assert_eq!(late(&turns).rings_wanted(), []);
        let cut = told(&turns[..2]);
        assert_eq!((cut.sleep.unnamed, cut.preempted), (Span::from_nanos(1_500_000), false));
        assert_eq!(late(&turns[..2]).rings_wanted(), [(1, MonotonicTime::from_nanos(3_000_000))]);
    }
}
