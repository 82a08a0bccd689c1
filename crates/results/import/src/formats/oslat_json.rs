//! oslat's `--json`: gaps that a spinning thread finds, not wake-ups.

use std::collections::BTreeMap;

use howlate_model::{ForeignTool, HistogramEnd, ImportNote};
use serde::Deserialize;

use super::oslat_text::{nanos, width_note};
use crate::draft::{ImportDraft, ImportedSeries};
use crate::error::ImportError;
use crate::format::{FileFormat, Shape};
use crate::histogram::{BucketLabel, Claims, Linear};
use crate::json::{self, Buckets, RtTestsRun, by_number};

const PROGRAM: &str = "oslat";

pub(crate) const FORMAT: FileFormat = FileFormat {
    file: "JSON with `freq`",
    written_by: "`oslat --json=FILE`, with or without `--bucket-width`",
    becomes: "one per CPU: gaps, not wake-ups",
    samples: &["oslat.json", "oslat-width.json"],
    shape: Shape::Json {
        is_it: |object| {
            let thread = object.get("thread").and_then(|threads| threads.as_object()?.values().next());
            object.get("file_version").is_some() && thread.is_some_and(|thread| thread.get("freq").is_some())
        },
        read: |object| json::read(object, PROGRAM).and_then(|file| draft(&file)),
    },
};

#[derive(Deserialize)]
struct File {
    #[serde(flatten)]
    run: RtTestsRun,
    thread: BTreeMap<String, OslatThread>,
}

#[derive(Deserialize)]
struct OslatThread {
    cpu: u32,
    /// Whole nanoseconds where buckets have fractions of a microsecond, otherwise microseconds.
    #[serde(default)]
    min: Option<f64>,
    #[serde(default)]
    max: f64,
    #[serde(default)]
    histogram: Buckets,
    #[serde(default)]
    avg: Option<f64>,
}

fn draft(file: &File) -> Result<ImportDraft, ImportError> {
    let mut draft = ImportDraft::of_rt_tests(PROGRAM, &file.run);
    let width = width(file)?;
    let mut all = Vec::new();
    for (number, thread) in by_number(&file.thread, PROGRAM)? {
        all.push((number, thread.cpu, histogram(thread, width)?));
    }
    draft.notes.push(ImportNote::Gaps);
    draft.notes.push(width_note(width));
    draft.say(all.iter().map(|(.., linear)| linear.findings()));
    for (number, cpu, linear) in all {
        let series = ImportedSeries::new(ForeignTool::Oslat, number as usize, linear.distribution());
        draft.series.push(ImportedSeries { cpu: Some(cpu), ..series });
    }
    Ok(draft)
}

/// Nanoseconds: as it was typed, or what all buckets are multiples of where they have fractions.
fn width(file: &File) -> Result<u64, ImportError> {
    let mut fields = file.run.command_line.split_whitespace();
    while let Some(word) = fields.next() {
        let value = match word.strip_prefix("--bucket-width") {
            Some("") => fields.next(),
            Some(value) => value.strip_prefix('='),
            None => continue,
        };
        if let Some(nanos) = value.and_then(|value| value.parse::<u64>().ok()).filter(|nanos| *nanos > 0) {
            return Ok(nanos);
        }
    }
    let labels = file.thread.values().flat_map(|thread| thread.histogram.keys());
    let mut step = 0;
    for label in labels.filter(|label| label.contains('.')) {
        step = crate::rows::common_divisor(step, bucket(label)?);
    }
    Ok(if step == 0 { 1_000 } else { step })
}

fn bucket(label: &str) -> Result<u64, ImportError> {
    nanos(label)
        .ok_or_else(|| ImportError::damaged(PROGRAM, format!("`{label}` is no bucket of its histogram")))
}

/// The last bucket holds what is longer too.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float beyond the largest integer becomes that"
)]
fn histogram(thread: &OslatThread, width: u64) -> Result<Linear, ImportError> {
    let mut buckets = Vec::new();
    for (label, count) in &thread.histogram {
        buckets.push((bucket(label)?, *count));
    }
    buckets.sort_unstable();
    // Others than the original write microseconds with decimals then.
    let is_nanos = !width.is_multiple_of(1_000) && thread.max.fract() == 0.0;
    let nanos = |value: f64| (value * if is_nanos { 1.0 } else { 1e3 }).round() as u64;
    let (max, min) = (nanos(thread.max), thread.min.map(nanos));
    let longer = buckets.pop_if(|(last, count)| *last < max && *count > 0);
    let mut linear = Linear::new(PROGRAM, 1).labelled(BucketLabel::End);
    linear.set_width(width);
    linear.add_all(buckets)?;
    let mut claims = Claims { min, max: Some(max), ..Claims::default() };
    if let Some((last, count)) = longer {
        linear.reaches(last, HistogramEnd::Said);
        claims = Claims { beyond: Some(count), mean: thread.avg.map(|mean| mean * 1e3), ..claims };
    }
    linear.settle(&claims)?;
    Ok(linear)
}
