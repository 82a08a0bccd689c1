//! What a probe prints, line by line; `docs/probes.md` describes it for those who write one.

use crate::error::ProtocolError;

/// The only version of the protocol so far.
const VERSION: &str = "1";

/// The clock that a probe reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// `CLOCK_MONOTONIC`, nanoseconds.
    Monotonic,
    /// `CLOCK_REALTIME`, nanoseconds since 1970.
    Realtime,
}

/// The first line: `howlate-probe 1 monotonic Python 3.11.7: time.sleep, by clock_nanosleep`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) clock: Clock,
    /// The rest of the line, for people.
    pub(crate) text: String,
}

impl Hello {
    /// # Errors
    ///
    /// What is wrong with the line.
    pub(crate) fn parse(line: &str) -> Result<Self, ProtocolError> {
        let mut words = line.splitn(4, ' ');
        if words.next() != Some("howlate-probe") {
            return Err(ProtocolError::FirstLine { wanted: VERSION, found: quoted(line) });
        }
        let version = words.next().unwrap_or_default();
        if version != VERSION {
            return Err(ProtocolError::Version { found: version.to_owned(), known: VERSION });
        }
        let clock = match words.next().unwrap_or_default() {
            "monotonic" => Clock::Monotonic,
            "realtime" => Clock::Realtime,
            other => return Err(ProtocolError::Clock { found: other.to_owned() }),
        };
        Ok(Self { clock, text: words.next().unwrap_or_default().trim().to_owned() })
    }
}

/// A line after the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// The clock before and after one sleep.
    Slept { start: i64, end: i64 },
    /// There are no more.
    End,
}

impl Report {
    /// # Errors
    ///
    /// What is wrong with the line.
    pub(crate) fn parse(line: &str) -> Result<Self, ProtocolError> {
        if line == "end" {
            return Ok(Self::End);
        }
        let number = |text: &str| text.parse::<i64>().ok();
        let reading = line.split_once(' ').and_then(|(start, end)| Some((number(start)?, number(end)?)));
        match reading {
            Some((start, end)) => Ok(Self::Slept { start, end }),
            None => Err(ProtocolError::Reading { found: quoted(line) }),
        }
    }
}

/// A line as it can be shown: not too long, and without what would disturb a terminal.
pub(crate) fn quoted(line: &str) -> String {
    const MOST: usize = 80;
    let plain: String =
        line.chars().take(MOST).map(|letter| if letter.is_control() { '\u{b7}' } else { letter }).collect();
    let more = if line.chars().count() > MOST { "…" } else { "" };
    format!("`{plain}{more}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_says_clock_and_version() {
        let hello = Hello::parse("howlate-probe 1 monotonic Python 3.11.7: time.sleep").unwrap();
        assert_eq!(hello, Hello { clock: Clock::Monotonic, text: "Python 3.11.7: time.sleep".into() });
        assert_eq!(Hello::parse("howlate-probe 1 realtime").unwrap().text, "");
        for (line, says) in [
            ("Hello, world", "must be `howlate-probe 1 monotonic"),
            ("howlate-probe 2 monotonic x", "version `2`"),
            ("howlate-probe 1 boottime x", "and is `boottime`"),
            ("", "and is ``"),
        ] {
            let error = Hello::parse(line).unwrap_err().to_string();
            assert!(error.contains(says), "{line}: {error}");
        }
    }

    #[test]
    fn readings_are_two_integers() {
        assert_eq!(Report::parse("5 17"), Ok(Report::Slept { start: 5, end: 17 }));
        assert_eq!(Report::parse("end"), Ok(Report::End));
        for garbage in ["", "5", "5 17 19", "5.0 17", "a b", "99999999999999999999 1", "\u{1b}[31m5 6"] {
            let error = Report::parse(garbage).unwrap_err().to_string();
            assert!(error.contains("two clock readings") && !error.contains('\u{1b}'), "{error}");
        }
    }
}
