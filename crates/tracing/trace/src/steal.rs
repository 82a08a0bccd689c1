//! Steal time of the CPUs of a guest, from `/proc/stat`.
//!
//! Source: `proc_stat(5)`, `steal`. Counted in whole ticks, 10 ms nearly everywhere: a counter that grew by one tick between two
//! readings proves hardly any steal time, by two ticks at least one.

use std::collections::VecDeque;

use howlate_model::{MonotonicTime, Span, TracedSleep};
use howlate_procfs::{CpuTicks, Root, Stat, hypervisor, ticks};

/// A busy CPU of a guest that takes no interrupt for longer than this does not run: its tick comes at least every 10 ms
/// (`CONFIG_HZ=100`), plus a tenth for latency. On CPUs without a tick (`nohz_full=`) it may have run.
pub(crate) const SILENCE: Span = Span::from_millis(11);

/// Readings that are remembered. A sleep that is reported later than so many belongs to a thread that hardly runs.
const MAX_READINGS: usize = 64;

/// Readings of the steal time of all CPUs.
pub(crate) struct StealCounter {
    root: Root,
    is_guest: bool,
    readings: VecDeque<(MonotonicTime, Vec<(u32, CpuTicks)>)>,
}

impl StealCounter {
    pub(crate) fn new(root: Root) -> Self {
        let is_guest = hypervisor(&root).is_some();
        Self { root, is_guest, readings: VecDeque::new() }
    }

    /// Whether there is a hypervisor.
    pub(crate) const fn is_guest(&self) -> bool {
        self.is_guest
    }

    pub(crate) fn read(&mut self, now: MonotonicTime) {
        if !self.is_guest {
            return;
        }
        if self.readings.len() == MAX_READINGS {
            self.readings.pop_front();
        }
        self.readings.push_back((now, Stat::read(&self.root).cpus()));
    }

    /// Sets the lower bound of the steal time from the start of a sleep to the next one; `None` on bare metal.
    pub(crate) fn annotate(&self, sleep: &mut TracedSleep) {
        let counted = self.is_guest.then(|| self.stolen_during(sleep).unwrap_or_default());
        sleep.stolen = counted.map(|counted| sleep.stolen.map_or(counted, |stolen| stolen.max(counted)));
    }

    fn stolen_during(&self, sleep: &TracedSleep) -> Option<Span> {
        let (began, ended) =
            (sleep.asleep_since.unwrap_or(sleep.waking), sleep.asleep_again.unwrap_or(sleep.waking));
        let before = self.readings.iter().rev().find(|(at, _)| *at <= began)?;
        let after = self.readings.iter().find(|(at, _)| *at >= ended)?;
        let ticks_of = |reading: &(MonotonicTime, Vec<(u32, CpuTicks)>)| {
            reading.1.iter().find(|(cpu, _)| *cpu == sleep.cpu).map(|(_, ticks)| *ticks)
        };
        let grew = ticks_of(after)?.since(ticks_of(before)?).steal?;
        Some(ticks(grew.saturating_sub(1)))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use howlate_model::{CpuHolder, HolderKind, WakeSource};

    use super::*;

    fn at(millis: i64) -> MonotonicTime {
        MonotonicTime::from_nanos(millis * 1_000_000)
    }

    /// Asleep from 110, woken at 150, asleep again at 190.
    fn test_sleep(stolen: Option<Span>) -> TracedSleep {
        let who = CpuHolder { holder: HolderKind::Idle, pid: None, name: String::new() };
        TracedSleep {
            asleep_since: Some(at(110)),
            asleep_again: Some(at(190)),
            cpu: 1,
            stolen,
            ..TracedSleep::new(7, at(150), WakeSource::Other(who))
        }
    }

    /// Steal time of that sleep where the counter of CPU 1 is `from` ticks at 100 and `until` ticks at 200.
    fn stolen_by(flags: &str, (from, until): (u64, u64), stolen: Option<Span>) -> Option<Span> {
        let stat = |steal: u64| {
            format!("cpu  0 0 0 0 0 0 0 99\ncpu0 0 0 0 0 0 0 0 50\ncpu1 0 0 0 0 0 0 0 {steal}\n")
        };
        let flags = format!("flags\t\t: fpu {flags}\n");
        let folder = howlate_testing::tree(&[("proc/cpuinfo", &flags), ("proc/stat", &stat(from))]);
        let mut steal = StealCounter::new(Root::at(folder.path()));
        steal.read(at(100));
        fs::write(folder.path().join("proc/stat"), stat(until)).unwrap();
        steal.read(at(200));
        let mut sleep = test_sleep(stolen);
        steal.annotate(&mut sleep);
        sleep.stolen
    }

    #[test]
    fn only_whole_ticks_between_two_looks_are_a_witness() {
        let tick = ticks(1);
        assert_eq!(stolen_by("hypervisor", (4, 7), None), Some(tick.plus(tick)));
        assert_eq!(
            stolen_by("hypervisor", (4, 5), None),
            Some(Span::ZERO),
            "it may have been nearly full before"
        );
        assert_eq!(stolen_by("hypervisor", (4, 4), Some(tick)), Some(tick), "the tracer knows better");
        assert_eq!(stolen_by("tsc", (4, 7), Some(tick)), None, "nobody is there to take anything");
    }
}
