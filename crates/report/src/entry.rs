//! One condition of one recording.

use howlate_analyse::{Outcome, Summary};
use howlate_model::{HasProperties, Property, Span, System, Value, Work};

use crate::Recording;

/// A condition with what came of it, and where it is from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) recording: Recording<'a>,
    pub(crate) outcome: &'a Outcome,
}

impl HasProperties for Entry<'_> {
    fn value(&self, property: Property) -> Option<Value<'_>> {
        self.outcome.value(property)
    }
}

impl<'a> Entry<'a> {
    /// Every condition of all recordings under which anything was measured.
    pub(crate) fn all(recordings: &[Recording<'a>]) -> Vec<Self> {
        let of = |recording: &Recording<'a>| {
            let recording = *recording;
            recording.analysis.outcomes().iter().map(move |outcome| Self { recording, outcome })
        };
        recordings.iter().flat_map(of).collect()
    }

    pub(crate) fn work(&self) -> &'a Work {
        &self.outcome.condition.work
    }

    /// The machine that it was measured on: the guest, where there was one.
    pub(crate) fn system(&self) -> &'a System {
        let (analysis, condition) = (self.recording.analysis, &self.outcome.condition);
        let guest = analysis.boots.iter().find(|boot| boot.kernel == condition.kernel);
        guest.filter(|_| condition.on_host.is_some()).map_or(&analysis.header.system, |boot| &boot.system)
    }

    /// When what it did comes too late: after what was given, or after the period.
    pub(crate) fn deadline(&self) -> Option<Span> {
        self.recording.deadline.or_else(|| self.work().period())
    }

    pub(crate) fn is_sleep(&self) -> bool {
        matches!(self.work(), Work::Sleep { .. })
    }

    pub(crate) fn is_notify(&self) -> bool {
        matches!(self.work(), Work::Notify { .. })
    }

    /// The numbers of every planned wake-up, so that a stall counts for all that it swallowed.
    pub(crate) fn judged(&self) -> Option<Summary> {
        self.outcome.planned_summary()
    }

    /// Whether what was asked for is what ran.
    pub(crate) fn ran_as_asked(&self) -> bool {
        self.outcome.ran_as().is_none()
    }

    /// Its number of nanoseconds by which it is ranked: what is usual for notifications, the 99th
    /// percentile for punctuality.
    pub(crate) fn rank(&self) -> Option<i64> {
        self.judged().map(|summary| if self.is_notify() { summary.p50 } else { summary.p99 })
    }

    /// Whether it has enough wake-ups for this share of them to be one at least.
    #[allow(clippy::cast_precision_loss, reason = "a share")]
    pub(crate) fn supports(&self, tail: f64) -> bool {
        self.outcome.planned().count() as f64 * tail >= 1.0 - 1e-9
    }

    /// The largest latency.
    pub(crate) fn max(&self) -> i64 {
        self.outcome.latency().max().map_or(i64::MIN, howlate_model::Latency::as_nanos)
    }
}
