//! What `--keep` says.

use std::str::FromStr;

use howlate_model::Span;

/// Timelines of a run where no number was said.
const USUAL: usize = 10;
/// Each may take 2 MB of the disk.
const MOST: usize = 100;
/// A ring for more than that would not be longer.
const LONGEST: Span = Span::from_secs(30);

/// How much of what all CPUs did is remembered, and how many timelines of it a run keeps: `2s`, or `2s,20`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// How much is remembered.
    pub length: Span,
    /// Timelines of late wake-ups, the worst.
    pub most: usize,
}

impl Keep {
    /// How much is to be remembered, where that is said alone.
    ///
    /// # Errors
    ///
    /// When it is no length, or longer than a ring may be; in words.
    pub fn length(text: &str) -> Result<Span, String> {
        let length: Span = text.parse().map_err(|error: howlate_model::SpanError| error.to_string())?;
        let is_possible = !length.is_zero() && length <= LONGEST;
        is_possible
            .then_some(length)
            .ok_or_else(|| format!("`{text}` is not a length up to {LONGEST}; write `2s`"))
    }
}

impl FromStr for Keep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (length, most) = text.split_once(',').map_or((text, None), |(length, most)| (length, Some(most)));
        let length: Span =
            length.trim().parse().map_err(|error: howlate_model::SpanError| error.to_string())?;
        let most = most.map_or(Ok(USUAL), |most| most.trim().parse()).unwrap_or(0);
        match (1..=MOST).contains(&most) && !length.is_zero() && length <= LONGEST {
            true => Ok(Self { length, most }),
            false => Err(format!(
                "`{text}` is not a length up to {LONGEST}, alone or with a number of timelines from 1 to {MOST}; write `2s`, or `2s,20`"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_alone() {
        assert_eq!(Keep::length("30s"), Ok(LONGEST));
        for wrong in ["", "2", "0s", "31s", "2h", "2s,20"] {
            assert!(Keep::length(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Keep::length("2h").unwrap_err(), "`2h` is not a length up to 30s; write `2s`");
    }

    #[test]
    fn a_length_alone_or_with_a_number() {
        let kept = |text: &str| text.parse::<Keep>().map(|keep| (keep.length, keep.most));
        assert_eq!(kept("2s"), Ok((Span::from_secs(2), USUAL)));
        assert_eq!(kept("500ms, 20"), Ok((Span::from_millis(500), 20)));
        for wrong in ["", "2", "0s", "1m", "2s,", "2s,0", "2s,101", "2s,1,1"] {
            assert!(kept(wrong).is_err(), "{wrong}");
        }
    }
}
