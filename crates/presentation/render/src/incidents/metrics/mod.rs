//! What a recorder writes, for Prometheus: how long threads waited by group, and who held them up.

mod native;
mod protobuf;
mod text;

use howlate_analyse::incidents::LateCounts;
use howlate_model::Distribution;
use jiff::Timestamp;

pub use protobuf::late_metrics_protobuf;
pub use text::late_metrics;

/// Pairs of victim and culprit, those with the longest time.
const PAIRS: usize = 50;

/// Metrics of one name.
struct Family<'a> {
    name: &'static str,
    kind: Kind,
    help: &'static str,
    series: Vec<Series<'a>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
}

struct Series<'a> {
    labels: Vec<(&'static str, String)>,
    value: Value<'a>,
}

enum Value<'a> {
    /// Of nanoseconds, as seconds.
    Seconds(i128),
    /// Of waits, or of seconds since 1970.
    Whole(i64),
    Waits(&'a Distribution),
}

fn families(counts: &LateCounts) -> Vec<Family<'_>> {
    let all = [Some(waits(counts)), Some(held_up(counts)), Some(not_kept(counts)), last_minute(counts)];
    all.into_iter().flatten().collect()
}

fn waits(counts: &LateCounts) -> Family<'_> {
    let one = |(group, waits): (&String, _)| Series {
        labels: vec![("by", counts.by.name().to_owned()), ("group", group.clone())],
        value: Value::Waits(waits),
    };
    Family {
        name: "howlate_late_seconds",
        kind: Kind::Histogram,
        help: "How late threads ran, since their timer was due or they were ready, by group.",
        series: counts.waits.iter().map(one).collect(),
    }
}

fn held_up(counts: &LateCounts) -> Family<'_> {
    let all = counts.longest(PAIRS).into_iter().map(|((victim, culprit), took)| Series {
        labels: vec![("victim", victim.clone()), ("culprit", culprit.clone())],
        value: Value::Seconds(i128::from(took.as_nanos())),
    });
    Family {
        name: "howlate_held_up_seconds_total",
        kind: Kind::Counter,
        help: "How long late waits of a victim were for a culprit; of all pairs, the 50 with the longest time.",
        series: all.collect(),
    }
}

fn not_kept(counts: &LateCounts) -> Family<'_> {
    let value = Value::Whole(i64::try_from(counts.dropped).unwrap_or(i64::MAX));
    Family {
        name: "howlate_late_waits_not_kept_total",
        kind: Kind::Counter,
        help: "Late waits that are in no pair: too many at once, or no room.",
        series: vec![Series { labels: vec![], value }],
    }
}

fn last_minute(counts: &LateCounts) -> Option<Family<'_>> {
    let at = counts.until.as_ref()?.parse::<Timestamp>().ok()?;
    Some(Family {
        name: "howlate_record_minute_timestamp_seconds",
        kind: Kind::Gauge,
        help: "When the last minute ended that the recorder has counted.",
        series: vec![Series { labels: vec![], value: Value::Whole(at.as_second()) }],
    })
}
