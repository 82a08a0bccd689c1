//! Histograms printed as a table: a bucket and its counts per row, a thread per column.

use crate::draft::MOST_SERIES;
use crate::error::ImportError;
use crate::histogram::Linear;

/// Columns of a table, filled row by row.
pub(crate) struct Table {
    pub(crate) columns: Vec<Linear>,
}

impl Table {
    /// Columns that `program` has printed, in units of so many nanoseconds.
    pub(crate) fn new(program: &'static str, unit: u64, columns: usize) -> Result<Self, ImportError> {
        if columns > MOST_SERIES {
            let what = format!("it has {columns} columns; {MOST_SERIES} threads at most are read");
            return Err(ImportError::Damaged { program, what });
        }
        Ok(Self { columns: (0..columns).map(|_| Linear::new(program, unit)).collect() })
    }

    /// A bucket's row; a count over all columns, behind them, is left out.
    pub(crate) fn row(&mut self, value: u64, counts: &[u64]) -> Result<(), ImportError> {
        self.columns.iter_mut().zip(counts).try_for_each(|(column, count)| column.add(value, *count))
    }

    /// What the lines below the table say of each column.
    pub(crate) fn overflowed(
        &mut self,
        counts: &[Option<u64>],
        maxima: &[Option<u64>],
    ) -> Result<(), ImportError> {
        let of = |all: &[Option<u64>], place: usize| all.get(place).copied().flatten();
        for (place, column) in self.columns.iter_mut().enumerate() {
            column.overflowed(of(counts, place).unwrap_or(0), of(maxima, place))?;
        }
        Ok(())
    }

    /// How many values were beyond the last bucket, of all columns.
    pub(crate) fn overflows(&self) -> u64 {
        self.columns.iter().map(|column| column.overflows).sum()
    }
}

/// The numbers behind `label`; `None` for each word that is none, such as `-` where a column has nothing.
pub(crate) fn summary(text: &str, label: &str) -> Vec<Option<u64>> {
    let line = text.lines().find_map(|line| line.strip_prefix(label)).unwrap_or_default();
    line.split_whitespace().map(|word| word.parse().ok()).collect()
}
