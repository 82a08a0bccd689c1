//! What oslat prints: a row per bucket, a column per CPU.

use howlate_model::{ForeignTool, HistogramEnd, ImportNote, Span};

use crate::draft::{FileResults, ImportDraft, ImportedSeries, MOST_SERIES};
use crate::error::ImportError;
use crate::format::{FileFormat, LastLine, LineReader, Shape};
use crate::histogram::{BucketLabel, Claims, Linear};
use crate::rows::common_divisor;

const PROGRAM: &str = "oslat";
/// The row in which longer ones are counted as well.
const OVERFLOWS: &str = "(including overflows)";
const VERSION: &str = "oslat V ";

pub(crate) const FORMAT: FileFormat = FileFormat {
    file: "text",
    written_by: "`oslat`",
    becomes: "the same",
    samples: &["oslat.txt", "oslat-width.txt"],
    shape: Shape::Lines {
        first: b"oC",
        is_sign: |line| {
            line.starts_with(VERSION) || line.starts_with("Core:\t") || line.starts_with("Counter Freq:")
        },
        begin: |_| Box::new(OslatRuns::default()),
    },
};

/// All runs of a file, one after the other.
#[derive(Default)]
struct OslatRuns {
    results: FileResults,
    run: OslatRun,
}

/// One run: its header, its rows, and what stands below them.
#[derive(Default)]
struct OslatRun {
    version: String,
    cores: Vec<u32>,
    rows: Vec<BucketRow>,
    minima: Vec<u64>,
    maxima: Vec<u64>,
    means: Vec<u64>,
    /// Whether rows without a count were left out before the next one (`-z`).
    leaves_out: bool,
}

impl OslatRuns {
    fn end_run(&mut self) -> Result<(), ImportError> {
        let run = std::mem::take(&mut self.run);
        if run.cores.is_empty() {
            return Ok(());
        }
        self.results.add(run.draft())
    }
}

impl LineReader for OslatRuns {
    fn line(&mut self, line: &str) -> Result<(), ImportError> {
        if let Some(version) = line.strip_prefix(VERSION) {
            self.end_run()?;
            version.trim().clone_into(&mut self.run.version);
        } else if let Some(cores) = behind(line, "Core") {
            if !self.run.cores.is_empty() {
                self.end_run()?;
            }
            self.run.cores = numbers(cores);
        } else {
            return self.run.line(line);
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, _last: LastLine) -> Result<Vec<ImportDraft>, ImportError> {
        self.end_run()?;
        self.results.all()
    }
}

impl OslatRun {
    fn line(&mut self, line: &str) -> Result<(), ImportError> {
        self.leaves_out |= line == "...";
        if let Some(row) = BucketRow::read(line) {
            if self.rows.last().is_some_and(|last| last.nanos >= row.nanos) {
                let what = format!("its row of {} ns follows one of more", row.nanos);
                return Err(ImportError::damaged(PROGRAM, what));
            }
            // A run without a heading has no CPUs to count for.
            if !self.cores.is_empty() {
                self.rows.push(row);
            }
        }
        for (label, values) in
            [("Minimum", &mut self.minima), ("Average", &mut self.means), ("Maximum", &mut self.maxima)]
        {
            if let Some(found) = behind(line, label) {
                *values = found.split_whitespace().map_while(nanos).collect();
            }
        }
        Ok(())
    }

    fn draft(self) -> Result<ImportDraft, ImportError> {
        if self.cores.len() > MOST_SERIES {
            let what = format!("it has {} CPUs; {MOST_SERIES} threads at most are read", self.cores.len());
            return Err(ImportError::damaged(PROGRAM, what));
        }
        if self.rows.is_empty() {
            let remedy = "let oslat print its buckets, which it does without `--quiet`, or write them: `oslat --json=FILE`";
            return Err(ImportError::NoHistogram { program: PROGRAM, remedy });
        }
        let is_cut =
            self.maxima.len() < self.cores.len() || !self.rows.last().is_some_and(|row| row.has_longer);
        let width = self.rows.iter().fold(0, |step, row| common_divisor(step, row.nanos)).max(1);
        let width = if self.rows.len() == 1 { width.min(1_000) } else { width };
        let mut draft = ImportDraft {
            program: format!("{PROGRAM} {}", self.version).trim().to_owned(),
            ..ImportDraft::new(PROGRAM)
        };
        let mut columns = Vec::new();
        for place in 0..self.cores.len() {
            columns.push(self.histogram(place, width, is_cut)?);
        }
        draft.notes.push(ImportNote::Gaps);
        draft.notes.push(width_note(width));
        if let Some(nanos) = self.first_gap(width) {
            let what = format!("its row of {} is not there", Span::from_nanos(nanos));
            draft.notes.push(ImportNote::LeftOut { what });
            draft.is_cut = true;
        }
        if is_cut {
            draft.cut_off();
        }
        draft.take(columns, |place, all| {
            let series = ImportedSeries::new(ForeignTool::Oslat, place, all);
            ImportedSeries { cpu: self.cores.get(place).copied(), ..series }
        });
        Ok(draft)
    }

    /// The first row that is not there, if none is left out on purpose.
    fn first_gap(&self, width: u64) -> Option<u64> {
        let follows = |pair: &&[BucketRow]| pair[1].nanos > pair[0].nanos.saturating_add(width);
        let gap = self.rows.windows(2).find(follows).filter(|_| !self.leaves_out);
        gap.map(|pair| pair[0].nanos.saturating_add(width))
    }

    /// The column of one CPU.
    fn histogram(&self, place: usize, width: u64, is_cut: bool) -> Result<Linear, ImportError> {
        let of = |values: &[u64]| values.get(place).copied();
        let max = of(&self.maxima);
        let mut linear = Linear::new(PROGRAM, 1).labelled(BucketLabel::End);
        linear.set_width(width);
        let mut claims = Claims { min: of(&self.minima), max, ..Claims::default() };
        for row in &self.rows {
            let count = row.counts.get(place).copied().ok_or_else(|| row.too_short())?;
            // The largest is cut to whole microseconds: in the bucket's own one, nothing was longer.
            if row.has_longer && count > 0 && max.is_none_or(|max| max > row.nanos) {
                linear.reaches(row.nanos, HistogramEnd::Said);
                let mean = of(&self.means).map(|mean| mean as f64);
                claims = Claims { beyond: Some(count), mean, ..claims };
            } else {
                linear.add(row.nanos, count)?;
            }
        }
        linear.settle(&claims)?;
        if is_cut {
            linear.cut_off();
        }
        Ok(linear)
    }
}

/// What is said of buckets that wide.
pub(super) fn width_note(width: u64) -> ImportNote {
    match width {
        1_000 => ImportNote::WholeMicroseconds,
        width => ImportNote::EndsOfBuckets { width: Span::from_nanos(width) },
    }
}

/// `    032 (us):     43 54 (including overflows)`
struct BucketRow {
    nanos: u64,
    counts: Vec<u64>,
    has_longer: bool,
}

impl BucketRow {
    fn read(line: &str) -> Option<Self> {
        let (value, counts) = line.split_once(" (us):")?;
        let has_longer = counts.contains(OVERFLOWS);
        Some(Self { nanos: nanos(value.trim())?, counts: numbers(counts), has_longer })
    }

    fn too_short(&self) -> ImportError {
        let what = format!("its row of {} ns has only {} counts", self.nanos, self.counts.len());
        ImportError::damaged(PROGRAM, what)
    }
}

/// Microseconds, which have up to three decimals where buckets are narrower (`--bucket-width`).
pub(super) fn nanos(micros: &str) -> Option<u64> {
    let (whole, part) = micros.split_once('.').unwrap_or((micros, ""));
    let part: u64 = format!("{part:0<3}").get(..3)?.parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1_000)?.checked_add(part)
}

/// What stands behind a label and its colon.
fn behind<'a>(line: &'a str, label: &str) -> Option<&'a str> {
    line.strip_prefix(label)?.strip_prefix(':')
}

/// The numbers at the beginning of a row.
fn numbers<T: std::str::FromStr>(row: &str) -> Vec<T> {
    row.split_whitespace().map_while(|word| word.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ImportOptions, import};

    #[test]
    fn decimals_are_nanoseconds() {
        let read = ["001", "032", "1.5", "0.125", "2.0005", "x", "1.x", ""].map(nanos);
        let expected = [1_000, 32_000, 1_500, 125, 2_000].map(Some);
        assert_eq!(read[..5], expected);
        assert_eq!(read[5..], [None, None, None]);
    }

    #[test]
    fn a_row_with_too_few_counts_is_damaged() {
        let text = "oslat V 2.40\n Core:\t 0 1\n 001 (us):\t 5\n";
        let error = import(text.as_bytes(), ImportOptions::default()).unwrap().unwrap_err().to_string();
        assert!(error.contains("its row of 1000 ns has only 1 counts"), "{error}");
    }
}
