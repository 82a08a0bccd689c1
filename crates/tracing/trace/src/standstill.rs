//! When all other CPUs of the machine stood still, by what was due there.
//!
//! No event tells of a machine that stands still, as no CPU is there to see it. But of threads that are followed on the other CPUs it
//! is known when the timer was due that they slept on, and when its interrupt came. In between that CPU took none.
//!
//! ```text
//! CPU 1   asleep ──── due ·············· interrupt
//! CPU 2        asleep ─── due ·········· interrupt
//!                         |──────────────|          what a sleep on CPU 0 is told
//! ```

use std::collections::{BTreeMap, VecDeque};

use howlate_model::{CpuSet, MonotonicInterval, Span, TracedSleep, WakeSource};
use howlate_procfs::Root;

/// An interrupt that comes so much later than it was due has a reason that is worth looking for on other CPUs.
const LATE: Span = Span::from_millis(1);

/// Late interrupts of each CPU that are remembered; sleeps that are told later than that many are of threads that hardly run.
const REMEMBERED: usize = 64;

/// Threads that stop all CPUs, for the kernel to change what none of them may see half done.
const STOPPER: &str = "migration/";

/// The CPUs of this machine, and when each took no interrupt.
pub(crate) struct Standstill {
    online: CpuSet,
    late: BTreeMap<u32, VecDeque<MonotonicInterval>>,
}

impl Standstill {
    pub(crate) fn new(root: &Root) -> Self {
        let online = root.read("/sys/devices/system/cpu/online");
        Self { online: online.unwrap_or_default().parse().unwrap_or_default(), late: BTreeMap::new() }
    }

    /// Says of each of `sleeps`, which were told together, when all other CPUs stood still meanwhile.
    pub(crate) fn witness(&mut self, sleeps: &mut [TracedSleep]) {
        sleeps.iter().for_each(|one| self.remember(one));
        if self.late.is_empty() {
            return;
        }
        sleeps.iter_mut().for_each(|one| one.others_stood_still = self.of_all_but(one));
    }

    fn remember(&mut self, one: &TracedSleep) {
        let Some(stamp) = took_no_interrupt(one) else { return };
        let late = self.late.entry(one.cpu).or_default();
        if late.len() == REMEMBERED {
            late.pop_front();
        }
        late.push_back(stamp);
    }

    /// Where the late interrupts of all CPUs but that of `one` overlap. A machine of one CPU has nobody else to tell.
    fn of_all_but(&self, one: &TracedSleep) -> Vec<MonotonicInterval> {
        let mut others = self.online.iter().filter(|cpu| *cpu != one.cpu);
        let during = |cpu: u32| self.during(cpu, one);
        let Some(first) = others.next().map(during) else { return Vec::new() };
        others.fold(first, |known, cpu| overlaps(&known, &during(cpu)))
    }

    fn during(&self, cpu: u32, one: &TracedSleep) -> Vec<MonotonicInterval> {
        let all = self.late.get(&cpu).into_iter().flatten();
        let ended = |late: &MonotonicInterval| one.asleep_since.is_some_and(|since| late.until <= since);
        let begun = |late: &MonotonicInterval| one.asleep_again.is_none_or(|again| late.from < again);
        all.filter(|late| begun(late) && !ended(late)).copied().collect()
    }
}

/// From when a sleep's timer was due until its interrupt came, if that is long. It had been set before the thread slept.
fn took_no_interrupt(one: &TracedSleep) -> Option<MonotonicInterval> {
    let WakeSource::Timer(expiry) = &one.woken_by else { return None };
    let (since, until) = (one.asleep_since?, expiry.interrupt?);
    let from = expiry.hard.max(since).max(expiry.rearmed.unwrap_or(since));
    let is_here = one.switched_in.is_some() && !one.migrated;
    let is_late = until.since(from) >= LATE && !expiry.interrupted.name.starts_with(STOPPER);
    (is_here && is_late).then_some(MonotonicInterval { from, until })
}

fn overlaps(some: &[MonotonicInterval], others: &[MonotonicInterval]) -> Vec<MonotonicInterval> {
    let both = |one: &MonotonicInterval, other: &MonotonicInterval| {
        let (from, until) = (one.from.max(other.from), one.until.min(other.until));
        (from < until).then_some(MonotonicInterval { from, until })
    };
    some.iter().flat_map(|one| others.iter().filter_map(move |other| both(one, other))).collect()
}

#[cfg(test)]
mod tests {
    use howlate_model::{CpuHolder, Expiry, HolderKind, MonotonicTime};

    use super::*;

    fn at(millis: i64) -> MonotonicTime {
        MonotonicTime::from_nanos(millis * 1_000_000)
    }

    /// On `cpu`, asleep since 10, due at `due`, interrupt at `came`, asleep again at 60.
    fn slept(cpu: u32, due: i64, came: i64) -> TracedSleep {
        let interrupted = CpuHolder { holder: HolderKind::Idle, pid: None, name: String::new() };
        let (soft, hard, came) = (at(due), at(due), at(came));
        let (idle_since, rearmed, deferred) = (None, None, None);
        let expiry = Expiry {
            soft,
            hard,
            interrupt: Some(came),
            interrupted,
            idle_since,
            rearmed,
            first_served: came,
            served: came,
            deferred,
        };
        TracedSleep {
            asleep_since: Some(at(10)),
            asleep_again: Some(at(60)),
            switched_in: Some(came),
            cpu,
            ..TracedSleep::new(7, came, WakeSource::Timer(expiry))
        }
    }

    /// What the first of `sleeps` is told on a machine with these CPUs, in milliseconds.
    fn told(online: &str, mut sleeps: Vec<TracedSleep>) -> Vec<(i64, i64)> {
        let folder = howlate_testing::tree(&[("sys/devices/system/cpu/online", online)]);
        Standstill::new(&Root::at(folder.path())).witness(&mut sleeps);
        let millis = |time: MonotonicTime| time.as_nanos() / 1_000_000;
        sleeps[0].others_stood_still.iter().map(|one| (millis(one.from), millis(one.until))).collect()
    }

    // 10   20   30   40   50   60
    // |----|----|----|----|----|
    //           |---------|          CPU 1
    //              |------|          CPU 2, due at 33
    #[test]
    fn all_other_cpus_have_to_have_stood_still() {
        let (mine, first, second) = (slept(0, 31, 50), slept(1, 30, 50), slept(2, 33, 50));
        assert_eq!(told("0-1", vec![mine.clone(), first.clone()]), [(30, 50)]);
        assert_eq!(told("0-2", vec![mine.clone(), first.clone(), second.clone()]), [(33, 50)]);
        assert_eq!(told("0-2", vec![mine.clone(), first]), [], "nobody tells of CPU 2");
        assert_eq!(told("0-2", vec![mine.clone(), slept(1, 51, 55), second]), [], "one after the other");
        assert_eq!(told("0", vec![mine]), [], "nobody else is there");
    }

    #[test]
    fn only_an_interrupt_that_was_surely_due_is_a_witness() {
        let with = |change: fn(&mut TracedSleep)| {
            let mut other = slept(1, 30, 50);
            change(&mut other);
            told("0-1", vec![slept(0, 31, 50), other])
        };
        assert_eq!(with(|_| {}), [(30, 50)]);
        assert_eq!(with(|other| other.asleep_since = Some(at(40))), [(40, 50)], "it was armed too late");
        let late = |other: &mut TracedSleep| {
            other.asleep_since = Some(at(48));
            let WakeSource::Timer(expiry) = &mut other.woken_by else { unreachable!() };
            expiry.rearmed = Some(at(35));
        };
        assert_eq!(with(late), [(48, 50)], "and too late again");
        assert_eq!(with(|other| other.asleep_since = None), []);
        assert_eq!(with(|other| other.migrated = true), [], "its timer may have been on another CPU");
        let expiry = |change: fn(&mut Expiry)| {
            let mut other = slept(1, 30, 50);
            let WakeSource::Timer(expiry) = &mut other.woken_by else { unreachable!() };
            change(expiry);
            told("0-1", vec![slept(0, 31, 50), other])
        };
        assert_eq!(expiry(|one| one.interrupted.name = "migration/1".to_owned()), [], "the kernel stops all");
        assert_eq!(expiry(|one| one.interrupt = None), [], "a softirq served it");
        assert_eq!(expiry(|one| one.rearmed = Some(at(45))), [(45, 50)], "none could come before");
        assert_eq!(told("0-1", vec![slept(0, 31, 50), slept(1, 50, 50)]), [], "it was not late");
    }
}
