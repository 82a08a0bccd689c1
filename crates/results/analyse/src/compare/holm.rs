//! Correction for making several comparisons at once.

/// One p, corrected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Corrected {
    /// Raised so that the chance of any false alarm among all stays what a single one's was.
    pub(crate) p: f64,
    /// The level at which this one is tested by itself. One that is found has its p at or below it, and one that is not
    /// found above it, so that an interval at this level says the same as the corrected p.
    pub(crate) level: f64,
}

/// Each p corrected for all of them, to be found at `alpha`.
///
/// Source: Holm, Scandinavian Journal of Statistics 6 (1979).
pub(crate) fn holm(ps: &[f64], alpha: f64) -> Vec<Corrected> {
    let mut order: Vec<usize> = (0..ps.len()).collect();
    order.sort_by(|a, b| ps[*a].total_cmp(&ps[*b]));
    let mut least = 0.0_f64;
    let raised = order.iter().enumerate().map(|(place, index)| {
        least = least.max(ps[*index] * (ps.len() - place) as f64).min(1.0);
        least
    });
    let raised: Vec<f64> = raised.collect();
    let found = raised.partition_point(|p| *p <= alpha);
    let mut corrected = vec![Corrected { p: 1.0, level: alpha }; ps.len()];
    for (place, index) in order.into_iter().enumerate() {
        // The first that is not found ends the search: it and all after it share what is left.
        let tests = ps.len() - place.min(found);
        corrected[index] = Corrected { p: raised[place], level: alpha / tests as f64 };
    }
    corrected
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_published_values() {
        let corrected = holm(&[0.04, 0.001, 0.5, 0.01, 0.03], 0.05);
        for (got, expected) in corrected.iter().zip([0.09, 0.005, 0.5, 0.04, 0.09]) {
            assert!((got.p - expected).abs() < 1e-12, "{corrected:?}");
        }
        let levels: Vec<f64> = corrected.iter().map(|one| (0.05 / one.level).round()).collect();
        assert_eq!(levels, [3.0, 5.0, 3.0, 4.0, 3.0]);
        assert!(holm(&[0.8, 0.9], 0.05).iter().all(|one| (one.p - 1.0).abs() < 1e-12));
    }

    proptest! {
        #[test]
        fn each_level_says_what_the_corrected_p_says(ps in prop::collection::vec(0.0_f64..0.2, 1..30)) {
            for (p, one) in ps.iter().zip(holm(&ps, 0.05)) {
                prop_assert_eq!(one.p <= 0.05, *p <= one.level, "{} {:?}", p, one);
            }
        }
    }
}
