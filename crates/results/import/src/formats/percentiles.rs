//! Percentiles that a program prints, with how many values they are of.

use howlate_model::{Distribution, Span};

use crate::error::ImportError;
use crate::histogram::count_in;

/// Percentiles of one distribution: shares from 0 to 1 with their values in nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct PercentileTable {
    pub(crate) points: Vec<(f64, u64)>,
    pub(crate) total: u64,
    pub(crate) min: Option<u64>,
    pub(crate) max: Option<u64>,
    pub(crate) mean: Option<u64>,
}

impl PercentileTable {
    /// Values between two percentiles count at the upper one; those above the last, at the largest. `None`
    /// where the largest is unknown.
    pub(crate) fn distribution(&self, program: &'static str) -> Result<Distribution, ImportError> {
        let mut all = Distribution::default();
        let (mut counted, mut last) = (0, 0);
        let max = self.max.unwrap_or(0);
        for (share, value) in self.points.iter().copied().chain([(1.0, max)]) {
            if value < last {
                let (value, last) = (Span::from_nanos(value), Span::from_nanos(last));
                return Err(ImportError::damaged(
                    program,
                    format!("a percentile of {value} follows one of {last}"),
                ));
            }
            let up_to = rank(share, self.total);
            self.count(&mut all, program, value, up_to.saturating_sub(counted))?;
            (counted, last) = (counted.max(up_to), value);
        }
        if let Some(mean) = self.mean {
            all.set_printed_sum(i128::from(mean).saturating_mul(i128::from(all.count())));
        }
        Ok(all)
    }

    /// The smallest value is known to be one of the first.
    fn count(
        &self,
        all: &mut Distribution,
        program: &'static str,
        value: u64,
        count: u64,
    ) -> Result<(), ImportError> {
        let nanos = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let min = self.min.filter(|min| all.is_empty() && *min <= value && count > 0);
        if let Some(min) = min {
            count_in(all, program, nanos(min), 1)?;
        }
        count_in(all, program, nanos(value), count.saturating_sub(u64::from(min.is_some())))
    }
}

/// How many of so many values a share is, as nearest rank has it.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of what fits")]
fn rank(share: f64, total: u64) -> u64 {
    let rank = (share * total as f64 * (1.0 - 4.0 * f64::EPSILON)).ceil() as u64;
    if share >= 1.0 { total } else { rank.min(total) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_come_back() {
        let percentiles = PercentileTable {
            points: vec![(0.5, 10), (0.99, 70), (0.999, 909)],
            total: 30_212,
            min: Some(1),
            max: Some(10_224),
            mean: Some(20),
        };
        let all = percentiles.distribution("a program").unwrap();
        let found = [0.5, 0.99, 0.999, 1.0].map(|share| all.quantile(share).unwrap().as_nanos());
        assert_eq!((found, all.count()), ([10, 70, 909, 10_224], 30_212));
        assert_eq!((all.min().unwrap().as_nanos(), all.mean_nanos()), (1, Some(20.0)));
        let falling =
            PercentileTable { points: vec![(0.5, 10), (0.9, 9)], total: 100, max: Some(20), ..percentiles };
        assert!(falling.distribution("a program").is_err());
    }
}
