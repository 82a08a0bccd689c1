//! How much time which part of trying gets.

use howlate_analyse::compare::Trial;
use howlate_model::Span;

/// Time that is shared out among the parts. It is that of the recorded turns, so that an interrupted run that goes on has the rest.
pub(crate) struct Budget {
    whole: Span,
    elapsed: Span,
    /// Turns that were taken so far.
    turns: u64,
}

/// Shares of the whole, by whose end each part is to be over; the rest is for turns that confirm.
const SCREENED_BY: u64 = 70;
const COMBINED_BY: u64 = 85;

/// Looks at most: each further one makes it harder to find anything.
const MOST_LOOKS: usize = 5;

/// Rounds beyond those that the clearest effect takes, because the first look is to find more than that.
const SOME_MORE: usize = 4;

/// What settings are to be compared in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Looks {
    /// Rounds before the first look; there are twice as many before each later one.
    pub(crate) first: usize,
    /// How many looks are to be paid for.
    pub(crate) looks: usize,
}

impl Budget {
    pub(crate) fn begin(whole: Span) -> Self {
        Self { whole, elapsed: Span::ZERO, turns: 0 }
    }

    pub(crate) const fn whole(&self) -> Span {
        self.whole
    }

    /// What is left of it.
    pub(crate) const fn left(&self) -> Span {
        self.whole.minus(self.elapsed)
    }

    /// All turns so far took so long.
    pub(crate) const fn has_taken(&mut self, elapsed: Span) {
        self.elapsed = elapsed;
    }

    /// So many turns were planned.
    pub(crate) const fn spend(&mut self, turns: usize) {
        self.turns += turns as u64;
    }

    /// What a turn has taken so far, its load and its threads' start included.
    fn each(&self) -> Span {
        Span::from_nanos(self.elapsed.as_nanos() / self.turns.max(1))
    }

    fn left_until(&self, percent: u64) -> Span {
        Span::from_nanos(self.whole.as_nanos() / 100 * percent).minus(self.elapsed)
    }

    /// How `arms` settings are looked at; the budget that it takes where there is too little.
    pub(crate) fn screening(&self, arms: usize, confidence: f64) -> Result<Looks, Span> {
        let round = self.each().times(arms as u64 + 1);
        let affordable = self.left_until(SCREENED_BY).as_nanos() / round.as_nanos().max(1);
        looks(usize::try_from(affordable).unwrap_or(usize::MAX), arms, confidence).ok_or_else(|| {
            let rounds = Trial::least_rounds(arms, 1, confidence) + SOME_MORE;
            let needed = round.times(rounds as u64).plus(self.elapsed);
            // A quarter more: later turns may take longer.
            Span::from_nanos(needed.as_nanos() / SCREENED_BY * 125).rounded_up()
        })
    }

    /// The budget that it takes where turns last so long, if that is more: `pairs` of the baseline with itself, and as many rounds
    /// of `arms` settings as the clearest effect takes.
    pub(crate) fn lacks(&self, each: Span, pairs: usize, arms: usize, confidence: f64) -> Option<Span> {
        let rounds = Trial::least_rounds(arms, 1, confidence) + SOME_MORE;
        let needed = each.times((2 * pairs + rounds * (arms + 1)) as u64);
        let too_much = needed > self.left_until(SCREENED_BY);
        too_much.then(|| Span::from_nanos(needed.as_nanos() / SCREENED_BY * 125).rounded_up())
    }

    /// Whether there is time for `rounds` of settings that are still open.
    pub(crate) fn has_time_to_screen(&self, rounds: usize, arms: usize) -> bool {
        let needed = self.each().times((rounds * (arms + 1)) as u64);
        needed <= self.left_until(SCREENED_BY)
    }

    /// The same for trying two sets against each other.
    pub(crate) fn has_time_to_combine(&self, rounds: usize) -> bool {
        self.each().times(2 * rounds as u64) <= self.left_until(COMBINED_BY)
    }

    /// How many rounds confirm: what time is left for, within bounds.
    pub(crate) fn confirming(&self, least: usize, most: usize) -> usize {
        let affordable = self.left_until(100).as_nanos() / self.each().times(2).as_nanos().max(1);
        usize::try_from(affordable).unwrap_or(most).clamp(least, most)
    }
}

/// As many looks as there is time for.
fn looks(affordable: usize, arms: usize, confidence: f64) -> Option<Looks> {
    let least = |looks: usize| Trial::least_rounds(arms, looks, confidence) + SOME_MORE;
    let looks = (1..=MOST_LOOKS).rev().find(|looks| least(*looks) << (looks - 1) <= affordable)?;
    // All the time there is, unless that would keep the obvious waiting.
    let first = (affordable >> (looks - 1)).min(2 * least(looks));
    Some(Looks { first, looks })
}

/// Rounds of time that people write.
trait RoundedUp {
    fn rounded_up(self) -> Self;
}

impl RoundedUp for Span {
    fn rounded_up(self) -> Self {
        Self::from_secs(self.as_nanos().div_ceil(10_000_000_000) * 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_looks_as_there_is_time_for() {
        let first = |looks: usize| Trial::least_rounds(9, looks, 0.95) + SOME_MORE;
        assert_eq!(looks(first(1) - 1, 9, 0.95), None);
        assert_eq!(looks(first(1), 9, 0.95), Some(Looks { first: first(1), looks: 1 }));
        assert_eq!(looks(2 * first(2), 9, 0.95), Some(Looks { first: first(2), looks: 2 }));
        assert_eq!(looks(first(1) + 1, 9, 0.95), Some(Looks { first: first(1) + 1, looks: 1 }));
        assert_eq!(looks(usize::MAX, 9, 0.95), Some(Looks { first: 2 * first(5), looks: 5 }));
    }
}
