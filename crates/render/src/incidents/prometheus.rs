//! What a recorder writes, for Prometheus: how long threads waited by group, and who held them up.

use std::fmt::Write as _;

use howlate_analyse::incidents::LateCounts;
use howlate_model::{Distribution, Span};
use jiff::Timestamp;

use crate::export::{family, labelled, seconds};

/// Upper bounds of buckets, in microseconds: steps of 1, 2 and 5 where waits begin to matter.
const BOUNDS: [u64; 14] =
    [50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000];
/// Pairs of victim and culprit, those with the longest time.
const PAIRS: usize = 50;

/// The counts as text for Prometheus.
pub fn late_metrics(counts: &LateCounts) -> String {
    let mut text = String::new();
    histograms(&mut text, counts);
    held_up(&mut text, counts);
    not_kept(&mut text, counts);
    last_minute(&mut text, counts);
    text
}

fn histograms(text: &mut String, counts: &LateCounts) {
    const NAME: &str = "howlate_late_seconds";
    family(text, NAME, "histogram", "How long runnable threads waited for a CPU, late or not, by group.");
    for (group, waits) in &counts.waits {
        let labels = labelled(&[("by", counts.by.name().to_owned()), ("group", group.clone())]);
        for bound in BOUNDS {
            let bound = Span::from_micros(bound);
            let le = seconds(i128::from(bound.as_nanos()));
            let _ = writeln!(text, "{NAME}_bucket{{{labels},le=\"{le}\"}} {}", up_to(waits, bound));
        }
        let _ = writeln!(text, "{NAME}_bucket{{{labels},le=\"+Inf\"}} {}", waits.count());
        let _ = writeln!(text, "{NAME}_sum{{{labels}}} {}", seconds(waits.sum_nanos()));
        let _ = writeln!(text, "{NAME}_count{{{labels}}} {}", waits.count());
    }
}

/// How many waits are no longer; of a bucket that holds the bound, all are counted above it.
fn up_to(waits: &Distribution, bound: Span) -> u64 {
    waits.buckets().filter(|bucket| bucket.highest <= bound.as_nanos()).map(|bucket| bucket.count).sum()
}

fn held_up(text: &mut String, counts: &LateCounts) {
    const NAME: &str = "howlate_held_up_seconds_total";
    let help =
        "How long late waits of a victim were for a culprit; of all pairs, the 50 with the longest time.";
    family(text, NAME, "counter", help);
    for ((victim, culprit), took) in counts.longest(PAIRS) {
        let labels = labelled(&[("victim", victim.clone()), ("culprit", culprit.clone())]);
        let _ = writeln!(text, "{NAME}{{{labels}}} {}", seconds(i128::from(took.as_nanos())));
    }
}

fn not_kept(text: &mut String, counts: &LateCounts) {
    const NAME: &str = "howlate_late_waits_not_kept_total";
    family(text, NAME, "counter", "Late waits that are in no pair: too many at once, or no room.");
    let _ = writeln!(text, "{NAME} {}", counts.not_kept);
}

fn last_minute(text: &mut String, counts: &LateCounts) {
    const NAME: &str = "howlate_record_minute_timestamp_seconds";
    let at = counts.until.as_ref().and_then(|at| at.parse::<Timestamp>().ok());
    if let Some(at) = at {
        family(text, NAME, "gauge", "When the last minute ended that the recorder has counted.");
        let _ = writeln!(text, "{NAME} {}", at.as_second());
    }
}
