//! `--at`, `--since` and `--between`: a stretch of time, as people say it.

use clap::Args;
use howlate_analyse::incidents::Grouping;
use howlate_model::Span;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// Which stretch of a recording of `howlate record`
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Moments {
    /// A minute: 03:12, '2026-11-25 03:12', 03:12Z for UTC
    #[arg(long, value_name = "TIME", conflicts_with_all = ["since", "between"])]
    pub(crate) at: Option<String>,
    /// From a time on, or as long ago as this, such as 1h
    #[arg(long, value_name = "TIME|LENGTH", conflicts_with = "between")]
    pub(crate) since: Option<String>,
    /// From one time to another
    #[arg(long, value_name = "TIME,TIME", hide_short_help = true)]
    pub(crate) between: Option<String>,
    /// Count threads together by process, unit, cgroup, container, pod or user
    #[arg(long, value_name = "GROUP", hide_short_help = true)]
    pub(crate) group: Option<Grouping>,
}

/// From when until when; `None`: without a bound.
pub(crate) type Stretch = (Option<Timestamp>, Option<Timestamp>);

impl Moments {
    /// Whether any time was asked for.
    pub(crate) const fn is_asked(&self) -> bool {
        self.at.is_some() || self.since.is_some() || self.between.is_some()
    }

    /// The stretch that is meant, in a time zone.
    pub(crate) fn stretch(&self, now: Timestamp, zone: &TimeZone) -> Result<Stretch, String> {
        if let Some(at) = &self.at {
            let (at, is_exact) = moment(at, now, zone)?;
            let half = SignedDuration::from_secs(30);
            let minute = SignedDuration::from_secs(60);
            return Ok(if is_exact {
                (Some(at - half), Some(at + half))
            } else {
                (Some(at), Some(at + minute))
            });
        }
        if let Some(since) = &self.since {
            return match since.parse::<Span>() {
                Ok(span) => Ok((Some(ago(now, span)), None)),
                Err(_) => Ok((Some(moment(since, now, zone)?.0), None)),
            };
        }
        if let Some(between) = &self.between {
            let Some((from, until)) = between.split_once(',') else {
                return Err(format!("`{between}` is one time; write two, such as `--between 03:10,03:20`"));
            };
            let (from, until) = (moment(from, now, zone)?.0, moment(until, now, zone)?.0);
            if until < from {
                return Err(format!("--between ends before it begins: {from} is after {until}"));
            }
            return Ok((Some(from), Some(until)));
        }
        Ok((None, None))
    }
}

fn ago(now: Timestamp, span: Span) -> Timestamp {
    let back = SignedDuration::from_nanos(i64::try_from(span.as_nanos()).unwrap_or(i64::MAX));
    now.checked_sub(back).unwrap_or(Timestamp::MIN)
}

/// A moment, and whether its second was said.
fn moment(text: &str, now: Timestamp, zone: &TimeZone) -> Result<(Timestamp, bool), String> {
    let text = text.trim();
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok((at, true));
    }
    let (local, zone) = match text.strip_suffix(['Z', 'z']) {
        Some(local) => (local.trim_end(), TimeZone::UTC),
        None => (text, zone.clone()),
    };
    let unreadable = || {
        format!("`{text}` is not a time; write `03:12`, `03:12:30`, `2026-11-25 03:12`, or with a Z for UTC")
    };
    let is_exact = local.matches(':').count() > 1;
    let today = now.to_zoned(zone.clone()).date();
    let at = |date: Date, time: Time| {
        let zoned = DateTime::from_parts(date, time).to_zoned(zone.clone());
        zoned.map(|zoned| zoned.timestamp()).map_err(|_| unreadable())
    };
    if let Ok(time) = Time::strptime("%H:%M:%S", local).or_else(|_| Time::strptime("%H:%M", local)) {
        let at_that_time = at(today, time)?;
        // What has not been yet was yesterday.
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

    fn asked(
        at: Option<&str>,
        since: Option<&str>,
        between: Option<&str>,
    ) -> Result<(String, String), String> {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let moments = Moments { at: owned(at), since: owned(since), between: owned(between), group: None };
        // Two hours ahead of UTC: it is 05:00 there.
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let now = "2026-11-25T03:00:00Z".parse().unwrap();
        let told = |at: Option<Timestamp>| at.map_or_else(|| "-".to_owned(), |at| at.to_string());
        moments.stretch(now, &zone).map(|(from, until)| (told(from), told(until)))
    }

    #[track_caller]
    fn check(found: Result<(String, String), String>, from: &str, until: &str) {
        assert_eq!(found, Ok((from.to_owned(), until.to_owned())));
    }

    #[test]
    fn a_time_is_the_last_that_there_was() {
        check(asked(Some("03:12"), None, None), "2026-11-25T01:12:00Z", "2026-11-25T01:13:00Z");
        check(asked(Some("05:30"), None, None), "2026-11-24T03:30:00Z", "2026-11-24T03:31:00Z");
        check(asked(Some("03:12:40"), None, None), "2026-11-25T01:12:10Z", "2026-11-25T01:13:10Z");
        check(asked(Some("02:12Z"), None, None), "2026-11-25T02:12:00Z", "2026-11-25T02:13:00Z");
        check(asked(Some("2026-11-20 03:12"), None, None), "2026-11-20T01:12:00Z", "2026-11-20T01:13:00Z");
        let exactly = "2026-11-20T01:12:00.5Z";
        check(asked(Some(exactly), None, None), "2026-11-20T01:11:30.5Z", "2026-11-20T01:12:30.5Z");
        assert!(asked(Some("noon"), None, None).unwrap_err().contains("is not a time; write `03:12`"));
    }

    #[test]
    fn since_and_between_take_what_at_takes() {
        check(asked(None, Some("1h"), None), "2026-11-25T02:00:00Z", "-");
        check(asked(None, Some("03:12"), None), "2026-11-25T01:12:00Z", "-");
        check(asked(None, Some("2026-11-20"), None), "2026-11-19T22:00:00Z", "-");
        check(asked(None, None, Some("03:12,03:20")), "2026-11-25T01:12:00Z", "2026-11-25T01:20:00Z");
        assert!(asked(None, None, Some("03:20, 03:12")).unwrap_err().contains("ends before it begins"));
        assert!(asked(None, None, Some("03:12")).unwrap_err().contains("write two"));
        check(asked(None, None, None), "-", "-");
    }
}
