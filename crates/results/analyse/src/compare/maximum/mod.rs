//! Maxima, and what they support: they are not compared as such, since of two equal conditions one always has the larger.

mod extrapolation;
mod late_wakeups;
mod pareto;

use howlate_model::{Distribution, Latency, Span, WORST_KEPT, WorstWakeup};
use serde::Serialize;

use super::block_series::Piece;
use crate::bound::Maxima;
use crate::exceedance::{new_maximum_probability, rate_at_most};
pub use extrapolation::{Extrapolation, ExtrapolationRefusal};
use late_wakeups::LateWakeups;

const HOUR: f64 = 3_600.0;

/// The largest latency of a condition, and what it supports.
#[derive(Clone, Debug, Serialize)]
pub struct Maximum {
    #[serde(rename = "max_ns")]
    pub max: Latency,
    /// Planned wake-ups: those that happened, and those that a late wake-up swallowed.
    pub count: u64,
    pub happened: u64,
    /// Wake-ups that late ones swallowed.
    pub swallowed: u64,
    /// The measured time, without that of other conditions.
    #[serde(rename = "covered_ns")]
    pub covered: Span,
    /// Upper bound of the number of later wake-ups per hour, at the requested confidence; a cluster counts once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub later_per_hour_at_most: Option<f64>,
    /// At most one wake-up in this many is later, at the same confidence; a cluster counts once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub later_at_most_one_in: Option<u64>,
    /// The share of late wake-ups that are independent; the inverse of the mean cluster size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extremal_index: Option<f64>,
    /// The probability of a later wake-up in the next hour if nothing changes.
    pub beaten_next_hour: f64,
    /// The latency that an hour exceeds once on average; `None` where extrapolation is not sound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extrapolated: Option<Extrapolation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_extrapolated: Option<ExtrapolationRefusal>,
}

impl Maximum {
    /// The maximum of the pieces of one condition; `None` without wake-ups.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(crate) fn from_pieces(pieces: &[Piece], confidence: f64, seed: u64) -> Option<Self> {
        let max = pieces.iter().filter_map(|piece| piece.latency.max()).max()?;
        let count = pieces.iter().map(|piece| piece.latency.count()).sum::<u64>();
        let nanos = pieces.iter().map(|piece| piece.until.since(piece.from).as_nanos()).sum();
        let covered = Span::from_nanos(nanos);
        let happened = pieces.iter().map(|piece| piece.happened).sum();
        let bound = maxima(pieces).bound(happened, &happened_latencies(pieces), &worst(pieces), confidence);
        let hours = covered.as_secs_f64() / HOUR;
        // Where no bound holds, none holds for an hour either.
        let per_hour = bound.and_then(|bound| rate_at_most(0, hours / bound.inflation, confidence));
        let extrapolated = extrapolation::extrapolate(&LateWakeups::from_pieces(pieces), pieces, hours, seed);
        Some(Self {
            max,
            count,
            happened,
            swallowed: count - happened,
            covered,
            later_per_hour_at_most: per_hour,
            later_at_most_one_in: bound.map(|bound| bound.one_in),
            extremal_index: bound.map(|bound| bound.extremal_index),
            beaten_next_hour: new_maximum_probability(HOUR, covered.as_secs_f64()),
            not_extrapolated: extrapolated.as_ref().err().copied(),
            extrapolated: extrapolated.ok(),
        })
    }
}

/// The largest latency of each block.
fn maxima(pieces: &[Piece]) -> Maxima {
    let mut maxima = Maxima::default();
    pieces.iter().for_each(|piece| maxima.take(piece.until, &piece.latency));
    maxima
}

/// The latencies of the wake-ups that happened, without those that a late one swallowed.
fn happened_latencies(pieces: &[Piece]) -> Distribution {
    let mut all = Distribution::default();
    pieces.iter().for_each(|piece| all.merge(piece.ran()));
    all
}

/// The worst wake-ups of all pieces, the worst first.
fn worst(pieces: &[Piece]) -> Vec<WorstWakeup> {
    let mut all: Vec<WorstWakeup> = pieces.iter().flat_map(|piece| &piece.worst).copied().collect();
    all.sort_by_key(|wakeup| std::cmp::Reverse(wakeup.latency));
    all.truncate(WORST_KEPT);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::block_series::testing::piece;

    /// A minute of blocks; every sixth has the wake-ups `late`, later by a microsecond per second.
    fn minute(late: &[i64]) -> Vec<Piece> {
        let block = |second: u32| {
            let late = if second.is_multiple_of(6) { late } else { &[] };
            let late: Vec<i64> = late.iter().map(|late| late + 1_000 * i64::from(second)).collect();
            piece(0, second, &[&vec![500; 97][..], &late].concat())
        };
        (0..60).map(block).collect()
    }

    #[test]
    fn the_statements_that_a_minute_supports() {
        let maximum = Maximum::from_pieces(&minute(&[7_000, 9_000, 8_000]), 0.95, 1).unwrap();
        assert_eq!((maximum.max.as_nanos(), maximum.count), (63_000, 60 * 97 + 10 * 3));
        assert_eq!(maximum.covered, Span::from_secs(60));
        assert!((maximum.beaten_next_hour - 0.9836).abs() < 5e-5);
        // 2.9957 in a minute at most, if every second were for itself; how alike they are, sixty cannot show.
        assert!((179.7..400.0).contains(&maximum.later_per_hour_at_most.unwrap()), "{maximum:?}");
        let refused = ExtrapolationRefusal::TooFewClusters { clusters: 10, needed: 50 };
        assert_eq!((maximum.not_extrapolated, maximum.extrapolated.is_none()), (Some(refused), true));
        assert!(Maximum::from_pieces(&[], 0.95, 1).is_none());
    }

    #[test]
    fn clusters_support_less_than_single_wakeups() {
        let alone = Maximum::from_pieces(&minute(&[9_000]), 0.95, 1).unwrap();
        let together = Maximum::from_pieces(&minute(&[7_000, 9_000, 8_000]), 0.95, 1).unwrap();
        let index = |maximum: &Maximum| maximum.extremal_index.unwrap();
        // Three at once; of the ten worst, the last ones are of a fourth stretch.
        assert!((index(&alone) / index(&together) - 3.0).abs() < 0.03, "{alone:?} {together:?}");
        assert!(together.later_at_most_one_in < alone.later_at_most_one_in.map(|one_in| one_in / 2));
        assert_eq!((alone.happened, alone.swallowed), (alone.count, 0));
    }
}
