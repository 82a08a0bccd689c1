//! Prometheus' text format, as a file for node_exporter's textfile collector:
//! <https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format>.
//!
//! Values are seconds; each property of a condition is a label. Quantiles and the maximum are exported besides buckets, because estimates from buckets are off by up to their width.

use std::fmt::Write as _;

use howlate_analyse::watch::Rhythm;
use howlate_analyse::{Analysis, Outcome, is_measured_as_requested};
use howlate_model::{Bucket, Distribution, EndReason, HasProperties, Latency, Property};
use jiff::Timestamp;

use super::names::started_at;
use crate::native_buckets::{NativeBuckets, SCHEMA, ZERO};
use crate::untrusted_text::legible_lines;

/// Upper bounds within a power of ten: the preferred numbers R10 of ISO 3, in hundredths.
const BOUNDS: [u64; 10] = [100, 125, 160, 200, 250, 315, 400, 500, 630, 800];
/// Powers of ten of the bounds, in hundredths of nanoseconds: from 1 µs to 10 s.
const POWERS: [u64; 7] = [10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];
/// The last bound, in nanoseconds.
const LAST: u64 = 10_000_000_000;
/// Indices in [`BOUNDS`] of the steps 1, 2 and 5, used with many conditions, because Prometheus holds a series per bucket in memory. They are a subset, so that sums over `le` continue when conditions are added.
const COARSE: [usize; 3] = [0, 3, 7];
/// Number of conditions above which bounds are coarse.
const MANY: usize = 64;
/// Most conditions that are exported, with about 30 series of each: as many as a watched program can have.
const MOST: usize = 512;
/// Quantiles, and the wake-ups that each needs.
const QUANTILES: [(f64, u64); 4] = [(0.5, 1), (0.99, 100), (0.999, 1_000), (0.9999, 10_000)];

/// Labels and values of a condition.
struct MetricRow<'a> {
    labels: String,
    outcome: &'a Outcome,
    planned: std::borrow::Cow<'a, Distribution>,
}

/// All metrics of these recordings; if there are several, each has a label with its name.
pub fn prometheus(analyses: &[&Analysis], names: &[String]) -> String {
    exposed(analyses, names, histograms)
}

/// OpenMetrics 2.0, a draft as of August 2026, whose histograms also have native buckets:
/// <https://prometheus.io/docs/specs/om/open_metrics_spec_2_0/>.
pub fn openmetrics2(analyses: &[&Analysis], names: &[String]) -> String {
    exposed(analyses, names, composites) + "# EOF\n"
}

fn exposed(
    analyses: &[&Analysis],
    names: &[String],
    histograms: fn(&mut String, &[MetricRow<'_>]),
) -> String {
    let mut text = String::new();
    let recording_label =
        |name: &str| if analyses.len() > 1 { vec![("recording", name.to_owned())] } else { Vec::new() };
    let labelled_runs: Vec<(&Analysis, Vec<(&'static str, String)>)> =
        analyses.iter().zip(names).map(|(analysis, name)| (*analysis, recording_label(name))).collect();
    runs(&mut text, &labelled_runs);
    let mut rows: Vec<MetricRow<'_>> = Vec::new();
    for (analysis, run_labels) in &labelled_runs {
        let room = MOST.saturating_sub(rows.len());
        rows.extend(analysis.outcomes().iter().take(room).map(|outcome| MetricRow::new(outcome, run_labels)));
    }
    let conditions: usize = labelled_runs.iter().map(|(analysis, _)| analysis.outcomes().len()).sum();
    left_out(&mut text, conditions - rows.len());
    histograms(&mut text, &rows);
    quantiles(&mut text, &rows);
    gauge(&mut text, "howlate_wakeup_latency_max_seconds", "The slowest planned wake-up.", &rows, |row| {
        row.planned.max().map(|max| seconds(i128::from(max.as_nanos())))
    });
    gauge(&mut text, "howlate_missed_periods", "Whole periods that passed inside a latency.", &rows, |row| {
        row.outcome.missed().map(|missed| missed.to_string())
    });
    if rows.iter().any(|row| threads(row).is_some()) {
        let help = "Threads of a watched program that were counted here, one after the other or together.";
        gauge(&mut text, "howlate_watched_threads", help, &rows, |row| {
            threads(row).map(|all| all.to_string())
        });
    }
    event_loops(&mut text, &rows);
    text
}

/// Metrics of event loops of watched programs.
fn event_loops(text: &mut String, rows: &[MetricRow<'_>]) {
    let event_loop =
        |row: &MetricRow<'_>| row.outcome.rhythm.as_deref().and_then(Rhythm::event_loop).cloned();
    if !rows.iter().any(|row| event_loop(row).is_some()) {
        return;
    }
    let help = "Iterations of an event loop: from one wait for events to the next.";
    gauge(text, "howlate_event_loop_iterations", help, rows, |row| {
        Some(event_loop(row)?.iterations.count().to_string())
    });
    let help = "Those that were longer than --loop-above.";
    gauge(text, "howlate_event_loop_long_iterations", help, rows, |row| {
        Some(event_loop(row)?.long.to_string())
    });
    let help = "The longest of them.";
    gauge(text, "howlate_event_loop_iteration_max_seconds", help, rows, |row| {
        Some(seconds(i128::from(event_loop(row)?.iterations.max()?.as_nanos())))
    });
}

fn threads(row: &MetricRow<'_>) -> Option<u64> {
    row.outcome.rhythm.as_deref().and_then(Rhythm::threads)
}

/// The number of conditions that are not exported, if any.
fn left_out(text: &mut String, count: usize) {
    if count > 0 {
        const NAME: &str = "howlate_conditions_left_out";
        family(text, NAME, "gauge", "Conditions that are not exported, as there are too many.");
        let _ = writeln!(text, "{NAME} {count}");
    }
}

impl<'a> MetricRow<'a> {
    fn new(outcome: &'a Outcome, run_labels: &[(&'static str, String)]) -> Self {
        let own = Property::ALL
            .iter()
            .filter_map(|property| Some((property.name(), outcome.value(*property)?.to_string())));
        let labels: Vec<(&str, String)> = run_labels.iter().cloned().chain(own).collect();
        Self { labels: labelled(&labels), outcome, planned: outcome.planned() }
    }
}

/// `key="value",…`, with names and values escaped for Prometheus and terminals.
pub(crate) fn labelled(labels: &[(&str, String)]) -> String {
    let label = |(key, value): &(&str, String)| {
        let value = legible_lines(value)
            .replace('\t', "\\t")
            .replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n");
        format!("{}=\"{value}\"", key.replace('-', "_"))
    };
    labels.iter().map(label).collect::<Vec<_>>().join(",")
}

/// The `HELP` and `TYPE` lines of a metric.
pub(crate) fn family(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
}

/// Start of each run, and whether its results can be trusted.
fn runs(text: &mut String, labelled_runs: &[(&Analysis, Vec<(&'static str, String)>)]) {
    let labels = |analysis: &Analysis, run_labels: &[(&'static str, String)]| {
        let command = ("command", analysis.header.command.to_string());
        labelled(&run_labels.iter().cloned().chain([command]).collect::<Vec<_>>())
    };
    family(text, "howlate_run_start_time_seconds", "gauge", "When the run was begun, in seconds since 1970.");
    for (analysis, run_labels) in labelled_runs {
        let at = started_at(analysis);
        if at != Timestamp::UNIX_EPOCH {
            let _ = writeln!(
                text,
                "howlate_run_start_time_seconds{{{}}} {}",
                labels(analysis, run_labels),
                at.as_second()
            );
        }
    }
    family(
        text,
        "howlate_run_trustworthy",
        "gauge",
        "1 for a run that did all that was asked, to its end or, while it is watched, so far; otherwise 0.",
    );
    for (analysis, run_labels) in labelled_runs {
        let whole = match &analysis.end {
            Some(end) => end.how == EndReason::Done,
            None => analysis.is_running,
        } && is_measured_as_requested(analysis);
        let _ =
            writeln!(text, "howlate_run_trustworthy{{{}}} {}", labels(analysis, run_labels), u8::from(whole));
    }
}

/// Name and help text of the histograms.
const LATENCY: &str = "howlate_wakeup_latency_seconds";
const LATENCY_HELP: &str = "How much later than asked planned wake-ups ran, missed ones included.";

/// One line per condition, as in OpenMetrics 2.0.
fn composites(text: &mut String, rows: &[MetricRow<'_>]) {
    family(text, LATENCY, "histogram", LATENCY_HELP);
    for MetricRow { labels, planned, .. } in rows {
        let (count, sum) = (planned.count(), seconds(planned.sum_nanos()));
        let bounds = cumulated(planned, rows.len() > MANY).into_iter();
        let classic: String =
            bounds.map(|(bound, count)| format!("{}:{count},", seconds(i128::from(bound)))).collect();
        // Values of imported histograms beyond the last bucket have no native bucket.
        let native = if planned.clipped().is_none() { native(planned) } else { String::new() };
        let _ = writeln!(
            text,
            "{LATENCY}{{{labels}}} {{count:{count},sum:{sum},{native}bucket:[{classic}+Inf:{count}]}}"
        );
    }
}

/// Native buckets in the order of the specification, with a trailing comma.
fn native(planned: &Distribution) -> String {
    let NativeBuckets { zero, spans, counts } = NativeBuckets::of(planned);
    let zeros = format!("schema:{SCHEMA},zero_threshold:{ZERO:e},zero_count:{zero},");
    if counts.is_empty() {
        return zeros;
    }
    let spans: Vec<String> = spans.iter().map(|(gap, length)| format!("{gap}:{length}")).collect();
    let counts: Vec<String> = counts.iter().map(u64::to_string).collect();
    format!("{zeros}positive_spans:[{}],positive_buckets:[{}],", spans.join(","), counts.join(","))
}

fn histograms(text: &mut String, rows: &[MetricRow<'_>]) {
    const NAME: &str = LATENCY;
    family(text, NAME, "histogram", LATENCY_HELP);
    let is_coarse = rows.len() > MANY;
    for MetricRow { labels, planned, .. } in rows {
        for (bound, count) in cumulated(planned, is_coarse) {
            let _ = writeln!(text, "{NAME}_bucket{{{labels},le=\"{}\"}} {count}", seconds(i128::from(bound)));
        }
        let _ = writeln!(text, "{NAME}_bucket{{{labels},le=\"+Inf\"}} {}", planned.count());
        let _ = writeln!(text, "{NAME}_sum{{{labels}}} {}", seconds(planned.sum_nanos()));
        let _ = writeln!(text, "{NAME}_count{{{labels}}} {}", planned.count());
    }
}

/// Number of latencies up to each bound, in nanoseconds. A bucket that contains a bound counts as above it.
fn cumulated(planned: &Distribution, is_coarse: bool) -> Vec<(u64, u64)> {
    let (mut buckets, mut count) = (planned.buckets().peekable(), 0);
    let nanos = |latency: Option<Latency>| latency.map(|latency| latency.as_nanos().max(0).unsigned_abs());
    let (clipped, largest) = (nanos(planned.clipped()), nanos(planned.max()).unwrap_or(0));
    let is_step = |place: usize| !is_coarse || COARSE.contains(&place);
    let steps: Vec<u64> =
        BOUNDS.iter().enumerate().filter(|(place, _)| is_step(*place)).map(|(_, bound)| *bound).collect();
    let bounds = POWERS.iter().flat_map(|power| steps.iter().map(move |bound| bound * power)).chain([LAST]);
    let up_to = |bound: u64| {
        // Values beyond an imported histogram's end may be as large as the maximum.
        let is_below = |bucket: &Bucket| clipped.is_none_or(|from| bucket.highest < from) || largest <= bound;
        while let Some(bucket) = buckets.next_if(|bucket| bucket.highest <= bound && is_below(bucket)) {
            count += bucket.count;
        }
        (bound, count)
    };
    bounds.map(up_to).collect()
}

fn quantiles(text: &mut String, rows: &[MetricRow<'_>]) {
    const NAME: &str = "howlate_wakeup_latency_quantile_seconds";
    family(text, NAME, "gauge", "Quantiles of the same, within 1 %; none where too few wake-ups tell it.");
    for MetricRow { labels, planned, .. } in rows {
        for (quantile, _) in QUANTILES.iter().filter(|(_, needed)| planned.count() >= *needed) {
            let exact = planned.quantile(*quantile).filter(|value| planned.clipped() != Some(*value));
            if let Some(value) = exact {
                let value = seconds(i128::from(value.as_nanos()));
                let _ = writeln!(text, "{NAME}{{{labels},q=\"{quantile}\"}} {value}");
            }
        }
    }
}

fn gauge(
    text: &mut String,
    name: &str,
    help: &str,
    rows: &[MetricRow<'_>],
    value: impl Fn(&MetricRow<'_>) -> Option<String>,
) {
    family(text, name, "gauge", help);
    for row in rows {
        if let Some(value) = value(row) {
            let _ = writeln!(text, "{name}{{{}}} {value}", row.labels);
        }
    }
}

/// Nanoseconds as decimal seconds, exactly.
pub(crate) fn seconds(nanos: i128) -> String {
    const A_SECOND: u128 = 1_000_000_000;
    let (sign, size) = (if nanos < 0 { "-" } else { "" }, nanos.unsigned_abs());
    let text = format!("{sign}{}.{:09}", size / A_SECOND, size % A_SECOND);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use howlate_analyse::watch::ThreadSummary;
    use howlate_model::{
        Block, Condition, Header, Iteration, Latency, Line, LoopWait, MonotonicTime, Sleeper, Span, Wait,
        Wakeup, Work,
    };

    use super::*;

    /// Conditions without measurements.
    fn analysis_of_sleeps(conditions: usize) -> Analysis {
        let sleep = |length: usize| {
            let target_ns = Span::from_micros(length as u64 + 1);
            Condition::new(Work::Sleep { mechanism: Sleeper::Wait(Wait::Nanosleep), target_ns }, "6.1")
        };
        Analysis::new(Header::for_conditions((0..conditions).map(sleep).collect()))
    }

    #[test]
    fn seconds_lose_nothing() {
        for (nanos, expected) in [
            (0, "0"),
            (1, "0.000000001"),
            (1_500_000_000, "1.5"),
            (-20, "-0.00000002"),
            (10_000_000_000, "10"),
        ] {
            assert_eq!(seconds(nanos), expected);
        }
    }

    #[test]
    fn buckets_count_what_is_no_longer() {
        let mut latencies = Distribution::default();
        for micros in [0, 1, 10, 11, 500, 20_000_000] {
            latencies.record(Latency::from_nanos(micros * 1_000));
        }
        let counts = cumulated(&latencies, false);
        let at = |bound: u64| counts.iter().find(|bucket| bucket.0 == bound).unwrap().1;
        assert_eq!((counts.len(), at(12_500), at(400_000), at(630_000), at(LAST)), (71, 4, 4, 5, 5));
        assert!(counts.is_sorted(), "bounds and counts only grow");
        let coarse = cumulated(&latencies, true);
        assert_eq!(
            coarse.iter().map(|bucket| bucket.0).take(4).collect::<Vec<_>>(),
            [1_000, 2_000, 5_000, 10_000]
        );
        assert!(coarse.len() == 22 && coarse.iter().all(|bucket| counts.contains(bucket)));
    }

    #[test]
    fn a_histogram_of_openmetrics_2_is_one_line_with_both_kinds_of_buckets() {
        let mut analysis = analysis_of_sleeps(1);
        let late = [0, 950_000_000, 900_000_000];
        let mut block = Block::default();
        let from = MonotonicTime::from_nanos;
        late.into_iter().for_each(|late| block.record(Wakeup { expected: from(0), ran: from(late) }, None));
        analysis.add(&Line::Block(Box::new(block)));
        let text = openmetrics2(&[&analysis], &[String::new()]);
        let line = text.lines().find(|line| line.starts_with("howlate_wakeup_latency_seconds{")).unwrap();
        let value = line.split_once("} ").unwrap().1;
        let native =
            "schema:3,zero_threshold:2.56e-7,zero_count:1,positive_spans:[-1:2],positive_buckets:[1,1]";
        assert!(value.starts_with(&format!("{{count:3,sum:1.85,{native},bucket:[0.000001:1,")), "{value}");
        assert!(value.ends_with(",10:3,+Inf:3]}"), "{value}");
        assert!(text.ends_with("# EOF\n") && !text.contains("_bucket{"), "{text}");
    }

    #[test]
    fn series_are_bounded_and_what_is_left_out_is_said() {
        let series = |conditions: usize| {
            let analysis = analysis_of_sleeps(conditions);
            let text = prometheus(&[&analysis], &[String::new()]);
            let left_out = text.lines().find_map(|line| line.strip_prefix("howlate_conditions_left_out "));
            (text.lines().filter(|line| !line.starts_with('#')).count(), left_out.map(str::to_owned))
        };
        let (few, many, too_many) = (series(MANY), series(MOST), series(MOST + 9));
        assert_eq!((few.1, many.1, too_many.1.as_deref()), (None, None, Some("9")));
        assert_eq!(too_many.0, many.0 + 1);
        assert!(many.0 <= MOST * 32, "{}", many.0);
    }

    #[test]
    fn a_run_is_trusted_while_it_is_watched_and_not_where_its_end_is_missing() {
        let mut analysis = analysis_of_sleeps(1);
        for (goes_on, trusted) in [(false, " 0"), (true, " 1")] {
            analysis.is_running = goes_on;
            let text = prometheus(&[&analysis], &[String::new()]);
            let line = text.lines().find(|line| line.starts_with("howlate_run_trustworthy{")).unwrap();
            assert!(line.ends_with(trusted), "{line}");
        }
    }

    #[test]
    fn event_loops_have_series_where_there_are_any() {
        let mut analysis = analysis_of_sleeps(1);
        assert!(!prometheus(&[&analysis], &[String::new()]).contains("event_loop"));
        let at = |ms: i64| MonotonicTime::from_nanos(ms * 1_000_000);
        let mut thread = ThreadSummary::new(0, at(0));
        let (from, until, blocked, ready) = (at(0), at(30), Span::ZERO, Span::ZERO);
        let (tid, wait, file) = (7, LoopWait::Epoll, Some(3));
        let iteration = Iteration {
            tid,
            wait,
            file,
            from,
            until,
            blocked,
            ready,
            quota: Span::ZERO,
            longest_sleep: None,
            stack: Vec::new(),
        };
        thread.record_loop_iteration(&iteration, Span::from_millis(10), None, 1);
        thread.reasons(at(50), "bpf").iter().for_each(|line| analysis.add(line));
        let text = prometheus(&[&analysis], &[String::new()]);
        for (name, value) in
            [("iterations", "1"), ("long_iterations", "1"), ("iteration_max_seconds", "0.03")]
        {
            let name = format!("howlate_event_loop_{name}{{");
            let line = text.lines().find(|line| line.starts_with(&name)).unwrap();
            assert!(line.ends_with(&format!("}} {value}")), "{line}");
        }
    }

    #[test]
    fn what_ends_a_label_is_escaped() {
        let labels = labelled(&[("host-load", "cmd:\"a\\b\"\n".to_owned())]);
        assert_eq!(labels, r#"host_load="cmd:\"a\\b\"\n""#);
        assert_eq!(labelled(&[("name", "a\tb\rc\u{1b}".to_owned())]), r#"name="a\\tb\\rc\\u{1b}""#);
    }
}
