//! The sign-flip test of paired differences, and the interval that belongs to it.
//!
//! When two conditions are alike and the order within each pair was drawn at random, every difference
//! might as well have had the other sign. The test counts the choices of signs whose sum is at least as
//! far from zero as the one that was found; nothing is assumed of how differences are distributed.
//!
//! Flipping the signs of a subset turns the sum's sign exactly when the subset's mean has it, so the means
//! of all subsets hold the test and its interval (the shifts that it would not reject) together.
//! Source: Hartigan, Using subsample values as typical values, JASA 64 (1969).

use crate::compare::ordered;

/// Up to this many pairs every choice of signs is counted; beyond, [`DRAWN`] are drawn.
const MOST_EXACT: usize = 20;
/// Subsets drawn when there are too many pairs to count all.
const DRAWN: usize = (1 << 16) - 1;

/// The test of one set of differences.
#[derive(Clone, Debug)]
pub(crate) struct SignFlip {
    /// Means of the non-empty subsets, all or as many as were drawn.
    means: Vec<f64>,
}

impl SignFlip {
    /// Prepares the test; `seed` is used from 21 pairs on.
    pub(crate) fn of(differences: &[f64], seed: u64) -> Self {
        let means =
            if differences.len() <= MOST_EXACT { every(differences) } else { drawn(differences, seed) };
        Self { means }
    }

    /// The share of sign choices with a sum at least as far from zero (two-sided).
    #[allow(clippy::cast_precision_loss, reason = "at most a million subsets")]
    pub(crate) fn p(&self) -> f64 {
        let at_most = self.means.iter().filter(|mean| **mean <= 0.0).count();
        let at_least = self.means.iter().filter(|mean| **mean >= 0.0).count();
        // The choice that was found is one of all, and each has a mirror image.
        let all = (self.means.len() + 1) as f64;
        (2.0 * (1 + at_most.min(at_least)) as f64 / all).min(1.0)
    }

    /// The shifts that a test at level `alpha` does not reject; `None` when there are too few pairs
    /// for that level to reject anything.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(crate) fn interval(&self, alpha: f64) -> Option<(f64, f64)> {
        // Rounded up by a hair, so that 0.05 · 40 is 2 and not 1.
        let outside = (alpha / 2.0 * (self.means.len() + 1) as f64 * (1.0 + 1e-12)) as usize;
        let sorted = ordered(&self.means);
        (outside > 0).then(|| (sorted[outside - 1], sorted[sorted.len() - outside]))
    }
}

/// The smallest p that `pairs` differences can have: all of one sign.
#[allow(clippy::cast_precision_loss, reason = "few pairs")]
pub(crate) fn least_p(pairs: usize) -> f64 {
    let drawn = 2.0 / (DRAWN + 1) as f64;
    if pairs <= MOST_EXACT { (2.0_f64).powf(1.0 - pairs as f64).min(1.0) } else { drawn }
}

fn every(differences: &[f64]) -> Vec<f64> {
    let subsets = 1_usize << differences.len();
    let mut sums = vec![(0.0, 0.0); subsets];
    for subset in 1..subsets {
        // The same subset without its lowest member is known already.
        let (sum, members) = sums[subset & (subset - 1)];
        sums[subset] = (sum + differences[subset.trailing_zeros() as usize], members + 1.0);
    }
    sums[1..].iter().map(|(sum, members)| sum / members).collect()
}

fn drawn(differences: &[f64], seed: u64) -> Vec<f64> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut subset_mean = || {
        let chosen: Vec<f64> = differences.iter().copied().filter(|_| random.bool()).collect();
        crate::compare::mean(&chosen)
    };
    (0..DRAWN).filter_map(|_| subset_mean()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_is_the_share_of_sign_choices() {
        for (differences, p) in [
            (&[-3.0, -2.0, -4.0, -1.0, -5.0, -2.0][..], 2.0 / 64.0),
            (&[-3.0, 2.0, -4.0, -1.0, -5.0, -2.0, 1.0, -6.0], 22.0 / 256.0),
            (&[0.0; 6], 1.0),
            (&[], 1.0),
        ] {
            assert!((SignFlip::of(differences, 0).p() - p).abs() < 1e-12, "{differences:?}");
        }
    }

    #[test]
    fn six_pairs_are_the_fewest_at_five_per_cent_and_eight_at_one() {
        assert!(least_p(5) > 0.05 && least_p(6) < 0.05);
        assert!(least_p(7) > 0.01 && least_p(8) < 0.01);
        assert_eq!(SignFlip::of(&[1.0; 5], 0).interval(0.05), None);
        assert_eq!(SignFlip::of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0).interval(0.05), Some((1.0, 6.0)));
    }

    /// The interval, checked the long way: shift the differences and test them.
    #[test]
    fn the_interval_holds_the_shifts_that_are_not_rejected() {
        let differences = [-3.0, 2.0, -4.0, -1.0, -5.0, -2.0, 1.0, -6.0, 0.5];
        let (low, high) = SignFlip::of(&differences, 0).interval(0.05).unwrap();
        let p = |shift: f64| {
            let shifted: Vec<f64> = differences.iter().map(|one| one - shift).collect();
            SignFlip::of(&shifted, 0).p()
        };
        assert!(p(low - 0.01) <= 0.05 && p(low + 0.01) > 0.05, "{low}");
        assert!(p(high + 0.01) <= 0.05 && p(high - 0.01) > 0.05, "{high}");
    }

    #[test]
    fn drawing_agrees_with_counting() {
        let mut random = fastrand::Rng::with_seed(3);
        let differences: Vec<f64> = (0..16).map(|_| random.f64() - 0.35).collect();
        let counted = SignFlip::of(&differences, 0);
        let drawn = SignFlip { means: drawn(&differences, 1) };
        assert!((counted.p() - drawn.p()).abs() < 0.01, "{} {}", counted.p(), drawn.p());
        let (a, b) = (counted.interval(0.05).unwrap(), drawn.interval(0.05).unwrap());
        assert!((a.0 - b.0).abs() < 0.02 && (a.1 - b.1).abs() < 0.02, "{a:?} {b:?}");
        assert!(SignFlip::of(&[1.0; 40], 1).p() < 1e-3);
    }
}
