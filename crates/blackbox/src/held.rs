//! Incidents that wait for what comes after them.

use howlate_model::{CpuTimeline, Incident, MonotonicTime, Span};
use howlate_recording::LateLanes;

/// A timeline begins so long before the wait, and ends so long after it.
const AROUND: Span = Span::from_millis(100);

/// Incidents, and what all CPUs did around the worst of them.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) incidents: Vec<Incident>,
    pub(crate) from: MonotonicTime,
    pub(crate) until: MonotonicTime,
    /// How long the worst waited, and until when, on this clock and as date and time.
    pub(crate) latency: Span,
    ended: MonotonicTime,
    pub(crate) at: String,
    /// As far as it was remembered when they were found.
    cpus: Vec<CpuTimeline>,
}

impl Held {
    /// Around the `worst` of them, so much at most.
    pub(crate) fn around(worst: &Incident, most: Span) -> Self {
        let until = worst.at_ns.plus(AROUND);
        let from = worst.at_ns.minus(worst.latency).minus(AROUND).max(until.minus(most));
        let (latency, ended, at) = (worst.latency, worst.at_ns, worst.at.clone());
        Self { incidents: Vec::new(), from, until, latency, ended, at, cpus: Vec::new() }
    }

    /// Takes in what is remembered now: what a busy CPU did before, it may have forgotten at the next look.
    pub(crate) fn remember(&mut self, now: Vec<CpuTimeline>) {
        let before = std::mem::take(&mut self.cpus);
        self.cpus = joined(before, now);
    }

    /// What all CPUs did; `None`: nothing of the worst wait is remembered.
    pub(crate) fn cpus(&self) -> Option<&[CpuTimeline]> {
        let began = self.ended.minus(self.latency);
        let is_of_it = |from: MonotonicTime, ns: Span| from < self.ended && from.plus(ns) > began;
        let mut stretches = self.cpus.iter().flat_map(|cpu| &cpu.stretches);
        let is_known = stretches.any(|one| one.from.is_some_and(|from| is_of_it(from, one.ns)));
        is_known.then_some(&self.cpus)
    }

    /// Whether it ended while the CPUs were remembered.
    pub(crate) fn covers(&self, one: &Incident) -> bool {
        one.at_ns >= self.from && one.at_ns <= self.until
    }

    /// A lane for each incident of that time.
    pub(crate) fn lanes(&self) -> LateLanes<'_> {
        lanes(self.incidents.iter().filter(|one| self.covers(one)))
    }
}

/// A lane for each incident.
pub(crate) fn lanes<'a>(incidents: impl Iterator<Item = &'a Incident>) -> LateLanes<'a> {
    let name = |one: &Incident| format!("{} ({})", one.thread.name, one.thread.tid);
    LateLanes { title: "late", lanes: incidents.map(|one| (name(one), one.parts.as_slice())).collect() }
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
    use howlate_model::{Holder, Occupant, Who};

    use super::*;

    fn cpu(cpu: u32, stretches: &[(i64, u64, &str)]) -> CpuTimeline {
        let one = |&(from, ns, name): &(i64, u64, &str)| Occupant {
            who: Who { holder: Holder::Thread, pid: Some(1), name: name.to_owned() },
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
    fn what_is_remembered_only_of_later_is_no_timeline() {
        let time = MonotonicTime::from_nanos;
        let (from, until) = (time(0), time(400));
        let (incidents, cpus, at) = (Vec::new(), Vec::new(), String::new());
        let mut held =
            Held { incidents, from, until, latency: Span::from_nanos(100), ended: time(300), at, cpus };
        assert!(held.cpus().is_none());
        held.remember(vec![cpu(0, &[(100, 100, "earlier"), (300, 50, "later")])]);
        assert!(held.cpus().is_none(), "{held:?}");
        held.remember(vec![cpu(1, &[(290, 5, "hog")])]);
        assert_eq!(held.cpus().map(<[_]>::len), Some(2));
    }

    #[test]
    fn a_gap_stays_one() {
        let all = joined(vec![cpu(0, &[(100, 50, "hog")])], vec![cpu(0, &[(900, 50, "hog")])]);
        assert_eq!(all, [cpu(0, &[(100, 50, "hog"), (900, 50, "hog")])]);
    }
}
