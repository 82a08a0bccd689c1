//! Rows of numbers, a bucket and its counts, as several programs print them.

use howlate_model::HistogramEnd;

use crate::draft::MOST_SERIES;
use crate::error::ImportError;
use crate::histogram::{BucketLabel, Claims, Linear};

/// A table of rows: a histogram in each column.
pub(crate) struct HistogramRows {
    program: &'static str,
    unit: u64,
    label: BucketLabel,
    columns: Vec<Linear>,
    /// Read, and not yet counted: the last row may have been cut off.
    held: Option<(u64, Vec<u64>)>,
    /// The label of the last row.
    last: Option<u64>,
    /// A row with fewer counts than the others.
    broken: Option<String>,
    /// Whether rows without a count stand in it: then it has all rows.
    has_empty_rows: bool,
    /// Of the labels, what all are multiples of; 0 before there are two.
    step: u64,
    rows: u64,
}

impl HistogramRows {
    /// Empty; the first row says how many columns there are.
    pub(crate) const fn new(program: &'static str, unit: u64, label: BucketLabel) -> Self {
        Self {
            program,
            unit,
            label,
            columns: Vec::new(),
            held: None,
            last: None,
            broken: None,
            has_empty_rows: false,
            step: 0,
            rows: 0,
        }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    /// What all labels are multiples of, in units.
    pub(crate) fn step(&self) -> u64 {
        self.step.max(1)
    }

    pub(crate) const fn rows(&self) -> u64 {
        self.rows
    }

    /// The next row: its label, and a count for each column.
    pub(crate) fn add(&mut self, label: u64, counts: Vec<u64>, line: &str) -> Result<(), ImportError> {
        self.count_held()?;
        let program = self.program;
        let wrong = |what: String| ImportError::Damaged { program, what };
        if let Some(last) = self.last.filter(|last| *last >= label) {
            return Err(wrong(format!("its row {label} follows row {last}")));
        }
        if self.is_empty() {
            self.begin(counts.len())?;
        }
        if counts.len() > self.columns.len() {
            return Err(wrong(format!("`{}` has more counts than the rows before", short(line))));
        }
        if counts.len() < self.columns.len() {
            self.broken = Some(short(line));
            return Ok(());
        }
        self.last = Some(label);
        self.step = common_divisor(self.step, label);
        self.rows = self.rows.saturating_add(1);
        self.has_empty_rows |= counts.iter().all(|count| *count == 0);
        self.held = Some((label, counts));
        Ok(())
    }

    fn begin(&mut self, columns: usize) -> Result<(), ImportError> {
        // A sum of all threads may stand behind them.
        if columns > MOST_SERIES.saturating_add(1) {
            let what = format!("it has {columns} columns; {MOST_SERIES} threads at most are read");
            return Err(ImportError::Damaged { program: self.program, what });
        }
        let column = |_| Linear::new(self.program, self.unit).labelled(self.label);
        self.columns = (0..columns).map(column).collect();
        Ok(())
    }

    /// Counts the row that was held back, as more has come after it.
    pub(crate) fn count_held(&mut self) -> Result<(), ImportError> {
        if let Some(broken) = self.broken.take() {
            let what = format!("`{broken}` is no row of its histogram");
            return Err(ImportError::Damaged { program: self.program, what });
        }
        let Some((label, counts)) = self.held.take() else { return Ok(()) };
        self.columns.iter_mut().zip(counts).try_for_each(|(column, count)| column.add(label, count))
    }

    /// Ends where the file does: a last row that lacks counts is left out.
    pub(crate) fn cut_off(&mut self) -> Result<(), ImportError> {
        self.broken = None;
        self.count_held()
    }

    pub(crate) fn columns(&mut self) -> &mut Vec<Linear> {
        &mut self.columns
    }

    /// Says where its buckets end, and holds each column against what the file says of it.
    pub(crate) fn settle(
        &mut self,
        width: u64,
        default: Option<u64>,
        claims: impl Fn(usize) -> Claims,
    ) -> Result<(), ImportError> {
        let end =
            self.last.unwrap_or(0).saturating_add(if self.label == BucketLabel::Start { width } else { 0 });
        let reach = match default {
            _ if self.has_empty_rows => Some((end, HistogramEnd::Said)),
            default => default.map(|end| (end, HistogramEnd::Assumed)),
        };
        for (place, column) in self.columns.iter_mut().enumerate() {
            column.set_width(width);
            if let Some((end, end_kind)) = reach {
                column.reaches(end, end_kind);
            }
            column.settle(&claims(place))?;
        }
        Ok(())
    }
}

/// The beginning of a line, to be quoted.
pub(crate) fn short(line: &str) -> String {
    line.chars().take(40).collect()
}

pub(crate) fn common_divisor(mut item: u64, mut other: u64) -> u64 {
    while other > 0 {
        (item, other) = (other, item.checked_rem(other).unwrap_or(0));
    }
    item
}

/// The numbers behind a label; `None` for each word that is none, such as `-` where a column has nothing.
pub(crate) fn numbers_behind(line: &str, label: &str) -> Option<Vec<Option<u64>>> {
    let fields = line.strip_prefix(label)?.split_whitespace();
    Some(fields.map(|word| word.parse().ok()).collect())
}
