//! What the rings told at several looks, joined: a busy CPU writes over what it did before somebody looks again.

use howlate_model::{CpuTimeline, MonotonicTime};

/// What all CPUs did, as far as any look saw it.
#[derive(Debug, Default)]
pub struct Remembered(Vec<CpuTimeline>);

impl Remembered {
    /// Takes in what is remembered `now`.
    pub fn add(&mut self, now: Vec<CpuTimeline>) {
        let before = std::mem::take(&mut self.0);
        self.0 = joined(before, now);
    }

    /// All of it; `None`: nothing is remembered of a wait between these times on this CPU, or on any where that is not known.
    #[must_use]
    pub fn of_wait(
        &self,
        cpu: Option<u32>,
        from: MonotonicTime,
        until: MonotonicTime,
    ) -> Option<&[CpuTimeline]> {
        let mine = self.0.iter().filter(|one| cpu.is_none_or(|cpu| one.cpu == cpu));
        let mut began = mine.flat_map(|one| &one.stretches).filter_map(|one| Some((one.from?, one.ns)));
        began.any(|(began, ns)| began < until && began.plus(ns) > from).then_some(&self.0)
    }
}

/// Of each CPU, what is remembered now, and before that what was remembered earlier.
fn joined(before: Vec<CpuTimeline>, now: Vec<CpuTimeline>) -> Vec<CpuTimeline> {
    let mut all = before;
    for one in now {
        match all.iter_mut().find(|known| known.cpu == one.cpu) {
            Some(known) => append(known, one),
            None => all.push(one),
        }
    }
    all.sort_by_key(|one| one.cpu);
    all
}

fn append(known: &mut CpuTimeline, now: CpuTimeline) {
    let Some(from) = now.stretches.first().and_then(|first| first.from) else { return };
    known.stretches.retain(|one| one.from.is_some_and(|began| began < from));
    if let Some(last) = known.stretches.last_mut()
        && let Some(began) = last.from
    {
        last.ns = last.ns.min(from.since(began));
    }
    known.stretches.extend(now.stretches);
}

#[cfg(test)]
mod tests {
    use howlate_model::{CpuHolder, HolderKind, Occupant, Span};

    use super::*;

    fn cpu(cpu: u32, stretches: &[(i64, u64, &str)]) -> CpuTimeline {
        let one = |&(from, ns, name): &(i64, u64, &str)| Occupant {
            who: CpuHolder { holder: HolderKind::Thread, pid: Some(1), name: name.to_owned() },
            ns: Span::from_nanos(ns),
            from: Some(MonotonicTime::from_nanos(from)),
        };
        CpuTimeline { cpu, stretches: stretches.iter().map(one).collect() }
    }

    #[test]
    fn what_is_forgotten_meanwhile_was_read_before() {
        let found = vec![cpu(0, &[(100, 50, "hog"), (150, 50, "victim")]), cpu(1, &[(100, 100, "idle")])];
        let later = vec![cpu(0, &[(180, 40, "victim"), (220, 80, "hog")]), cpu(2, &[(10, 1, "new")])];
        let all = joined(found.clone(), later);
        let of_0 = cpu(0, &[(100, 50, "hog"), (150, 30, "victim"), (180, 40, "victim"), (220, 80, "hog")]);
        assert_eq!(all, [of_0, cpu(1, &[(100, 100, "idle")]), cpu(2, &[(10, 1, "new")])]);
        assert_eq!(joined(found.clone(), Vec::new()), found, "all of it is forgotten");
        assert_eq!(joined(Vec::new(), found.clone()), found);
        assert_eq!(joined(found.clone(), found.clone()), found, "nothing is there twice");
    }

    #[test]
    fn what_is_remembered_only_of_later_is_nothing_of_the_wait() {
        let time = MonotonicTime::from_nanos;
        let mut all = Remembered::default();
        let known = |all: &Remembered, cpu| all.of_wait(cpu, time(200), time(300)).map(<[_]>::len);
        assert_eq!(known(&all, None), None);
        all.add(vec![cpu(0, &[(100, 100, "earlier"), (300, 50, "later")])]);
        assert_eq!(known(&all, None), None, "{all:?}");
        all.add(vec![cpu(1, &[(290, 5, "hog")])]);
        assert_eq!(known(&all, None), Some(2));
        assert_eq!((known(&all, Some(0)), known(&all, Some(1))), (None, Some(2)), "its own CPU's");
    }

    #[test]
    fn a_gap_stays_one() {
        let all = joined(vec![cpu(0, &[(100, 50, "hog")])], vec![cpu(0, &[(900, 50, "hog")])]);
        assert_eq!(all, [cpu(0, &[(100, 50, "hog"), (900, 50, "hog")])]);
    }
}
