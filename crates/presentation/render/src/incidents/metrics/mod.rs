//! Metrics of a recorder for Prometheus: how long threads waited by group, and who held them up.

mod protobuf;
mod text;

use howlate_analyse::incidents::LateCounts;
use howlate_model::Distribution;
use jiff::Timestamp;

use crate::untrusted_text::legible;

pub use protobuf::late_metrics_protobuf;
pub use text::late_metrics;

/// Most pairs of victim and culprit, those with the longest time.
const PAIRS: usize = 50;

/// All series of one metric name.
struct MetricFamily<'a> {
    name: &'static str,
    kind: MetricKind,
    help: &'static str,
    series: Vec<MetricSeries<'a>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

struct MetricSeries<'a> {
    labels: Vec<(&'static str, String)>,
    value: MetricValue<'a>,
}

enum MetricValue<'a> {
    /// Nanoseconds, printed as seconds.
    Seconds(i128),
    /// A number of waits, or seconds since 1970.
    Whole(i64),
    Waits(&'a Distribution),
}

fn families(counts: &LateCounts) -> Vec<MetricFamily<'_>> {
    let all = [
        Some(waits(counts)),
        requests(counts),
        Some(held_up(counts)),
        Some(not_kept(counts)),
        last_minute(counts),
    ];
    let mut all: Vec<_> = all.into_iter().flatten().collect();
    // Here, so that both formats have the same labels.
    for (_, name) in
        all.iter_mut().flat_map(|family| &mut family.series).flat_map(|series| &mut series.labels)
    {
        *name = legible(name).into_owned();
    }
    all
}

fn waits(counts: &LateCounts) -> MetricFamily<'_> {
    let group_series = |(group, waits): (&String, _)| MetricSeries {
        labels: vec![("by", counts.by.name().to_owned()), ("group", group.clone())],
        value: MetricValue::Waits(waits),
    };
    MetricFamily {
        name: "howlate_late_seconds",
        kind: MetricKind::Histogram,
        help: "How late threads ran, since their timer was due or they were ready, by group.",
        series: counts.waits.iter().map(group_series).collect(),
    }
}

/// `None` where they were not measured.
fn requests(counts: &LateCounts) -> Option<MetricFamily<'_>> {
    let server_series = |(server, requests): (&String, _)| MetricSeries {
        labels: vec![("server", server.clone())],
        value: MetricValue::Waits(requests),
    };
    (!counts.requests.is_empty()).then(|| MetricFamily {
        name: "howlate_request_seconds",
        kind: MetricKind::Histogram,
        help: "How long requests took, from the arrival of their data to the answer, by server.",
        series: counts.requests.iter().map(server_series).collect(),
    })
}

fn held_up(counts: &LateCounts) -> MetricFamily<'_> {
    let all = counts.longest(PAIRS).into_iter().map(|((victim, culprit), took)| MetricSeries {
        labels: vec![("victim", victim.clone()), ("culprit", culprit.clone())],
        value: MetricValue::Seconds(i128::from(took.as_nanos())),
    });
    MetricFamily {
        name: "howlate_held_up_seconds_total",
        kind: MetricKind::Counter,
        help: "How long late waits of a victim were for a culprit; of all pairs, the 50 with the longest time.",
        series: all.collect(),
    }
}

fn not_kept(counts: &LateCounts) -> MetricFamily<'_> {
    let value = MetricValue::Whole(i64::try_from(counts.dropped).unwrap_or(i64::MAX));
    MetricFamily {
        name: "howlate_late_waits_not_kept_total",
        kind: MetricKind::Counter,
        help: "Late waits that are in no pair: too many at once, or no room.",
        series: vec![MetricSeries { labels: vec![], value }],
    }
}

fn last_minute(counts: &LateCounts) -> Option<MetricFamily<'_>> {
    let at = counts.until.as_ref()?.parse::<Timestamp>().ok()?;
    Some(MetricFamily {
        name: "howlate_record_minute_timestamp_seconds",
        kind: MetricKind::Gauge,
        help: "When the last minute ended that the recorder has counted.",
        series: vec![MetricSeries { labels: vec![], value: MetricValue::Whole(at.as_second()) }],
    })
}
