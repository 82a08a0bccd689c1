//! The output of a probe, line by line; `docs/probes.md` describes it for authors of probes.

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
pub(crate) struct ProbeHeader {
    pub(crate) clock: Clock,
    /// The rest of the line, for people.
    pub(crate) text: String,
}

impl ProbeHeader {
    /// # Errors
    ///
    /// When the line violates the protocol.
    pub(crate) fn parse(line: &str) -> Result<Self, ProtocolError> {
        let mut fields = line.splitn(4, ' ');
        if fields.next() != Some("howlate-probe") {
            return Err(ProtocolError::FirstLine { wanted: VERSION, found: quoted(line) });
        }
        let version = fields.next().unwrap_or_default();
        if version != VERSION {
            return Err(ProtocolError::Version { found: version.to_owned(), supported: VERSION });
        }
        let clock = match fields.next().unwrap_or_default() {
            "monotonic" => Clock::Monotonic,
            "realtime" => Clock::Realtime,
            other => return Err(ProtocolError::Clock { found: other.to_owned() }),
        };
        Ok(Self { clock, text: fields.next().unwrap_or_default().trim().to_owned() })
    }
}

/// A line after the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProbeLine {
    /// The clock before and after one sleep.
    Slept { start: i64, end: i64 },
    /// The end of all sleeps.
    End,
}

impl ProbeLine {
    /// # Errors
    ///
    /// When the line violates the protocol.
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

/// A line for messages: shortened and without control characters.
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
        let hello = ProbeHeader::parse("howlate-probe 1 monotonic Python 3.11.7: time.sleep").unwrap();
        assert_eq!(hello, ProbeHeader { clock: Clock::Monotonic, text: "Python 3.11.7: time.sleep".into() });
        assert_eq!(ProbeHeader::parse("howlate-probe 1 realtime").unwrap().text, "");
        for (line, says) in [
            ("Hello, world", "must be `howlate-probe 1 monotonic"),
            ("howlate-probe 2 monotonic x", "version `2`"),
            ("howlate-probe 1 boottime x", "and is `boottime`"),
            ("", "and is ``"),
        ] {
            let error = ProbeHeader::parse(line).unwrap_err().to_string();
            assert!(error.contains(says), "{line}: {error}");
        }
    }

    #[test]
    fn readings_are_two_integers() {
        assert_eq!(ProbeLine::parse("5 17"), Ok(ProbeLine::Slept { start: 5, end: 17 }));
        assert_eq!(ProbeLine::parse("end"), Ok(ProbeLine::End));
        for garbage in ["", "5", "5 17 19", "5.0 17", "a b", "99999999999999999999 1", "\u{1b}[31m5 6"] {
            let error = ProbeLine::parse(garbage).unwrap_err().to_string();
            assert!(error.contains("two clock readings") && !error.contains('\u{1b}'), "{error}");
        }
    }
}
