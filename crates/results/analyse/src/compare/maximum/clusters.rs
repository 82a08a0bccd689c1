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
