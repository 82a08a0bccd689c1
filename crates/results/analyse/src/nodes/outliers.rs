//! How far a node lies from the others, measured by how far these lie from each other.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::autocorrelation::mean;
use crate::compare::median;

/// The median distance from the median, times this, is the standard deviation of normal values.
pub(crate) const OF_MAD: f64 = 1.4826;
/// From so many others on, single wild ones among them are not to count; below, each is needed.
const ROBUST_FROM: usize = 12;
/// What so many values are worth when their spread is told by the median distance: 37 % of them.
///
/// Source: Rousseeuw & Croux, Journal of the American Statistical Association 88 (1993).
const WORTH_OF_MAD: f64 = 0.37;

/// A node beside the others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Apart {
    /// Its value less the centre of the others.
    pub(crate) difference: f64,
    /// The same, in standard deviations of such a difference.
    pub(crate) z: f64,
    /// How probable it is that a node like the others lies so far above them.
    pub(crate) p: f64,
    /// Half the 95 % interval of where another node like the others would lie.
    pub(crate) reach: f64,
}

/// The centre of nodes, and how far one more would lie from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Others {
    centre: f64,
    variance: f64,
    /// How many values that is worth, less one.
    worth: f64,
}

/// Where one node of value `one` lies beside `others`; `excess` is how much more the variance of its own value is than
/// theirs.
pub(crate) fn apart(one: f64, others: Others, excess: f64) -> Option<Apart> {
    let Others { centre, variance, worth } = others;
    let deviation = (variance + excess.max(0.0)).sqrt();
    let difference = one - centre;
    // Where all others are the same to the last bucket, nothing that is more is too far by itself.
    let z = match deviation > 0.0 {
        true => difference / deviation,
        false if difference.abs() > 0.0 => difference.signum() * f64::MAX.sqrt(),
        false => 0.0,
    };
    let t = StudentsT::new(0.0, 1.0, worth).ok()?;
    let p = if difference > 0.0 { t.sf(z) } else { 1.0 - t.cdf(z).min(0.5) };
    Some(Apart { difference, z, p, reach: t.inverse_cdf(0.975) * deviation })
}

impl Others {
    /// The centre of these nodes.
    pub(crate) const fn centre(&self) -> f64 {
        self.centre
    }

    /// Of these values; `None` below two.
    pub(crate) fn from_values(values: &[f64]) -> Option<Self> {
        let m = values.len() as f64;
        if values.len() < ROBUST_FROM {
            let centre = mean(values).filter(|_| values.len() > 1)?;
            let variance = values.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / (m - 1.0);
            return Some(Self { centre, variance: variance * (1.0 + 1.0 / m), worth: m - 1.0 });
        }
        let (centre, scale) = (median(values)?, OF_MAD * mad(values)?);
        // The variance of a median of normal values is π/2 that of their mean.
        let variance = scale * scale * (1.0 + std::f64::consts::FRAC_PI_2 / m);
        Some(Self { centre, variance, worth: WORTH_OF_MAD * (m - 1.0) })
    }
}

/// The median distance from the median.
pub(crate) fn mad(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    median(&values.iter().map(|value| (value - centre).abs()).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beside(one: f64, others: &[f64], excess: f64) -> Option<Apart> {
        apart(one, Others::from_values(others)?, excess)
    }

    #[test]
    fn one_of_three_is_measured_by_the_other_two() {
        // t = 9 / (sqrt(2) · sqrt(3/2)) = 5.196 with one degree of freedom: p = 0.0605.
        let found = beside(10.0, &[0.0, 2.0], 0.0).unwrap();
        assert!((found.difference - 9.0).abs() < 1e-12 && (found.z - 5.196).abs() < 1e-3, "{found:?}");
        assert!((found.p - 0.0605).abs() < 1e-4, "{found:?}");
        assert!(beside(10.0, &[0.0], 0.0).is_none());
    }

    #[test]
    fn wild_ones_among_many_do_not_hide_another() {
        let others: Vec<f64> = (0..20).map(|one| f64::from(one % 5)).chain([300.0, 300.0]).collect();
        assert!(beside(300.0, &others, 0.0).unwrap().p < 1e-6);
        assert!(beside(3.0, &others, 0.0).unwrap().p > 0.2);
    }

    #[test]
    fn a_value_that_is_uncertain_itself_stands_out_less() {
        let others = [0.0, 1.0, 2.0, 1.0, 0.5];
        assert!(beside(6.0, &others, 25.0).unwrap().p > 10.0 * beside(6.0, &others, 0.0).unwrap().p);
    }

    #[test]
    fn what_is_the_same_everywhere_is_left_behind_by_any_difference() {
        assert!(beside(1.0, &[0.0; 19], 0.0).unwrap().p < 1e-12);
        assert!(beside(0.0, &[0.0; 19], 0.0).unwrap().p >= 0.5);
    }
}
