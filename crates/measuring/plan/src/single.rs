//! Turns with a single task, for sleeps and notifications.

use howlate_model::{Condition, Span, Task, Turn};

/// A turn is cut after this multiple of its expected duration, plus [`CUT_GRACE`].
const CUT_FACTOR: u64 = 10;
const CUT_GRACE: Span = Span::from_secs(5);

/// Cut-off time of a turn with this expected duration.
pub(crate) fn limit(estimate: Span) -> Span {
    estimate.times(CUT_FACTOR).plus(CUT_GRACE)
}

/// Parameters of a turn with a single task.
pub(crate) struct SingleTaskTurn {
    /// Index of the condition.
    pub(crate) number: usize,
    pub(crate) round: u32,
    pub(crate) extent: TurnExtent,
    pub(crate) warm_up: u64,
    /// Expected time per wake-up.
    pub(crate) each: Span,
    /// Start-up time before the first wake-up.
    pub(crate) first: Span,
}

/// Length of a turn.
#[derive(Clone, Copy)]
pub(crate) enum TurnExtent {
    /// A number of samples, with an optional cut-off time.
    Samples(u64, Option<Span>),
    /// A duration.
    Time(Span),
}

impl SingleTaskTurn {
    /// `None` if the condition has fewer samples than rounds, and this round gets none.
    pub(crate) fn turn(&self, conditions: &[Condition]) -> Option<Turn> {
        let condition = &conditions[self.number];
        let before = self.each.times(self.warm_up).plus(self.first);
        let (duration, cut_after, estimate) = match self.extent {
            TurnExtent::Samples(0, _) => return None,
            TurnExtent::Samples(samples, at_most) => {
                let estimate = self.each.times(samples).plus(before);
                let cut_after = at_most.unwrap_or_else(|| limit(estimate));
                (None, Some(cut_after), estimate.min(cut_after))
            }
            TurnExtent::Time(lasts) => (Some(lasts), None, lasts.plus(self.first)),
        };
        let tasks = vec![self.task(condition)];
        Some(Turn { tasks, load: condition.load.clone(), duration, cut_after, estimate })
    }

    fn task(&self, condition: &Condition) -> Task {
        let (round, warm_up) = (self.round, self.warm_up);
        let samples = match self.extent {
            TurnExtent::Samples(samples, _) => Some(samples),
            TurnExtent::Time(_) => None,
        };
        Task { round, samples, warm_up, keep_series: true, ..Task::from_condition(self.number, condition) }
    }
}

/// Splits a duration evenly among the rounds.
pub(crate) fn share_of_time(total: Option<Span>, rounds: u32) -> Option<Span> {
    total.map(|total| Span::from_nanos(total.as_nanos() / u64::from(rounds)))
}
