//! Counts how often statements are true in trials.

use std::ops::Range;
use std::panic::resume_unwind;
use std::thread;

use howlate_model::Span;
use statrs::distribution::{Binomial, DiscreteCDF};

use super::series::Series;
use crate::slowest_covered;

/// A statement, and how often it was true.
#[derive(Clone, Debug, PartialEq)]
pub struct StatementTally {
    pub statement: String,
    /// The share of trials in which it must be true; `None` if it is only reported.
    pub required_share: Option<f64>,
    /// Trials in which it was true.
    pub times_true: u64,
    pub trials: u64,
}

/// A share may be lower than required by a hundredth, and wrong statements more frequent than stated by a fifth, whichever is less: what
/// approximations cost.
const SLACK: f64 = 0.01;
const SLACK_OF_ERROR: f64 = 0.2;
/// A larger shortfall must be probable enough by chance, and in a thousand trials it may be no larger than this.
const LEAST_CHANCE: f64 = 0.005;
const SLACK_BY_CHANCE: f64 = 0.02;

impl StatementTally {
    /// The share of trials in which the statement was true.
    pub fn share(&self) -> f64 {
        self.times_true as f64 / self.trials.max(1) as f64
    }

    /// Whether the statement is true often enough, as far as this number of trials can show.
    pub fn holds(&self) -> bool {
        self.required_share.is_none_or(|required| {
            let slack = SLACK.min(SLACK_OF_ERROR * (1.0 - required));
            self.trials > 0 && (self.share() >= required - slack || self.is_chance(required))
        })
    }

    /// Whether so few may be true by chance at the required share.
    fn is_chance(&self, required: f64) -> bool {
        let is_near = self.trials < 1_000 || self.share() >= required - SLACK_BY_CHANCE;
        is_near
            && Binomial::new(required, self.trials)
                .is_ok_and(|trials| trials.cdf(self.times_true) > LEAST_CHANCE)
    }
}

/// A statement of one trial: its text, the required share of [`StatementTally`], and whether it is true.
pub(crate) type Observation = (String, Option<f64>, bool);

/// Whether a series changes fast enough for the statements of a run to apply to it.
#[derive(Clone, Copy)]
pub(crate) struct Scope {
    pub(crate) is_covered: bool,
}

impl Scope {
    /// The scope of a run of this length.
    pub(crate) fn of_run(series: Series, run: Span) -> Self {
        Self::within(series, slowest_covered(run))
    }

    /// The scope of statements that cover changes up to `slowest`.
    pub(crate) fn within(series: Series, slowest: Span) -> Self {
        Self { is_covered: series.slowest() <= slowest }
    }

    /// The scope of statements that do not depend on how slowly the machine changes.
    pub(crate) const fn any() -> Self {
        Self { is_covered: true }
    }

    /// A statement with 95 % confidence. For a series that changes too slowly nothing is required; how often it is true is reported.
    pub(crate) fn observation(self, statement: String, is_true: bool) -> Observation {
        match self.is_covered {
            true => (statement, Some(0.95), is_true),
            false => (format!("{statement} (not covered)"), None, is_true),
        }
    }
}

/// Runs a trial with each of `seeds`, on all CPUs, and tallies the statements in the order of their first occurrence.
pub(crate) fn run_trials(
    seeds: Range<u64>,
    trial: impl Fn(u64) -> Vec<Observation> + Sync,
) -> Vec<StatementTally> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let part = |first: usize| seeds.clone().skip(first).step_by(threads).flat_map(&trial).collect::<Vec<_>>();
    let parts: Vec<Vec<Observation>> = thread::scope(|scope| {
        let part = &part;
        let running: Vec<_> = (0..).take(threads).map(|first| scope.spawn(move || part(first))).collect();
        running.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    let mut tallies: Vec<StatementTally> = Vec::new();
    for (statement, required_share, is_true) in parts.into_iter().flatten() {
        let index = tallies.iter().position(|tally| tally.statement == statement);
        let index = index.unwrap_or_else(|| {
            tallies.push(StatementTally { statement, required_share, times_true: 0, trials: 0 });
            tallies.len() - 1
        });
        tallies[index].times_true += u64::from(is_true);
        tallies[index].trials += 1;
    }
    tallies
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(required: f64, times_true: u64, trials: u64) -> bool {
        let (statement, required_share) = (String::new(), Some(required));
        StatementTally { statement, required_share, times_true, trials }.holds()
    }

    #[test]
    fn what_is_wrong_more_often_than_stated_by_a_fifth_is_not_held_whatever_the_confidence() {
        assert!(holds(0.95, 9_400, 10_000) && !holds(0.95, 9_390, 10_000));
        assert!(holds(0.99, 9_880, 10_000) && !holds(0.99, 9_860, 10_000));
        assert!(holds(0.999, 99_880, 100_000) && !holds(0.999, 99_840, 100_000));
    }

    #[test]
    fn few_trials_may_fall_short_by_chance() {
        // Of 60 at 95 %, 52 or fewer are true in 1 of 102 cases, 51 in 1 of 351.
        assert!(holds(0.95, 52, 60) && !holds(0.95, 51, 60));
        assert!(!holds(0.95, 929, 1_000) && !holds(0.95, 0, 0));
    }
}
