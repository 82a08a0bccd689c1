//! OSADL's RT Dataset 1.0: <https://github.com/osadl/Latencyplot>.

use howlate_model::{Foreign, HistogramEnd, ImportNote, Span, System};
use serde::Deserialize;
use serde_json::Value;

use crate::Read;
use crate::draft::{Draft, Imported, Series, date, system};
use crate::error::ImportError;
use crate::histogram::{Linear, Overflow};
use crate::json::{self, SystemInfo};

const PROGRAM: &str = "RT Dataset";

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

/// Reads it; `None` if it is something else.
pub(crate) fn read(object: &Value) -> Read {
    let is_it = object.pointer("/format/name")?.as_str()? == PROGRAM;
    is_it.then(|| json::read(object, PROGRAM).and_then(|file| imported(&file)))
}

fn imported(file: &File) -> Result<Imported, ImportError> {
    let unit = unit(&file.latency.granularity)?;
    let mut draft = Draft {
        program: PROGRAM.to_owned(),
        started: date(&file.timestamps.origin),
        system: machine(file),
        ..Draft::default()
    };
    let (values, cores) = columns(&file.latency);
    let mut overflows = Vec::new();
    for (core, counts) in cores.iter().enumerate() {
        let mut linear = Linear::new(PROGRAM, unit);
        linear.add_all(values.iter().copied().zip(counts.iter().copied()))?;
        let (max, end) =
            (file.latency.maxima.get(core).copied(), values.last().map_or(0, |last| last.saturating_add(1)));
        linear.reaches(end, HistogramEnd::Said);
        linear.overflowed(beyond(&file.latency, core, end), max)?;
        overflows.push(linear.overflow());
        let mut series = Series::new(Foreign::Cyclictest, core, linear.distribution());
        series.cpu = u32::try_from(core).ok();
        series.period = file.condition.interval.map(Span::from_micros);
        series.idle = file.condition.load == "idle";
        draft.series.push(series);
    }
    if !matches!(file.condition.load.as_str(), "" | "idle") {
        draft.notes.push(ImportNote::LoadNamed { load: file.condition.load.clone() });
    }
    draft.notes.extend((unit > 1).then_some(ImportNote::WholeMicroseconds));
    draft.notes.extend(Overflow::joined(overflows).note());
    draft.notes.extend(file.latency.overflows.is_none().then_some(ImportNote::OverflowsMissing));
    draft.finish(PROGRAM)
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
    let said = latency.overflows.as_ref().and_then(|all| all.get(core).copied());
    said.unwrap_or_else(|| u64::from(latency.maxima.get(core).is_some_and(|max| *max >= end)))
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
