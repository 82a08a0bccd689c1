//! `rtla timerlat hist` and `rtla osnoise hist` as text.

use howlate_model::{ForeignTool, ImportNote, Span};

use crate::draft::{FileResults, ImportDraft, ImportedSeries};
use crate::error::ImportError;
use crate::format::{FileFormat, LastLine, LineReader, Shape};
use crate::histogram::{BucketLabel, Claims, Linear};
use crate::rows::{HistogramRows, numbers_behind};

const PROGRAM: &str = "rtla";
const HEADING: &str = "# RTLA ";
/// Buckets without `--entries`, each one unit wide without `--bucket-size`; the text says neither.
const USUAL_ENTRIES: u64 = 256;

pub(crate) const FORMAT: FileFormat = FileFormat {
    file: "histogram text",
    written_by: "`rtla timerlat hist`, `rtla osnoise hist`, with buckets of any size",
    becomes: "one per column: interrupt, thread, user",
    samples: &["rtla-timerlat.txt", "rtla-osnoise.txt", "rtla-buckets.txt"],
    shape: Shape::Lines {
        first: b"#",
        is_sign: |line| line.starts_with(HEADING) && line.contains("histogram"),
        begin: |_| Box::new(RtlaRuns::default()),
    },
};

/// All runs of a file, one after the other.
#[derive(Default)]
struct RtlaRuns {
    results: FileResults,
    run: Option<RtlaRun>,
}

/// One histogram, with what stands below it.
struct RtlaRun {
    tracer: String,
    unit: u64,
    columns: Option<Vec<RtlaColumn>>,
    rows: HistogramRows,
    /// What the lines of [`LABELS`] have, in their order.
    summaries: [Vec<Option<u64>>; 5],
    /// Whether the summary over all CPUs has begun, which has other columns.
    is_over_all: bool,
}

const LABELS: [&str; 5] = ["over:", "count:", "min:", "avg:", "max:"];

/// A column of the table: what it is about, on which CPU.
#[derive(Clone, Copy)]
struct RtlaColumn {
    mechanism: ForeignTool,
    cpu: u32,
}

impl RtlaRuns {
    fn end_run(&mut self) -> Result<(), ImportError> {
        let Some(run) = self.run.take() else { return Ok(()) };
        self.results.add(run.draft())
    }
}

impl LineReader for RtlaRuns {
    fn line(&mut self, line: &str) -> Result<(), ImportError> {
        if let Some(heading) = line.strip_prefix(HEADING) {
            self.end_run()?;
            self.run = Some(RtlaRun::new(heading.split(' ').next().unwrap_or_default()));
        }
        self.run.as_mut().map_or(Ok(()), |run| run.line(line))
    }

    fn finish(mut self: Box<Self>, _last: LastLine) -> Result<Vec<ImportDraft>, ImportError> {
        self.end_run()?;
        self.results.all()
    }
}

impl RtlaRun {
    fn new(tracer: &str) -> Self {
        Self {
            tracer: tracer.to_owned(),
            unit: 1_000,
            columns: None,
            rows: HistogramRows::new(PROGRAM, 1_000, BucketLabel::Start),
            summaries: Default::default(),
            is_over_all: false,
        }
    }

    fn line(&mut self, line: &str) -> Result<(), ImportError> {
        if line.contains("Time unit is nanoseconds") {
            self.unit = 1;
            self.rows = HistogramRows::new(PROGRAM, 1, BucketLabel::Start);
        } else if let Some(heading) = line.strip_prefix("Index") {
            self.columns = Some(columns(heading)?);
        } else if line.starts_with("ALL:") {
            self.is_over_all = true;
        } else if !self.is_over_all {
            return self.row_or_summary(line);
        }
        Ok(())
    }

    fn row_or_summary(&mut self, line: &str) -> Result<(), ImportError> {
        for (label, numbers) in LABELS.iter().zip(&mut self.summaries) {
            if let Some(found) = numbers_behind(line, label) {
                self.rows.count_held()?;
                *numbers = found;
                return Ok(());
            }
        }
        let has_summary = self.summaries.iter().any(|numbers| !numbers.is_empty());
        match row(line).filter(|_| !has_summary) {
            Some((label, counts)) => self.rows.add(label, counts, line),
            None => Ok(()),
        }
    }

    fn draft(mut self) -> Result<ImportDraft, ImportError> {
        let columns = self.columns.take().ok_or_else(|| {
            ImportError::damaged(PROGRAM, "it has no line `Index …`; leave --no-header out")
        })?;
        let is_cut = self.summaries[4].is_empty();
        if is_cut {
            self.rows.cut_off()?;
        }
        self.rows.count_held()?;
        if self.rows.is_empty() {
            let remedy = "keep its rows; an empty histogram has none, and a longer run has some";
            return Err(ImportError::NoHistogram { program: PROGRAM, remedy });
        }
        if columns.len() != self.rows.columns().len() {
            let (named, found) = (columns.len(), self.rows.columns().len());
            return Err(ImportError::damaged(PROGRAM, format!("it names {named} columns, and has {found}")));
        }
        let width = self.width();
        let summaries = &self.summaries;
        let of = |label: usize, place: usize| summaries.get(label)?.get(place).copied().flatten();
        let claims = |place: usize| Claims {
            beyond: of(0, place),
            total: of(1, place),
            min: of(2, place),
            mean: of(3, place).map(|mean| mean as f64),
            max: of(4, place),
            ..Claims::default()
        };
        // Who asks for other buckets asks for their number too, as a rule.
        let end = (width == 1).then_some(USUAL_ENTRIES);
        self.rows.settle(width, end, claims)?;
        Ok(self.described(&columns, width, is_cut))
    }

    /// As a draft, with what is to be said of it.
    fn described(mut self, columns: &[RtlaColumn], width: u64, is_cut: bool) -> ImportDraft {
        let program = format!("{PROGRAM} {}", self.tracer);
        let mut draft = ImportDraft { program, ..ImportDraft::new(PROGRAM) };
        let mut tables = std::mem::take(self.rows.columns());
        if is_cut {
            tables.iter_mut().for_each(Linear::cut_off);
            draft.cut_off();
        }
        if width > 1 {
            let width = Span::from_nanos(width.saturating_mul(self.unit));
            draft.notes.push(ImportNote::StartsOfBuckets { width });
        } else if self.unit > 1 {
            draft.notes.push(ImportNote::WholeMicroseconds);
        }
        draft.say(tables.iter().map(Linear::findings));
        let found = columns.iter().zip(tables).map(|(column, table)| (column, table.distribution()));
        let found = found.filter(|(_, all)| !all.is_empty()).enumerate();
        draft.series = found.map(|(place, (column, all))| column.series(place, all)).collect();
        draft
    }

    /// Units in a bucket: one where the smallest and the largest of each column are labels of rows; otherwise what all labels are
    /// multiples of.
    fn width(&mut self) -> u64 {
        let step = self.rows.step();
        let (minima, maxima) = (self.summaries[2].clone(), self.summaries[4].clone());
        let overflows = self.summaries[0].clone();
        let of = |numbers: &[Option<u64>], place: usize| numbers.get(place).copied().flatten();
        let is_whole = |(place, column): (usize, &Linear)| {
            let Some((first, last)) = column.ends() else { return true };
            let is_max = of(&overflows, place) != Some(0) || of(&maxima, place).is_none_or(|max| max == last);
            is_max && of(&minima, place).is_none_or(|min| min == first)
        };
        let has_extremes = !minima.is_empty() || !maxima.is_empty();
        let are_whole = self.rows.columns().iter().enumerate().all(is_whole);
        let is_one = step == 1 || self.rows.rows() < 2 || (has_extremes && are_whole);
        if is_one { 1 } else { step }
    }
}

impl RtlaColumn {
    fn series(self, place: usize, latency: howlate_model::Distribution) -> ImportedSeries {
        ImportedSeries { cpu: Some(self.cpu), ..ImportedSeries::new(self.mechanism, place, latency) }
    }
}

/// `Index   IRQ-000   Thr-000   Usr-000 …`, or `CPU-000` of osnoise.
fn columns(heading: &str) -> Result<Vec<RtlaColumn>, ImportError> {
    let column = |word: &str| {
        let (kind, cpu) = word.split_once('-')?;
        let mechanism = match kind {
            "IRQ" => ForeignTool::TimerlatIrq,
            "Thr" => ForeignTool::TimerlatThread,
            "Usr" => ForeignTool::TimerlatUser,
            "CPU" => ForeignTool::Osnoise,
            _ => return None,
        };
        Some(RtlaColumn { mechanism, cpu: cpu.parse().ok()? })
    };
    let unknown = |word: &str| ImportError::damaged(PROGRAM, format!("its column `{word}` is unknown"));
    heading.split_whitespace().map(|word| column(word).ok_or_else(|| unknown(word))).collect()
}

/// A bucket with its counts.
fn row(line: &str) -> Option<(u64, Vec<u64>)> {
    let mut fields = line.split_whitespace();
    let label = fields.next()?.parse().ok()?;
    let counts: Vec<u64> = fields.map(|word| word.parse().ok()).collect::<Option<_>>()?;
    (!counts.is_empty()).then_some((label, counts))
}
