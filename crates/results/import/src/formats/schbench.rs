//! What schbench prints: percentiles of wake-ups and of requests, cumulative, at intervals and at the end.

use howlate_model::{ForeignTool, ImportNote};

use super::percentiles::PercentileTable;
use crate::draft::{ImportDraft, ImportedSeries};
use crate::error::ImportError;
use crate::format::{FileFormat, LastLine, LineReader, Shape};

const PROGRAM: &str = "schbench";

/// The last line of a run.
const END: &str = "average rps:";

pub(crate) const FORMAT: FileFormat = FileFormat {
    file: "text",
    written_by: "schbench",
    becomes: "one of wake-ups and one of requests, as the last of its reports has them",
    samples: &["schbench.txt"],
    shape: Shape::Lines {
        first: b"WLR",
        is_sign: |line| SchbenchReport::begin(line).is_some(),
        begin: |_| Box::new(SchbenchRuns::default()),
    },
};

/// All runs of a file, one after the other.
#[derive(Default)]
struct SchbenchRuns {
    finished: Vec<ImportDraft>,
    /// The last report of each kind.
    wakeups: Option<SchbenchReport>,
    requests: Option<SchbenchReport>,
    /// The one that is being read.
    current: Option<SchbenchReport>,
    /// Whether the last line is its end, though it has none itself.
    is_ending: bool,
}

/// One list of percentiles.
#[derive(Debug)]
struct SchbenchReport {
    kind: SchbenchTable,
    percentiles: PercentileTable,
    /// After how long it was printed, as it says.
    runtime: String,
    is_whole: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SchbenchTable {
    Wakeups,
    Requests,
    /// Requests per second, which are no times.
    Rates,
}

impl SchbenchReport {
    /// `Wakeup Latencies percentiles (usec) runtime 10 (s) (30212 total samples)`; older ones are of wake-ups alone, and do not
    /// say how many.
    fn begin(line: &str) -> Option<Self> {
        let (title, rest) = line.split_once(" percentiles (")?;
        let kind = match title {
            "Wakeup Latencies" | "Latency" => SchbenchTable::Wakeups,
            "Request Latencies" => SchbenchTable::Requests,
            "RPS" => SchbenchTable::Rates,
            _ => return None,
        };
        let total = rest.rsplit_once('(').and_then(|(_, count)| count.strip_suffix(" total samples)"));
        let total = total.and_then(|count| count.parse().ok()).unwrap_or(0);
        let runtime =
            rest.split_once("runtime ").and_then(|(_, rest)| rest.split(' ').next()).unwrap_or_default();
        let percentiles = PercentileTable { total, ..PercentileTable::default() };
        Some(Self { kind, percentiles, runtime: runtime.to_owned(), is_whole: false })
    }

    /// `* 99.0th: 175        (2590 samples)`, `min=1, max=10224`
    fn line(&mut self, line: &str) {
        let line = line.trim_start_matches(['*', ' ']);
        if let Some((share, value)) = line.split_once("th:") {
            let value = value.split_whitespace().next().and_then(|value| value.parse::<u64>().ok());
            let point = share.parse::<f64>().ok().zip(value);
            self.percentiles
                .points
                .extend(point.map(|(share, micros)| (share / 100.0, micros.saturating_mul(1_000))));
        }
        for field in line.split(',') {
            let Some((name, value)) = field.trim().split_once('=') else { continue };
            let nanos = value.parse::<u64>().ok().map(|micros| micros.saturating_mul(1_000));
            match name {
                "min" => self.percentiles.min = nanos,
                "max" => (self.percentiles.max, self.is_whole) = (nanos, nanos.is_some()),
                _ => {}
            }
        }
    }
}

impl SchbenchRuns {
    /// Each report is of all values so far: the one before it is no longer needed.
    fn end_report(&mut self) {
        let Some(report) = self.current.take().filter(|report| report.is_whole) else { return };
        match report.kind {
            SchbenchTable::Wakeups => self.wakeups = Some(report),
            SchbenchTable::Requests => self.requests = Some(report),
            SchbenchTable::Rates => {}
        }
    }

    /// `is_over`: whether it came to its end.
    fn end_run(&mut self, is_over: bool) -> Result<(), ImportError> {
        self.end_report();
        let reports = [
            (self.wakeups.take(), ForeignTool::SchbenchWakeup, "wake-ups"),
            (self.requests.take(), ForeignTool::SchbenchRequest, "requests"),
        ];
        let mut draft = ImportDraft::new(PROGRAM);
        let mut runtimes: Vec<String> =
            reports.iter().filter_map(|(report, ..)| Some(report.as_ref()?.runtime.clone())).collect();
        runtimes.dedup();
        // One of them lacks its last report; or the run has no end.
        if runtimes.len() > 1 || !is_over && runtimes.iter().any(|runtime| !runtime.is_empty()) {
            draft.cut_off();
        }
        for (report, mechanism, name) in
            reports.into_iter().filter_map(|(item, kind, name)| Some((item?, kind, name)))
        {
            if report.percentiles.total == 0 {
                let remedy = "a schbench of 2023 or later says how many values its percentiles are of";
                return Err(ImportError::NoHistogram { program: PROGRAM, remedy });
            }
            let latency = report.percentiles.distribution(PROGRAM)?;
            draft.series.push(ImportedSeries::new(mechanism, 0, latency).named(name));
        }
        if !draft.series.is_empty() {
            draft.notes.extend([ImportNote::WholeMicroseconds, ImportNote::PercentilesOnly]);
            self.finished.push(draft);
        }
        Ok(())
    }
}

impl LineReader for SchbenchRuns {
    fn line(&mut self, line: &str) -> Result<(), ImportError> {
        if let Some(report) = SchbenchReport::begin(line) {
            self.end_report();
            self.current = Some(report);
        } else if line.starts_with(END) {
            return self.end_run(true);
        } else if let Some(report) = &mut self.current {
            report.line(line);
        }
        Ok(())
    }

    fn open_line(&mut self, line: &str) -> Result<(), ImportError> {
        self.is_ending = line.starts_with(END);
        Ok(())
    }

    fn finish(mut self: Box<Self>, _last: LastLine) -> Result<Vec<ImportDraft>, ImportError> {
        self.end_run(self.is_ending)?;
        if self.finished.is_empty() {
            let remedy = "let schbench run to its end: each of its reports ends in `min=…, max=…`";
            return Err(ImportError::NoHistogram { program: PROGRAM, remedy });
        }
        Ok(self.finished)
    }
}
