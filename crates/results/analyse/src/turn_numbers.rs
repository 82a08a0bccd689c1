//! Numbers of single turns, which conditions that took turns are compared by.

use howlate_model::{Distribution, Latency};

use crate::percentile;

/// Turns kept per condition; whoever takes more has enough to compare.
const TURNS_KEPT: usize = 1024;

/// Median and 99th percentile of a turn, as far as it has the wake-ups for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnNumber {
    /// Which turn, from 0.
    pub round: u32,
    /// Its median, finer than a bucket.
    pub p50: Option<Latency>,
    /// Its 99th percentile.
    pub p99: Option<Latency>,
}

impl TurnNumber {
    fn from_distribution(round: u32, all: &Distribution) -> Self {
        Self { round, p50: percentile(all, 0.5).and(all.median()), p99: percentile(all, 0.99) }
    }
}

/// The turns of a condition, whose blocks come one after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct TurnNumbers {
    over: Vec<TurnNumber>,
    /// The turn that is under way.
    now: Option<(u32, Distribution)>,
}

impl TurnNumbers {
    pub(crate) fn add(&mut self, round: u32, latency: &Distribution) {
        match &mut self.now {
            Some((known, all)) if *known == round => {
                all.open();
                all.merge(latency);
            }
            _ => {
                self.finished();
                self.now = Some((round, latency.clone()));
            }
        }
    }

    /// No more of the turn under way will come.
    pub(crate) fn finished(&mut self) {
        let (over, room) = (self.now.take(), self.over.len() < TURNS_KEPT);
        self.over
            .extend(over.filter(|_| room).map(|(round, all)| TurnNumber::from_distribution(round, &all)));
    }

    pub(crate) fn all(&self) -> Vec<TurnNumber> {
        let now = self.now.iter().map(|(round, all)| TurnNumber::from_distribution(*round, all));
        self.over.iter().copied().chain(now).collect()
    }
}
