//! What `stress-ng --cyclic N --cyclic-dist NANOSECONDS` prints.

use std::collections::BTreeMap;

use howlate_model::{ForeignTool, ImportNote, Policy, Priority, Span};

use crate::draft::{FileResults, ImportDraft, ImportedSeries, MOST_SERIES};
use crate::error::ImportError;
use crate::format::{FileFormat, LastLine, LineReader, Shape};
use crate::histogram::{Claims, Linear};

const PROGRAM: &str = "stress-ng";

pub(crate) const FORMAT: FileFormat = FileFormat {
    file: "text",
    written_by: "`stress-ng --cyclic N --cyclic-dist NS`",
    becomes: "one per instance",
    samples: &["stress-ng.txt"],
    shape: Shape::Lines {
        first: b"s",
        is_sign: |line| line.starts_with("stress-ng:") && line.contains("] cyclic:"),
        begin: |_| Box::new(StressorRuns::default()),
    },
};

/// What one instance said.
#[derive(Default)]
struct StressorInstance {
    policy: Option<String>,
    delay: Option<u64>,
    samples: u64,
    max: Option<u64>,
    width: u64,
    /// How many buckets it said that it prints.
    announced: Option<usize>,
    buckets: Vec<(u64, u64)>,
}

/// All runs of a file, one after the other.
#[derive(Default)]
struct StressorRuns {
    results: FileResults,
    /// Several write at once; each line names its process.
    by_process: BTreeMap<u64, StressorInstance>,
}

impl StressorRuns {
    fn end_run(&mut self) -> Result<(), ImportError> {
        let mut instances: Vec<StressorInstance> =
            std::mem::take(&mut self.by_process).into_values().collect();
        instances.retain(|item| item.samples > 0);
        if instances.iter().all(|item| item.buckets.is_empty()) {
            let remedy = "let stress-ng print one: `stress-ng --cyclic 1 --cyclic-dist 1000 …`";
            return self.results.add(Err(ImportError::NoHistogram { program: PROGRAM, remedy }));
        }
        self.results.add(draft(&instances))
    }
}

impl LineReader for StressorRuns {
    fn line(&mut self, line: &str) -> Result<(), ImportError> {
        let message = line.split_once('[').and_then(|(_, rest)| rest.split_once("] cyclic:"));
        let Some((Ok(pid), message)) = message.map(|(pid, message)| (pid.trim().parse(), message)) else {
            return Ok(());
        };
        let message = message.trim();
        if message.starts_with("sched ") && self.by_process.get(&pid).is_some_and(|item| item.samples > 0) {
            self.end_run()?;
        }
        if self.by_process.len() >= MOST_SERIES && !self.by_process.contains_key(&pid) {
            return Err(ImportError::damaged(PROGRAM, format!("it has more than {MOST_SERIES} instances")));
        }
        self.by_process.entry(pid).or_default().read_message(message);
        Ok(())
    }

    fn finish(mut self: Box<Self>, _last: LastLine) -> Result<Vec<ImportDraft>, ImportError> {
        self.end_run()?;
        self.results.all()
    }
}

fn draft(instances: &[StressorInstance]) -> Result<ImportDraft, ImportError> {
    let mut draft = ImportDraft::new(PROGRAM);
    let is_cut = instances.iter().any(StressorInstance::is_cut_off);
    let mut histograms = Vec::new();
    for item in instances {
        histograms.push(item.histogram(is_cut)?);
    }
    draft.take(histograms, |thread, latency| {
        let mut series = ImportedSeries::new(ForeignTool::StressNg, thread, latency);
        series.period = instances[thread].delay.map(Span::from_nanos);
        series.policy = instances[thread].policy.as_deref().and_then(policy);
        series
    });
    let width = instances.iter().map(|item| item.width).max().unwrap_or(0);
    draft.notes.push(ImportNote::EndsOfBuckets { width: Span::from_nanos(width) });
    if is_cut {
        draft.cut_off();
    }
    Ok(draft)
}

impl StressorInstance {
    fn read_message(&mut self, message: &str) {
        let fields: Vec<&str> = message.split_whitespace().collect();
        match fields.as_slice() {
            // sched SCHED_FIFO: 100000 ns delay, 10000 samples
            ["sched", policy, delay, "ns", "delay,", samples, "samples"] => {
                self.policy = Some(policy.trim_end_matches(':').to_owned());
                (self.delay, self.samples) = (delay.parse().ok(), samples.parse().unwrap_or(0));
            }
            ["min:", _, "ns,", "max:", max, "ns,", ..] => self.max = max.parse().ok(),
            ["latency", "distribution", width, "ns", "intervals):"] => {
                self.width = width.trim_start_matches('(').parse().unwrap_or(0);
            }
            ["(for", "the", "first", shown, "buckets", ..] => self.announced = shown.parse().ok(),
            [value, count] => {
                let numbers = value.parse().ok().zip(count.parse().ok());
                self.buckets.extend(numbers);
            }
            _ => {}
        }
    }

    /// Whether it has fewer buckets than it said.
    fn is_cut_off(&self) -> bool {
        self.announced.is_none_or(|announced| self.buckets.len() < announced)
    }

    /// Its buckets are so wide that each value counts at the end of its own, if the largest is not below it.
    fn histogram(&self, is_cut: bool) -> Result<Linear, ImportError> {
        if self.width == 0 && !self.buckets.is_empty() {
            return Err(ImportError::damaged(PROGRAM, "it does not say how wide its buckets are"));
        }
        let mut linear = Linear::new(PROGRAM, 1);
        for &(beginning, count) in &self.buckets {
            let end = beginning.saturating_add(self.width.saturating_sub(1));
            linear.add(end.min(self.max.unwrap_or(end)), count)?;
        }
        let beyond = Some(self.samples.saturating_sub(linear.counted()));
        let max = self.max.filter(|_| beyond > Some(0));
        linear.settle(&Claims { total: Some(self.samples), beyond, max, ..Claims::default() })?;
        if is_cut {
            linear.cut_off();
        }
        Ok(linear)
    }
}

/// The priority is not printed: by default stress-ng takes the highest permitted one.
fn policy(name: &str) -> Option<Policy> {
    let priority = Priority::new(99)?;
    match name {
        "SCHED_OTHER" => Some(Policy::OTHER),
        "SCHED_BATCH" => Some(Policy::Batch),
        "SCHED_IDLE" => Some(Policy::Idle),
        "SCHED_FIFO" => Some(Policy::Fifo { priority }),
        "SCHED_RR" => Some(Policy::Rr { priority }),
        _ => None,
    }
}
