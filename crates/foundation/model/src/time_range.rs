//! Time ranges for `--at`, `--since` and `--between`.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::Span;

/// A time range; `None` for an open end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeRange {
    pub from: Option<Timestamp>,
    pub until: Option<Timestamp>,
}

/// Why a text is not a time range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimeRangeError {
    /// Not a readable time.
    #[error("`{0}` is not a time; write `03:12`, `03:12:30`, `2026-11-25 03:12`, or with a Z for UTC")]
    NoTime(String),
    /// A single time where two are wanted.
    #[error("`{0}` is one time; write two, such as `--between 03:10,03:20`")]
    OneTime(String),
    /// An end before the beginning.
    #[error("--between ends before it begins: {from} is after {until}")]
    Backwards { from: Timestamp, until: Timestamp },
}

impl TimeRange {
    /// The given minute; if it has seconds, half a minute before and after. A time without a date is its last occurrence.
    ///
    /// # Errors
    ///
    /// When `text` is no time.
    pub fn at(text: &str, now: Timestamp, zone: &TimeZone) -> Result<Self, TimeRangeError> {
        let (at, is_exact) = parse_time(text, now, zone)?;
        let (half, minute) = (SignedDuration::from_secs(30), SignedDuration::from_secs(60));
        let (from, until) = if is_exact { (at - half, at + half) } else { (at, at + minute) };
        Ok(Self { from: Some(from), until: Some(until) })
    }

    /// From a time on, or from a length of time ago.
    ///
    /// # Errors
    ///
    /// When `text` is neither.
    pub fn since(text: &str, now: Timestamp, zone: &TimeZone) -> Result<Self, TimeRangeError> {
        let from = match text.parse::<Span>() {
            Ok(span) => ago(now, span),
            Err(_) => parse_time(text, now, zone)?.0,
        };
        Ok(Self { from: Some(from), until: None })
    }

    /// From one time to another: `03:10,03:20`.
    ///
    /// # Errors
    ///
    /// When `text` is not two times, the earlier one first.
    pub fn between(text: &str, now: Timestamp, zone: &TimeZone) -> Result<Self, TimeRangeError> {
        let (from, until) = text.split_once(',').ok_or_else(|| TimeRangeError::OneTime(text.to_owned()))?;
        let (from, until) = (parse_time(from, now, zone)?.0, parse_time(until, now, zone)?.0);
        if until < from {
            return Err(TimeRangeError::Backwards { from, until });
        }
        Ok(Self { from: Some(from), until: Some(until) })
    }
}

impl TimeRange {
    /// Whether the time `before` before `at` (RFC 3339) is in the range.
    pub fn contains(&self, at: &str, before: Span) -> bool {
        let Some(at) = at.parse::<Timestamp>().ok().map(|at| ago(at, before)) else { return false };
        self.from.is_none_or(|from| at >= from) && self.until.is_none_or(|until| at < until)
    }
}

fn ago(now: Timestamp, span: Span) -> Timestamp {
    let back = SignedDuration::from_nanos(i64::try_from(span.as_nanos()).unwrap_or(i64::MAX));
    now.checked_sub(back).unwrap_or(Timestamp::MIN)
}

/// Whether a date and time has seconds. A zone offset may contain a colon too.
fn has_seconds(text: &str) -> bool {
    let time = text.split(['T', 't', ' ']).nth(1).unwrap_or_default();
    time.split(['Z', 'z', '+', '-']).next().is_some_and(|time| time.matches(':').count() > 1)
}

/// Parses a time, and whether it has seconds.
fn parse_time(text: &str, now: Timestamp, zone: &TimeZone) -> Result<(Timestamp, bool), TimeRangeError> {
    let text = text.trim();
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok((at, has_seconds(text)));
    }
    let (local, zone) = match text.strip_suffix(['Z', 'z']) {
        Some(local) => (local.trim_end(), TimeZone::UTC),
        None => (text, zone.clone()),
    };
    let unreadable = || TimeRangeError::NoTime(text.to_owned());
    let is_exact = local.matches(':').count() > 1;
    let today = now.to_zoned(zone.clone()).date();
    let at = |date: Date, time: Time| {
        let zoned = DateTime::from_parts(date, time).to_zoned(zone.clone());
        zoned.map(|zoned| zoned.timestamp()).map_err(|_| unreadable())
    };
    if let Ok(time) = Time::strptime("%H:%M:%S", local).or_else(|_| Time::strptime("%H:%M", local)) {
        let at_that_time = at(today, time)?;
        // A time in the future means yesterday.
        let yesterday = today.yesterday().map_err(|_| unreadable())?;
        return Ok((if at_that_time > now { at(yesterday, time)? } else { at_that_time }, is_exact));
    }
    let local = local.replacen('T', " ", 1);
    let formats = ["%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M"];
    if let Some(found) = formats.iter().find_map(|format| DateTime::strptime(format, &local).ok()) {
        return Ok((at(found.date(), found.time())?, is_exact));
    }
    let date = Date::strptime("%Y-%m-%d", &local).map_err(|_| unreadable())?;
    Ok((at(date, Time::midnight())?, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Read = fn(&str, Timestamp, &TimeZone) -> Result<TimeRange, TimeRangeError>;

    fn parse(read: Read, text: &str) -> Result<(String, String), String> {
        // Two hours ahead of UTC: it is 05:00 there.
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let now = "2026-11-25T03:00:00Z".parse().unwrap();
        let shown = |at: Option<Timestamp>| at.map_or_else(|| "-".to_owned(), |at| at.to_string());
        let found = read(text, now, &zone).map_err(|error| error.to_string())?;
        Ok((shown(found.from), shown(found.until)))
    }

    #[track_caller]
    fn check(read: Read, text: &str, from: &str, until: &str) {
        assert_eq!(parse(read, text), Ok((from.to_owned(), until.to_owned())));
    }

    #[test]
    fn a_time_is_the_last_that_there_was() {
        check(TimeRange::at, "03:12", "2026-11-25T01:12:00Z", "2026-11-25T01:13:00Z");
        check(TimeRange::at, "05:30", "2026-11-24T03:30:00Z", "2026-11-24T03:31:00Z");
        check(TimeRange::at, "03:12:40", "2026-11-25T01:12:10Z", "2026-11-25T01:13:10Z");
        check(TimeRange::at, "02:12Z", "2026-11-25T02:12:00Z", "2026-11-25T02:13:00Z");
        check(TimeRange::at, "2026-11-20 03:12", "2026-11-20T01:12:00Z", "2026-11-20T01:13:00Z");
        check(TimeRange::at, "2026-11-20T01:12:00.5Z", "2026-11-20T01:11:30.5Z", "2026-11-20T01:12:30.5Z");
        check(TimeRange::at, "2026-11-20T01:12Z", "2026-11-20T01:12:00Z", "2026-11-20T01:13:00Z");
        check(TimeRange::at, "2026-11-20T03:12+02:00", "2026-11-20T01:12:00Z", "2026-11-20T01:13:00Z");
        assert!(parse(TimeRange::at, "noon").unwrap_err().contains("is not a time; write `03:12`"));
    }

    #[test]
    fn since_and_between_take_what_at_takes() {
        check(TimeRange::since, "1h", "2026-11-25T02:00:00Z", "-");
        check(TimeRange::since, "03:12", "2026-11-25T01:12:00Z", "-");
        check(TimeRange::since, "2026-11-20", "2026-11-19T22:00:00Z", "-");
        check(TimeRange::between, "03:12,03:20", "2026-11-25T01:12:00Z", "2026-11-25T01:20:00Z");
        assert!(parse(TimeRange::between, "03:20, 03:12").unwrap_err().contains("ends before it begins"));
        assert!(parse(TimeRange::between, "03:12").unwrap_err().contains("write two"));
    }

    #[test]
    fn what_lies_in_a_stretch_is_held_by_it() {
        let at = |text: &str| Some(text.parse::<Timestamp>().unwrap());
        let minute = TimeRange { from: at("2026-11-25T03:12:00Z"), until: at("2026-11-25T03:13:00Z") };
        let lies = |text: &str, before| minute.contains(text, Span::from_secs(before));
        assert!(lies("2026-11-25T03:12:00.000001Z", 0) && lies("2026-11-25T03:12:59.999Z", 0));
        assert!(!lies("2026-11-25T03:11:59.999Z", 0) && !lies("2026-11-25T03:13:00Z", 0));
        assert!(lies("2026-11-25T03:13:00Z", 30), "the middle of the minute that ended then");
        assert!(!lies("2026-11-25T03:12:00Z", 30) && !lies("no time", 0));
        assert!(TimeRange::default().contains("2026-11-25T03:13:00Z", Span::ZERO));
    }
}
