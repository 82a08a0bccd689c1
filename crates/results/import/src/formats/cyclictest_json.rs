//! cyclictest's `--json`, `file_version` 1, of every version from 2.0 on.

use std::collections::BTreeMap;

use howlate_model::{CpuSet, ForeignTool, HistogramEnd, ImportNote, Policy, Priority, Span};
use howlate_rt_tests::Compat;
use howlate_rt_tests::cyclictest::{CpuMasks, CyclictestOptions, PolicyName, parse};
use serde::Deserialize;
use serde_json::Value;

use crate::draft::{ImportDraft, ImportedSeries};
use crate::error::ImportError;
use crate::format::{FileFormat, Shape};
use crate::histogram::{Claims, Linear};
use crate::json::{self, Buckets, RtTestsRun, buckets, by_number, writer};

const PROGRAM: &str = "cyclictest";

pub(crate) const FORMAT: FileFormat = FileFormat {
    file: "JSON with `file_version` 1",
    written_by: "`cyclictest -h N --json=FILE`, 2.0 to 2.10",
    becomes: "one distribution per thread; period, policy, CPU, kernel and date from the file and its command line",
    samples: &[
        "cyclictest-2.4.json",
        "cyclictest-2.6.json",
        "cyclictest-2.10.json",
        "cyclictest-clipped.json",
    ],
    shape: Shape::Json { is_it, read: |object| json::read(object, PROGRAM).and_then(|file| draft(&file)) },
};

#[derive(Deserialize)]
struct File {
    #[serde(flatten)]
    run: RtTestsRun,
    /// 1 where values are nanoseconds; 0 where they are microseconds.
    #[serde(default)]
    resolution_in_ns: u8,
    thread: BTreeMap<String, ThreadRecord>,
}

#[derive(Deserialize)]
struct ThreadRecord {
    #[serde(default)]
    histogram: Buckets,
    cycles: u64,
    #[serde(default)]
    min: Option<u64>,
    max: u64,
    #[serde(default)]
    avg: Option<f64>,
    #[serde(default)]
    cpu: Option<i64>,
}

fn is_it(object: &Value) -> bool {
    let thread = object.get("thread").and_then(|threads| threads.as_object()?.values().next());
    let has_cycles = thread.is_some_and(|thread| thread.get("cycles").is_some());
    has_cycles && object.get("file_version").is_some() && matches!(writer(object), None | Some(PROGRAM))
}

fn draft(file: &File) -> Result<ImportDraft, ImportError> {
    let options = parse_options(&file.run.command_line);
    let mut draft = ImportDraft::of_rt_tests(PROGRAM, &file.run);
    let reach =
        options.as_ref().and_then(|options| options.histogram).map(|histogram| histogram.buckets as u64);
    let unit = if file.resolution_in_ns == 1 { 1 } else { 1_000 };
    let mut all = Vec::new();
    for (number, thread) in by_number(&file.thread, PROGRAM)? {
        all.push((number, thread, histogram(thread, unit, reach)?));
    }
    draft.notes.extend((unit > 1).then_some(ImportNote::WholeMicroseconds));
    draft.say(all.iter().map(|(.., histogram)| histogram.findings()));
    for (number, thread, histogram) in all {
        let number = number as usize;
        let mut series = ImportedSeries::new(ForeignTool::Cyclictest, number, histogram.distribution());
        series.cpu = thread.cpu.and_then(|cpu| u32::try_from(cpu).ok());
        series.period = options.as_ref().and_then(|options| period(options, number));
        series.policy = options.as_ref().map(|options| policy(options, number));
        draft.series.push(series);
    }
    Ok(draft)
}

/// Cycles that are in no bucket were beyond the last.
fn histogram(thread: &ThreadRecord, unit: u64, reach: Option<u64>) -> Result<Linear, ImportError> {
    if thread.histogram.is_empty() && thread.cycles > 0 {
        let remedy = "let cyclictest write one: `cyclictest -h 1000 --json=FILE`";
        return Err(ImportError::NoHistogram { program: PROGRAM, remedy });
    }
    let mut linear = Linear::new(PROGRAM, unit);
    linear.add_all(buckets(&thread.histogram, PROGRAM)?)?;
    if let Some(reach) = reach {
        linear.reaches(reach, HistogramEnd::Said);
    }
    linear.settle(&Claims {
        total: Some(thread.cycles),
        min: thread.min,
        max: Some(thread.max),
        mean: thread.avg,
        ..Claims::default()
    })?;
    Ok(linear)
}

/// The command line, as cyclictest reads it.
fn parse_options(command_line: &str) -> Option<CyclictestOptions> {
    let mut fields = command_line.split_whitespace().map(str::to_owned);
    fields.next()?;
    let fields: Vec<String> = fields.collect();
    let every: CpuSet = (0..8192).collect();
    let machine = CpuMasks { configured: 8192, online: 8192, allowed: every.clone(), bindable: every };
    parse(&fields, &machine, Compat::V2_10).ok().map(|request| request.options)
}

fn period(options: &CyclictestOptions, thread: usize) -> Option<Span> {
    u64::try_from(options.interval_of(thread)).ok().map(Span::from_micros)
}

/// Batch and idle are printed by the original, which runs as `other`.
fn policy(options: &CyclictestOptions, thread: usize) -> Policy {
    let priority = Priority::new(options.priority_of(thread)).unwrap_or(Priority::USUAL);
    match options.policy {
        PolicyName::Fifo => Policy::Fifo { priority },
        PolicyName::Rr => Policy::Rr { priority },
        PolicyName::Other | PolicyName::Batch | PolicyName::Idle => Policy::OTHER,
    }
}
