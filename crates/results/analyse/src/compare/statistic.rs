//! The statistics that are compared.

use howlate_model::{Distribution, Latency};
use schemars::JsonSchema;
use serde::Serialize;

use super::block_series::Piece;

/// Fewer units on a side hardly show anything after the correction for several comparisons.
pub(crate) const LEAST: usize = 10;

/// A number of a stretch of wake-ups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum Statistic {
    /// Median lateness.
    #[serde(rename = "p50")]
    P50,
    /// 99 % are at most this.
    #[serde(rename = "p99")]
    P99,
    /// 99.9 % are at most this.
    #[serde(rename = "p99.9")]
    P999,
    /// The largest of a unit: not that of the whole run, which no test can compare.
    #[serde(rename = "max")]
    Max,
}

impl Statistic {
    /// All statistics.
    pub const ALL: [Self; 4] = [Self::P50, Self::P99, Self::P999, Self::Max];

    /// Its name in JSON and in the output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P99 => "p99",
            Self::P999 => "p99.9",
            Self::Max => "max",
        }
    }

    /// The wake-ups that a unit needs so that at least one lies beyond the quantile.
    pub const fn least(self) -> u64 {
        match self {
            Self::P50 => 2,
            Self::P99 => 100,
            Self::P999 => 1_000,
            Self::Max => 1,
        }
    }

    /// The wake-ups that a whole recording needs before it can be cut into enough units; for statistics of any batch, the number of units
    /// decides.
    pub(crate) const fn least_in_all(self) -> u64 {
        match self {
            Self::P99 | Self::P999 => self.least() * LEAST as u64,
            Self::P50 | Self::Max => self.least(),
        }
    }

    /// Whether its value over all of these blocks is only a lower bound.
    pub(crate) fn is_lower_bound(self, pieces: &[Piece]) -> bool {
        let all = merge_blocks(pieces);
        self.value_in(&all).is_some_and(|value| all.clipped().map(nanos) == Some(value))
    }

    /// Its value in nanoseconds.
    pub(crate) fn value_in(self, all: &Distribution) -> Option<f64> {
        let value = match self {
            Self::P50 => middle(all),
            Self::P99 => all.quantile(0.99),
            Self::P999 => all.quantile(0.999),
            Self::Max => all.max(),
        };
        value.map(nanos)
    }
}

/// The median, interpolated within its bucket, as differences may be smaller. For clipped latencies, where the clipping begins.
fn middle(all: &Distribution) -> Option<Latency> {
    let is_clipped = |median: &Latency| all.clipped() == Some(*median);
    all.quantile(0.5).filter(is_clipped).or_else(|| all.median())
}

/// The wake-ups of all blocks.
pub(crate) fn merge_blocks(pieces: &[Piece]) -> Distribution {
    let mut all = Distribution::default();
    pieces.iter().for_each(|piece| all.merge(&piece.latency));
    all
}

/// Nanoseconds as a number to calculate with.
pub(crate) fn nanos(latency: Latency) -> f64 {
    latency.as_nanos() as f64
}
