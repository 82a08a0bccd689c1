//! Ages and sizes on the command line.

use std::str::FromStr;

use howlate_model::{Span, SpanError};

/// A duration with units up to days and weeks.
///
/// # Errors
///
/// When `text` is no duration.
pub fn age(text: &str) -> Result<Span, String> {
    const DAY: u64 = 24 * 60 * 60;
    let days = [("d", DAY), ("w", 7 * DAY)];
    let unit = days.iter().find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, seconds)));
    let whole = unit.and_then(|(number, seconds)| number.trim().parse::<u64>().ok()?.checked_mul(*seconds));
    match whole.filter(|seconds| *seconds < 1 << 33) {
        Some(seconds) => Ok(Span::from_secs(seconds)),
        None => text.parse().map_err(|error: SpanError| error.to_string()),
    }
}

/// A file size such as `500M`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteSize(u64);

impl ByteSize {
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let units = [("K", 10), ("M", 20), ("G", 30), ("T", 40)];
        let unit = units.iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, shift)));
        let Some((number, shift)) = unit else {
            return Err(format!("`{text}` has no unit; write a number with K, M, G or T, such as `500M`"));
        };
        let bytes = number.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
        bytes
            .map(Self)
            .ok_or_else(|| format!("`{text}` is no size; write a whole number with its unit, such as `500M`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_ages_have_units() {
        let bytes = |text: &str| text.parse::<ByteSize>().map(|size| size.0);
        assert_eq!((bytes("1G"), bytes("64K")), (Ok(1 << 30), Ok(1 << 16)));
        assert!(bytes("500").unwrap_err().contains("has no unit"));
        assert!(bytes("manyM").is_err() && bytes("99999999999T").is_err() && bytes("1.5G").is_err());
        assert_eq!(age("30d"), Ok(Span::from_secs(2_592_000)));
        assert_eq!((age("2w"), age("12h")), (Ok(Span::from_secs(1_209_600)), Ok(Span::from_secs(43_200))));
        assert!(age("30").unwrap_err().contains("has no unit") && age("99999999999d").is_err());
    }
}
