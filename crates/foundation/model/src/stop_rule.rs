//! Stop rules of `--until`: `p99.9 ±5%`, `max<100us: 1 per hour`, `compare decided`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{Margin, MarginError, Span, SpanError};

/// When a run may stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StopRule {
    /// The confidence interval of a percentile is narrow enough.
    Known {
        /// Between 0 and 100, exclusive.
        percent: f64,
        /// How far its interval may reach to either side.
        within: Margin,
    },
    /// It is decided whether wake-ups above a limit occur at most this often.
    Rare {
        /// Latency that counts as an event when it is exceeded.
        limit: Span,
        /// Events allowed in `per`.
        events: u32,
        /// Reference time of the rate.
        per: Span,
    },
    /// It is decided which of two conditions is later.
    Compared,
}

impl StopRule {
    /// Average time between allowed events; `None` for other rules.
    pub const fn interval(self) -> Option<Span> {
        match self {
            Self::Rare { events, per, .. } => Some(Span::from_nanos(per.as_nanos() / events as u64)),
            Self::Known { .. } | Self::Compared => None,
        }
    }
}

/// Units of rates.
const UNITS: [(&str, Span); 5] = [
    ("second", Span::from_secs(1)),
    ("minute", Span::from_secs(60)),
    ("hour", Span::from_secs(3_600)),
    ("day", Span::from_secs(86_400)),
    ("week", Span::from_secs(7 * 86_400)),
];

/// Text of [`StopRule::Compared`].
const COMPARED: &str = "compare decided";

impl fmt::Display for StopRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known { percent, within } => write!(formatter, "p{percent} ±{within}"),
            Self::Rare { limit, events, per } => {
                write!(formatter, "max<{limit}: {events} per {}", unit_name(*per))
            }
            Self::Compared => formatter.write_str(COMPARED),
        }
    }
}

/// Name of a rate's reference time: `hour`, `10m`.
pub fn unit_name(per: Span) -> Cow<'static, str> {
    let unit = UNITS.iter().find(|(_, span)| *span == per);
    unit.map_or_else(|| Cow::Owned(per.to_string()), |(name, _)| Cow::Borrowed(*name))
}

/// Why a text is not a stop rule.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StopRuleError {
    /// None of the three forms.
    #[error("`{found}` is not something `--until` understands; write {}", what_to_write(.suggestion.as_ref()))]
    Shape {
        /// What was typed.
        found: String,
        /// What was probably meant.
        suggestion: Option<StopRule>,
    },
    /// Not a percentile between 0 and 100.
    #[error("`{found}` is not a percentile; write one above p0 and below p100, such as p50 or p99.9")]
    Percentile {
        /// What was typed.
        found: String,
    },
    /// Not a margin.
    #[error(transparent)]
    Margin(#[from] MarginError),
    /// Not a length of time.
    #[error(transparent)]
    Span(#[from] SpanError),
    /// Not a rate.
    #[error(
        "`{found}` is not a rate; write how many in which time, such as `1 per hour`, `3 per day` or `1 per 10m`"
    )]
    Rate {
        /// What was typed.
        found: String,
    },
}

impl FromStr for StopRule {
    type Err = StopRuleError;

    /// Reads `p99.9 ±5%`, `p50 +-2us`, `median ±1%`, `max<100us: 1 per hour`, `max<1ms: 3/day`, `compare decided`.
    fn from_str(text: &str) -> Result<Self, StopRuleError> {
        let text = text.trim();
        if text.split_whitespace().eq(COMPARED.split(' ')) {
            return Ok(Self::Compared);
        }
        let plus_minus = ["±", "+/-", "+-"].iter().find_map(|sign| text.split_once(sign));
        if let Some((percentile, within)) = plus_minus {
            return Ok(Self::Known {
                percent: percent_from(percentile.trim())?,
                within: within.trim().parse()?,
            });
        }
        let shape = || StopRuleError::Shape { found: text.to_owned(), suggestion: suggestion(text) };
        let (limit, rate) = text.split_once(':').ok_or_else(shape)?;
        let limit = limit.trim().strip_prefix("max").and_then(|rest| rest.trim_start().strip_prefix('<'));
        let limit = limit.ok_or_else(shape)?.trim_start_matches('=').trim().parse()?;
        let (events, per) = rate_from(rate.trim())?;
        Ok(Self::Rare { limit, events, per })
    }
}

fn what_to_write(suggestion: Option<&StopRule>) -> String {
    match suggestion {
        Some(suggestion) => format!("`{suggestion}`"),
        None => "how well a percentile is to be known, such as `p99.9 ±5%`, how rarely a limit may be exceeded, such as \
                 `max<100us: 1 per hour`, or `compare decided`"
            .to_owned(),
    }
}

/// A limit and a rate whose signs were mistyped: `max>500us 1 per minute`.
fn suggestion(text: &str) -> Option<StopRule> {
    let rest = text.strip_prefix("max")?.trim_start_matches([' ', '<', '>', '=']);
    let (limit, rate) = rest.split_once([' ', ':', ',', ';'])?;
    let (events, per) = rate_from(rate.trim_matches([' ', ':', ',', ';'])).ok()?;
    Some(StopRule::Rare { limit: limit.parse().ok()?, events, per })
}

fn percent_from(found: &str) -> Result<f64, StopRuleError> {
    let digits = if found == "median" { Some("50") } else { found.strip_prefix('p') };
    let percent = digits.and_then(|digits| digits.parse::<f64>().ok());
    percent
        .filter(|percent| *percent > 0.0 && *percent < 100.0)
        .ok_or_else(|| StopRuleError::Percentile { found: found.to_owned() })
}

fn rate_from(found: &str) -> Result<(u32, Span), StopRuleError> {
    let wrong = || StopRuleError::Rate { found: found.to_owned() };
    let (events, per) = found.split_once("per").or_else(|| found.split_once('/')).ok_or_else(wrong)?;
    let events = events.trim().parse().ok().filter(|events| *events > 0).ok_or_else(wrong)?;
    let per = per.trim();
    let unit = UNITS.iter().find(|(name, _)| per == *name || per.strip_suffix('s') == Some(name));
    let short = || UNITS.iter().find(|(name, _)| name.strip_prefix(per).is_some_and(|_| per.len() == 1));
    let span = match unit.or_else(short) {
        Some((_, span)) => *span,
        None => per.parse().map_err(|_| wrong())?,
    };
    if span.is_zero() { Err(wrong()) } else { Ok((events, span)) }
}

impl Serialize for StopRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for StopRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for StopRule {
    fn schema_name() -> Cow<'static, str> {
        "Until".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "What a run is to go on until.",
            "type": "string",
            "examples": ["p99.9 ±5%", "max<100us: 1 per hour", COMPARED],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_reads_back() {
        for (text, shown) in [
            ("p99.9 ±5%", "p99.9 ±5%"),
            ("p99.9+-5%", "p99.9 ±5%"),
            ("median +/- 2us", "p50 ±2us"),
            ("max<100us: 1 per hour", "max<100us: 1 per hour"),
            ("max < 100 us:1/h", "max<100us: 1 per hour"),
            ("max<=1ms: 3 per days", "max<1ms: 3 per day"),
            ("max<1ms: 1 per 10m", "max<1ms: 1 per 10m"),
            ("compare  decided", "compare decided"),
        ] {
            let until: StopRule = text.parse().unwrap();
            assert_eq!(until.to_string(), shown);
            assert_eq!(shown.parse::<StopRule>().unwrap(), until);
            let json = serde_json::to_string(&until).unwrap();
            assert_eq!(serde_json::from_str::<StopRule>(&json).unwrap(), until);
        }
        let interval = |text: &str| text.parse::<StopRule>().unwrap().interval();
        assert_eq!(interval("max<1us: 3 per hour"), Some(Span::from_secs(1_200)));
        assert_eq!(interval("p50 ±5%"), None);
    }

    #[test]
    fn what_is_wrong_says_what_to_write() {
        for (text, says) in [
            ("soon", "`max<100us: 1 per hour`"),
            ("p99.9", "`p99.9 ±5%`"),
            ("max>100us: 1 per hour", "`max<100us: 1 per hour`"),
            ("max>500us: 1 per minute", "write `max<500us: 1 per minute`"),
            ("max<500us, 2/h", "write `max<500us: 2 per hour`"),
            ("p100 ±5%", "below p100"),
            ("max ±5%", "not a percentile"),
            ("p50 ±5", "such as `5%`"),
            ("max<100: 1 per hour", "has no unit"),
            ("max<100us: once", "`3 per day`"),
            ("max<100us: 0 per hour", "`3 per day`"),
            ("max<100us: 1 per 0", "`3 per day`"),
            ("max<100us: 1 per year", "`3 per day`"),
            ("max<100us: 1.5 per hour", "`3 per day`"),
            ("max<100us: 1 per ", "`3 per day`"),
        ] {
            let error = text.parse::<StopRule>().unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
