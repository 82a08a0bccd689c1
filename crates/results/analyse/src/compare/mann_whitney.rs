//! The Mann-Whitney rank test of two independent samples, and the interval of the shift.
//!
//! Source: Mann & Whitney, Annals of Mathematical Statistics 18 (1947); the interval is Moses',
//! Hollander & Wolfe, Nonparametric Statistical Methods, section 4.3.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::compare::ordered;

/// Up to this many pairs of values the distribution is exact; beyond, it is normal.
const MOST_EXACT: usize = 1_600;

/// The test of two samples.
#[derive(Clone, Debug)]
pub(crate) struct MannWhitney {
    /// All differences `new − base`, ascending.
    differences: Vec<f64>,
    /// The probability that U is at most its index when there is no difference.
    null: Vec<f64>,
    /// Variance inflation of ranks compared with independent values.
    inflation: f64,
}

impl MannWhitney {
    /// Compares every value of `new` with every one of `base`; values are independent.
    pub(crate) fn from_samples(base: &[f64], new: &[f64]) -> Self {
        let all: Vec<f64> = new.iter().flat_map(|new| base.iter().map(move |base| new - base)).collect();
        let sizes = (base.len(), new.len());
        Self { differences: ordered(&all), null: null(sizes), inflation: 1.0 }
    }

    /// Compares series of autocorrelated values, whose variance of ranks is `inflation` times larger.
    pub(crate) fn of_series(base: &[f64], new: &[f64], inflation: f64) -> Self {
        Self { inflation, ..Self::from_samples(base, new) }
    }

    /// The smallest p that these sizes allow: all of one below all of the other.
    pub(crate) fn least_p(&self) -> f64 {
        self.two_sided(self.null[0])
    }

    /// The two-sided p of a one-sided one, its normal score shrunk by the inflation.
    fn two_sided(&self, one_sided: f64) -> f64 {
        let (normal, one_sided) = (Normal::standard(), one_sided.min(0.5));
        if self.inflation > 1.0 {
            2.0 * normal.cdf(normal.inverse_cdf(one_sided) / self.inflation.sqrt())
        } else {
            2.0 * one_sided
        }
    }

    /// Two-sided p-value: how probable ranks as uneven as these are without a difference.
    pub(crate) fn p(&self) -> f64 {
        let at_most = self.differences.iter().filter(|difference| **difference <= 0.0).count();
        let at_least = self.differences.iter().filter(|difference| **difference >= 0.0).count();
        self.two_sided(self.null[at_most.min(at_least)])
    }

    /// The larger p of the two one-sided tests of a shift as large as `margin`, to either side.
    pub(crate) fn p_of_margin(&self, margin: f64) -> f64 {
        let beyond = |condition: &dyn Fn(&f64) -> bool| {
            self.differences.iter().filter(|difference| condition(difference)).count()
        };
        let most =
            beyond(&|difference| *difference >= margin).max(beyond(&|difference| *difference <= -margin));
        // Half of a two-sided p is never above one half: a shift beyond the middle is no more probable than that.
        if self.null[most] > 0.5 { self.null[most] } else { self.two_sided(self.null[most]) / 2.0 }
    }

    /// The shifts that a test at level `alpha` does not reject; `None` with too few values.
    pub(crate) fn interval(&self, alpha: f64) -> Option<(f64, f64)> {
        let outside = self.null.partition_point(|one_sided| self.two_sided(*one_sided) <= alpha);
        let last = self.differences.len();
        (outside > 0).then(|| (self.differences[outside - 1], self.differences[last - outside]))
    }
}

/// Number of values on each side that can show a difference at `level`, with the inflation of `like`.
pub(crate) fn least_size(level: f64, like: &MannWhitney) -> usize {
    let enough = |size: &usize| like.two_sided(null((*size, *size))[0]) <= level;
    (1..64).find(enough).unwrap_or(64)
}

/// The probability that U is at most 0, 1, … when there is no difference.
fn null((m, n): (usize, usize)) -> Vec<f64> {
    if m * n <= MOST_EXACT { exact(m, n) } else { (0..=m * n).map(|u| normal(u, m, n)).collect() }
}

/// The number of arrangements with each U is the coefficient of a Gaussian binomial:
/// the product of (1 − q^(m+i)) / (1 − q^i).
fn exact(m: usize, n: usize) -> Vec<f64> {
    let mut counts = vec![0.0; m * n + 1];
    counts[0] = 1.0;
    for step in 1..=n {
        for power in (m + step..counts.len()).rev() {
            counts[power] -= counts[power - m - step];
        }
        for power in step..counts.len() {
            counts[power] += counts[power - step];
        }
    }
    let all: f64 = counts.iter().sum();
    let mut sum = 0.0;
    let mut cumulative = |count: &f64| {
        sum += count;
        sum / all
    };
    counts.iter().map(&mut cumulative).collect()
}

/// Normal approximation, with continuity correction.
fn normal(u: usize, m: usize, n: usize) -> f64 {
    let (u, m, n) = (u as f64, m as f64, n as f64);
    let deviation = (m * n * (m + n + 1.0) / 12.0).sqrt();
    Normal::standard().cdf((u + 0.5 - m * n / 2.0) / deviation)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The critical values at 5 %, two-sided, that textbooks print.
    #[test]
    fn the_critical_values_of_the_tables() {
        for (m, n, critical) in [(4, 4, 0), (5, 5, 2), (8, 8, 13), (10, 10, 23), (6, 9, 10), (20, 20, 127)] {
            let p = |u: usize| 2.0 * null((m, n))[u];
            assert!(p(critical) <= 0.05 && p(critical + 1) > 0.05, "{m} {n}: {}", p(critical));
        }
        assert!((MannWhitney::from_samples(&[1.0; 4], &[2.0; 4]).p() - 2.0 / 70.0).abs() < 1e-12);
        assert_eq!(least_size(0.05, &MannWhitney::from_samples(&[], &[])), 4);
    }

    #[test]
    fn the_normal_approximation_meets_the_exact_one() {
        for u in [500, 600, 700] {
            assert!((exact(40, 40)[u] - normal(u, 40, 40)).abs() < 1e-3);
        }
    }

    #[test]
    fn test_and_interval_agree() {
        let base = [1.0, 4.0, 2.5, 3.0, 8.0, 2.2, 3.7];
        let new = [5.0, 7.1, 3.3, 9.0, 6.4, 4.4];
        let (low, high) = MannWhitney::from_samples(&base, &new).interval(0.05).unwrap();
        let p = |shift: f64| {
            let moved: Vec<f64> = new.iter().map(|value| value - shift).collect();
            MannWhitney::from_samples(&base, &moved).p()
        };
        assert!(p(low - 0.01) <= 0.05 && p(low + 0.01) > 0.05, "{low}");
        assert!(p(high + 0.01) <= 0.05 && p(high - 0.01) > 0.05, "{high}");
        assert_eq!(MannWhitney::from_samples(&[1.0], &[2.0]).interval(0.05), None);
    }
}
