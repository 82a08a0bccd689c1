//! Merges the timelines of neighbouring incidents where they overlap.

use std::collections::BTreeMap;

use howlate_model::{CpuTimeline, MonotonicTime, Occupant};

/// A range of time in which the use of each CPU is known.
#[derive(Debug, PartialEq)]
pub(super) struct CoveredTime {
    pub(super) from: MonotonicTime,
    pub(super) until: MonotonicTime,
    /// In order of time.
    pub(super) cpus: BTreeMap<u32, Vec<Occupant>>,
}

/// End of a stretch.
pub(super) fn end(stretch: &Occupant) -> MonotonicTime {
    stretch.from.unwrap_or_default().plus(stretch.ns)
}

impl CoveredTime {
    fn of(timeline: Vec<CpuTimeline>) -> Option<Self> {
        let mut cpus: BTreeMap<u32, Vec<Occupant>> = BTreeMap::new();
        for cpu_timeline in timeline {
            cpus.entry(cpu_timeline.cpu)
                .or_default()
                .extend(cpu_timeline.stretches.into_iter().filter(|stretch| stretch.from.is_some()));
        }
        let all = || cpus.values().flatten();
        let (from, until) = (all().filter_map(|stretch| stretch.from).min()?, all().map(end).max()?);
        cpus.values_mut().for_each(|all| all.sort_by_key(|stretch| stretch.from));
        Some(Self { from, until, cpus })
    }

    /// Appends the stretches of `other` after the end of its own.
    fn append(&mut self, other: Self) {
        for (cpu, stretches) in other.cpus {
            let covered = self.cpus.entry(cpu).or_default();
            let after = covered.last().map_or(self.from, end);
            covered.extend(
                stretches.into_iter().filter(|stretch| stretch.from.is_some_and(|from| from >= after)),
            );
        }
        self.until = self.until.max(other.until);
    }
}

/// The ranges of time that the timelines cover, in order and disjoint.
pub(super) fn merged_times(timelines: Vec<Vec<CpuTimeline>>) -> Vec<CoveredTime> {
    let mut times: Vec<CoveredTime> = timelines.into_iter().filter_map(CoveredTime::of).collect();
    times.sort_by_key(|time| time.from);
    let mut disjoint: Vec<CoveredTime> = Vec::new();
    for time in times {
        match disjoint.last_mut().filter(|last| time.from <= last.until) {
            Some(last) => last.append(time),
            None => disjoint.push(time),
        }
    }
    disjoint
}
