//! Percentiles of single turns, by which conditions that took turns are compared.

use howlate_model::{Distribution, Latency};

use crate::percentile;

/// Most turns stored per condition; more are not needed for a comparison.
const MOST_TURNS: usize = 1024;

/// Median and 99th percentile of a turn, as far as it has the wake-ups for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnNumber {
    /// Number of the turn, from 0.
    pub round: u32,
    /// Its median, interpolated within the bucket.
    pub p50: Option<Latency>,
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
    finished: Vec<TurnNumber>,
    current: Option<(u32, Distribution)>,
}

impl TurnNumbers {
    pub(crate) fn add(&mut self, round: u32, latency: &Distribution) {
        match &mut self.current {
            Some((current, all)) if *current == round => {
                all.open();
                all.merge(latency);
            }
            _ => {
                self.finish();
                self.current = Some((round, latency.clone()));
            }
        }
    }

    /// Ends the turn in progress.
    pub(crate) fn finish(&mut self) {
        let (turn, room) = (self.current.take(), self.finished.len() < MOST_TURNS);
        self.finished
            .extend(turn.filter(|_| room).map(|(round, all)| TurnNumber::from_distribution(round, &all)));
    }

    pub(crate) fn all(&self) -> Vec<TurnNumber> {
        let current = self.current.iter().map(|(round, all)| TurnNumber::from_distribution(*round, all));
        self.finished.iter().copied().chain(current).collect()
    }
}
