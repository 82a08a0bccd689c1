//! Rayleigh's test: whether times gather at one phase of a period.
//!
//! Source: Wilkie's approximation of its probability; Mardia & Jupp, Directional Statistics (2000), 6.3.1; Zar,
//! Biostatistical Analysis, 27.1.

use std::f64::consts::TAU;

/// The mean direction of times on a circle.
#[derive(Clone, Copy, Debug)]
pub(super) struct MeanDirection {
    /// Its length: 1 if all have one phase, about 0 if they have none.
    pub(super) length: f64,
    /// Its angle, as a share of the period.
    pub(super) phase: f64,
}

/// The mean of `count` directions, given as sums of cosines and sines.
pub(super) fn mean_direction((cosines, sines): (f64, f64), count: f64) -> MeanDirection {
    let length = cosines.hypot(sines) / count.max(1.0);
    MeanDirection { length, phase: (sines.atan2(cosines) / TAU).rem_euclid(1.0) }
}

/// The sums of cosines and sines of times at a frequency.
pub(super) fn directions(times: &[f64], frequency: f64) -> (f64, f64) {
    let angle_of = |time: &f64| (time * frequency).fract() * TAU;
    times.iter().map(angle_of).fold((0.0, 0.0), |sum, angle| (sum.0 + angle.cos(), sum.1 + angle.sin()))
}

/// The probability of a mean at least so long for as many times without any rhythm.
pub(super) fn probability(count: f64, length: f64) -> f64 {
    let sum = count * length.min(1.0);
    let root = (1.0 + 4.0 * count + 4.0 * (count * count - sum * sum)).max(0.0).sqrt();
    (root - (1.0 + 2.0 * count)).exp().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rayleigh_test(times: &[f64], period: f64) -> (MeanDirection, f64) {
        let count = times.len() as f64;
        let mean = mean_direction(directions(times, 1.0 / period), count);
        (mean, probability(count, mean.length))
    }

    /// Values computed with another program.
    #[test]
    fn known_series_have_their_known_probabilities() {
        let (steady, p) = rayleigh_test(&[0.01, 1.02, 2.0, 2.99, 4.01], 1.0);
        assert!(
            (steady.length - 0.997_948).abs() < 1e-6 && (p / 1.707e-3 - 1.0).abs() < 1e-3,
            "{steady:?} {p}"
        );
        let (any, p) = rayleigh_test(&[0.1, 1.37, 2.61, 3.05, 4.9], 1.0);
        assert!((any.length - 0.236_771).abs() < 1e-6 && (p - 0.773).abs() < 1e-3, "{any:?} {p}");
        let (tick, p) = rayleigh_test(&[0.0041, 0.0081, 0.0121, 0.0202, 0.0361, 0.0601], 0.004);
        assert!((tick.length - 0.998_289).abs() < 1e-6 && (p / 3.5e-4 - 1.0).abs() < 0.02, "{tick:?} {p}");
        assert!((tick.phase * 4.0 - 0.117).abs() < 1e-3, "{tick:?}");
    }
}
