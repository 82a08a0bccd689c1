//! Late wake-ups and their clusters: one cause makes several wake-ups late.

use howlate_model::{Span, WORST_KEPT, WorstWakeup};

use crate::compare::block_series::Piece;

/// A new cluster begins after this time without a late wake-up: longer than one cause usually lasts, and than recorded blocks.
const CLUSTER_GAP: Span = Span::from_secs(1);

/// All wake-ups of a condition that are later than a threshold.
pub(crate) struct LateWakeups {
    /// In nanoseconds. Above it, the list of worst wake-ups is complete for every block.
    pub(crate) threshold: f64,
    /// Time in seconds, latency in nanoseconds; in order of time.
    events: Vec<(f64, f64)>,
}

impl LateWakeups {
    pub(super) fn from_pieces(pieces: &[Piece]) -> Self {
        // A block's list of worst wake-ups may be cut off below its last entry.
        let cutoff = |piece: &Piece| piece.worst.get(WORST_KEPT - 1).map(|wakeup| wakeup.latency.as_nanos());
        let threshold = pieces.iter().filter_map(cutoff).max().unwrap_or(0) as f64;
        let event =
            |wakeup: &WorstWakeup| (wakeup.at.as_nanos() as f64 / 1e9, wakeup.latency.as_nanos() as f64);
        let worst = pieces.iter().flat_map(|piece| &piece.worst).map(event);
        let mut events: Vec<_> = worst.filter(|(_, latency)| *latency > threshold).collect();
        events.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self { threshold, events }
    }

    /// The largest latency of each cluster.
    pub(crate) fn clusters(&self) -> Vec<f64> {
        cluster_maxima(&self.events, CLUSTER_GAP.as_secs_f64())
    }
}

/// The largest value of each cluster. `events` are (time, value) in order of time; a new cluster begins
/// after more than `gap` without an event.
fn cluster_maxima(events: &[(f64, f64)], gap: f64) -> Vec<f64> {
    let mut maxima: Vec<f64> = Vec::new();
    let mut previous = f64::NEG_INFINITY;
    for &(at, value) in events {
        match maxima.last_mut().filter(|_| at - previous <= gap) {
            Some(largest) => *largest = largest.max(value),
            None => maxima.push(value),
        }
        previous = at;
    }
    maxima
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cause_counts_once() {
        // 0  1  2        9  10      20     gap 3
        // |--|--|--------|---|-------|
        let events = [(0.0, 5.0), (1.0, 9.0), (2.0, 4.0), (9.0, 3.0), (10.0, 1.0), (20.0, 7.0)];
        assert_eq!(cluster_maxima(&events, 3.0), [9.0, 3.0, 7.0]);
        assert_eq!(cluster_maxima(&[], 3.0), [] as [f64; 0]);
    }
}
