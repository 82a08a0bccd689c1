//! Late wake-ups come in clusters: one cause makes several.

/// The largest of each cluster; `events` are (time, value) in order of time, and a new cluster begins
/// after more than `gap` without any.
pub(crate) fn cluster_maxima(events: &[(f64, f64)], gap: f64) -> Vec<f64> {
    let mut maxima: Vec<f64> = Vec::new();
    let mut before = f64::NEG_INFINITY;
    for &(at, value) in events {
        match maxima.last_mut().filter(|_| at - before <= gap) {
            Some(largest) => *largest = largest.max(value),
            None => maxima.push(value),
        }
        before = at;
    }
    maxima
}

/// The share of late wake-ups that are not repetitions of one another, from the gaps between them
/// (in wake-ups): 1 when they are independent. `None` without gaps.
///
/// Source: the intervals estimator, Ferro & Segers, J. R. Statist. Soc. B 65 (2003).
#[allow(clippy::cast_precision_loss, reason = "thousands at most")]
pub(crate) fn extremal_index(gaps: &[f64]) -> Option<f64> {
    let n = gaps.len() as f64;
    let largest = gaps.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum = |of: fn(f64) -> f64| gaps.iter().copied().map(of).sum::<f64>();
    let index = if largest <= 2.0 {
        2.0 * sum(|gap| gap).powi(2) / (n * sum(|gap| gap * gap))
    } else {
        2.0 * sum(|gap| gap - 1.0).powi(2) / (n * sum(|gap| (gap - 1.0) * (gap - 2.0)))
    };
    (!gaps.is_empty() && index.is_finite()).then(|| index.min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_indices() {
        for (gaps, expected) in [
            (&[1.0, 1.0, 10.0, 1.0, 20.0, 2.0, 15.0][..], 0.886_385),
            (&[1.0, 1.0, 1.0, 1.0, 50.0, 1.0, 1.0, 1.0, 60.0], 0.448_909),
            (&[10.0, 12.0, 9.0, 11.0, 10.0], 1.0),
        ] {
            let got = extremal_index(gaps).unwrap();
            assert!((got - expected).abs() < 5e-7, "{got}");
        }
        assert_eq!(extremal_index(&[]), None);
    }

    #[test]
    fn one_cause_counts_once() {
        // 0  1  2        9  10      20     gap 3
        // |--|--|--------|---|-------|
        let events = [(0.0, 5.0), (1.0, 9.0), (2.0, 4.0), (9.0, 3.0), (10.0, 1.0), (20.0, 7.0)];
        assert_eq!(cluster_maxima(&events, 3.0), [9.0, 3.0, 7.0]);
        assert_eq!(cluster_maxima(&[], 3.0), [] as [f64; 0]);
    }
}
