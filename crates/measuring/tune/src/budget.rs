//! How the time budget is divided among the stages of a search.

use howlate_analyse::compare::{Statistic, Trial};
use howlate_model::Span;

/// The time budget. Counts the time of recorded turns, so that a resumed run has the rest.
pub(crate) struct Budget {
    whole: Span,
    elapsed: Span,
    /// Turns planned so far.
    turns: u64,
}

/// Percentages of the budget after which screening and combining end; the rest is for confirmation.
const SCREENED_BY: u64 = 70;
const COMBINED_BY: u64 = 85;

/// Interim looks at most: each further one reduces the power of the test.
const MOST_LOOKS: usize = 5;

/// Rounds beyond the minimum for the clearest effect, so that the first look finds more than that.
const EXTRA_ROUNDS: usize = 4;

/// When screening results are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LookPlan {
    /// Rounds before the first look; there are twice as many before each later one.
    pub(crate) first: usize,
    /// Number of looks that share the error probability.
    pub(crate) looks: usize,
}

impl Budget {
    pub(crate) fn begin(whole: Span) -> Self {
        Self { whole, elapsed: Span::ZERO, turns: 0 }
    }

    pub(crate) const fn whole(&self) -> Span {
        self.whole
    }

    pub(crate) const fn remaining(&self) -> Span {
        self.whole.minus(self.elapsed)
    }

    pub(crate) const fn set_elapsed(&mut self, elapsed: Span) {
        self.elapsed = elapsed;
    }

    pub(crate) const fn add_turns(&mut self, turns: usize) {
        self.turns += turns as u64;
    }

    /// Mean time per turn so far, including the start of loads and threads.
    fn per_turn(&self) -> Span {
        Span::from_nanos(self.elapsed.as_nanos() / self.turns.max(1))
    }

    fn remaining_until(&self, percent: u64) -> Span {
        Span::from_nanos(self.whole.as_nanos() / 100 * percent).minus(self.elapsed)
    }

    /// The looks at `arms` settings; the budget needed where it does not suffice.
    pub(crate) fn screening(&self, arms: usize, confidence: f64) -> Result<LookPlan, Span> {
        let round = self.per_turn().times(arms as u64 + 1);
        let affordable = self.remaining_until(SCREENED_BY).as_nanos() / round.as_nanos().max(1);
        looks(usize::try_from(affordable).unwrap_or(usize::MAX), arms, confidence).ok_or_else(|| {
            let rounds = Trial::least_rounds(arms, 1, confidence) + EXTRA_ROUNDS;
            let needed = round.times(rounds as u64).plus(self.elapsed);
            // A quarter more: later turns may take longer.
            Span::from_nanos(needed.as_nanos() / SCREENED_BY * 125).rounded_up()
        })
    }

    /// The budget needed for turns of length `turn` if it is more than the given one: `pairs` of self-test rounds, and the minimum of
    /// rounds of `arms` settings.
    pub(crate) fn missing(&self, turn: Span, pairs: usize, arms: usize, confidence: f64) -> Option<Span> {
        let rounds = Trial::least_rounds(arms, 1, confidence) + EXTRA_ROUNDS;
        let needed = turn.times((2 * pairs + rounds * (arms + 1)) as u64);
        let is_too_little = needed > self.remaining_until(SCREENED_BY);
        is_too_little.then(|| Span::from_nanos(needed.as_nanos() / SCREENED_BY * 125).rounded_up())
    }

    /// Whether there is time for `rounds` more of the undecided settings.
    pub(crate) fn has_time_to_screen(&self, rounds: usize, arms: usize) -> bool {
        let needed = self.per_turn().times((rounds * (arms + 1)) as u64);
        needed <= self.remaining_until(SCREENED_BY)
    }

    /// Whether there is time to compare two sets.
    pub(crate) fn has_time_to_combine(&self, rounds: usize) -> bool {
        self.per_turn().times(2 * rounds as u64) <= self.remaining_until(COMBINED_BY)
    }

    /// Rounds of confirmation in the remaining time, within bounds.
    pub(crate) fn confirmation_rounds(&self, least: usize, most: usize) -> usize {
        let affordable = self.remaining_until(100).as_nanos() / self.per_turn().times(2).as_nanos().max(1);
        usize::try_from(affordable).unwrap_or(most).clamp(least, most)
    }
}

/// As many looks as the affordable rounds allow.
fn looks(affordable: usize, arms: usize, confidence: f64) -> Option<LookPlan> {
    let least = |looks: usize| Trial::least_rounds(arms, looks, confidence) + EXTRA_ROUNDS;
    let looks = (1..=MOST_LOOKS).rev().find(|looks| least(*looks) << (looks - 1) <= affordable)?;
    // All affordable rounds, but not so many that clear effects are found late.
    let first = (affordable >> (looks - 1)).min(2 * least(looks));
    Some(LookPlan { first, looks })
}

/// Rounds up to tens of seconds.
trait RoundedUp {
    fn rounded_up(self) -> Self;
}

impl RoundedUp for Span {
    fn rounded_up(self) -> Self {
        Self::from_secs(self.as_nanos().div_ceil(10_000_000_000) * 10)
    }
}

/// Length of a turn, unless it needs more to contain enough wake-ups.
pub(crate) const TURN: Span = Span::from_millis(150);

/// Wake-ups, one per `interval`, in a turn of howlate's own threads. A tenth more than the goal needs, because late wake-ups may
/// skip periods.
pub fn wakeups_per_turn(interval: Span, goal: Statistic) -> u64 {
    let least = (goal.least() * 11 / 10).max(20);
    (TURN.as_nanos() / interval.as_nanos().max(1)).clamp(least, 2_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_looks_as_there_is_time_for() {
        let first = |looks: usize| Trial::least_rounds(9, looks, 0.95) + EXTRA_ROUNDS;
        assert_eq!(looks(first(1) - 1, 9, 0.95), None);
        assert_eq!(looks(first(1), 9, 0.95), Some(LookPlan { first: first(1), looks: 1 }));
        assert_eq!(looks(2 * first(2), 9, 0.95), Some(LookPlan { first: first(2), looks: 2 }));
        assert_eq!(looks(first(1) + 1, 9, 0.95), Some(LookPlan { first: first(1) + 1, looks: 1 }));
        assert_eq!(looks(usize::MAX, 9, 0.95), Some(LookPlan { first: 2 * first(5), looks: 5 }));
    }

    #[test]
    fn a_turn_holds_enough_for_its_goal_and_is_short() {
        assert_eq!(wakeups_per_turn(Span::from_millis(1), Statistic::P99), 150);
        assert_eq!(wakeups_per_turn(Span::from_millis(10), Statistic::P99), 110);
        assert_eq!(wakeups_per_turn(Span::from_millis(10), Statistic::P50), 20);
        assert_eq!(wakeups_per_turn(Span::from_micros(10), Statistic::Max), 2_000);
    }
}
