//! Correction for making several comparisons at once.

/// Each p, raised so that the chance of any false alarm among all stays what a single one's was.
///
/// Source: Holm, Scandinavian Journal of Statistics 6 (1979).
pub(crate) fn holm(ps: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..ps.len()).collect();
    order.sort_by(|a, b| ps[*a].total_cmp(&ps[*b]));
    let mut corrected = vec![0.0; ps.len()];
    let mut least = 0.0_f64;
    for (place, index) in order.into_iter().enumerate() {
        least = least.max(ps[index] * (ps.len() - place) as f64).min(1.0);
        corrected[index] = least;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_values() {
        let corrected = holm(&[0.04, 0.001, 0.5, 0.01, 0.03]);
        for (got, expected) in corrected.iter().zip([0.09, 0.005, 0.5, 0.04, 0.09]) {
            assert!((got - expected).abs() < 1e-12, "{corrected:?}");
        }
        assert_eq!(holm(&[0.8, 0.9]), [1.0, 1.0]);
    }
}
