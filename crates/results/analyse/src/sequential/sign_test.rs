//! A sequential sign test: which of two is larger, from pairs that are looked at one after the other.
//!
//! If both are alike, each pair's difference has either sign with the same probability. The evidence is the likelihood of the
//! signs under a mixture of probabilities, over that of equal ones: a martingale.
//!
//! Source: Robbins, Annals of Mathematical Statistics 41 (1970); the mixture is Beta(½, ½).

use statrs::function::beta::ln_beta;

const SHAPE: f64 = 0.5;

/// ln of the evidence that one of two is larger more often, when it was in `larger` of `pairs`. Ties are no pairs.
pub(crate) fn evidence(larger: u64, pairs: u64) -> f64 {
    let (larger, smaller) = (larger as f64, pairs.saturating_sub(larger) as f64);
    let signs = ln_beta(SHAPE + larger, SHAPE + smaller) - ln_beta(SHAPE, SHAPE);
    signs + (larger + smaller) * std::f64::consts::LN_2
}

/// The fewest pairs that can decide, if `against` of them have the other sign.
pub(crate) fn least_pairs(against: u64, decisive: f64) -> u64 {
    let decides = |pairs: &u64| evidence(against, *pairs) >= decisive;
    (2 * against + 1..).find(decides).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sequential::decisive;

    /// Computed with scipy.
    #[test]
    fn pairs_that_agree_decide_soon() {
        for (larger, pairs, expected) in [
            (4, 4, 4.375),
            (5, 5, 7.875),
            (6, 6, 14.437),
            (7, 7, 26.812),
            (0, 8, 50.273),
            (11, 12, 28.704),
            (2, 16, 30.607),
            (16, 19, 23.663),
        ] {
            let actual = evidence(larger, pairs).exp();
            assert!((actual - expected).abs() < 6e-4, "{larger} of {pairs}: {actual}");
        }
        assert_eq!([0, 1, 2, 3].map(|against| least_pairs(against, decisive())), [7, 12, 16, 19]);
    }

    /// For two that are alike, hardly any run ever decides.
    #[test]
    fn two_that_are_alike_are_not_told_apart() {
        let wrong = |seed: u64| {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut larger = 0;
            (1..=500).any(|pairs| {
                larger += u64::from(random.bool());
                evidence(larger, pairs) >= decisive()
            })
        };
        let wrong = (0..2_000).filter(|seed| wrong(*seed)).count();
        assert!((1..=100).contains(&wrong), "{wrong} of 2000");
    }
}
