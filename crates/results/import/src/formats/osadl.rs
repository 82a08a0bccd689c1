//! OSADL's RT Dataset 1.0: <https://github.com/osadl/Latencyplot>.

use howlate_model::{ForeignTool, HistogramEnd, ImportNote, Span, System};
use serde::Deserialize;
use serde_json::Value;

use crate::draft::{ImportDraft, ImportedSeries, date, system};
use crate::error::ImportError;
use crate::format::{FileFormat, Shape};
use crate::histogram::{Claims, Linear};
use crate::json::{self, SystemInfo};

const PROGRAM: &str = "RT Dataset";

pub(crate) const FORMAT: FileFormat = FileFormat {
    file: "JSON with `RT Dataset`",
    written_by: "OSADL's scripts, version 1.0",
    becomes: "one per core",
    samples: &["rt-dataset.json"],
    shape: Shape::Json {
        is_it: |object| object.pointer("/format/name").and_then(Value::as_str) == Some(PROGRAM),
        read: |object| json::read(object, PROGRAM).and_then(|file| draft(&file)),
    },
};

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    timestamps: Timestamps,
    #[serde(default)]
    processor: Processor,
    #[serde(default)]
    kernel: Kernel,
    #[serde(default)]
    condition: Condition,
    latency: Latency,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Timestamps {
    origin: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Processor {
    family: String,
    vendor: String,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Kernel {
    version: String,
    cmdline: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Condition {
    load: String,
    interval: Option<u64>,
}

#[derive(Deserialize)]
struct Latency {
    granularity: String,
    cores: Vec<Vec<u64>>,
    #[serde(default)]
    maxima: Vec<u64>,
    /// howlate writes them, OSADL's script does not.
    overflows: Option<Vec<u64>>,
}

fn draft(file: &File) -> Result<ImportDraft, ImportError> {
    let unit = unit(&file.latency.granularity)?;
    let mut draft = ImportDraft {
        started: date(&file.timestamps.origin),
        system: machine(file),
        ..ImportDraft::new(PROGRAM)
    };
    let mut all = Vec::new();
    let (values, cores) = columns(&file.latency);
    for (core, counts) in cores.iter().enumerate() {
        all.push(histogram(&file.latency, core, &values, counts, unit)?);
    }
    if !matches!(file.condition.load.as_str(), "" | "idle") {
        draft.notes.push(ImportNote::LoadNamed { load: file.condition.load.clone() });
    }
    draft.notes.extend((unit > 1).then_some(ImportNote::WholeMicroseconds));
    draft.take(all, |core, latency| {
        let mut series = ImportedSeries::new(ForeignTool::Cyclictest, core, latency);
        series.cpu = u32::try_from(core).ok();
        series.period = file.condition.interval.map(Span::from_micros);
        series.idle = file.condition.load == "idle";
        series
    });
    draft.notes.extend(file.latency.overflows.is_none().then_some(ImportNote::OverflowsMissing));
    Ok(draft)
}

fn histogram(
    latency: &Latency,
    core: usize,
    values: &[u64],
    counts: &[u64],
    unit: u64,
) -> Result<Linear, ImportError> {
    let mut linear = Linear::new(PROGRAM, unit);
    linear.add_all(values.iter().copied().zip(counts.iter().copied()))?;
    let (max, end) =
        (latency.maxima.get(core).copied(), values.last().map_or(0, |last| last.saturating_add(1)));
    linear.reaches(end, HistogramEnd::Said);
    let beyond = Some(beyond(latency, core, end));
    linear.settle(&Claims { beyond, max, ..Claims::default() })?;
    Ok(linear)
}

fn machine(file: &File) -> System {
    let Processor { family, vendor, kind } = &file.processor;
    let info =
        SystemInfo { release: file.kernel.version.clone(), machine: family.clone(), ..SystemInfo::default() };
    System {
        processor: format!("{vendor} {kind}").trim().to_owned(),
        command_line: file.kernel.cmdline.clone(),
        ..system(&info)
    }
}

fn unit(granularity: &str) -> Result<u64, ImportError> {
    match granularity {
        "microseconds" => Ok(1_000),
        "nanoseconds" => Ok(1),
        other => {
            let what = format!("its granularity is `{other}`, not microseconds or nanoseconds");
            Err(ImportError::Damaged { program: PROGRAM, what })
        }
    }
}

/// How many values of a core were beyond its classes, which end at `end`: the largest at least, where that lies there.
fn beyond(latency: &Latency, core: usize, end: u64) -> u64 {
    let overflows = latency.overflows.as_ref().and_then(|all| all.get(core).copied());
    overflows.unwrap_or_else(|| u64::from(latency.maxima.get(core).is_some_and(|max| *max >= end)))
}

/// OSADL's own script puts the buckets' values in front of the cores, as if they were one more.
fn columns(latency: &Latency) -> (Vec<u64>, &[Vec<u64>]) {
    match latency.cores.split_first() {
        Some((first, cores)) if cores.len() == latency.maxima.len() && !cores.is_empty() => {
            (first.clone(), cores)
        }
        _ => ((0..).take(latency.cores.iter().map(Vec::len).max().unwrap_or(0)).collect(), &latency.cores),
    }
}
