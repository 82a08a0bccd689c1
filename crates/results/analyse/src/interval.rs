//! Confidence intervals of quantiles.

use howlate_model::{Distribution, Latency};
use schemars::JsonSchema;
use serde::Serialize;
use statrs::distribution::{Binomial, DiscreteCDF};

/// A two-sided 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Interval {
    /// Lower end, included.
    pub low: Latency,
    /// Upper end, included.
    pub high: Latency,
}

impl Interval {
    /// The interval of the median of `values`, taken to be independent: an order-statistics
    /// interval. `None` below 6 values, where no such interval covers 95 %.
    ///
    /// Wake-ups of one run are not independent, so this is used on numbers of whole blocks.
    pub fn of_median(values: &mut [Latency]) -> Option<Self> {
        let (low, high) = quantile_ranks(values.len() as u64, 0.5)?;
        values.sort_unstable();
        let at = |rank: u64| values.get(usize::try_from(rank - 1).ok()?).copied();
        Some(Self { low: at(low)?, high: at(high)? })
    }
}

/// Ranks (from 1) of the ordered sample between which the `quantile` lies with at least 95 %
/// confidence; `None` when `n` is too small for any.
///
/// l = F⁻¹(0.025) and u = F⁻¹(0.975) + 1 of the binomial distribution B(n, q).
/// Source: Conover, Practical Nonparametric Statistics, 3rd ed., section 3.2.
pub fn quantile_ranks(n: u64, quantile: f64) -> Option<(u64, u64)> {
    let binomial = Binomial::new(quantile, n).ok()?;
    let low = binomial.inverse_cdf(0.025);
    let high = binomial.inverse_cdf(0.975) + 1;
    (low >= 1 && high <= n).then_some((low, high))
}

/// The number of wake-ups that a quantile needs so that at least one lies beyond it: 100 for the 99th percentile, 1 000 for the
/// 99.9th.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "quantiles are between 0 and 1")]
pub fn least_wakeups(quantile: f64) -> u64 {
    // Rounded down by a hair, so that 1 / (1 − 0.99) is 100 and not 101.
    (1.0 / (1.0 - quantile) - 1e-6).ceil() as u64
}

/// The `quantile`; `None` with too few latencies for it.
pub fn percentile(all: &Distribution, quantile: f64) -> Option<Latency> {
    all.quantile(quantile).filter(|_| all.count() >= least_wakeups(quantile))
}

/// If none of `n` independent wake-ups exceeded a value, at most one in this many does, with 95 % confidence:
/// 1 / (1 − 0.05^(1/n)), about n / 3.
///
/// Source: Hanley & Lippman-Hand, If nothing goes wrong, is everything all right? JAMA 249 (1983).
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub fn exceeded_at_most(n: u64) -> Option<u64> {
    // 1 − α^(1/n) = −expm1(ln α / n), which keeps its digits for large n.
    let probability = -(0.05_f64.ln() / n as f64).exp_m1();
    (n > 0).then(|| (1.0 / probability).floor() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_takes_a_wake_up_beyond_it() {
        let least = [0.5, 0.9, 0.95, 0.99, 0.999, 0.9999].map(least_wakeups);
        assert_eq!(least, [2, 10, 20, 100, 1_000, 10_000]);
    }

    #[test]
    fn ranks_match_the_published_ones() {
        for (n, quantile, ranks) in [
            (100, 0.5, Some((40, 61))),
            (1_000, 0.5, Some((469, 532))),
            (1_000, 0.99, Some((983, 997))),
            (10_000, 0.99, Some((9_880, 9_920))),
            (10_000, 0.999, Some((9_983, 9_997))),
            (6, 0.5, Some((1, 6))),
            (8, 0.5, Some((1, 8))),
            (10, 0.5, Some((2, 9))),
            (12, 0.5, Some((3, 10))),
            (20, 0.5, Some((6, 15))),
            (30, 0.5, Some((10, 21))),
            (5, 0.5, None),
            (500, 0.999, None),
        ] {
            assert_eq!(quantile_ranks(n, quantile), ranks, "{n} {quantile}");
        }
    }

    #[test]
    fn the_rule_of_three() {
        // 1 / 2.995728e-06, 1 / 8.321475e-07, 1 / 2.995732e-08
        for (n, one_in) in [(1_000_000, 333_808), (3_600_000, 1_201_711), (100_000_000, 33_380_822)] {
            let one_in_actual = exceeded_at_most(n).unwrap();
            assert!(one_in_actual.abs_diff(one_in) <= one_in / 1_000_000 + 1, "{n}: {one_in_actual}");
        }
        assert_eq!(exceeded_at_most(0), None);
    }

    #[test]
    fn a_median_has_an_interval_from_six_blocks_on() {
        let mut values: Vec<_> = [5, 1, 4, 2, 3, 6].map(Latency::from_nanos).into();
        let interval = Interval::of_median(&mut values).unwrap();
        assert_eq!((interval.low.as_nanos(), interval.high.as_nanos()), (1, 6));
        assert_eq!(Interval::of_median(&mut values[..5]), None);
    }
}
