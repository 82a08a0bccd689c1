//! Points in time, lengths of time, and lateness.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// A reading of `CLOCK_MONOTONIC`, in nanoseconds.
///
/// See `clock_gettime(2)`: starts at an unspecified point (boot, on Linux), never
/// steps, is slewed by NTP, does not count suspended time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct MonotonicTime {
    #[serde(deserialize_with = "within_36_years")]
    nanos: i64,
}

impl MonotonicTime {
    /// The end of time: 292 years after the clock's start.
    pub const MAX: Self = Self { nanos: i64::MAX };

    /// A reading of `nanos` nanoseconds.
    #[inline]
    pub const fn from_nanos(nanos: i64) -> Self {
        Self { nanos }
    }

    /// The reading in nanoseconds.
    #[inline]
    pub const fn as_nanos(self) -> i64 {
        self.nanos
    }

    /// The time `span` later.
    #[must_use]
    #[inline]
    pub const fn plus(self, span: Span) -> Self {
        Self { nanos: self.nanos.saturating_add_unsigned(span.nanos) }
    }

    /// The time `span` earlier.
    #[must_use]
    #[inline]
    pub const fn minus(self, span: Span) -> Self {
        Self { nanos: self.nanos.saturating_sub_unsigned(span.nanos) }
    }

    /// How long after `earlier` this is; zero if it is not after it.
    #[inline]
    pub const fn since(self, earlier: Self) -> Span {
        let nanos = self.nanos.saturating_sub(earlier.nanos);
        Span { nanos: if nanos < 0 { 0 } else { nanos.unsigned_abs() } }
    }
}

/// How much later than asked a thread ran, in nanoseconds. Negative when it ran early.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Latency {
    #[serde(deserialize_with = "within_36_years")]
    nanos: i64,
}

impl Latency {
    /// A latency of `nanos` nanoseconds.
    #[inline]
    pub const fn from_nanos(nanos: i64) -> Self {
        Self { nanos }
    }

    /// The latency in nanoseconds.
    #[inline]
    pub const fn as_nanos(self) -> i64 {
        self.nanos
    }

    /// A latency as long as `span`, at most the longest there is.
    #[inline]
    pub const fn from_span(span: Span) -> Self {
        Self { nanos: 0_i64.saturating_add_unsigned(span.nanos) }
    }

    /// Whether it is at least as long as `span`.
    #[inline]
    pub const fn reaches(self, span: Span) -> bool {
        self.nanos >= 0 && self.nanos.unsigned_abs() >= span.nanos
    }
}

/// Longest plausible uptime, 36 years. Sums and differences of eight such numbers cannot overflow an `i64`.
const LONGEST: i64 = 1 << 60;

/// Reads nanoseconds within ±[`LONGEST`].
pub(crate) fn within_36_years<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
    let nanos = i64::deserialize(from)?;
    match (-LONGEST..=LONGEST).contains(&nanos) {
        true => Ok(nanos),
        false => Err(D::Error::custom(format!("{nanos} ns is more than 36 years"))),
    }
}

/// Three significant digits and a unit: `987 ns`, `5.61 µs`, `1.07 ms`, `12.3 s`.
impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A true minus sign, as wide as a plus.
        f.pad(&three_digits(self.nanos).replace('-', "−"))
    }
}

fn three_digits(nanos: i64) -> String {
    let magnitude = nanos.unsigned_abs();
    if magnitude < 1_000 {
        return format!("{nanos} ns");
    }
    // 999.5 rounds up to the next unit, so that no number has four digits.
    let (unit, scale) = match magnitude {
        0..999_500 => ("µs", 1e3),
        999_500..999_500_000 => ("ms", 1e6),
        _ => ("s", 1e9),
    };
    let value = nanos as f64 / scale;
    let decimals = match value.abs() {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$} {unit}")
}

/// A length of time: a period, how long to sleep, a timer slack. Never negative.
///
/// Written and read with its unit: `100us`, `1.5ms`, `1m 30s`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Span {
    nanos: u64,
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self { nanos: 0 };

    /// A length of `nanos` nanoseconds.
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self { nanos }
    }

    /// A length of `micros` microseconds.
    #[inline]
    pub const fn from_micros(micros: u64) -> Self {
        Self { nanos: micros.saturating_mul(1_000) }
    }

    /// A length of `millis` milliseconds.
    #[inline]
    pub const fn from_millis(millis: u64) -> Self {
        Self { nanos: millis.saturating_mul(1_000_000) }
    }

    /// A length of `secs` seconds.
    #[inline]
    pub const fn from_secs(secs: u64) -> Self {
        Self { nanos: secs.saturating_mul(1_000_000_000) }
    }

    /// The length in nanoseconds.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.nanos
    }

    /// The length in seconds, for arithmetic on rates and for display.
    pub fn as_secs_f64(self) -> f64 {
        self.nanos as f64 / 1e9
    }

    /// Whether this is no time at all.
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.nanos == 0
    }

    /// `count` times this length, at most the longest there is.
    #[must_use]
    #[inline]
    pub const fn times(self, count: u64) -> Self {
        Self { nanos: self.nanos.saturating_mul(count) }
    }

    /// This length and `other` together, at most the longest there is.
    #[must_use]
    #[inline]
    pub const fn plus(self, other: Self) -> Self {
        Self { nanos: self.nanos.saturating_add(other.nanos) }
    }

    /// This length minus `other`, at least zero.
    #[must_use]
    #[inline]
    pub const fn minus(self, other: Self) -> Self {
        Self { nanos: self.nanos.saturating_sub(other.nanos) }
    }
}

impl From<Span> for std::time::Duration {
    #[inline]
    fn from(span: Span) -> Self {
        Self::from_nanos(span.nanos)
    }
}

/// Exact, in the largest unit that needs no more than three decimals: `100us`, `1.5ms`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 4] =
            [(60_000_000_000, "m"), (1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
        if self.nanos == 0 {
            return f.pad("0ns");
        }
        for (scale, unit) in UNITS {
            let thousandth = scale / 1_000;
            if unit == "m" && self.nanos.is_multiple_of(scale) {
                return f.pad(&format!("{}m", self.nanos / scale));
            }
            if unit != "m" && self.nanos >= scale && self.nanos.is_multiple_of(thousandth) {
                let whole = self.nanos / scale;
                let thousandths = self.nanos % scale / thousandth;
                let digits = format!("{whole}.{thousandths:03}");
                let digits = digits.trim_end_matches('0').trim_end_matches('.');
                return f.pad(&format!("{digits}{unit}"));
            }
        }
        f.pad(&format!("{}ns", self.nanos))
    }
}

/// Why a text is not a length of time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpanError {
    /// A number without a unit.
    #[error("`{found}` has no unit; write `{found}us`, `{found}ms` or `{found}s`")]
    NoUnit {
        /// What was typed.
        found: String,
    },
    /// A time below zero.
    #[error("`{found}` is below zero; a length of time is 0 or more, such as `100us`")]
    Negative {
        /// What was typed.
        found: String,
    },
    /// Not a number and a unit.
    #[error(
        "`{found}` is not a length of time; write a number and a unit, such as `100us`, `1.5ms`, `10s` or `1m`"
    )]
    Unreadable {
        /// What was typed.
        found: String,
    },
    /// More than 292 years.
    #[error("`{found}` is longer than a clock counts")]
    TooLong {
        /// What was typed.
        found: String,
    },
}

impl FromStr for Span {
    type Err = SpanError;

    /// Reads `100us`, `1.5 ms`, `1h 30m`. A bare `0` needs no unit.
    fn from_str(text: &str) -> Result<Self, SpanError> {
        let found = text.trim().to_owned();
        if found == "0" {
            return Ok(Self::ZERO);
        }
        if found.parse::<f64>().is_ok() {
            return Err(if found.starts_with('-') {
                SpanError::Negative { found }
            } else {
                SpanError::NoUnit { found }
            });
        }
        let Ok(duration) = found.parse::<jiff::SignedDuration>() else {
            return Err(SpanError::Unreadable { found });
        };
        if duration.is_negative() {
            return Err(SpanError::Negative { found });
        }
        // Kept within i64, so that adding it to a clock reading stays meaningful.
        match i64::try_from(duration.as_nanos()) {
            Ok(nanos) => Ok(Self { nanos: nanos.unsigned_abs() }),
            Err(_) => Err(SpanError::TooLong { found }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn latencies_are_shown_with_three_digits() {
        for (nanos, shown) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.00 µs"),
            (5_614, "5.61 µs"),
            (56_140, "56.1 µs"),
            (999_499, "999 µs"),
            (999_500, "1.00 ms"),
            (1_071_234, "1.07 ms"),
            (12_345_678_901, "12.3 s"),
            (-2_500, "−2.50 µs"),
            (-25, "−25 ns"),
        ] {
            assert_eq!(Latency::from_nanos(nanos).to_string(), shown, "{nanos}");
        }
    }

    #[test]
    fn spans_are_read_with_their_unit() {
        for (text, nanos) in [
            ("0", 0),
            ("10ns", 10),
            ("100us", 100_000),
            ("100µs", 100_000),
            ("1.5ms", 1_500_000),
            ("10s", 10_000_000_000),
            ("1m", 60_000_000_000),
            ("1h 30m", 5_400_000_000_000),
        ] {
            assert_eq!(text.parse::<Span>().unwrap().as_nanos(), nanos, "{text}");
        }
    }

    #[test]
    fn a_bare_number_shows_the_fix() {
        let error = "100".parse::<Span>().unwrap_err();
        assert_eq!(error.to_string(), "`100` has no unit; write `100us`, `100ms` or `100s`");
        assert!(matches!("-5us".parse::<Span>(), Err(SpanError::Negative { .. })));
        assert!(matches!("soon".parse::<Span>(), Err(SpanError::Unreadable { .. })));
        assert!(matches!("".parse::<Span>(), Err(SpanError::Unreadable { .. })));
        assert!(matches!("99999999h".parse::<Span>(), Err(SpanError::TooLong { .. })));
    }

    #[test]
    fn a_length_never_goes_below_zero() {
        let (long, short) = (Span::from_secs(2), Span::from_millis(500));
        assert_eq!(long.minus(short), Span::from_millis(1_500));
        assert_eq!(short.minus(long), Span::ZERO);
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_back_the_same(nanos in 0..i64::MAX.unsigned_abs()) {
            let span = Span::from_nanos(nanos);
            prop_assert_eq!(span.to_string().parse::<Span>().unwrap(), span);
        }
    }
}
