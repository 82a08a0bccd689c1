//! Numbers as `atoi(3)` reads them: leading blanks are skipped, text after the digits is ignored.

/// The number at the start of `text`; 0 if there is none, saturated if out of range.
pub(crate) fn leading_number(text: &str) -> i64 {
    let text = text.trim_start();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits = digits.bytes().take_while(u8::is_ascii_digit);
    digits.fold(0_i64, |value, digit| value.saturating_mul(10).saturating_add(sign * i64::from(digit - b'0')))
}

/// Whether `text` starts with a number.
pub(crate) fn starts_with_number(text: &str) -> bool {
    let text = text.trim_start();
    text.strip_prefix(['-', '+']).unwrap_or(text).starts_with(|first: char| first.is_ascii_digit())
}

/// Seconds, from a number with an optional suffix `m`, `h` or `d`; other suffixes are ignored.
pub(crate) fn seconds(text: &str) -> i64 {
    let unit = match text.chars().last().map(|last| last.to_ascii_lowercase()) {
        Some('m') => 60,
        Some('h') => 3_600,
        Some('d') => 86_400,
        _ => 1,
    };
    leading_number(text).saturating_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_atoi_does() {
        for (text, value) in [
            ("95", 95),
            (" 3500", 3500),
            ("1x", 1),
            ("-5", -5),
            ("+7", 7),
            ("", 0),
            ("x1", 0),
            ("-p", 0),
            ("99999999999999999999", i64::MAX),
        ] {
            assert_eq!(leading_number(text), value, "{text}");
        }
        assert!(
            starts_with_number(" 3")
                && starts_with_number("-1")
                && !starts_with_number("-p")
                && !starts_with_number("all")
        );
    }

    #[test]
    fn durations_have_suffixes_for_minutes_hours_and_days() {
        for (text, value) in [("15s", 15), ("1m", 60), ("24H", 86_400), ("2d", 172_800), ("7", 7), ("x", 0)] {
            assert_eq!(seconds(text), value, "{text}");
        }
    }
}
