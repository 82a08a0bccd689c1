//! Formats numbers.

use howlate_analyse::Summary;
use howlate_model::{Latency, Span};

/// Microseconds with three significant digits, thousands grouped: `5.61`, `56.1`, `502 000`.
pub fn micros(nanos: i64) -> String {
    micros_of(nanos as f64)
}

/// A number, marked if it is only a lower bound.
pub fn at_least(is_lower_bound: bool, text: &str) -> String {
    if is_lower_bound { format!("≥ {text}") } else { text.to_owned() }
}

/// A statistic of `summary` in microseconds: `5.61`; `≥ 30.0` beyond the last bucket of an imported histogram.
pub fn micros_in(summary: &Summary, nanos: i64) -> String {
    at_least(summary.is_lower_bound(nanos), &micros(nanos))
}

/// A statistic of `summary` with its unit: `5.61 µs`, `≥ 30.0 µs`.
pub fn latency_in(summary: &Summary, nanos: i64) -> String {
    at_least(summary.is_lower_bound(nanos), &Latency::from_nanos(nanos).to_string())
}

/// Like `micros`, for a mean or deviation.
pub fn micros_of(nanos: f64) -> String {
    round(nanos / 1e3)
}

/// Microseconds with a sign, for differences.
pub(crate) fn signed_micros(nanos: f64) -> String {
    let text = micros_of(nanos);
    if nanos > 0.0 { format!("+{text}") } else { text }
}

/// With a sign and a suitable unit: `+31.2 µs`, `−4.92 ms`.
pub(crate) fn signed_latency(nanos: f64) -> String {
    let text = with_unit(nanos);
    if nanos > 0.0 { format!("+{text}") } else { text }
}

/// A difference without its sign: `4.92 ms`.
pub(crate) fn unsigned_latency(nanos: f64) -> String {
    with_unit(nanos.abs())
}

#[allow(clippy::cast_possible_truncation, reason = "a nanosecond is the least that is told")]
fn with_unit(nanos: f64) -> String {
    Latency::from_nanos(nanos.round() as i64).to_string()
}

/// Three significant digits, thousands grouped: `0.53`, `4.20`, `412 000`.
#[allow(clippy::cast_possible_truncation, reason = "rounded to three digits first")]
pub(crate) fn round(number: f64) -> String {
    match number.abs() {
        size if size < 9.995 => with_minus(&format!("{number:.2}")),
        size if size < 99.95 => with_minus(&format!("{number:.1}")),
        size => grouped(round_to_three(number, size) as i64),
    }
}

/// Replaces the hyphen by a minus sign, which is as wide as a plus. Machine-readable output keeps the hyphen.
pub(crate) fn with_minus(number: &str) -> String {
    number.replace('-', "−")
}

/// Ratio of two durations; 0 if `whole` is zero.
pub(crate) fn span_per_span(part: Span, whole: Span) -> f64 {
    if whole.is_zero() { 0.0 } else { part.as_secs_f64() / whole.as_secs_f64() }
}

fn round_to_three(value: f64, size: f64) -> f64 {
    let step = 10_f64.powf(size.log10().floor() - 2.0).max(1.0);
    (value / step).round() * step
}

/// An integer with grouped thousands: `1 000 000`.
pub(crate) fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    if number < 0 { format!("−{text}") } else { text }
}

/// A count with grouped thousands.
pub fn count(number: u64) -> String {
    grouped(i64::try_from(number).unwrap_or(i64::MAX))
}

/// A duration in prose: `50 µs`, `1.5 ms`.
pub fn length(span: Span) -> String {
    let text = span.to_string();
    let unit = text.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit);
    let unit = match unit {
        "us" => "µs",
        "m" => "min",
        other => other,
    };
    format!("{number} {unit}")
}

/// A duration with tenths of a second, or in smaller units: `12.3 s`, `4 ms`.
pub fn rough(span: Span) -> String {
    match span.as_nanos() {
        nanos if nanos >= 60_000_000_000 => {
            let seconds = nanos / 1_000_000_000;
            let (minutes, rest) = (seconds / 60, seconds % 60);
            if minutes >= 60 {
                format!("{} h {:02} min", minutes / 60, minutes % 60)
            } else {
                format!("{minutes} min {rest:02} s")
            }
        }
        nanos if nanos >= 1_000_000_000 => format!("{:.1} s", span.as_secs_f64()),
        nanos if nanos >= 1_000_000 => format!("{} ms", nanos / 1_000_000),
        nanos => format!("{} µs", nanos / 1_000),
    }
}

/// The ratio of `large` to `small`: `99`, `3.2`.
pub fn times(large: i64, small: i64) -> String {
    let ratio = large as f64 / small.max(1) as f64;
    if ratio < 10.0 { format!("{ratio:.1}") } else { format!("{ratio:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_in_microseconds() {
        for (nanos, shown) in [
            (0, "0.00"),
            (83, "0.08"),
            (5_614, "5.61"),
            (9_999, "10.0"),
            (56_140, "56.1"),
            (99_960, "100"),
            (180_449, "180"),
            (502_159_000, "502 000"),
            (1_234_567_890, "1 230 000"),
            (-2_500, "−2.50"),
            (-25_000, "−25.0"),
            (-2_500_000, "−2 500"),
        ] {
            assert_eq!(micros(nanos), shown, "{nanos}");
        }
    }

    #[test]
    fn counts_and_lengths() {
        assert_eq!([count(7), count(1_000), count(1_234_567)], ["7", "1 000", "1 234 567"]);
        assert_eq!(length(Span::from_micros(50)), "50 µs");
        assert_eq!(length(Span::from_secs(120)), "2 min");
        assert_eq!(length(Span::ZERO), "0 ns");
        assert_eq!(rough(Span::from_millis(12_340)), "12.3 s");
        assert_eq!(rough(Span::from_secs(125)), "2 min 05 s");
        assert_eq!(rough(Span::from_secs(7_500)), "2 h 05 min");
        assert_eq!((times(2_472, 25), times(50, 20)), ("99".to_owned(), "2.5".to_owned()));
    }
}
