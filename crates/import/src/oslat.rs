//! oslat's `--json`: gaps that a spinning thread finds, not wake-ups.

use std::collections::BTreeMap;

use howlate_model::{Foreign, HistogramEnd, ImportNote};
use serde::Deserialize;
use serde_json::Value;

use crate::Read;
use crate::draft::{Draft, Imported, Series};
use crate::error::ImportError;
use crate::histogram::{Linear, Overflow};
use crate::json::{self, Buckets, SystemInfo, buckets, by_number};

const PROGRAM: &str = "oslat";

#[derive(Deserialize)]
struct File {
    #[serde(rename = "rt_test_version:", default)]
    version: String,
    #[serde(default)]
    start_time: String,
    #[serde(default)]
    sysinfo: SystemInfo,
    thread: BTreeMap<String, OslatThread>,
}

#[derive(Deserialize)]
struct OslatThread {
    cpu: u32,
    #[serde(default)]
    max: u64,
    #[serde(default)]
    histogram: Buckets,
    #[serde(default)]
    avg: Option<f64>,
}

/// Reads it; `None` if it is something else.
pub(crate) fn read(object: &Value) -> Read {
    let thread = object.get("thread")?.as_object()?.values().next()?;
    object.get("file_version")?;
    thread.get("freq")?;
    Some(json::read(object, PROGRAM).and_then(|file| imported(&file)))
}

fn imported(file: &File) -> Result<Imported, ImportError> {
    let mut draft = Draft::of_rt_tests(PROGRAM, &file.version, &file.start_time, &file.sysinfo);
    let mut overflows = Vec::new();
    for (number, thread) in by_number(&file.thread, PROGRAM)? {
        let counts = counts(thread)?;
        overflows.push(counts.overflow());
        let mut series = Series::new(Foreign::Oslat, number as usize, counts.distribution());
        series.cpu = Some(thread.cpu);
        draft.series.push(series);
    }
    draft.notes.extend([ImportNote::Gaps, ImportNote::WholeMicroseconds]);
    draft.notes.extend(Overflow::joined(overflows).note());
    draft.finish(PROGRAM)
}

/// The last bucket holds what is longer too.
fn counts(thread: &OslatThread) -> Result<Linear, ImportError> {
    let mut linear = Linear::new(PROGRAM, 1_000);
    let mut buckets = buckets(&thread.histogram, PROGRAM)?;
    let longer = buckets.pop_if(|(last, count)| *last < thread.max && *count > 0);
    linear.add_all(buckets)?;
    if let Some((last, count)) = longer {
        linear.reaches(last, HistogramEnd::Said);
        linear.overflowed(count, Some(thread.max))?;
        thread.avg.into_iter().for_each(|mean| linear.mean(mean));
    }
    Ok(linear)
}
