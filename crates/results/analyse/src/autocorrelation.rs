//! Autocorrelation: how much neighbouring values of a series depend on each other, and how much less a series is then worth.

/// Lag-1 autocorrelation of several series together, each about its own mean; corrected for the bias of short series, which
/// show too little of it, by about (1 + 3ρ) / n.
///
/// Source of the bias: Kendall, Biometrika 41 (1954).
pub(crate) fn lag_one(series: &[&[f64]]) -> f64 {
    let (mut products, mut squares) = (0.0, 0.0);
    for values in series {
        let Some(mean) = mean(values) else { continue };
        products += values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>();
        squares += values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    }
    let found = if squares > 0.0 { products / squares } else { 0.0 };
    let length = count_values(series) as f64 / series.len().max(1) as f64;
    (found * length + 1.0) / (length - 3.0).max(1.0)
}

/// Above this autocorrelation the series drifts as slowly as it lasts, and nothing can be concluded.
const TOO_CORRELATED: f64 = 0.5;

/// Whether the autocorrelation of `values` values is too high for any statement on what comes next; with most of a standard error
/// added, as few values underestimate it.
pub(crate) fn is_too_correlated(correlation: f64, values: usize) -> bool {
    correlation + 0.8 / (values.max(1) as f64).sqrt() > TOO_CORRELATED
}

/// By how much the variance of a mean of these series is larger than for independent values, if they drift as the `level`
/// does. A number that is mostly noise, such as a maximum, hides how slowly it drifts: the decay of its autocorrelation is
/// taken from the level, which shows it better.
pub(crate) fn variance_inflation(series: &[&[f64]], level: &[&[f64]]) -> f64 {
    let length = (count_values(series) / series.len().max(1)).max(1);
    let correlation = upper_correlation(series);
    let memory = correlation.max(upper_correlation(level));
    let n = length as f64;
    let fades = |lag: usize| (1.0 - lag as f64 / n) * correlation * memory.powf((lag - 1) as f64);
    1.0 + 2.0 * (1..length).map(fades).sum::<f64>()
}

/// Autocorrelation plus one standard error, as short series underestimate it.
fn upper_correlation(series: &[&[f64]]) -> f64 {
    let n = count_values(series).max(1) as f64;
    (lag_one(series) + 1.0 / n.sqrt()).clamp(0.0, MOST_CORRELATION)
}

/// Upper limit: beyond it, no number of values would be worth anything.
const MOST_CORRELATION: f64 = 0.95;

fn count_values(series: &[&[f64]]) -> usize {
    series.iter().map(|values| values.len()).sum()
}

pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_that_are_alike_show() {
        let mut random = fastrand::Rng::with_seed(5);
        let noise: Vec<f64> = (0..4_000).map(|_| random.f64() - 0.5).collect();
        let mut alike = vec![0.0];
        noise.iter().for_each(|value| alike.push(0.7 * alike[alike.len() - 1] + value));
        assert!(lag_one(&[&noise]).abs() < 0.05);
        assert!((lag_one(&[&alike]) - 0.7).abs() < 0.05);
        // Two levels are no autocorrelation: each series has its own mean.
        let higher: Vec<f64> = noise.iter().map(|value| value + 9.0).collect();
        assert!(lag_one(&[&noise, &higher]).abs() < 0.05);
        // 0.7 makes (1 + 0.7) / (1 − 0.7) = 5.7 of one.
        assert!(
            (variance_inflation(&[&noise], &[&noise]) - 1.0).abs() < 0.1
                && (variance_inflation(&[&alike], &[&alike]) - 5.7).abs() < 1.0
        );
    }
}
