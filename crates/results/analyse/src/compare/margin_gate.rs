//! What a margin is worth as a gate: how often it fails, or stays undecided, if nothing has changed.

use schemars::JsonSchema;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::detectable::StandardError;

/// Share of comparisons that may stay undecided by chance.
const TRUSTED: f64 = 0.05;

/// What becomes of comparisons like this one where nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MarginGate {
    /// The share that says `worse`, at most; all statistics of the command together.
    pub false_alarms: f64,
    /// The share that says neither: inconclusive.
    pub undecided: f64,
    /// Pairs, or stretches of each side, with which no more than 5 % are.
    pub trusted_units: usize,
}

impl MarginGate {
    /// For an interval of this width, from `units` with that standard error.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive count")]
    pub(crate) fn new(
        (low, high): (f64, f64),
        margin: f64,
        spread: StandardError,
        units: usize,
        alpha: f64,
    ) -> Option<Self> {
        let t = StudentsT::new(0.0, 1.0, spread.freedom).ok()?;
        let (half, error) = ((high - low) / 2.0, spread.error);
        if margin <= 0.0 || error <= 0.0 {
            return None;
        }
        let decided = (2.0 * t.cdf((margin - half) / error) - 1.0).max(0.0);
        let needed = (half + t.inverse_cdf(1.0 - TRUSTED / 2.0) * error) / margin;
        let trusted_units = (units as f64 * needed.powi(2)).ceil() as usize;
        Some(Self { false_alarms: alpha / 2.0, undecided: 1.0 - decided, trusted_units })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Means of n values with deviation 5, held against ± 4: how often simulated ones stay undecided.
    #[test]
    fn the_share_that_stays_undecided_is_that_of_simulated_comparisons() {
        let mut random = fastrand::Rng::with_seed(3);
        let mut normal = || {
            let angle = std::f64::consts::TAU * random.f64();
            (-2.0 * random.f64().max(1e-12).ln()).sqrt() * angle.cos()
        };
        let units = 20.0_f64;
        let spread = StandardError { error: 5.0 / units.sqrt(), freedom: units - 1.0 };
        let half = 2.093_024 * spread.error;
        let gate = MarginGate::new((-half, half), 4.0, spread, 20, 0.05).unwrap();
        let is_undecided = |_: &u32| (normal() * spread.error).abs() + half >= 4.0;
        let undecided = f64::from((0..20_000).filter(is_undecided).map(|_| 1).sum::<u32>()) / 20_000.0;
        assert!((gate.undecided - undecided).abs() < 0.03, "{gate:?} {undecided}");
        assert!((0.024..0.026).contains(&gate.false_alarms));
        // With that many, few stay undecided.
        let more = f64::from(u32::try_from(gate.trusted_units).unwrap());
        let spread = StandardError { error: 5.0 / more.sqrt(), freedom: more - 1.0 };
        let half = 2.0 * spread.error;
        let trusted = MarginGate::new((-half, half), 4.0, spread, gate.trusted_units, 0.05).unwrap();
        assert!(trusted.undecided < 0.06, "{trusted:?}");
        assert_eq!(MarginGate::new((-1.0, 1.0), 0.0, spread, 20, 0.05), None);
    }
}
