//! Detects when all other CPUs of the machine stood still, from timers that were due there.
//!
//! A machine that stands still reports no event, since no CPU runs. But of followed threads on the other CPUs it is known when their
//! timer was due, and when its interrupt came: in between, that CPU took no interrupt.
//!
//! ```text
//! CPU 1   asleep ──── due ·············· interrupt
//! CPU 2        asleep ─── due ·········· interrupt
//!                         |──────────────|          reported with a sleep on CPU 0
//! ```

use std::collections::{BTreeMap, VecDeque};

use howlate_model::{CpuSet, MonotonicInterval, Span, TracedSleep, WakeSource};
use howlate_procfs::Root;

/// Interrupts that are at least this late are compared between CPUs.
const LATE: Span = Span::from_millis(1);

/// Late interrupts that are remembered per CPU. A sleep that is reported later than so many belongs to a thread that hardly runs.
const MAX_LATE: usize = 64;

/// Threads with which the kernel stops all CPUs itself, for changes that none may see half done.
const STOPPER: &str = "migration/";

/// The online CPUs, and the times in which each took no interrupt.
pub(crate) struct StandstillDetector {
    online: CpuSet,
    late: BTreeMap<u32, VecDeque<MonotonicInterval>>,
}

impl StandstillDetector {
    pub(crate) fn new(root: &Root) -> Self {
        let online = root.read("/sys/devices/system/cpu/online");
        Self { online: online.unwrap_or_default().parse().unwrap_or_default(), late: BTreeMap::new() }
    }

    /// Sets `others_stood_still` of these sleeps, which were reported together.
    pub(crate) fn annotate(&mut self, sleeps: &mut [TracedSleep]) {
        sleeps.iter().for_each(|sleep| self.remember(sleep));
        if self.late.is_empty() {
            return;
        }
        sleeps.iter_mut().for_each(|sleep| sleep.others_stood_still = self.overlap_of_others(sleep));
    }

    fn remember(&mut self, sleep: &TracedSleep) {
        let Some(stamp) = late_interrupt(sleep) else { return };
        let late = self.late.entry(sleep.cpu).or_default();
        if late.len() == MAX_LATE {
            late.pop_front();
        }
        late.push_back(stamp);
    }

    /// Times in which the late interrupts of all other CPUs overlap. Empty on a machine with one CPU.
    fn overlap_of_others(&self, sleep: &TracedSleep) -> Vec<MonotonicInterval> {
        let mut other_cpus = self.online.iter().filter(|cpu| *cpu != sleep.cpu);
        let during = |cpu: u32| self.during(cpu, sleep);
        let Some(first) = other_cpus.next().map(during) else { return Vec::new() };
        other_cpus.fold(first, |common, cpu| overlaps(&common, &during(cpu)))
    }

    fn during(&self, cpu: u32, sleep: &TracedSleep) -> Vec<MonotonicInterval> {
        let all = self.late.get(&cpu).into_iter().flatten();
        let had_ended =
            |late: &MonotonicInterval| sleep.asleep_since.is_some_and(|since| late.until <= since);
        let has_begun = |late: &MonotonicInterval| sleep.asleep_again.is_none_or(|again| late.from < again);
        all.filter(|late| has_begun(late) && !had_ended(late)).copied().collect()
    }
}

/// From the time at which the timer of a sleep was due until its interrupt came, if that is long. The timer had been set before the thread
/// slept.
fn late_interrupt(sleep: &TracedSleep) -> Option<MonotonicInterval> {
    let WakeSource::Timer(expiry) = &sleep.woken_by else { return None };
    let (since, until) = (sleep.asleep_since?, expiry.interrupt?);
    let from = expiry.hard.max(since).max(expiry.rearmed.unwrap_or(since));
    let is_here = sleep.switched_in.is_some() && !sleep.migrated;
    let is_late = until.since(from) >= LATE && !expiry.interrupted.name.starts_with(STOPPER);
    (is_here && is_late).then_some(MonotonicInterval { from, until })
}

fn overlaps(left: &[MonotonicInterval], right: &[MonotonicInterval]) -> Vec<MonotonicInterval> {
    let both = |left_stamp: &MonotonicInterval, right_stamp: &MonotonicInterval| {
        let (from, until) = (left_stamp.from.max(right_stamp.from), left_stamp.until.min(right_stamp.until));
        (from < until).then_some(MonotonicInterval { from, until })
    };
    left.iter()
        .flat_map(|left_stamp| right.iter().filter_map(move |right_stamp| both(left_stamp, right_stamp)))
        .collect()
}

#[cfg(test)]
mod tests {
    use howlate_model::{CpuHolder, Expiry, HolderKind, MonotonicTime};

    use super::*;

    fn at(millis: i64) -> MonotonicTime {
        MonotonicTime::from_nanos(millis * 1_000_000)
    }

    /// On `cpu`, asleep since 10, due at `due`, interrupt at `interrupt_at`, asleep again at 60.
    fn sleep_on(cpu: u32, due: i64, interrupt_at: i64) -> TracedSleep {
        let interrupted = CpuHolder { holder: HolderKind::Idle, pid: None, name: String::new() };
        let (soft, hard, interrupt_at) = (at(due), at(due), at(interrupt_at));
        let (idle_since, rearmed, deferred) = (None, None, None);
        let expiry = Expiry {
            soft,
            hard,
            interrupt: Some(interrupt_at),
            interrupted,
            idle_since,
            rearmed,
            first_served: interrupt_at,
            served: interrupt_at,
            deferred,
        };
        TracedSleep {
            asleep_since: Some(at(10)),
            asleep_again: Some(at(60)),
            switched_in: Some(interrupt_at),
            cpu,
            ..TracedSleep::new(7, interrupt_at, WakeSource::Timer(expiry))
        }
    }

    /// `others_stood_still` of the first sleep on a machine with these CPUs, in milliseconds.
    fn stood_still(online: &str, mut sleeps: Vec<TracedSleep>) -> Vec<(i64, i64)> {
        let folder = howlate_testing::tree(&[("sys/devices/system/cpu/online", online)]);
        StandstillDetector::new(&Root::at(folder.path())).annotate(&mut sleeps);
        let millis = |time: MonotonicTime| time.as_nanos() / 1_000_000;
        sleeps[0].others_stood_still.iter().map(|stamp| (millis(stamp.from), millis(stamp.until))).collect()
    }

    // 10   20   30   40   50   60
    // |----|----|----|----|----|
    //           |---------|          CPU 1
    //              |------|          CPU 2, due at 33
    #[test]
    fn all_other_cpus_have_to_have_stood_still() {
        let (own, first, second) = (sleep_on(0, 31, 50), sleep_on(1, 30, 50), sleep_on(2, 33, 50));
        assert_eq!(stood_still("0-1", vec![own.clone(), first.clone()]), [(30, 50)]);
        assert_eq!(stood_still("0-2", vec![own.clone(), first.clone(), second.clone()]), [(33, 50)]);
        assert_eq!(stood_still("0-2", vec![own.clone(), first]), [], "nobody tells of CPU 2");
        assert_eq!(
            stood_still("0-2", vec![own.clone(), sleep_on(1, 51, 55), second]),
            [],
            "one after the other"
        );
        assert_eq!(stood_still("0", vec![own]), [], "nobody else is there");
    }

    #[test]
    fn only_an_interrupt_that_was_surely_due_is_a_witness() {
        let with = |change: fn(&mut TracedSleep)| {
            let mut other = sleep_on(1, 30, 50);
            change(&mut other);
            stood_still("0-1", vec![sleep_on(0, 31, 50), other])
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
            let mut other = sleep_on(1, 30, 50);
            let WakeSource::Timer(expiry) = &mut other.woken_by else { unreachable!() };
            change(expiry);
            stood_still("0-1", vec![sleep_on(0, 31, 50), other])
        };
        assert_eq!(
            expiry(|expiry| expiry.interrupted.name = "migration/1".to_owned()),
            [],
            "the kernel stops all"
        );
        assert_eq!(expiry(|expiry| expiry.interrupt = None), [], "a softirq served it");
        assert_eq!(expiry(|expiry| expiry.rearmed = Some(at(45))), [(45, 50)], "none could come before");
        assert_eq!(stood_still("0-1", vec![sleep_on(0, 31, 50), sleep_on(1, 50, 50)]), [], "it was not late");
    }
}
