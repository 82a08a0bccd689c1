//! How alike neighbours are, and how little a long series of them is then worth.

/// Lag-1 autocorrelation of several series together, each about its own mean; corrected for the bias of
/// short series, whose values look less alike than they are, by about (1 + 3ρ) / n.
///
/// Source of the bias: Kendall, Biometrika 41 (1954).
pub(crate) fn lag_one(series: &[&[f64]]) -> f64 {
    let (mut products, mut squares) = (0.0, 0.0);
    for one in series {
        let Some(mean) = mean(one) else { continue };
        products += one.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>();
        squares += one.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    }
    let found = if squares > 0.0 { products / squares } else { 0.0 };
    let length = values(series) as f64 / series.len().max(1) as f64;
    (found * length + 1.0) / (length - 3.0).max(1.0)
}

/// Neighbours that are more alike than this leave nothing to say: the series wanders as slowly as it lasts.
const TOO_ALIKE: f64 = 0.5;

/// Whether `values` neighbours are so alike that nothing can be said of what comes next; most of a standard error
/// more than they look, because few do not tell well.
pub(crate) fn is_too_alike(likeness: f64, values: usize) -> bool {
    likeness + 0.8 / (values.max(1) as f64).sqrt() > TOO_ALIKE
}

/// By how much the variance of a mean of these series is larger than if their values were independent, where they
/// wander as the `level` does. A number that is mostly noise, as a maximum is, hides how
/// slowly it wanders: how long its likeness lasts is taken from the level, which shows it better.
pub(crate) fn inflation_beside(series: &[&[f64]], level: &[&[f64]]) -> f64 {
    let length = (values(series) / series.len().max(1)).max(1);
    let likeness = at_most(series);
    let memory = likeness.max(at_most(level));
    let n = length as f64;
    let fades = |lag: usize| (1.0 - lag as f64 / n) * likeness * memory.powf((lag - 1) as f64);
    1.0 + 2.0 * (1..length).map(fades).sum::<f64>()
}

/// How alike neighbours may be: one standard error more than they look, because short series do not tell well.
fn at_most(series: &[&[f64]]) -> f64 {
    let n = values(series).max(1) as f64;
    (lag_one(series) + 1.0 / n.sqrt()).clamp(0.0, MOST)
}

/// Beyond this, no number of values is worth anything.
const MOST: f64 = 0.95;

fn values(series: &[&[f64]]) -> usize {
    series.iter().map(|one| one.len()).sum()
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
        noise.iter().for_each(|one| alike.push(0.7 * alike[alike.len() - 1] + one));
        assert!(lag_one(&[&noise]).abs() < 0.05);
        assert!((lag_one(&[&alike]) - 0.7).abs() < 0.05);
        // Two levels are no likeness: each series has its own mean.
        let higher: Vec<f64> = noise.iter().map(|one| one + 9.0).collect();
        assert!(lag_one(&[&noise, &higher]).abs() < 0.05);
        // 0.7 makes (1 + 0.7) / (1 − 0.7) = 5.7 of one.
        assert!(
            (inflation_beside(&[&noise], &[&noise]) - 1.0).abs() < 0.1
                && (inflation_beside(&[&alike], &[&alike]) - 5.7).abs() < 1.0
        );
    }
}
