//! Parsing of `--keep`.

use std::str::FromStr;

use howlate_model::Span;

/// Default number of timelines.
const DEFAULT_COUNT: usize = 10;
/// Each file may take 2 MB.
const MAX_COUNT: usize = 100;
/// The maximum ring size does not hold more.
const MAX_LENGTH: Span = Span::from_secs(30);

/// Length of the rings, and number of kept timelines: `2s` or `2s,20`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// Length of the rings.
    pub length: Span,
    /// Number of timelines of the worst wake-ups.
    pub most: usize,
}

impl Keep {
    /// Parses the length alone.
    ///
    /// # Errors
    ///
    /// When `text` is no length, or too long; as readable text.
    pub fn length(text: &str) -> Result<Span, String> {
        let length: Span = text.parse().map_err(|error: howlate_model::SpanError| error.to_string())?;
        let is_possible = !length.is_zero() && length <= MAX_LENGTH;
        is_possible
            .then_some(length)
            .ok_or_else(|| format!("`{text}` is not a length up to {MAX_LENGTH}; write `2s`"))
    }
}

impl FromStr for Keep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (length, most) = text.split_once(',').map_or((text, None), |(length, most)| (length, Some(most)));
        let length: Span =
            length.trim().parse().map_err(|error: howlate_model::SpanError| error.to_string())?;
        let most = most.map_or(Ok(DEFAULT_COUNT), |most| most.trim().parse()).unwrap_or(0);
        match (1..=MAX_COUNT).contains(&most) && !length.is_zero() && length <= MAX_LENGTH {
            true => Ok(Self { length, most }),
            false => Err(format!(
                "`{text}` is not a length up to {MAX_LENGTH}, alone or with a number of timelines from 1 to {MAX_COUNT}; write `2s`, or `2s,20`"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_alone() {
        assert_eq!(Keep::length("30s"), Ok(MAX_LENGTH));
        for wrong in ["", "2", "0s", "31s", "2h", "2s,20"] {
            assert!(Keep::length(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Keep::length("2h").unwrap_err(), "`2h` is not a length up to 30s; write `2s`");
    }

    #[test]
    fn a_length_alone_or_with_a_number() {
        let parsed = |text: &str| text.parse::<Keep>().map(|keep| (keep.length, keep.most));
        assert_eq!(parsed("2s"), Ok((Span::from_secs(2), DEFAULT_COUNT)));
        assert_eq!(parsed("500ms, 20"), Ok((Span::from_millis(500), 20)));
        for wrong in ["", "2", "0s", "1m", "2s,", "2s,0", "2s,101", "2s,1,1"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }
}
