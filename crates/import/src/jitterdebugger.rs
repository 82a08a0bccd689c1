//! jitterdebugger's `results.json`, version 3.

use std::collections::BTreeMap;

use howlate_model::{Foreign, HistogramEnd, ImportNote};
use serde::Deserialize;
use serde_json::Value;

use crate::Read;
use crate::draft::{Draft, Imported, Series, system};
use crate::error::ImportError;
use crate::histogram::{Linear, Overflow};
use crate::json::{self, Buckets, SystemInfo, buckets, by_number};

const PROGRAM: &str = "jitterdebugger";
/// Its histogram ends at a millisecond, whatever its resolution: `NSEC_PER_SEC / interval_resolution / 1000` buckets.
const END_NS: u64 = 1_000_000;

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    sysinfo: SystemInfo,
    cpu: BTreeMap<String, Cpu>,
}

#[derive(Deserialize)]
struct Cpu {
    #[serde(default)]
    histogram: Buckets,
    count: u64,
    max: u64,
    #[serde(default)]
    avg: Option<f64>,
}

/// Reads it; `None` if it is something else.
pub(crate) fn read(object: &Value) -> Read {
    let unit = object.pointer("/sysinfo/resolution_in_ns")?.as_u64()?.max(1);
    object.get("cpu")?.as_object()?;
    Some(json::read(object, PROGRAM).and_then(|file| imported(&file, unit)))
}

fn imported(file: &File, unit: u64) -> Result<Imported, ImportError> {
    let mut draft = Draft { program: PROGRAM.to_owned(), system: system(&file.sysinfo), ..Draft::default() };
    let mut overflows = Vec::new();
    for (thread, (number, cpu)) in by_number(&file.cpu, PROGRAM)?.into_iter().enumerate() {
        let mut linear = Linear::new(PROGRAM, unit);
        linear.add_all(buckets(&cpu.histogram, PROGRAM)?)?;
        linear.reaches(END_NS.checked_div(unit).unwrap_or(END_NS), HistogramEnd::Said);
        linear.overflowed(cpu.count.saturating_sub(linear.counted()), Some(cpu.max))?;
        cpu.avg.into_iter().for_each(|mean| linear.mean(mean));
        overflows.push(linear.overflow());
        let mut series = Series::new(Foreign::Jitterdebugger, thread, linear.distribution());
        series.cpu = Some(number);
        draft.series.push(series);
    }
    draft.notes.extend((unit == 1_000).then_some(ImportNote::WholeMicroseconds));
    draft.notes.extend(Overflow::joined(overflows).note());
    draft.finish(PROGRAM)
}
