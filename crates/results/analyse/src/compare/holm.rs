//! Holm's correction for several comparisons at once.

/// A corrected p-value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CorrectedP {
    /// Adjusted so that the probability of any false alarm among all is that of a single one.
    pub(crate) p: f64,
    /// The level at which this one is tested by itself. A significant one has its p at or below it, another one above it, so that an
    /// interval at this level agrees with the corrected p.
    pub(crate) level: f64,
}

/// Corrects each p for all of them, at level `alpha`.
///
/// Source: Holm, Scandinavian Journal of Statistics 6 (1979).
pub(crate) fn holm(ps: &[f64], alpha: f64) -> Vec<CorrectedP> {
    let mut order: Vec<usize> = (0..ps.len()).collect();
    order.sort_by(|a, b| ps[*a].total_cmp(&ps[*b]));
    let mut least = 0.0_f64;
    let raised = order.iter().enumerate().map(|(place, index)| {
        least = least.max(ps[*index] * (ps.len() - place) as f64).min(1.0);
        least
    });
    let raised: Vec<f64> = raised.collect();
    let found = raised.partition_point(|p| *p <= alpha);
    let mut corrected = vec![CorrectedP { p: 1.0, level: alpha }; ps.len()];
    for (place, index) in order.into_iter().enumerate() {
        // The first that is not significant ends the search: it and all later ones share the remaining error.
        let tests = ps.len() - place.min(found);
        corrected[index] = CorrectedP { p: raised[place], level: alpha / tests as f64 };
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
        for (corrected_p, expected) in corrected.iter().zip([0.09, 0.005, 0.5, 0.04, 0.09]) {
            assert!((corrected_p.p - expected).abs() < 1e-12, "{corrected:?}");
        }
        let levels: Vec<f64> =
            corrected.iter().map(|corrected_p| (0.05 / corrected_p.level).round()).collect();
        assert_eq!(levels, [3.0, 5.0, 3.0, 4.0, 3.0]);
        assert!(holm(&[0.8, 0.9], 0.05).iter().all(|corrected_p| (corrected_p.p - 1.0).abs() < 1e-12));
    }

    proptest! {
        #[test]
        fn each_level_says_what_the_corrected_p_says(ps in prop::collection::vec(0.0_f64..0.2, 1..30)) {
            for (p, corrected) in ps.iter().zip(holm(&ps, 0.05)) {
                prop_assert_eq!(corrected.p <= 0.05, *p <= corrected.level, "{} {:?}", p, corrected);
            }
        }
    }
}
