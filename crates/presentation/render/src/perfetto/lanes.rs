//! Timelines one after the other, where those of neighbouring incidents overlap.

use std::collections::BTreeMap;

use howlate_model::{CpuTimeline, MonotonicTime, Occupant};

/// A time in which it is known what each CPU did.
#[derive(Debug, PartialEq)]
pub(super) struct Spell {
    pub(super) from: MonotonicTime,
    pub(super) until: MonotonicTime,
    /// In the order of time.
    pub(super) cpus: BTreeMap<u32, Vec<Occupant>>,
}

/// When a stretch ended.
pub(super) fn end(one: &Occupant) -> MonotonicTime {
    one.from.unwrap_or_default().plus(one.ns)
}

impl Spell {
    fn of(timeline: Vec<CpuTimeline>) -> Option<Self> {
        let mut cpus: BTreeMap<u32, Vec<Occupant>> = BTreeMap::new();
        for one in timeline {
            cpus.entry(one.cpu)
                .or_default()
                .extend(one.stretches.into_iter().filter(|one| one.from.is_some()));
        }
        let all = || cpus.values().flatten();
        let (from, until) = (all().filter_map(|one| one.from).min()?, all().map(end).max()?);
        cpus.values_mut().for_each(|all| all.sort_by_key(|one| one.from));
        Some(Self { from, until, cpus })
    }

    /// Goes on with what the other one knows beyond.
    fn go_on(&mut self, other: Self) {
        for (cpu, stretches) in other.cpus {
            let known = self.cpus.entry(cpu).or_default();
            let after = known.last().map_or(self.from, end);
            known.extend(stretches.into_iter().filter(|one| one.from.is_some_and(|from| from >= after)));
        }
        self.until = self.until.max(other.until);
    }
}

/// The times that the timelines cover, in order and apart from each other.
pub(super) fn spells(timelines: Vec<Vec<CpuTimeline>>) -> Vec<Spell> {
    let mut all: Vec<Spell> = timelines.into_iter().filter_map(Spell::of).collect();
    all.sort_by_key(|spell| spell.from);
    let mut apart: Vec<Spell> = Vec::new();
    for spell in all {
        match apart.last_mut().filter(|last| spell.from <= last.until) {
            Some(last) => last.go_on(spell),
            None => apart.push(spell),
        }
    }
    apart
}
