//! Joins several readings of the rings: a busy CPU overwrites its ring between two readings.

use howlate_model::{CpuTimeline, MonotonicTime};

/// The activity of all CPUs, from all readings.
#[derive(Debug, Default)]
pub struct TimelineHistory(Vec<CpuTimeline>);

impl TimelineHistory {
    /// Adds a reading.
    pub fn add(&mut self, now: Vec<CpuTimeline>) {
        let before = std::mem::take(&mut self.0);
        self.0 = join(before, now);
    }

    /// All timelines; `None` if nothing is known of a wait between these times on this CPU, or with `cpu` `None` on any CPU.
    #[must_use]
    pub fn of_wait(
        &self,
        cpu: Option<u32>,
        from: MonotonicTime,
        until: MonotonicTime,
    ) -> Option<&[CpuTimeline]> {
        let timelines = self.0.iter().filter(|timeline| cpu.is_none_or(|cpu| timeline.cpu == cpu));
        let mut began = timelines
            .flat_map(|timeline| &timeline.stretches)
            .filter_map(|occupant| Some((occupant.from?, occupant.ns)));
        began.any(|(began, ns)| began < until && began.plus(ns) > from).then_some(&self.0)
    }
}

/// Per CPU, the new reading, and what earlier readings knew of the time before it.
fn join(before: Vec<CpuTimeline>, now: Vec<CpuTimeline>) -> Vec<CpuTimeline> {
    let mut timelines = before;
    for new_timeline in now {
        match timelines.iter_mut().find(|timeline| timeline.cpu == new_timeline.cpu) {
            Some(timeline) => append(timeline, new_timeline),
            None => timelines.push(new_timeline),
        }
    }
    timelines.sort_by_key(|timeline| timeline.cpu);
    timelines
}

fn append(timeline: &mut CpuTimeline, now: CpuTimeline) {
    let Some(from) = now.stretches.first().and_then(|first| first.from) else { return };
    timeline.stretches.retain(|occupant| occupant.from.is_some_and(|began| began < from));
    if let Some(last) = timeline.stretches.last_mut()
        && let Some(began) = last.from
    {
        last.ns = last.ns.min(from.since(began));
    }
    timeline.stretches.extend(now.stretches);
}

#[cfg(test)]
mod tests {
    use howlate_model::{CpuHolder, HolderKind, Occupant, Span};

    use super::*;

    fn cpu(cpu: u32, stretches: &[(i64, u64, &str)]) -> CpuTimeline {
        let occupant = |&(from, ns, name): &(i64, u64, &str)| Occupant {
            who: CpuHolder { holder: HolderKind::Thread, pid: Some(1), name: name.to_owned() },
            ns: Span::from_nanos(ns),
            from: Some(MonotonicTime::from_nanos(from)),
        };
        CpuTimeline { cpu, stretches: stretches.iter().map(occupant).collect() }
    }

    #[test]
    fn overwritten_events_were_read_before() {
        let earlier = vec![cpu(0, &[(100, 50, "hog"), (150, 50, "victim")]), cpu(1, &[(100, 100, "idle")])];
        let later = vec![cpu(0, &[(180, 40, "victim"), (220, 80, "hog")]), cpu(2, &[(10, 1, "new")])];
        let all = join(earlier.clone(), later);
        let first_cpu =
            cpu(0, &[(100, 50, "hog"), (150, 30, "victim"), (180, 40, "victim"), (220, 80, "hog")]);
        assert_eq!(all, [first_cpu, cpu(1, &[(100, 100, "idle")]), cpu(2, &[(10, 1, "new")])]);
        assert_eq!(join(earlier.clone(), Vec::new()), earlier, "all of it is forgotten");
        assert_eq!(join(Vec::new(), earlier.clone()), earlier);
        assert_eq!(join(earlier.clone(), earlier.clone()), earlier, "nothing is there twice");
    }

    #[test]
    fn events_after_the_wait_are_not_events_of_it() {
        let time = MonotonicTime::from_nanos;
        let mut all = TimelineHistory::default();
        let timelines =
            |history: &TimelineHistory, cpu| history.of_wait(cpu, time(200), time(300)).map(<[_]>::len);
        assert_eq!(timelines(&all, None), None);
        all.add(vec![cpu(0, &[(100, 100, "earlier"), (300, 50, "later")])]);
        assert_eq!(timelines(&all, None), None, "{all:?}");
        all.add(vec![cpu(1, &[(290, 5, "hog")])]);
        assert_eq!(timelines(&all, None), Some(2));
        assert_eq!((timelines(&all, Some(0)), timelines(&all, Some(1))), (None, Some(2)), "its own CPU's");
    }

    #[test]
    fn a_gap_stays_one() {
        let all = join(vec![cpu(0, &[(100, 50, "hog")])], vec![cpu(0, &[(900, 50, "hog")])]);
        assert_eq!(all, [cpu(0, &[(100, 50, "hog"), (900, 50, "hog")])]);
    }
}
