//! jitterdebugger's `results.json`, version 3.

use std::collections::BTreeMap;

use howlate_model::{ForeignTool, HistogramEnd, ImportNote};
use serde::Deserialize;
use serde_json::Value;

use crate::draft::{ImportDraft, ImportedSeries, system};
use crate::error::ImportError;
use crate::format::{FileFormat, Shape};
use crate::histogram::{Claims, Linear};
use crate::json::{self, Buckets, SystemInfo, buckets, by_number};

const PROGRAM: &str = "jitterdebugger";

pub(crate) const FORMAT: FileFormat = FileFormat {
    file: "`results.json`",
    written_by: "jitterdebugger, version 3",
    becomes: "one per CPU",
    samples: &["jitterdebugger.json"],
    shape: Shape::Json {
        is_it: |object| resolution(object).is_some() && object.get("cpu").is_some_and(Value::is_object),
        read: |object| {
            let unit = resolution(object).unwrap_or(1).max(1);
            json::read(object, PROGRAM).and_then(|file| draft(&file, unit))
        },
    },
};

fn resolution(object: &Value) -> Option<u64> {
    object.pointer("/sysinfo/resolution_in_ns")?.as_u64()
}

/// Its histogram ends at a millisecond at every resolution: `NSEC_PER_SEC / interval_resolution / 1000` buckets.
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
    #[serde(default)]
    min: Option<u64>,
    max: u64,
    #[serde(default)]
    avg: Option<f64>,
}

fn draft(file: &File, unit: u64) -> Result<ImportDraft, ImportError> {
    let mut draft = ImportDraft { system: system(&file.sysinfo), ..ImportDraft::new(PROGRAM) };
    let mut all = Vec::new();
    for (number, cpu) in by_number(&file.cpu, PROGRAM)? {
        let mut linear = Linear::new(PROGRAM, unit);
        linear.add_all(buckets(&cpu.histogram, PROGRAM)?)?;
        linear.reaches(END_NS.checked_div(unit).unwrap_or(END_NS), HistogramEnd::Said);
        let (total, min, max, mean) = (Some(cpu.count), cpu.min, Some(cpu.max), cpu.avg);
        linear.settle(&Claims { total, min, max, mean, ..Claims::default() })?;
        all.push((number, linear));
    }
    draft.notes.extend((unit == 1_000).then_some(ImportNote::WholeMicroseconds));
    draft.say(all.iter().map(|(_, linear)| linear.findings()));
    for (thread, (number, linear)) in all.into_iter().enumerate() {
        let series = ImportedSeries::new(ForeignTool::Jitterdebugger, thread, linear.distribution());
        draft.series.push(ImportedSeries { cpu: Some(number), ..series });
    }
    Ok(draft)
}
