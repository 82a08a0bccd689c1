//! The smallest detectable effect, and the number of turns that detects a smaller one.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// Probability with which an effect of the stated size is found. At least 80 % are promised; the rest is for the uncertainty of the
/// spread.
pub(crate) const POWER: f64 = 0.85;

/// Standard error of a difference.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StandardError {
    pub(crate) error: f64,
    /// Degrees of freedom of that error.
    pub(crate) freedom: f64,
}

impl StandardError {
    /// The standard error that corresponds to a test's interval at level `alpha`. A robust test has a narrower interval than the
    /// standard deviation suggests.
    pub(crate) fn of_interval((low, high): (f64, f64), alpha: f64, freedom: f64) -> Option<Self> {
        let t = StudentsT::new(0.0, 1.0, freedom).ok()?;
        Some(Self { error: (high - low) / 2.0 / t.inverse_cdf(1.0 - alpha / 2.0), freedom })
    }

    /// By how much an effect has to exceed what a test rejects, to be found with probability `power`.
    pub(crate) fn beyond(&self, power: f64) -> f64 {
        StudentsT::new(0.0, 1.0, self.freedom).map_or(0.0, |t| t.inverse_cdf(power) * self.error)
    }

    /// The smallest effect that a two-sided test at level `alpha` finds with probability `power`: (t₁₋α/₂ + t at `power`) · standard
    /// error. `None` if the level is out of reach.
    pub(crate) fn detectable(&self, alpha: f64, power: f64) -> Option<f64> {
        if alpha <= 0.0 {
            return None;
        }
        let t = StudentsT::new(0.0, 1.0, self.freedom).ok()?;
        Some((t.inverse_cdf(1.0 - alpha / 2.0) + t.inverse_cdf(power)) * self.error)
    }
}

/// Number of pairs that show a difference of `effect` if paired differences have this standard deviation.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive count")]
pub(crate) fn pairs_to_see(effect: f64, deviation: f64, alpha: f64, power: f64) -> usize {
    let normal = Normal::standard();
    let quantiles = normal.inverse_cdf(1.0 - alpha / 2.0) + normal.inverse_cdf(power);
    (quantiles * deviation / effect).powi(2).ceil() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_sizes() {
        for (n, expected) in [(6.0, 7.1242), (10.0, 4.9736), (20.0, 3.3026), (30.0, 2.6468), (100.0, 1.4147)]
        {
            let spread = StandardError { error: 5.0 / f64::sqrt(n), freedom: n - 1.0 };
            let actual = spread.detectable(0.05, 0.8).unwrap();
            assert!((actual - expected).abs() < 5e-5, "{n}: {actual}");
        }
        assert_eq!(pairs_to_see(2.0, 5.0, 0.05, 0.8), 50);
    }

    #[test]
    fn a_level_that_no_test_reaches_detects_nothing() {
        assert_eq!(StandardError { error: 1.0, freedom: 5.0 }.detectable(0.0, 0.8), None);
    }

    #[test]
    fn an_interval_tells_its_error() {
        // The t interval of n = 10 with deviation 5 is ± 2.2622 · 5 / √10.
        let half = 2.262_157 * 5.0 / 10.0_f64.sqrt();
        let spread = StandardError::of_interval((3.0 - half, 3.0 + half), 0.05, 9.0).unwrap();
        assert!((spread.detectable(0.05, 0.8).unwrap() - 4.9736).abs() < 5e-5);
    }
}
