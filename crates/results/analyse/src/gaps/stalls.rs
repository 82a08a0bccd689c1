//! Stalls: times at which all measured CPUs stood still at once.

use std::collections::{BTreeMap, VecDeque};

use howlate_model::{CpuGap, MonotonicTime, Span};

/// Most gaps of a CPU stored until another CPU's overlap: a minute's worth of a busy machine.
const MOST_WAITING: usize = 1 << 16;

/// An interval in which no measured CPU ran its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    pub from: MonotonicTime,
    pub length: Span,
}

/// Gaps of each CPU that may overlap with one of another.
#[derive(Debug, Default)]
pub(super) struct Overlaps {
    by_cpu: BTreeMap<u32, VecDeque<(MonotonicTime, MonotonicTime)>>,
}

impl Overlaps {
    pub(super) fn for_cpus(cpus: impl Iterator<Item = u32>) -> Self {
        Self { by_cpu: cpus.map(|cpu| (cpu, VecDeque::new())).collect() }
    }

    /// Takes a gap; later calls must be for later gaps of that CPU.
    pub(super) fn add(&mut self, gap: &CpuGap) {
        let gaps = self.by_cpu.entry(gap.cpu).or_default();
        if gaps.len() == MOST_WAITING {
            gaps.pop_front();
        }
        gaps.push_back((gap.from, gap.until()));
    }

    /// Calls `found` for overlaps of gaps of all CPUs, once every gap that ended up to now was added.
    pub(super) fn settle(&mut self, found: &mut dyn FnMut(Stall)) {
        if self.by_cpu.len() < 2 {
            self.by_cpu.values_mut().for_each(VecDeque::clear);
            return;
        }
        while let Some((from, until)) = self.next() {
            if until > from {
                found(Stall { from, length: until.since(from) });
            }
            // The one that ends first overlaps with nothing later.
            let first = self.by_cpu.values_mut().min_by_key(|gaps| gaps.front().map(|gap| gap.1));
            first.map(VecDeque::pop_front);
        }
    }

    /// The latest beginning and the earliest end of the first gaps; `None` while a CPU has none.
    fn next(&self) -> Option<(MonotonicTime, MonotonicTime)> {
        let fronts: Option<Vec<_>> = self.by_cpu.values().map(|gaps| gaps.front().copied()).collect();
        let fronts = fronts?;
        let from = fronts.iter().map(|gap| gap.0).max()?;
        Some((from, fronts.iter().map(|gap| gap.1).min()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(cpu: u32, from: i64, until: i64) -> CpuGap {
        let from = MonotonicTime::from_nanos(from);
        CpuGap { cpu, from, length: MonotonicTime::from_nanos(until).since(from) }
    }

    fn stalls(cpus: u32, gaps: &[CpuGap]) -> Vec<(i64, u64)> {
        let mut overlaps = Overlaps::for_cpus(0..cpus);
        gaps.iter().for_each(|gap| overlaps.add(gap));
        let mut found = Vec::new();
        overlaps.settle(&mut |stall| found.push((stall.from.as_nanos(), stall.length.as_nanos())));
        found
    }

    // CPU 0   10──20    30────────────60      80─90
    // CPU 1        25──────40  50──55    65───────95
    //                   30─40  50──55         80─90
    #[test]
    fn where_all_are_in_a_gap_the_machine_stands_still() {
        let gaps =
            [gap(0, 10, 20), gap(0, 30, 60), gap(0, 80, 90), gap(1, 25, 40), gap(1, 50, 55), gap(1, 65, 95)];
        assert_eq!(stalls(2, &gaps), [(30, 10), (50, 5), (80, 10)]);
        assert_eq!(stalls(3, &gaps), []);
    }

    #[test]
    fn memory_does_not_grow_while_another_cpu_has_no_gaps() {
        let mut overlaps = Overlaps::for_cpus(0..2);
        (0..100_000).for_each(|number| overlaps.add(&gap(0, number * 10, number * 10 + 5)));
        assert_eq!(overlaps.by_cpu[&0].len(), MOST_WAITING);
    }

    #[test]
    fn one_cpu_alone_has_no_others() {
        assert_eq!(stalls(1, &[gap(0, 10, 20)]), []);
    }
}
