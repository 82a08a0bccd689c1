//! cyclictest's histogram as text (`-h`, `-H`), as OSADL and many others keep it.

use howlate_model::{Claim, ForeignTool, ImportNote, TimeUnit};

use crate::draft::{FileResults, ImportDraft, ImportedSeries};
use crate::error::ImportError;
use crate::format::{FileFormat, ImportOptions, LastLine, LineReader, Shape};
use crate::histogram::{BucketLabel, Claims};
use crate::rows::{HistogramRows, numbers_behind, short};

const PROGRAM: &str = "cyclictest";
const HEADING: &str = "# Histogram";

pub(crate) const FORMAT: FileFormat = FileFormat {
    file: "histogram text",
    written_by: "`cyclictest -h N` or `-H N`, with or without empty rows and its `#` lines",
    becomes: "one per thread; a column for all threads is left out",
    samples: &["cyclictest-2.4.txt", "cyclictest-2.6.txt", "cyclictest-2.10.txt", "cyclictest-rows.txt"],
    shape: Shape::Lines { first: b"#0", is_sign, begin: |options| Box::new(Histograms::new(options)) },
};

fn is_sign(line: &str) -> bool {
    line == HEADING || is_padded_row(line) || LABELS.iter().any(|label| line.starts_with(label))
}

/// `000001 000005`: a row as this program pads it, where its heading was left out.
fn is_padded_row(line: &str) -> bool {
    let is_digits = |word: &[u8]| word.iter().all(u8::is_ascii_digit);
    let is_padded = |word: &str| word.len() >= 6 && is_digits(word.as_bytes());
    let first = line.as_bytes().get(..6);
    first.is_some_and(|first| is_digits(first) && first[0] == b'0')
        && line.split_whitespace().count() > 1
        && line.split_whitespace().all(is_padded)
}

const LABELS: [&str; 5] =
    ["# Total:", "# Min Latencies:", "# Avg Latencies:", "# Max Latencies:", "# Histogram Overflows:"];

/// All histograms of a file, one after the other.
struct Histograms {
    unit: TimeUnit,
    is_unit_said: bool,
    results: FileResults,
    run: HistogramRun,
}

/// One histogram, with what stands below it.
struct HistogramRun {
    has_heading: bool,
    rows: HistogramRows,
    /// What the lines of [`LABELS`] have, in their order.
    summaries: [Vec<Option<u64>>; 5],
    /// How many threads are named below.
    named: usize,
    /// Whether each row so far ends in the sum of its other counts.
    has_sum: bool,
    break_value: Option<u64>,
}

impl Histograms {
    fn new(options: ImportOptions) -> Self {
        let unit = options.unit.unwrap_or(TimeUnit::Microseconds);
        Self {
            unit,
            is_unit_said: options.unit.is_some(),
            results: FileResults::default(),
            run: HistogramRun::new(unit),
        }
    }

    /// Ends the run that is read, if there is one.
    fn end_run(&mut self) -> Result<(), ImportError> {
        let run = std::mem::replace(&mut self.run, HistogramRun::new(self.unit));
        if run.is_empty() && !run.has_heading {
            return Ok(());
        }
        self.results.add(run.draft(self.unit, self.is_unit_said))
    }
}

impl LineReader for Histograms {
    fn line(&mut self, line: &str) -> Result<(), ImportError> {
        if line == HEADING {
            self.end_run()?;
            self.run.has_heading = true;
            return Ok(());
        }
        if line.starts_with('#') {
            return self.run.below(line);
        }
        if !line.starts_with(|first: char| first.is_ascii_digit()) {
            return Ok(());
        }
        if self.run.has_footer() && is_padded_row(line) {
            self.end_run()?;
        }
        self.run.row(line)
    }

    fn finish(mut self: Box<Self>, _last: LastLine) -> Result<Vec<ImportDraft>, ImportError> {
        self.end_run()?;
        self.results.all()
    }
}

impl HistogramRun {
    fn new(unit: TimeUnit) -> Self {
        Self {
            has_heading: false,
            rows: HistogramRows::new(PROGRAM, unit.nanos(), BucketLabel::Start),
            summaries: Default::default(),
            named: 0,
            has_sum: true,
            break_value: None,
        }
    }

    fn is_empty(&self) -> bool {
        self.rows.is_empty() && !self.has_footer()
    }

    fn has_footer(&self) -> bool {
        self.summaries.iter().any(|numbers| !numbers.is_empty())
    }

    /// A line below the rows.
    fn below(&mut self, line: &str) -> Result<(), ImportError> {
        for (label, numbers) in LABELS.iter().zip(&mut self.summaries) {
            if let Some(found) = numbers_behind(line, label) {
                self.rows.count_held()?;
                *numbers = found;
                return Ok(());
            }
        }
        if let Some(value) = line.strip_prefix("# Break value:") {
            self.break_value = value.trim().parse().ok();
        }
        let is_thread = line.strip_prefix("# Thread ").is_some_and(|rest| rest.contains(':'));
        self.named = self.named.saturating_add(usize::from(is_thread));
        Ok(())
    }

    fn row(&mut self, line: &str) -> Result<(), ImportError> {
        let mut fields = line.split_whitespace();
        let label = fields.next().and_then(|word| word.parse::<u64>().ok());
        let Some(label) = label.filter(|_| !self.has_footer()) else {
            return Ok(());
        };
        let wrong =
            |_| ImportError::damaged(PROGRAM, format!("`{}` is no row of its histogram", short(line)));
        let counts: Vec<u64> = fields.map(|word| word.parse().map_err(wrong)).collect::<Result<_, _>>()?;
        if let Some((sum, per_thread)) = counts.split_last() {
            let sum_of_threads = per_thread.iter().copied().fold(0, u64::saturating_add);
            self.has_sum &= per_thread.len() > 1 && *sum == sum_of_threads;
        }
        self.rows.add(label, counts, line)
    }

    fn draft(mut self, unit: TimeUnit, is_unit_said: bool) -> Result<ImportDraft, ImportError> {
        let is_cut = self.summaries[3].is_empty();
        if is_cut {
            self.rows.cut_off()?;
        }
        self.rows.count_held()?;
        if self.rows.is_empty() {
            let remedy = "keep its rows, which do not begin with `#`; or let cyclictest write JSON: `cyclictest -h 1000 --json=FILE`";
            return Err(ImportError::NoHistogram { program: PROGRAM, remedy });
        }
        self.leave_sum_out();
        let mut draft = ImportDraft::new(PROGRAM);
        let summaries = &self.summaries;
        let of = |label: usize, place: usize| summaries.get(label)?.get(place).copied().flatten();
        let claims = |place: usize| Claims {
            rows: of(0, place),
            beyond: of(4, place),
            min: of(1, place),
            mean: of(2, place).map(|mean| mean as f64),
            max: of(3, place),
            ..Claims::default()
        };
        self.rows.settle(1, None, claims)?;
        self.compare_break_value()?;
        if is_cut {
            self.rows.columns().iter_mut().for_each(crate::histogram::Linear::cut_off);
            draft.cut_off();
        }
        draft.lacks_unit = true;
        let lacks_overflows = !is_cut && self.summaries.last().is_some_and(Vec::is_empty);
        draft.notes.extend(lacks_overflows.then_some(ImportNote::OverflowsMissing));
        if !is_unit_said {
            draft.notes.push(ImportNote::UnitTaken { unit: unit.name().to_owned() });
        }
        draft.notes.extend((unit == TimeUnit::Microseconds).then_some(ImportNote::WholeMicroseconds));
        let columns = std::mem::take(self.rows.columns());
        draft.take(columns, |thread, all| ImportedSeries::new(ForeignTool::Cyclictest, thread, all));
        Ok(draft)
    }

    /// `-H` has a count of all threads behind theirs: it is the sum of the others, or more than there are threads.
    fn leave_sum_out(&mut self) {
        let columns = self.rows.columns().len();
        let minima = self.summaries.get(1).map_or(0, Vec::len);
        let is_more = |threads: usize| threads > 0 && threads.saturating_add(1) == columns;
        let has_sum = self.has_sum && columns > 2;
        if has_sum || is_more(self.named) && is_more(minima) {
            self.rows.columns().pop();
        }
    }

    /// What ended the run (`-b`) was measured, and is in the histogram, or beyond it.
    fn compare_break_value(&mut self) -> Result<(), ImportError> {
        let Some(value) = self.break_value else { return Ok(()) };
        let largest = self.rows.columns().iter().map(crate::histogram::Linear::largest).max();
        match self.rows.columns().first_mut().filter(|_| largest.is_some_and(|largest| largest < value)) {
            Some(column) => column.add_lost(Claim::BreakValue, value),
            None => Ok(()),
        }
    }
}
