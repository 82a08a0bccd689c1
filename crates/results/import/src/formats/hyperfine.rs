//! hyperfine's `--export-json`: how long commands took, each run.

use howlate_model::{Claim, Distribution, ForeignTool, ImportNote};
use serde::Deserialize;

use crate::draft::{ImportDraft, ImportedSeries};
use crate::error::ImportError;
use crate::format::{FileFormat, Shape};
use crate::histogram::count_in;
use crate::json;

const PROGRAM: &str = "hyperfine";

pub(crate) const FORMAT: FileFormat = FileFormat {
    file: "JSON with `results` and `times`",
    written_by: "`hyperfine --export-json FILE`",
    becomes: "one per command, named after it: how long it took, not how late",
    samples: &["hyperfine.json"],
    shape: Shape::Json {
        is_it: |object| {
            let first = object.get("results").and_then(|results| results.as_array()?.first());
            first.is_some_and(|item| item.get("command").is_some() && item.get("mean").is_some())
        },
        read: |object| json::read(object, PROGRAM).and_then(|file| draft(&file)),
    },
};

#[derive(Deserialize)]
struct File {
    results: Vec<Command>,
}

#[derive(Deserialize)]
struct Command {
    command: String,
    /// Seconds, of all times.
    mean: f64,
    #[serde(default)]
    times: Vec<f64>,
}

impl Command {
    /// What its mean and its times do not have in common.
    fn disagreement(&self) -> Option<ImportNote> {
        let mean = self.times.iter().sum::<f64>() / self.times.len() as f64;
        if (mean - self.mean).abs() <= self.mean.abs() / 1e4 {
            return None;
        }
        let [says, rows] = [self.mean, mean].map(|seconds| nanos(seconds).unwrap_or(0).unsigned_abs());
        Some(ImportNote::Disagrees { claim: Claim::Mean, threads: 1, says, rows })
    }
}

fn draft(file: &File) -> Result<ImportDraft, ImportError> {
    let mut draft = ImportDraft { notes: vec![ImportNote::Durations], ..ImportDraft::new(PROGRAM) };
    for command in &file.results {
        if command.times.is_empty() {
            let remedy = "let hyperfine write each of its times: `hyperfine --export-json FILE …`";
            return Err(ImportError::NoHistogram { program: PROGRAM, remedy });
        }
        draft.notes.extend(command.disagreement());
        let mut all = Distribution::default();
        for seconds in &command.times {
            count_in(&mut all, PROGRAM, nanos(*seconds)?, 1)?;
        }
        draft.series.push(ImportedSeries::new(ForeignTool::Hyperfine, 0, all).named(&command.command));
    }
    Ok(draft)
}

#[allow(clippy::cast_possible_truncation, reason = "it is within what fits")]
fn nanos(seconds: f64) -> Result<i64, ImportError> {
    let nanos = (seconds * 1e9).round();
    if (0.0..9e18).contains(&nanos) {
        return Ok(nanos as i64);
    }
    Err(ImportError::damaged(PROGRAM, format!("{seconds} s is no time that a command takes")))
}
