//! oslat's `--json`: gaps that a spinning thread finds, not wake-ups.

use std::collections::BTreeMap;

use howlate_model::{Foreign, ImportNote};
use serde::Deserialize;
use serde_json::Value;

use crate::Read;
use crate::draft::{Draft, Imported, Series, date, system};
use crate::error::ImportError;
use crate::histogram::Linear;
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
}

/// Reads it; `None` if it is something else.
pub(crate) fn read(object: &Value) -> Read {
    let thread = object.get("thread")?.as_object()?.values().next()?;
    object.get("file_version")?;
    thread.get("freq")?;
    Some(json::read(object, PROGRAM).and_then(|file| imported(&file)))
}

fn imported(file: &File) -> Result<Imported, ImportError> {
    let mut draft = Draft {
        program: format!("{PROGRAM} {}", file.version).trim().to_owned(),
        started: date(&file.start_time),
        system: system(&file.sysinfo),
        ..Draft::default()
    };
    for (number, thread) in by_number(&file.thread, PROGRAM)? {
        let mut series = Series::new(Foreign::Oslat, number as usize, counts(thread)?.distribution());
        series.cpu = Some(thread.cpu);
        draft.series.push(series);
    }
    draft.notes.extend([ImportNote::Gaps, ImportNote::WholeMicroseconds]);
    draft.finish(PROGRAM)
}

/// The last bucket holds what is longer too: all but the longest count at its beginning.
fn counts(thread: &OslatThread) -> Result<Linear, ImportError> {
    let mut linear = Linear::new(PROGRAM, 1_000);
    let mut buckets = buckets(&thread.histogram, PROGRAM)?;
    let longest = buckets.last_mut().filter(|(last, count)| *last < thread.max && *count > 0);
    if let Some((_, count)) = longest {
        *count = count.saturating_sub(1);
        linear.add(thread.max, 1)?;
    }
    linear.add_all(buckets)?;
    Ok(linear)
}
