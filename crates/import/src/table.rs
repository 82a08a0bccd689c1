//! Histograms printed as a table: a bucket and its counts per row, a thread per column.

use howlate_model::HistogramEnd;

use crate::draft::MOST_SERIES;
use crate::error::ImportError;
use crate::histogram::{Linear, Overflow};

/// Columns of a table, filled row by row.
pub(crate) struct Table {
    pub(crate) columns: Vec<Linear>,
    /// Whether rows without a count stand in it: then it has all rows.
    has_empty_rows: bool,
    /// The row behind the last.
    edge: u64,
}

impl Table {
    /// Columns that `program` has printed, in units of so many nanoseconds.
    pub(crate) fn new(program: &'static str, unit: u64, columns: usize) -> Result<Self, ImportError> {
        if columns > MOST_SERIES {
            let what = format!("it has {columns} columns; {MOST_SERIES} threads at most are read");
            return Err(ImportError::Damaged { program, what });
        }
        let columns = (0..columns).map(|_| Linear::new(program, unit)).collect();
        Ok(Self { columns, has_empty_rows: false, edge: 0 })
    }

    /// A bucket's row; a count over all columns, behind them, is left out.
    pub(crate) fn row(&mut self, value: u64, counts: &[u64]) -> Result<(), ImportError> {
        self.has_empty_rows |= !counts.is_empty() && counts.iter().all(|count| *count == 0);
        self.edge = self.edge.max(value.saturating_add(1));
        self.columns.iter_mut().zip(counts).try_for_each(|(column, count)| column.add(value, *count))
    }

    /// What the lines below the table say of each column; `default` is how far the program's buckets reach where nobody asks
    /// for more or less.
    pub(crate) fn overflowed(
        &mut self,
        [counts, maxima, means]: [&[Option<u64>]; 3],
        default: Option<u64>,
    ) -> Result<(), ImportError> {
        let reach = match default {
            _ if self.has_empty_rows => Some((self.edge, HistogramEnd::Said)),
            default => default.map(|end| (end, HistogramEnd::Assumed)),
        };
        let of = |all: &[Option<u64>], place: usize| all.get(place).copied().flatten();
        for (place, column) in self.columns.iter_mut().enumerate() {
            if let Some((end, known)) = reach {
                column.reaches(end, known);
            }
            column.overflowed(of(counts, place).unwrap_or(0), of(maxima, place))?;
            if let Some(mean) = of(means, place) {
                column.mean(mean as f64);
            }
        }
        Ok(())
    }

    /// What was beyond the last bucket, of all columns.
    pub(crate) fn overflow(&self) -> Overflow {
        Overflow::joined(self.columns.iter().map(Linear::overflow))
    }
}

/// The numbers behind `label`; `None` for each word that is none, such as `-` where a column has nothing.
pub(crate) fn summary(text: &str, label: &str) -> Vec<Option<u64>> {
    let line = text.lines().find_map(|line| line.strip_prefix(label)).unwrap_or_default();
    line.split_whitespace().map(|word| word.parse().ok()).collect()
}
