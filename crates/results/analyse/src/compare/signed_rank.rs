//! The sign-flip test of paired differences by their ranks, and its interval.
//!
//! If two conditions are equal and the order within each pair was random, every difference might as well have had the other
//! sign. The test counts the choices of signs whose sum of signed ranks is at least as far from zero as the observed one; the
//! distribution of differences does not matter. Ranks rather than the differences themselves, because one outlier would
//! otherwise decide alone.
//!
//! The sum of the ranks of positive differences is the number of means of two differences that are positive. The interval
//! holds the shifts that the test would not reject, and p is the level from which on it excludes zero, so that the two never
//! contradict each other. A mean of exactly zero counts on both sides, which makes the test conservative.
//! Sources: Wilcoxon, Biometrics Bulletin 1 (1945); the interval is Tukey's, Hollander & Wolfe, Nonparametric
//! Statistical Methods, section 3.3; its centre is Hodges and Lehmann's estimate.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::compare::hodges_lehmann::averages;
use crate::compare::ordered;

/// Up to this many pairs every choice of signs is counted; beyond, the sum is taken as normal.
const MOST_EXACT: usize = 60;

/// The test of one set of differences.
#[derive(Clone, Debug)]
pub(crate) struct SignedRank {
    /// Means of all pairs of differences, each also with itself, ascending.
    averages: Vec<f64>,
    /// The probability that the ranks of positive differences sum up to at most the index, without ties.
    null: Vec<f64>,
    p: f64,
}

impl SignedRank {
    pub(crate) fn from_differences(differences: &[f64]) -> Self {
        let averages = ordered(&averages(differences));
        let null = cumulative(&(1..=differences.len()).collect::<Vec<_>>());
        let sum = |condition: fn(&f64) -> bool| averages.iter().filter(|average| condition(average)).count();
        let least = sum(|average| *average <= 0.0).min(sum(|average| *average >= 0.0));
        let at_most = null.get(least).copied().unwrap_or(1.0);
        Self { p: (2.0 * at_most).min(1.0), averages, null }
    }

    /// The share of sign choices with a sum at least as far from zero (two-sided).
    pub(crate) const fn p(&self) -> f64 {
        self.p
    }

    /// The larger p of the two one-sided tests of a shift as large as `margin`, to either side.
    pub(crate) fn p_of_margin(&self, margin: f64) -> f64 {
        let beyond = |condition: &dyn Fn(&f64) -> bool| {
            self.averages.iter().filter(|average| condition(average)).count()
        };
        let most = beyond(&|average| *average >= margin).max(beyond(&|average| *average <= -margin));
        self.null.get(most).copied().unwrap_or(1.0)
    }

    /// The shifts that a test at level `alpha` does not reject; `None` with too few pairs for that level.
    pub(crate) fn interval(&self, alpha: f64) -> Option<(f64, f64)> {
        let outside = self.rejected(alpha);
        let last = self.averages.len();
        (outside > 0 && last > 0).then(|| (self.averages[outside - 1], self.averages[last - outside]))
    }

    /// The largest level of at most `alpha` that the test can have with this number of pairs; 0 if there is none.
    pub(crate) fn level(&self, alpha: f64) -> f64 {
        self.rejected(alpha).checked_sub(1).map_or(0.0, |last| 2.0 * self.null[last])
    }

    /// How many sums, from 0 on, are rejected on each side.
    fn rejected(&self, alpha: f64) -> usize {
        // A hair more, so that 2 · 0.025 is 0.05.
        let alpha = alpha * (1.0 + 1e-12);
        self.null.iter().take_while(|at_most| 2.0 * **at_most <= alpha).count()
    }
}

/// The smallest p that `pairs` differences can have: all of one sign.
pub(crate) fn least_p(pairs: usize) -> f64 {
    let pairs = i32::try_from(pairs).unwrap_or(i32::MAX);
    (2.0_f64).powi(1 - pairs).min(1.0)
}

/// The fewest pairs whose smallest p reaches `level`.
pub(crate) fn least_pairs(level: f64) -> usize {
    (1..64).find(|pairs| least_p(*pairs) <= level).unwrap_or(64)
}

/// The probability that the ranks with a positive sign sum up to at most 0, 1, …, with random signs.
fn cumulative(ranks: &[usize]) -> Vec<f64> {
    if ranks.len() > MOST_EXACT { normal(ranks) } else { exact(ranks) }
}

fn exact(ranks: &[usize]) -> Vec<f64> {
    let mut chances = vec![0.0; ranks.iter().sum::<usize>() + 1];
    chances[0] = 1.0;
    for &rank in ranks {
        for sum in (0..chances.len()).rev() {
            let with = if sum >= rank { chances[sum - rank] } else { 0.0 };
            chances[sum] = f64::midpoint(chances[sum], with);
        }
    }
    let mut so_far = 0.0;
    chances.iter_mut().for_each(|chance| {
        so_far += *chance;
        *chance = so_far;
    });
    chances
}

/// Normal approximation, with continuity correction.
fn normal(ranks: &[usize]) -> Vec<f64> {
    let sum: usize = ranks.iter().sum();
    let deviation = (ranks.iter().map(|rank| (*rank as f64).powi(2)).sum::<f64>() / 4.0).sqrt();
    let standard = Normal::standard();
    (0..=sum).map(|at| standard.cdf((at as f64 + 0.5 - sum as f64 / 2.0) / deviation)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn p_is_the_share_of_sign_choices() {
        for (differences, p) in [
            (&[-3.0, -2.0, -4.0, -1.0, -5.0, -2.0][..], 2.0 / 64.0),
            // The positive ones have ranks 3 and 1.
            (&[-3.0, 2.0, -4.0, -1.5, -5.0, -2.5, 1.0, -6.0], 14.0 / 256.0),
            // Equal sizes on both sides count on both: ranks 4 and 2.
            (&[-3.0, 2.0, -4.0, -1.0, -5.0, -2.0, 1.0, -6.0], 28.0 / 256.0),
            (&[0.0; 6], 1.0),
            (&[], 1.0),
        ] {
            assert!((SignedRank::from_differences(differences).p() - p).abs() < 1e-12, "{differences:?}");
        }
    }

    /// The critical sums at 5 %, two-sided, that textbooks print.
    #[test]
    fn the_critical_values_of_the_tables() {
        for (pairs, critical) in [(6, 0), (8, 3), (10, 8), (12, 13), (20, 52), (25, 89)] {
            let null = exact(&(1..=pairs).collect::<Vec<_>>());
            let p = |sum: usize| 2.0 * null[sum];
            assert!(p(critical) <= 0.05 && p(critical + 1) > 0.05, "{pairs}: {}", p(critical));
        }
    }

    #[test]
    fn the_normal_approximation_meets_the_exact_one() {
        let ranks: Vec<usize> = (1..=60).collect();
        let (exact, normal) = (exact(&ranks), normal(&ranks));
        for sum in [600, 700, 900] {
            assert!((exact[sum] - normal[sum]).abs() < 1e-3, "{sum}");
        }
    }

    #[test]
    fn six_pairs_are_the_fewest_at_five_per_cent_and_eight_at_one() {
        assert!(least_p(5) > 0.05 && least_p(6) < 0.05);
        assert!(least_p(7) > 0.01 && least_p(8) < 0.01);
        assert_eq!(SignedRank::from_differences(&[1.0; 5]).interval(0.05), None);
        assert_eq!(
            SignedRank::from_differences(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).interval(0.05),
            Some((1.0, 6.0))
        );
    }

    /// The interval, checked the long way: shift the differences and test them.
    #[test]
    fn the_interval_holds_the_shifts_that_are_not_rejected() {
        let differences = [-3.0, 2.1, -4.2, -1.0, -5.3, -2.4, 1.5, -6.0, 0.6];
        let (low, high) = SignedRank::from_differences(&differences).interval(0.05).unwrap();
        let p = |shift: f64| {
            let shifted: Vec<f64> = differences.iter().map(|difference| difference - shift).collect();
            SignedRank::from_differences(&shifted).p()
        };
        assert!(p(low - 0.01) <= 0.05 && p(low + 0.01) > 0.05, "{low}");
        assert!(p(high + 0.01) <= 0.05 && p(high - 0.01) > 0.05, "{high}");
    }

    proptest! {
        /// Also if differences are equal, of equal size or zero, as counts of buckets are.
        #[test]
        fn p_and_the_interval_say_the_same(
            differences in prop::collection::vec(-6_i32..9, 6..40),
            alpha in 0.001_f64..0.2,
        ) {
            let differences: Vec<f64> = differences.into_iter().map(f64::from).collect();
            let test = SignedRank::from_differences(&differences);
            let leaves_zero_out = test.interval(alpha).is_some_and(|(low, high)| low > 0.0 || high < 0.0);
            prop_assert_eq!(test.p() <= alpha, leaves_zero_out, "{} {:?}", test.p(), test.interval(alpha));
        }
    }

    #[test]
    fn one_wild_pair_does_not_decide() {
        let mut differences: Vec<f64> = (0..20).map(|pair| 1.0 + f64::from(pair * 7 % 20) / 40.0).collect();
        let calm = SignedRank::from_differences(&differences).interval(0.05).unwrap();
        differences[0] = 5_000.0;
        let wild = SignedRank::from_differences(&differences).interval(0.05).unwrap();
        assert!(wild.1 - calm.1 < 0.3, "{calm:?} {wild:?}");
    }
}
