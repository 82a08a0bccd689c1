//! Turns of a single task that ends with its samples, as sleeps and notifications have them.

use howlate_model::{Condition, Span, Task, Turn};

/// A turn is cut after this many times what it should take, and [`CUT_GRACE`].
const CUT_FACTOR: u64 = 10;
const CUT_GRACE: Span = Span::from_secs(5);

/// The time after which a turn is cut that should take `estimate`.
pub(crate) fn limit(estimate: Span) -> Span {
    estimate.times(CUT_FACTOR).plus(CUT_GRACE)
}

/// What one condition's turn is made of.
pub(crate) struct Single {
    /// Index of the condition.
    pub(crate) number: usize,
    pub(crate) round: u32,
    pub(crate) extent: Extent,
    pub(crate) warm_up: u64,
    /// What one wake-up takes if nothing is late.
    pub(crate) each: Span,
    /// What comes before the first wake-up.
    pub(crate) first: Span,
}

/// How much a turn is of.
#[derive(Clone, Copy)]
pub(crate) enum Extent {
    /// So many samples, cut after a time if one was asked for.
    Samples(u64, Option<Span>),
    /// As many as there are in this time.
    Time(Span),
}

impl Single {
    /// `None` when the condition has fewer samples than there are rounds and this one gets none.
    pub(crate) fn turn(&self, conditions: &[Condition]) -> Option<Turn> {
        let condition = &conditions[self.number];
        let before = self.each.times(self.warm_up).plus(self.first);
        let (duration, cut_after, estimate) = match self.extent {
            Extent::Samples(0, _) => return None,
            Extent::Samples(samples, at_most) => {
                let estimate = self.each.times(samples).plus(before);
                let cut_after = at_most.unwrap_or_else(|| limit(estimate));
                (None, Some(cut_after), estimate.min(cut_after))
            }
            Extent::Time(lasts) => (Some(lasts), None, lasts.plus(self.first)),
        };
        let tasks = vec![self.task(condition)];
        Some(Turn { tasks, load: condition.load.clone(), duration, cut_after, estimate })
    }

    fn task(&self, condition: &Condition) -> Task {
        let (round, warm_up) = (self.round, self.warm_up);
        let samples = match self.extent {
            Extent::Samples(samples, _) => Some(samples),
            Extent::Time(_) => None,
        };
        Task { round, samples, warm_up, keep_series: true, ..Task::from_condition(self.number, condition) }
    }
}

/// Each round's equal share of a time asked for.
pub(crate) fn share_of_time(all: Option<Span>, rounds: u32) -> Option<Span> {
    all.map(|all| Span::from_nanos(all.as_nanos() / u64::from(rounds)))
}
