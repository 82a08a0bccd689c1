//! Bounds for the probability and rate of events of which few or none occurred.

use statrs::distribution::{Beta, ContinuousCDF, Gamma};

/// The largest probability of an event that `seen` events in `n` independent tries leave open, with one-sided `confidence`.
///
/// Both may be effective numbers of correlated tries, which are not whole.
///
/// Sources: Clopper & Pearson, Biometrika 26 (1934); for none seen, about 3 / n at 95 %,
/// Hanley & Lippman-Hand, JAMA 249 (1983).
pub(crate) fn probability_at_most(seen: f64, n: f64, confidence: f64) -> Option<f64> {
    if n <= seen {
        return None;
    }
    if seen <= 0.0 {
        // 1 − α^(1/n), by a formula that keeps its digits.
        return Some(-((1.0 - confidence).ln() / n).exp_m1());
    }
    let beta = Beta::new(seen + 1.0, n - seen).ok()?;
    Some(bisect(|p| beta.cdf(p), confidence, 1.0))
}

/// The largest rate of independent events that `seen` events in `time` leave open, per unit of `time`:
/// χ²(confidence; 2·seen + 2) / 2 / time.
pub(crate) fn rate_at_most(seen: u64, time: f64, confidence: f64) -> Option<f64> {
    let gamma = Gamma::new(seen as f64 + 1.0, 1.0).ok()?;
    (time > 0.0).then(|| bisect(|x| gamma.cdf(x), confidence, 1e6) / time)
}

/// Where the rising `cdf` reaches `share`, between 0 and `most`, to the last digit.
fn bisect(cdf: impl Fn(f64) -> f64, share: f64, most: f64) -> f64 {
    let (mut low, mut high) = (0.0, most);
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if cdf(middle) < share { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// The probability that the next `more` time brings a new maximum after `so_far`, if nothing changes: more / (so_far + more). No
/// distribution is assumed, only that no moment is special.
pub(crate) fn new_maximum_probability(more: f64, so_far: f64) -> f64 {
    more / (so_far + more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn close(actual: Option<f64>, expected: f64) {
        let actual = actual.unwrap();
        assert!((actual / expected - 1.0).abs() < 2e-6, "{actual:e} against {expected:e}");
    }

    #[test]
    fn probabilities_match_the_published_ones() {
        close(probability_at_most(0.0, 1e6, 0.95), 2.995_728e-6);
        close(probability_at_most(0.0, 1e6, 0.99), 4.605_160e-6);
        close(probability_at_most(0.0, 3.6e6, 0.95), 8.321_475e-7);
        close(probability_at_most(0.0, 1e8, 0.95), 2.995_732e-8);
        for (seen, expected) in
            (1..).zip([4.743_856e-6, 6.295_780e-6, 7.753_638e-6, 9.153_495e-6, 1.051_301e-5])
        {
            close(probability_at_most(f64::from(seen), 1e6, 0.95), expected);
        }
        close(probability_at_most(3.0, 1_000.0, 0.975), 8.742_023e-3);
        assert_eq!(probability_at_most(0.0, 0.0, 0.95), None);
    }

    #[test]
    fn rates_match_the_published_ones() {
        for (seen, hours, expected) in [(0, 1.0, 2.9957), (0, 24.0, 0.124_82), (2, 1.0, 6.2958)] {
            let got = rate_at_most(seen, hours, 0.95).unwrap();
            assert!((got / expected - 1.0).abs() < 5e-5, "{got}");
        }
        assert_eq!(rate_at_most(0, 0.0, 0.95), None);
    }

    #[test]
    fn a_maximum_is_beaten_as_often_as_time_goes_on() {
        for (more, so_far, expected) in [(1.0, 1.0, 0.5), (24.0, 1.0, 0.96), (60.0, 1.0, 0.9836)] {
            assert!((new_maximum_probability(more, so_far) - expected).abs() < 5e-5);
        }
    }
}
