//! Options `--at`, `--since` and `--between`.

use clap::Args;
use howlate_analyse::incidents::Grouping;
use howlate_model::{TimeRange, TimeRangeError};
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Which stretch of a recording of `howlate record`
#[derive(Args, Clone, Debug, Default)]
pub struct TimeRangeArgs {
    /// A minute: 03:12 or '2026-11-25 03:12'; 03:12Z is UTC
    #[arg(long, value_name = "TIME", conflicts_with_all = ["since", "between"])]
    pub at: Option<String>,
    /// From a time on, or as long ago as this, such as 1h
    #[arg(long, value_name = "TIME|LENGTH", conflicts_with = "between", hide_short_help = true)]
    pub since: Option<String>,
    /// From one time to another
    #[arg(long, value_name = "TIME,TIME", hide_short_help = true)]
    pub between: Option<String>,
}

/// How threads of such a recording are counted
#[derive(Args, Clone, Debug, Default)]
pub struct GroupingArgs {
    /// Count threads together by process, unit, cgroup, container, pod or user
    #[arg(long, alias = "group", value_name = "GROUP", hide_short_help = true)]
    pub group_by: Option<Grouping>,
}

impl TimeRangeArgs {
    /// Whether any of the options is given.
    pub const fn is_set(&self) -> bool {
        self.at.is_some() || self.since.is_some() || self.between.is_some()
    }

    /// The range, relative to `now`, with local times in `zone`.
    pub fn time_range(&self, now: Timestamp, zone: &TimeZone) -> Result<TimeRange, TimeRangeError> {
        match (&self.at, &self.since, &self.between) {
            (Some(at), ..) => TimeRange::at(at, now, zone),
            (_, Some(since), _) => TimeRange::since(since, now, zone),
            (.., Some(between)) => TimeRange::between(between, now, zone),
            _ => Ok(TimeRange::default()),
        }
    }
}
