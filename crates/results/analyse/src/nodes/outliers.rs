//! Outlier tests for nodes: how far a node lies from the others, relative to their spread.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::autocorrelation::mean;
use crate::compare::median;

/// Factor from the median absolute deviation to the standard deviation of normal values.
pub(crate) const OF_MAD: f64 = 1.4826;
/// From this many values on, the statistics are robust against single outliers; below, each value is needed.
const ROBUST_FROM: usize = 12;
/// Efficiency of the median absolute deviation: many values are worth this share of them.
///
/// Source: Rousseeuw & Croux, Journal of the American Statistical Association 88 (1993).
const EFFICIENCY_OF_MAD: f64 = 0.37;

/// A node compared with the others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deviation {
    /// Its value less the centre of the others.
    pub(crate) difference: f64,
    /// The difference in standard deviations of such a difference.
    pub(crate) z: f64,
    /// The p-value: how probable it is that a node like the others lies so far above them.
    pub(crate) p: f64,
    /// Half the 95 % interval of where another node like the others would lie.
    pub(crate) reach: f64,
}

/// The centre of nodes, and how far one more would lie from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OtherNodes {
    centre: f64,
    variance: f64,
    /// Degrees of freedom.
    freedom: f64,
}

/// Compares a node's `value` with the others; `excess` is how much larger the variance of its own value is than theirs.
pub(crate) fn deviation(value: f64, others: OtherNodes, excess: f64) -> Option<Deviation> {
    let OtherNodes { centre, variance, freedom } = others;
    let standard = (variance + excess.max(0.0)).sqrt();
    let difference = value - centre;
    // If all others are equal to the last bucket, any difference is significant.
    let z = match standard > 0.0 {
        true => difference / standard,
        false if difference.abs() > 0.0 => difference.signum() * f64::MAX.sqrt(),
        false => 0.0,
    };
    let t = StudentsT::new(0.0, 1.0, freedom).ok()?;
    let p = if difference > 0.0 { t.sf(z) } else { 1.0 - t.cdf(z).min(0.5) };
    Some(Deviation { difference, z, p, reach: t.inverse_cdf(0.975) * standard })
}

impl OtherNodes {
    /// The centre of these nodes.
    pub(crate) const fn centre(&self) -> f64 {
        self.centre
    }

    /// The statistics of these values; `None` below two.
    pub(crate) fn from_values(values: &[f64]) -> Option<Self> {
        let m = values.len() as f64;
        if values.len() < ROBUST_FROM {
            let centre = mean(values).filter(|_| values.len() > 1)?;
            let variance = values.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / (m - 1.0);
            return Some(Self { centre, variance: variance * (1.0 + 1.0 / m), freedom: m - 1.0 });
        }
        let (centre, scale) = (median(values)?, OF_MAD * mad(values)?);
        // The variance of a median of normal values is π/2 that of their mean.
        let variance = scale * scale * (1.0 + std::f64::consts::FRAC_PI_2 / m);
        Some(Self { centre, variance, freedom: EFFICIENCY_OF_MAD * (m - 1.0) })
    }
}

/// The median absolute deviation from the median.
pub(crate) fn mad(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    median(&values.iter().map(|value| (value - centre).abs()).collect::<Vec<_>>())
}

/// Adjusts p-values so that, among all that stay below a level, at most that share are false alarms on average.
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

    fn compare(value: f64, others: &[f64], excess: f64) -> Option<Deviation> {
        deviation(value, OtherNodes::from_values(others)?, excess)
    }

    #[test]
    fn one_of_three_is_measured_by_the_other_two() {
        // t = 9 / (sqrt(2) · sqrt(3/2)) = 5.196 with one degree of freedom: p = 0.0605.
        let found = compare(10.0, &[0.0, 2.0], 0.0).unwrap();
        assert!((found.difference - 9.0).abs() < 1e-12 && (found.z - 5.196).abs() < 1e-3, "{found:?}");
        assert!((found.p - 0.0605).abs() < 1e-4, "{found:?}");
        assert!(compare(10.0, &[0.0], 0.0).is_none());
    }

    #[test]
    fn wild_ones_among_many_do_not_hide_another() {
        let others: Vec<f64> = (0..20).map(|value| f64::from(value % 5)).chain([300.0, 300.0]).collect();
        assert!(compare(300.0, &others, 0.0).unwrap().p < 1e-6);
        assert!(compare(3.0, &others, 0.0).unwrap().p > 0.2);
    }

    #[test]
    fn a_value_that_is_uncertain_itself_stands_out_less() {
        let others = [0.0, 1.0, 2.0, 1.0, 0.5];
        assert!(compare(6.0, &others, 25.0).unwrap().p > 10.0 * compare(6.0, &others, 0.0).unwrap().p);
    }

    #[test]
    fn what_is_the_same_everywhere_is_left_behind_by_any_difference() {
        assert!(compare(1.0, &[0.0; 19], 0.0).unwrap().p < 1e-12);
        assert!(compare(0.0, &[0.0; 19], 0.0).unwrap().p >= 0.5);
    }

    #[test]
    fn the_published_values() {
        // R: p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "BH") and of an uneven one.
        assert!(benjamini_hochberg(&[0.01, 0.02, 0.03, 0.04, 0.05]).iter().all(|p| (p - 0.05).abs() < 1e-12));
        let corrected = benjamini_hochberg(&[0.001, 0.6, 0.008, 0.039]);
        for (actual, expected) in corrected.iter().zip([0.004, 0.6, 0.016, 0.052]) {
            assert!((actual - expected).abs() < 1e-12, "{corrected:?}");
        }
        assert!(benjamini_hochberg(&[]).is_empty());
    }
}
