//! cyclictest's `--json`, `file_version` 1, of every version from 2.0 on.

use std::collections::BTreeMap;

use howlate_cyclictest::{Compat, CpuMasks, Options, PolicyName, read as options};
use howlate_model::{CpuSet, Foreign, HistogramEnd, ImportNote, Policy, Priority, Span};
use serde::Deserialize;
use serde_json::Value;

use crate::Read;
use crate::draft::{Draft, Imported, Series};
use crate::error::ImportError;
use crate::histogram::{Linear, Overflow};
use crate::json::{self, Buckets, SystemInfo, buckets, by_number};

const PROGRAM: &str = "cyclictest";

/// The keys that are read; two of them really end in a colon.
#[derive(Deserialize)]
struct File {
    #[serde(rename = "cmdline:", default)]
    command_line: String,
    #[serde(rename = "rt_test_version:", default)]
    version: String,
    #[serde(default)]
    start_time: String,
    #[serde(default)]
    sysinfo: SystemInfo,
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
    max: u64,
    #[serde(default)]
    avg: Option<f64>,
    #[serde(default)]
    cpu: i64,
}

/// Reads it; `None` if it is something else.
pub(crate) fn read(object: &Value) -> Read {
    let thread = object.get("thread")?.as_object()?.values().next()?;
    object.get("file_version")?;
    thread.get("cycles")?;
    Some(json::read(object, PROGRAM).and_then(|file| imported(&file)))
}

fn imported(file: &File) -> Result<Imported, ImportError> {
    let asked = asked(&file.command_line);
    let mut draft = Draft::of_rt_tests(PROGRAM, &file.version, &file.start_time, &file.sysinfo);
    let mut overflows = Vec::new();
    let buckets = asked.as_ref().and_then(|asked| asked.histogram).map(|histogram| histogram.buckets as u64);
    let unit = if file.resolution_in_ns == 1 { 1 } else { 1_000 };
    for (number, thread) in by_number(&file.thread, PROGRAM)? {
        let counts = counts(thread, unit, buckets)?;
        overflows.push(counts.overflow());
        let number = number as usize;
        let mut series = Series::new(Foreign::Cyclictest, number, counts.distribution());
        series.cpu = u32::try_from(thread.cpu).ok();
        series.period = asked.as_ref().and_then(|asked| period(asked, number));
        series.policy = asked.as_ref().map(|asked| policy(asked, number));
        draft.series.push(series);
    }
    draft.notes.extend((unit > 1).then_some(ImportNote::WholeMicroseconds));
    draft.notes.extend(Overflow::joined(overflows).note());
    draft.finish(PROGRAM)
}

/// Cycles that are in no bucket were beyond the last.
fn counts(thread: &ThreadRecord, unit: u64, reach: Option<u64>) -> Result<Linear, ImportError> {
    if thread.histogram.is_empty() && thread.cycles > 0 {
        let remedy = "let cyclictest write one: `cyclictest -h 1000 --json=FILE`";
        return Err(ImportError::NoHistogram { program: PROGRAM, remedy });
    }
    let mut linear = Linear::new(PROGRAM, unit);
    linear.add_all(buckets(&thread.histogram, PROGRAM)?)?;
    if let Some(reach) = reach {
        linear.reaches(reach, HistogramEnd::Said);
    }
    linear.overflowed(thread.cycles.saturating_sub(linear.counted()), Some(thread.max))?;
    thread.avg.into_iter().for_each(|mean| linear.mean(mean));
    Ok(linear)
}

/// The command line, as cyclictest reads it.
fn asked(command_line: &str) -> Option<Options> {
    let mut words = command_line.split_whitespace().map(str::to_owned);
    words.next()?;
    let words: Vec<String> = words.collect();
    let every: CpuSet = (0..8192).collect();
    let machine = CpuMasks { configured: 8192, online: 8192, allowed: every.clone(), bindable: every };
    options(&words, &machine, Compat::V2_10).ok().map(|request| request.options)
}

fn period(asked: &Options, thread: usize) -> Option<Span> {
    u64::try_from(asked.interval_of(thread)).ok().map(Span::from_micros)
}

/// Batch and idle are printed by the original, which runs as `other`.
fn policy(asked: &Options, thread: usize) -> Policy {
    let priority = Priority::new(asked.priority_of(thread)).unwrap_or(Priority::USUAL);
    match asked.policy {
        PolicyName::Fifo => Policy::Fifo { priority },
        PolicyName::Rr => Policy::Rr { priority },
        PolicyName::Other | PolicyName::Batch | PolicyName::Idle => Policy::OTHER,
    }
}
