//! What `wrk --latency` prints: percentiles of requests.

use howlate_model::{ForeignTool, ImportNote};

use super::percentiles::PercentileTable;
use crate::draft::{FileResults, ImportDraft, ImportedSeries};
use crate::error::ImportError;
use crate::format::{FileFormat, LastLine, LineReader, Shape};

const PROGRAM: &str = "wrk";
const REMEDY: &str = "let wrk print its percentiles: `wrk --latency …`";

pub(crate) const FORMAT: FileFormat = FileFormat {
    file: "text with `Latency Distribution`",
    written_by: "`wrk --latency`",
    becomes: "one of requests per run, from its percentiles",
    samples: &["wrk.txt"],
    shape: Shape::Lines {
        first: b"R",
        is_sign: |line| url(line).is_some(),
        begin: |_| Box::new(WrkRuns::default()),
    },
};

/// `Running 30s test @ http://127.0.0.1:8080/index.html`
fn url(line: &str) -> Option<&str> {
    line.strip_prefix("Running ")?.split_once(" test @ ").map(|(_, url)| url)
}

/// All runs of a file, one after the other.
#[derive(Default)]
struct WrkRuns {
    results: FileResults,
    run: Option<WrkRun>,
}

#[derive(Default)]
struct WrkRun {
    url: String,
    percentiles: PercentileTable,
    /// Whether it is wrk2, whose percentiles stand further below, in a list of their own.
    is_wrk2: bool,
}

impl WrkRun {
    fn line(&mut self, line: &str) {
        self.is_wrk2 |= line.contains("HdrHistogram");
        let fields: Vec<&str> = line.split_whitespace().collect();
        match fields.as_slice() {
            ["Latency", mean, _deviation, max, _share] => {
                (self.percentiles.mean, self.percentiles.max) = (nanos(mean), nanos(max));
            }
            [share, value] => {
                let share = share.strip_suffix('%').and_then(|share| share.parse::<f64>().ok());
                self.percentiles.points.extend(share.map(|share| share / 100.0).zip(nanos(value)));
            }
            [requests, "requests", "in", ..] => self.percentiles.total = requests.parse().unwrap_or(0),
            _ => {}
        }
    }

    fn draft(self) -> Result<Option<ImportDraft>, ImportError> {
        let Self { url, percentiles, is_wrk2 } = self;
        if is_wrk2 {
            return Ok(None);
        }
        if percentiles.points.is_empty() || percentiles.max.is_none() {
            return Err(ImportError::NoHistogram { program: PROGRAM, remedy: REMEDY });
        }
        if percentiles.total == 0 {
            return Err(ImportError::damaged(
                PROGRAM,
                "it does not say how many requests there were: its end is missing",
            ));
        }
        let series = ImportedSeries::new(ForeignTool::Wrk, 0, percentiles.distribution(PROGRAM)?);
        let notes = vec![ImportNote::Durations, ImportNote::PercentilesOnly];
        Ok(Some(ImportDraft { series: vec![series.named(&url)], notes, ..ImportDraft::new(PROGRAM) }))
    }
}

impl WrkRuns {
    fn end_run(&mut self) -> Result<(), ImportError> {
        let Some(run) = self.run.take() else { return Ok(()) };
        run.draft().transpose().map_or(Ok(()), |result| self.results.add(result))
    }
}

impl LineReader for WrkRuns {
    fn line(&mut self, line: &str) -> Result<(), ImportError> {
        if let Some(url) = url(line) {
            self.end_run()?;
            self.run = Some(WrkRun { url: url.to_owned(), ..WrkRun::default() });
        } else if let Some(run) = &mut self.run {
            run.line(line);
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, _last: LastLine) -> Result<Vec<ImportDraft>, ImportError> {
        self.end_run()?;
        self.results.all()
    }
}

/// `635.91us`, `5.80ms`, `1.20s`, `2.00m`
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float beyond the largest integer becomes that"
)]
fn nanos(text: &str) -> Option<u64> {
    let unit = text.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let number: f64 = text.strip_suffix(unit)?.parse().ok()?;
    let factor = match unit {
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" => 60e9,
        "h" => 3_600e9,
        _ => return None,
    };
    Some((number * factor).round() as u64)
}
