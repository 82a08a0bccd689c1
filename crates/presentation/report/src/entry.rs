//! One condition of one recording.

use std::cmp::Reverse;

use howlate_analyse::{Outcome, Summary};
use howlate_model::{HasProperties, Property, PropertyValue, Span, System, Work};
use howlate_render::numbers::count;

use crate::NamedRecording;

/// A condition's results, with its recording.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) recording: NamedRecording<'a>,
    pub(crate) outcome: &'a Outcome,
    /// Summary of all planned wake-ups, including those that a stall made impossible; `None` without wake-ups.
    judged: Option<Summary>,
}

/// Maximum number of conditions: each is a row of several tables.
const MOST: usize = 800;

/// At most [`MOST`] entries, those with the highest rank, in their order.
pub(crate) fn shown<'a>(entries: &[Entry<'a>]) -> Vec<Entry<'a>> {
    if entries.len() <= MOST {
        return entries.to_vec();
    }
    let mut places: Vec<usize> = (0..entries.len()).collect();
    places.sort_by_cached_key(|place| Reverse(entries[*place].rank()));
    places.truncate(MOST);
    places.sort_unstable();
    places.into_iter().map(|place| entries[place]).collect()
}

/// A sentence about the omitted conditions; `None` where all are shown.
pub(crate) fn not_shown(entries: &[Entry<'_>]) -> Option<String> {
    let [all, most] = [entries.len(), MOST].map(|number| count(number as u64));
    let statistic = if entries.iter().any(Entry::is_notify) { "medians" } else { "99th percentiles" };
    (entries.len() > MOST).then(|| {
        format!(
            "There are {all} conditions of all machines; tables and pictures have the {most} with the largest {statistic}. All are in \
             `howlate show --format csv`."
        )
    })
}

impl HasProperties for Entry<'_> {
    fn value(&self, property: Property) -> Option<PropertyValue<'_>> {
        self.outcome.value(property)
    }
}

impl<'a> Entry<'a> {
    fn new(recording: NamedRecording<'a>, outcome: &'a Outcome) -> Self {
        Self { recording, outcome, judged: outcome.planned_summary() }
    }

    /// Every measured condition of all recordings.
    pub(crate) fn all(recordings: &[NamedRecording<'a>]) -> Vec<Self> {
        let of = |recording: &NamedRecording<'a>| {
            let recording = *recording;
            recording.analysis.outcomes().iter().map(move |outcome| Self::new(recording, outcome))
        };
        recordings.iter().flat_map(of).collect()
    }

    pub(crate) fn work(&self) -> &'a Work {
        &self.outcome.condition.work
    }

    /// The machine of the measurement: the guest, where there was one.
    pub(crate) fn system(&self) -> &'a System {
        let (analysis, condition) = (self.recording.analysis, &self.outcome.condition);
        let guest = analysis.boots.iter().find(|boot| boot.kernel == condition.kernel);
        guest.filter(|_| condition.on_host.is_some()).map_or(&analysis.header.system, |boot| &boot.system)
    }

    /// The deadline of the report, otherwise the period; `None` for other work.
    pub(crate) fn deadline(&self) -> Option<Span> {
        self.recording.deadline.or_else(|| self.work().period())
    }

    pub(crate) fn is_sleep(&self) -> bool {
        matches!(self.work(), Work::Sleep { .. })
    }

    pub(crate) fn is_notify(&self) -> bool {
        matches!(self.work(), Work::Notify { .. })
    }

    /// Summary of all planned wake-ups; `None` where there is none.
    pub(crate) const fn judged_summary(&self) -> Option<Summary> {
        self.judged
    }

    /// Whether the requested policy was in force.
    pub(crate) fn has_requested_policy(&self) -> bool {
        self.outcome.fallback_policy().is_none()
    }

    /// The latency by which conditions are ranked, in nanoseconds: the median of
    /// notifications, otherwise the 99th percentile.
    pub(crate) fn rank(&self) -> Option<i64> {
        self.judged_summary().map(|summary| if self.is_notify() { summary.p50 } else { summary.p99 })
    }

    /// Whether at least one wake-up lies within this tail.
    pub(crate) fn supports(&self, tail: f64) -> bool {
        self.outcome.planned().count() as f64 * tail >= 1.0 - 1e-9
    }

    pub(crate) fn has_at_least(&self, wakeups: u64) -> bool {
        self.outcome.planned().count() >= wakeups
    }

    /// Largest latency in nanoseconds; `i64::MIN` where nothing was measured.
    pub(crate) fn max(&self) -> i64 {
        self.outcome.latency().max().map_or(i64::MIN, howlate_model::Latency::as_nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{add, analysis, cyclic};

    #[test]
    fn of_too_many_the_latest_are_shown_in_their_order() {
        let number = u32::try_from(MOST).unwrap() + 2;
        let mut analysis = analysis((0..number).map(|cpu| cyclic("other", cpu)).collect());
        (0..number)
            .for_each(|cpu| add(&mut analysis, cpu, 200, if cpu == 5 || cpu == 9 { 1_000 } else { 50_000 }));
        let all = Entry::all(&[NamedRecording::new("run.jsonl", &analysis)]);
        let shown = shown(&all);
        let cpus: Vec<u32> = shown.iter().filter_map(|entry| entry.outcome.condition.cpu).collect();
        assert_eq!(cpus, (0..number).filter(|cpu| ![5, 9].contains(cpu)).collect::<Vec<_>>());
        assert!(
            not_shown(&all).unwrap().starts_with("There are 802 conditions") && not_shown(&shown).is_none()
        );
    }
}
