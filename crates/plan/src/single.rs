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
    pub(crate) samples: u64,
    pub(crate) warm_up: u64,
    /// What one wake-up takes if nothing is late.
    pub(crate) each: Span,
    /// What comes before the first wake-up.
    pub(crate) first: Span,
    /// The time after which it is cut, if one was asked for.
    pub(crate) at_most: Option<Span>,
}

impl Single {
    /// `None` when the condition has fewer samples than there are rounds and this one gets none.
    pub(crate) fn turn(&self, conditions: &[Condition]) -> Option<Turn> {
        let condition = &conditions[self.number];
        let estimate = self.each.times(self.samples.saturating_add(self.warm_up)).plus(self.first);
        let cut_after = self.at_most.unwrap_or_else(|| limit(estimate));
        (self.samples > 0).then(|| Turn {
            tasks: vec![self.task(condition)],
            load: condition.load.clone(),
            duration: None,
            cut_after: Some(cut_after),
            estimate: estimate.min(cut_after),
        })
    }

    fn task(&self, condition: &Condition) -> Task {
        let (round, samples, warm_up) = (self.round, Some(self.samples), self.warm_up);
        Task { round, samples, warm_up, keep_series: true, ..Task::of(self.number, condition) }
    }
}

/// Each round's equal share of a time asked for.
pub(crate) fn share_of_time(all: Option<Span>, rounds: u32) -> Option<Span> {
    all.map(|all| Span::from_nanos(all.as_nanos() / u64::from(rounds)))
}
