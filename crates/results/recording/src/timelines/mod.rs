//! Timelines of all CPUs around late wake-ups, as files next to a recording, which names them.

mod files;
mod quota;
mod reader;
mod text;

pub(crate) use self::files::{ENDING, is_of};
pub use self::files::{TimelineFiles, timeline_beside};
pub use self::quota::{TimelineQuota, WorstTimelines};
pub use self::reader::read_timeline;
pub use self::text::{LateLanes, timeline_text};

use howlate_model::MonotonicTime;
use jiff::Timestamp;

/// A time of the recording's clock as RFC 3339; `ahead` is the offset of the wall clock.
pub fn date_and_time(at: MonotonicTime, ahead: i64) -> String {
    let nanos = i128::from(at.as_nanos()).saturating_add(i128::from(ahead));
    let time = Timestamp::from_nanosecond(nanos).unwrap_or_default();
    time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

/// A date and time as in file names: `20261125T031207.123456Z`.
pub fn compact(at: &str) -> String {
    at.replace(['-', ':'], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_date_and_the_name_of_a_file() {
        let at = date_and_time(MonotonicTime::from_nanos(1_123_456_789), 1_795_576_326_000_000_000);
        assert_eq!(at, "2026-11-25T03:12:07.123456Z");
        assert_eq!(compact(&at), "20261125T031207.123456Z");
    }
}
