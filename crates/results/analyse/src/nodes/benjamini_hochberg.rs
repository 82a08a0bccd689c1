//! Correction for asking the same of many nodes.

/// Each p, raised so that of all that stay below a level, at most that share are false alarms on average.
///
/// Source: Benjamini & Hochberg, Journal of the Royal Statistical Society B 57 (1995).
pub(crate) fn benjamini_hochberg(ps: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..ps.len()).collect();
    order.sort_by(|a, b| ps[*b].total_cmp(&ps[*a]));
    let mut corrected = vec![0.0; ps.len()];
    let mut most = 1.0_f64;
    for (place, index) in order.into_iter().enumerate() {
        let rank = ps.len() - place;
        most = most.min(ps[index] * ps.len() as f64 / rank as f64);
        corrected[index] = most;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_values() {
        // R: p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "BH") and of an uneven one.
        assert!(benjamini_hochberg(&[0.01, 0.02, 0.03, 0.04, 0.05]).iter().all(|p| (p - 0.05).abs() < 1e-12));
        let corrected = benjamini_hochberg(&[0.001, 0.6, 0.008, 0.039]);
        for (got, expected) in corrected.iter().zip([0.004, 0.6, 0.016, 0.052]) {
            assert!((got - expected).abs() < 1e-12, "{corrected:?}");
        }
        assert!(benjamini_hochberg(&[]).is_empty());
    }
}
