//! Limits of `--fail-above`: `max>100us`, `p99.9>50us`, `missed>0`, `loop>20ms`, `request.p99>5ms`.

use std::fmt;
use std::str::FromStr;

use crate::{Span, SpanError};

/// A result above this limit makes the run fail.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// Whose results are compared.
    pub scope: LimitScope,
    /// What is compared.
    pub statistic: LimitStatistic,
    /// Fails above this: nanoseconds, or a count for [`LimitStatistic::Missed`].
    pub above: u64,
}

/// Whose results a limit is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitScope {
    /// All but those of requests.
    Threads,
    /// Requests to servers.
    Requests,
}

/// Stands before the statistic of a limit for requests.
const OF_REQUESTS: &str = "request.";

/// A number of a result that can be compared with a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LimitStatistic {
    /// The largest latency.
    Max,
    /// The mean latency.
    Mean,
    /// A percentile of the latencies, 0 to 100.
    Percentile(f64),
    /// Number of periods missed.
    Missed,
    /// The longest that the event loop of a watched thread did not come back.
    Loop,
}

impl fmt::Display for LimitStatistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Max => f.write_str("max"),
            Self::Mean => f.write_str("mean"),
            Self::Percentile(percent) => write!(f, "p{percent}"),
            Self::Missed => f.write_str("missed"),
            Self::Loop => f.write_str("loop"),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.scope == LimitScope::Requests {
            f.write_str(OF_REQUESTS)?;
        }
        match self.statistic {
            LimitStatistic::Missed => write!(f, "missed>{}", self.above),
            statistic => write!(f, "{statistic}>{}", Span::from_nanos(self.above)),
        }
    }
}

/// Why a text is not a limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// Not a statistic, `>` and a value.
    #[error(
        "`{found}` is not a limit; write a statistic and the value it must not exceed, such as `max>100us`, `p99.9>50us` or `missed>0`"
    )]
    Shape {
        /// What was typed.
        found: String,
    },
    /// No such statistic.
    #[error(
        "`{found}` is not a statistic; choose max, mean, missed, loop (how long an event loop did not come back), or a percentile such as p50 or p99.9; of requests `request.p99`"
    )]
    Statistic {
        /// What was typed before the `>`.
        found: String,
    },
    /// Requests have no such statistic.
    #[error("requests have no `{found}`; choose max, mean, or a percentile, such as `request.p99>5ms`")]
    NotOfRequests {
        /// What was typed between `request.` and `>`.
        found: String,
    },
    /// The value of a latency limit.
    #[error(transparent)]
    Span(#[from] SpanError),
    /// The value of a count limit.
    #[error("`{found}` is not a count of periods; write a number, such as `missed>0`")]
    Count {
        /// What was typed after the `>`.
        found: String,
    },
}

impl FromStr for Limit {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Self, LimitError> {
        let Some((statistic, above)) = text.split_once('>') else {
            return Err(LimitError::Shape { found: text.trim().to_owned() });
        };
        let (scope, statistic) = match statistic.trim().strip_prefix(OF_REQUESTS) {
            Some(statistic) => (LimitScope::Requests, statistic_from(statistic)?),
            None => (LimitScope::Threads, statistic_from(statistic.trim())?),
        };
        if scope == LimitScope::Requests && matches!(statistic, LimitStatistic::Missed | LimitStatistic::Loop)
        {
            return Err(LimitError::NotOfRequests { found: statistic.to_string() });
        }
        let above = above.trim();
        let above = match statistic {
            LimitStatistic::Missed => {
                above.parse().map_err(|_| LimitError::Count { found: above.to_owned() })?
            }
            _ => above.parse::<Span>()?.as_nanos(),
        };
        Ok(Self { scope, statistic, above })
    }
}

fn statistic_from(found: &str) -> Result<LimitStatistic, LimitError> {
    let unknown = || LimitError::Statistic { found: found.to_owned() };
    match found {
        "max" => Ok(LimitStatistic::Max),
        "mean" => Ok(LimitStatistic::Mean),
        "median" => Ok(LimitStatistic::Percentile(50.0)),
        "missed" => Ok(LimitStatistic::Missed),
        "loop" => Ok(LimitStatistic::Loop),
        _ => {
            let percent: f64 = found.strip_prefix('p').ok_or_else(unknown)?.parse().map_err(|_| unknown())?;
            if (0.0..=100.0).contains(&percent) {
                Ok(LimitStatistic::Percentile(percent))
            } else {
                Err(unknown())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_read_back_as_written() {
        for text in
            ["max>100us", "p99.9>50us", "mean>1.5ms", "missed>0", "p50>10ns", "loop>20ms", "request.p99>5ms"]
        {
            assert_eq!(text.parse::<Limit>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_wrong_limit_says_what_to_write() {
        for (text, says) in [
            ("max", "is not a limit"),
            ("max<5us", "is not a limit"),
            ("most>5us", "is not a statistic"),
            ("p101>5us", "is not a statistic"),
            ("max>100", "has no unit"),
            ("loop>20", "has no unit"),
            ("request.loop>20ms", "requests have no `loop`"),
            ("requests.p99>20ms", "is not a statistic"),
            ("missed>5us", "not a count"),
        ] {
            let error = text.parse::<Limit>().unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
