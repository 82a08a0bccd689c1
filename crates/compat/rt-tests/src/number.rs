//! Numbers as `atoi(3)` reads them: leading blanks are skipped, what follows the digits is ignored.

/// The number that `text` begins with; 0 when it begins with none, the nearest when out of range.
pub(crate) fn leading(text: &str) -> i64 {
    let text = text.trim_start();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits = digits.bytes().take_while(u8::is_ascii_digit);
    digits.fold(0_i64, |value, digit| value.saturating_mul(10).saturating_add(sign * i64::from(digit - b'0')))
}

/// Whether `text` begins with a number at all.
pub(crate) fn is_number(text: &str) -> bool {
    let text = text.trim_start();
    text.strip_prefix(['-', '+']).unwrap_or(text).starts_with(|first: char| first.is_ascii_digit())
}

/// Seconds, from a number that may end in `m`, `h` or `d`. Any other ending is ignored.
pub(crate) fn seconds(text: &str) -> i64 {
    let unit = match text.chars().last().map(|last| last.to_ascii_lowercase()) {
        Some('m') => 60,
        Some('h') => 3_600,
        Some('d') => 86_400,
        _ => 1,
    };
    leading(text).saturating_mul(unit)
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
            assert_eq!(leading(text), value, "{text}");
        }
        assert!(is_number(" 3") && is_number("-1") && !is_number("-p") && !is_number("all"));
    }

    #[test]
    fn durations_know_minutes_hours_and_days() {
        for (text, value) in [("15s", 15), ("1m", 60), ("24H", 86_400), ("2d", 172_800), ("7", 7), ("x", 0)] {
            assert_eq!(seconds(text), value, "{text}");
        }
    }
}
