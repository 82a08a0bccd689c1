//! How often a statement was true.

use std::ops::Range;
use std::panic::resume_unwind;
use std::thread;

use howlate_model::Span;
use statrs::distribution::{Binomial, DiscreteCDF};

use super::series::Series;
use crate::slowest_covered;

/// A statement that is made with a stated confidence, and how often it was true.
#[derive(Clone, Debug, PartialEq)]
pub struct Tally {
    /// What is stated.
    pub statement: String,
    /// How often it is to be true; `None` for what is only told.
    pub stated: Option<f64>,
    /// How often it was.
    pub kept: u64,
    /// Of so many trials.
    pub trials: u64,
}

/// By how much a share may fall short of what is stated: what is left of exactness in short recordings, and of
/// chance in a thousand trials.
const SLACK: f64 = 0.02;

impl Tally {
    /// The share of trials in which it was true.
    pub fn share(&self) -> f64 {
        self.kept as f64 / self.trials.max(1) as f64
    }

    /// Whether it holds, as far as so many trials can tell.
    pub fn holds(&self) -> bool {
        self.stated.is_none_or(|stated| {
            self.trials > 0 && (self.share() >= stated - SLACK || self.is_chance(stated))
        })
    }

    /// Whether so few trials fall that far short once in a thousand times or more often, though what is stated is so. Of
    /// a thousand trials nothing is put down to chance that [`SLACK`] does not hold.
    fn is_chance(&self, stated: f64) -> bool {
        self.trials < 1_000
            && Binomial::new(stated, self.trials).is_ok_and(|trials| trials.cdf(self.kept) > 0.001)
    }
}

/// One statement of a trial: what, how often it is to be true, whether it was.
pub(crate) type Observation = (String, Option<f64>, bool);

/// What statements about a machine are made for: changes that a run sees often enough.
#[derive(Clone, Copy)]
pub(crate) struct Scope {
    pub(crate) is_covered: bool,
}

impl Scope {
    /// Of a run that lasts so long.
    pub(crate) fn of(series: Series, run: Span) -> Self {
        Self::within(series, slowest_covered(run))
    }

    /// Of what covers changes up to so slow ones.
    pub(crate) fn within(series: Series, slowest: Span) -> Self {
        Self { is_covered: series.slowest() <= slowest }
    }

    /// Of what does not depend on how slowly a machine changes.
    pub(crate) const fn of_any() -> Self {
        Self { is_covered: true }
    }

    /// A statement that is made with 95 % confidence. Of a machine that changes more slowly than is covered nothing is stated; how
    /// often it would be true is told all the same.
    pub(crate) fn observed(self, statement: String, is_true: bool) -> Observation {
        match self.is_covered {
            true => (statement, Some(0.95), is_true),
            false => (format!("{statement} (not covered)"), None, is_true),
        }
    }
}

/// Runs a trial with each of `seeds` on all CPUs, and counts what each said; in the order in which it was first said.
pub(crate) fn tallied(seeds: Range<u64>, trial: impl Fn(u64) -> Vec<Observation> + Sync) -> Vec<Tally> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let part = |first: usize| seeds.clone().skip(first).step_by(threads).flat_map(&trial).collect::<Vec<_>>();
    let parts: Vec<Vec<Observation>> = thread::scope(|scope| {
        let part = &part;
        let running: Vec<_> = (0..).take(threads).map(|first| scope.spawn(move || part(first))).collect();
        running.into_iter().map(|one| one.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    let mut tallies: Vec<Tally> = Vec::new();
    for (statement, stated, true_here) in parts.into_iter().flatten() {
        let known = tallies.iter().position(|one| one.statement == statement);
        let place = known.unwrap_or_else(|| {
            tallies.push(Tally { statement, stated, kept: 0, trials: 0 });
            tallies.len() - 1
        });
        tallies[place].kept += u64::from(true_here);
        tallies[place].trials += 1;
    }
    tallies
}
