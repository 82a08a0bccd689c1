//! What a hypervisor takes from CPUs, as the kernel of its guest counts it.
//!
//! Source: `proc_stat(5)`, `steal`. Counted in whole ticks, 10 ms nearly everywhere: of what grew by one, hardly anything may
//! lie between two looks; of what grew by two, at least one.

use std::collections::VecDeque;

use howlate_model::{MonotonicTime, Span, TracedSleep};
use howlate_procfs::{CpuTicks, Root, Stat, hypervisor, ticks};

/// In a guest, a CPU at work that takes no interrupt for longer does not run: its tick comes every 10 ms at the least
/// (`CONFIG_HZ=100`), and a tenth is for its way. On CPUs without a tick (`nohz_full=`) it may have run.
pub(crate) const SILENCE: Span = Span::from_millis(11);

/// Looks that are remembered; sleeps that are told later than that many looks are of threads that hardly run.
const REMEMBERED: usize = 64;

/// The CPUs of this machine, looked at now and then.
pub(crate) struct Steal {
    root: Root,
    is_guest: bool,
    looks: VecDeque<(MonotonicTime, Vec<(u32, CpuTicks)>)>,
}

impl Steal {
    pub(crate) fn new(root: Root) -> Self {
        let is_guest = hypervisor(&root).is_some();
        Self { root, is_guest, looks: VecDeque::new() }
    }

    /// Whether there is a hypervisor that could take anything.
    pub(crate) const fn is_guest(&self) -> bool {
        self.is_guest
    }

    /// Looks what has been taken so far.
    pub(crate) fn look(&mut self, now: MonotonicTime) {
        if !self.is_guest {
            return;
        }
        if self.looks.len() == REMEMBERED {
            self.looks.pop_front();
        }
        self.looks.push_back((now, Stat::read(&self.root).cpus()));
    }

    /// Says what was taken at least while `one` slept and was awake again; or that there is nobody who could.
    pub(crate) fn witness(&self, one: &mut TracedSleep) {
        let counted = self.is_guest.then(|| self.taken(one).unwrap_or_default());
        one.stolen = counted.map(|counted| one.stolen.map_or(counted, |stolen| stolen.max(counted)));
    }

    fn taken(&self, one: &TracedSleep) -> Option<Span> {
        let (began, ended) = (one.asleep_since.unwrap_or(one.waking), one.asleep_again.unwrap_or(one.waking));
        let before = self.looks.iter().rev().find(|(at, _)| *at <= began)?;
        let after = self.looks.iter().find(|(at, _)| *at >= ended)?;
        let of = |look: &(MonotonicTime, Vec<(u32, CpuTicks)>)| {
            look.1.iter().find(|(cpu, _)| *cpu == one.cpu).map(|(_, ticks)| *ticks)
        };
        let grew = of(after)?.since(of(before)?).steal?;
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

    /// Slept at 110, woken at 150, slept again at 190.
    fn slept(stolen: Option<Span>) -> TracedSleep {
        let who = CpuHolder { holder: HolderKind::Idle, pid: None, name: String::new() };
        TracedSleep {
            asleep_since: Some(at(110)),
            asleep_again: Some(at(190)),
            cpu: 1,
            stolen,
            ..TracedSleep::new(7, at(150), WakeSource::Other(who))
        }
    }

    /// What is said of that sleep where CPU 1 has lost `from` and then `until` ticks at 100 and 200.
    fn robbed_of(flags: &str, (from, until): (u64, u64), stolen: Option<Span>) -> Option<Span> {
        let stat = |steal: u64| {
            format!("cpu  0 0 0 0 0 0 0 99\ncpu0 0 0 0 0 0 0 0 50\ncpu1 0 0 0 0 0 0 0 {steal}\n")
        };
        let flags = format!("flags\t\t: fpu {flags}\n");
        let folder = howlate_testing::tree(&[("proc/cpuinfo", &flags), ("proc/stat", &stat(from))]);
        let mut steal = Steal::new(Root::at(folder.path()));
        steal.look(at(100));
        fs::write(folder.path().join("proc/stat"), stat(until)).unwrap();
        steal.look(at(200));
        let mut one = slept(stolen);
        steal.witness(&mut one);
        one.stolen
    }

    #[test]
    fn only_whole_ticks_between_two_looks_are_a_witness() {
        let tick = ticks(1);
        assert_eq!(robbed_of("hypervisor", (4, 7), None), Some(tick.plus(tick)));
        assert_eq!(
            robbed_of("hypervisor", (4, 5), None),
            Some(Span::ZERO),
            "it may have been nearly full before"
        );
        assert_eq!(robbed_of("hypervisor", (4, 4), Some(tick)), Some(tick), "the tracer knows better");
        assert_eq!(robbed_of("tsc", (4, 7), Some(tick)), None, "nobody is there to take anything");
    }
}
