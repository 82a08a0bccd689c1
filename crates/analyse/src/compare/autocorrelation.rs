//! How alike neighbours are, and how little a long series of them is then worth.

/// Lag-1 autocorrelation of several series together, each about its own mean; corrected for the bias of
/// short series, whose values look less alike than they are, by about (1 + 3ρ) / n.
///
/// Source of the bias: Kendall, Biometrika 41 (1954).
#[allow(clippy::cast_precision_loss, reason = "few blocks")]
pub(crate) fn lag_one(series: &[&[f64]]) -> f64 {
    let (mut products, mut squares) = (0.0, 0.0);
    for one in series {
        let Some(mean) = super::mean(one) else { continue };
        products += one.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>();
        squares += one.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    }
    let found = if squares > 0.0 { products / squares } else { 0.0 };
    let length = values(series) as f64 / series.len().max(1) as f64;
    (found * length + 1.0) / (length - 3.0).max(1.0)
}

/// By how much the variance of a mean of these series is larger than if their values were independent. Short
/// series do not tell well, so their autocorrelation is taken to be one standard error larger than it looks.
#[allow(clippy::cast_precision_loss, reason = "few blocks")]
pub(crate) fn inflation(series: &[&[f64]]) -> f64 {
    let n = values(series).max(1) as f64;
    let correlation = (lag_one(series) + 1.0 / n.sqrt()).clamp(0.0, MOST);
    n / effective_size(n, (1..LAGS).map(|lag| correlation.powi(lag)))
}

/// Beyond this, no number of values is worth anything.
const MOST: f64 = 0.95;
/// Lags after which [`MOST`] has faded.
const LAGS: i32 = 300;

fn values(series: &[&[f64]]) -> usize {
    series.iter().map(|one| one.len()).sum()
}

/// How many independent values `n` are worth whose autocorrelations are `correlations`, from lag 1 on:
/// n / (1 + 2 Σ ρ).
fn effective_size(n: f64, correlations: impl Iterator<Item = f64>) -> f64 {
    n / (1.0 + 2.0 * correlations.sum::<f64>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_autoregressive_series_are_worth() {
        for (phi, expected) in [(0.5, 3_333.3), (0.9, 526.3), (0.99, 50.3)] {
            let correlations = (1..5_000).map(|lag| f64::powi(phi, lag));
            assert!((effective_size(1e4, correlations) - expected).abs() < 0.05, "{phi}");
        }
    }

    #[test]
    fn neighbours_that_are_alike_show() {
        let mut random = fastrand::Rng::with_seed(5);
        let noise: Vec<f64> = (0..4_000).map(|_| random.f64() - 0.5).collect();
        let mut alike = vec![0.0];
        noise.iter().for_each(|one| alike.push(0.7 * alike[alike.len() - 1] + one));
        assert!(lag_one(&[&noise]).abs() < 0.05);
        assert!((lag_one(&[&alike]) - 0.7).abs() < 0.05);
        // Two levels are no likeness: each series has its own mean.
        let higher: Vec<f64> = noise.iter().map(|one| one + 9.0).collect();
        assert!(lag_one(&[&noise, &higher]).abs() < 0.05);
        // 0.7 makes (1 + 0.7) / (1 − 0.7) = 5.7 of one.
        assert!((inflation(&[&noise]) - 1.0).abs() < 0.1 && (inflation(&[&alike]) - 5.7).abs() < 1.0);
    }
}
