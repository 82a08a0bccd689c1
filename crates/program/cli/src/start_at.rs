//! Synchronised start of several machines.

use std::str::FromStr;

use howlate_model::Span;

/// Start at a whole multiple of this length since 1970 (UTC), by the wall clock, which machines share without communication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartAt(Span);

/// Maximum length.
const LONGEST: Span = Span::from_secs(24 * 3_600);

impl StartAt {
    /// The next start after `now`; both in nanoseconds since 1970.
    pub fn after(self, now: i64) -> i64 {
        let length = i64::try_from(self.0.as_nanos()).unwrap_or(i64::MAX);
        now.saturating_sub(now.rem_euclid(length)).saturating_add(length)
    }
}

impl FromStr for StartAt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let length = text.strip_prefix('/').and_then(|length| length.parse::<Span>().ok());
        length.filter(|length| !length.is_zero() && *length <= LONGEST).map(Self).ok_or_else(|| {
            "type `/` and a length up to 24h: `/10s` begins at the next whole 10 s of the wall clock"
                .to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_that_ask_within_a_stretch_begin_at_its_end() {
        let every = |text: &str| text.parse::<StartAt>().unwrap();
        let second = 1_000_000_000;
        assert_eq!(
            [61 * second, 69 * second, 70 * second].map(|now| every("/10s").after(now)),
            [70 * second, 70 * second, 80 * second]
        );
        assert_eq!(every("/24h").after(1), 86_400 * second);
        for wrong in ["10s", "/", "/0s", "/25h", "/ten", ""] {
            assert!(wrong.parse::<StartAt>().is_err(), "{wrong}");
        }
    }
}
