//! Margins within which differences do not count.

use std::fmt;
use std::str::FromStr;

use crate::{Span, SpanError};

/// Differences within this do not count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Margin {
    /// The same length for all numbers.
    Length(Span),
    /// A share of each number that others are compared with: 0.05 for 5 %.
    Share(f64),
}

impl Margin {
    /// The margin around `nanos`, in nanoseconds.
    pub fn nanos_around(self, nanos: f64) -> f64 {
        match self {
            Self::Length(span) => span.as_nanos() as f64,
            Self::Share(share) => share * nanos.abs(),
        }
    }
}

impl fmt::Display for Margin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(span) => span.fmt(formatter),
            Self::Share(share) => write!(formatter, "{}%", in_per_cent(*share)),
        }
    }
}

/// Rounded, as floating point makes 7.000000000000001 of 7.
fn in_per_cent(share: f64) -> f64 {
    (share * 1e8).round() / 1e6
}

/// Why a text is not a margin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MarginError {
    /// Not a share that could be meant.
    #[error("`{found}` is no share; write per cent above 0 and at most 1000, such as `5%`")]
    Share {
        /// What was typed.
        found: String,
    },
    /// Neither a share nor a length of time.
    #[error("{0}; or a share, such as `5%`")]
    Length(SpanError),
}

impl FromStr for Margin {
    type Err = MarginError;

    /// Reads `5us`, `5%`, `2.5 %`.
    fn from_str(text: &str) -> Result<Self, MarginError> {
        let Some(percent) = text.trim().strip_suffix('%') else {
            return text.parse().map(Self::Length).map_err(MarginError::Length);
        };
        match percent.trim().parse::<f64>() {
            Ok(percent) if percent > 0.0 && percent <= 1_000.0 => Ok(Self::Share(percent / 100.0)),
            _ => Err(MarginError::Share { found: text.trim().to_owned() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_margin_is_a_length_or_a_share() {
        let nanos = |text: &str| text.parse::<Margin>().unwrap().nanos_around(-200.0).round();
        assert!((nanos("5us") - 5_000.0).abs() < 0.1);
        assert!((nanos("5%") - 10.0).abs() < 0.1 && (nanos(" 2.5 %") - 5.0).abs() < 0.1);
        for (text, shown) in [("7%", "7%"), ("2.5 %", "2.5%"), ("5us", "5us")] {
            assert_eq!(text.parse::<Margin>().unwrap().to_string(), shown);
        }
        for wrong in ["5", "-5us", "0%", "-1%", "%", "NaN%", "inf%", "soon"] {
            let error = wrong.parse::<Margin>().unwrap_err().to_string();
            assert!(error.contains("such as `5%`"), "{error}");
        }
    }
}
