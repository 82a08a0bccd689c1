//! Which waits for a CPU `howlate record` keeps one by one: `5ms`, or `p99.9`.

use std::fmt;
use std::str::FromStr;

use crate::{Span, SpanError};

/// Threshold above which a wait is late.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LateThreshold {
    /// A length of time.
    Length(Span),
    /// A percentile of all waits of the hour before, and never less than this.
    Percentile {
        /// 90 to 99.999.
        percent: f64,
        /// Lower bound.
        least: Span,
    },
}

/// Default lower bound: a shorter wait harms few programs, however rare it is.
const LEAST: Span = Span::from_millis(1);
/// Allowed percentiles: half of all waits would be late above a median.
const PERCENT: std::ops::RangeInclusive<f64> = 90.0..=99.999;

impl LateThreshold {
    /// Lower bound of the threshold.
    pub const fn least(self) -> Span {
        match self {
            Self::Length(length) => length,
            Self::Percentile { least, .. } => least,
        }
    }

    pub const fn percent(self) -> Option<f64> {
        match self {
            Self::Length(_) => None,
            Self::Percentile { percent, .. } => Some(percent),
        }
    }

    /// From the header of a recording.
    pub fn from_parts(percent: Option<f64>, least: Span) -> Self {
        percent.map_or(Self::Length(least), |percent| Self::Percentile { percent, least })
    }
}

impl fmt::Display for LateThreshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(length) => write!(f, "{length}"),
            Self::Percentile { percent, least } => write!(f, "p{percent},{least}"),
        }
    }
}

/// Why a text is not such a threshold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LateThresholdError {
    /// A percentile outside the allowed range.
    #[error(
        "`{found}` is not a percentile of rare waits; write one from p90 to p99.999, such as `p99.9`, or `p99.9,500us`, so that shorter waits are never late"
    )]
    Percentile {
        /// What was typed.
        found: String,
    },
    /// Not a length of time.
    #[error("{0}")]
    Length(#[from] SpanError),
}

impl FromStr for LateThreshold {
    type Err = LateThresholdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some(percentile) = text.trim().strip_prefix('p') else {
            return Ok(Self::Length(text.parse()?));
        };
        let (percent, least) = match percentile.split_once(',') {
            Some((percent, least)) => (percent, least.parse()?),
            None => (percentile, LEAST),
        };
        let parsed = percent.parse().ok().filter(|percent| PERCENT.contains(percent));
        let percent = parsed.ok_or_else(|| LateThresholdError::Percentile { found: text.to_owned() })?;
        Ok(Self::Percentile { percent, least })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_or_a_percentile_with_the_least_that_it_may_be() {
        let parsed = |text: &str| text.parse::<LateThreshold>();
        assert_eq!(parsed("5ms"), Ok(LateThreshold::Length(Span::from_millis(5))));
        let percentile = |percent, least| Ok(LateThreshold::Percentile { percent, least });
        assert_eq!(parsed("p99.9"), percentile(99.9, LEAST));
        assert_eq!(parsed("p99,500us"), percentile(99.0, Span::from_micros(500)));
        assert_eq!(parsed("p99.9").unwrap().to_string().parse(), parsed("p99.9"), "as it is shown");
        for wrong in ["p50", "p100", "p", "pNaN", "p99.9999"] {
            assert!(parsed(wrong).unwrap_err().to_string().contains("from p90 to p99.999"), "{wrong}");
        }
        assert!(parsed("p99,fast").is_err() && parsed("5").is_err());
        let threshold = parsed("p99,2ms").unwrap();
        assert_eq!(LateThreshold::from_parts(threshold.percent(), threshold.least()), threshold);
    }
}
