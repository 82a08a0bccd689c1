//! The generalised Pareto distribution of excesses over a high threshold.
//!
//! Source: Coles, An Introduction to Statistical Modeling of Extreme Values (2001), chapter 4; fit by
//! probability-weighted moments, Hosking & Wallis, Technometrics 29 (1987).

use crate::compare::ordered;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pareto {
    /// Shape ξ: below 0 there is an upper end; from 0.5 on the variance is infinite.
    pub(crate) shape: f64,
    /// Scale σ, in the unit of the values.
    pub(crate) scale: f64,
}

impl Pareto {
    /// Fits the excesses over a threshold; `None` if no distribution fits.
    pub(crate) fn fit(excesses: &[f64]) -> Option<Self> {
        let (sorted, n) = (ordered(excesses), excesses.len() as f64);
        let a0 = crate::autocorrelation::mean(&sorted)?;
        let weighted = |(index, value): (usize, &f64)| value * (1.0 - ((index + 1) as f64 - 0.35) / n);
        let a1 = sorted.iter().enumerate().map(weighted).sum::<f64>() / n;
        let rest = a0 - 2.0 * a1;
        (rest > 0.0).then(|| Self { shape: 2.0 - a0 / rest, scale: 2.0 * a0 * a1 / rest })
    }

    /// The value exceeded once in `expected` exceedances of `threshold` on average.
    pub(crate) fn level(&self, threshold: f64, expected: f64) -> f64 {
        if self.shape.abs() < 1e-9 {
            threshold + self.scale * expected.ln()
        } else {
            threshold + self.scale / self.shape * (expected.powf(self.shape) - 1.0)
        }
    }

    /// Standard error of the fitted shape from `n` values; infinite from a shape of 0.5 on.
    pub(crate) fn shape_error(&self, n: usize) -> f64 {
        let shape = self.shape;
        if shape >= 0.5 {
            return f64::INFINITY;
        }
        let top = (1.0 - shape) * (2.0 - shape).powi(2) * (1.0 - shape + 2.0 * shape * shape);
        (top / ((1.0 - 2.0 * shape) * (3.0 - 2.0 * shape)) / n as f64).sqrt()
    }

    /// The excess at `quantile`.
    pub(crate) fn quantile(&self, quantile: f64) -> f64 {
        self.level(0.0, 1.0 / (1.0 - quantile))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_levels() {
        for (threshold, scale, shape, share, n, expected) in [
            (100.0, 20.0, 0.1, 1e-3, 1e6, 299.0525),
            (100.0, 20.0, 0.0, 1e-3, 1e6, 238.1551),
            (100.0, 20.0, -0.2, 1e-3, 1e6, 174.8811),
            (50.0, 10.0, 0.3, 0.01, 1e8, 2_119.857_8),
        ] {
            let level = Pareto { shape, scale }.level(threshold, n * share);
            assert!((level - expected).abs() < 6e-5, "{level}");
        }
    }

    #[test]
    fn the_published_fit() {
        let truth = Pareto { shape: 0.2, scale: 10.0 };
        let values: Vec<f64> = (1..=100).map(|i| truth.quantile((f64::from(i) - 0.5) / 100.0)).collect();
        let fitted = Pareto::fit(&values).unwrap();
        assert!((fitted.shape - 0.193_482).abs() < 5e-7, "{fitted:?}");
        assert!((fitted.scale - 9.970_963).abs() < 5e-7, "{fitted:?}");
        assert_eq!(Pareto::fit(&[]), None);
    }

    /// By simulation: the standard error is the deviation of many fits.
    #[test]
    fn the_error_of_the_shape_is_that_of_many_fits() {
        let (truth, mut random) = (Pareto { shape: 0.1, scale: 1.0 }, fastrand::Rng::with_seed(1));
        let mut shape = || {
            let values: Vec<f64> = (0..200).map(|_| truth.quantile(random.f64())).collect();
            Pareto::fit(&values).unwrap().shape
        };
        let shapes: Vec<f64> = (0..400).map(|_| shape()).collect();
        let seen = crate::compare::deviation(&shapes).unwrap();
        assert!((seen / truth.shape_error(200) - 1.0).abs() < 0.15, "{seen}");
    }
}
