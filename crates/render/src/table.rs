//! Tables: right-aligned numbers under their headings, no lines.

use comfy_table::{CellAlignment, ColumnConstraint, Table, Width};

use crate::prose::text_width;
use crate::style::{BOLD, DIM, paint};

/// A table under construction.
pub(crate) struct Columns {
    table: Table,
}

impl Columns {
    /// A table with these headings, of which the first `left` are left-aligned.
    pub(crate) fn new(headings: &[String], left: usize) -> Self {
        let mut table = Table::new();
        table.load_style(comfy_table::presets::NOTHING);
        table.set_header(headings.iter().map(|heading| paint(DIM, heading)));
        for (number, column) in table.column_iter_mut().enumerate() {
            let right = if number < left { CellAlignment::Left } else { CellAlignment::Right };
            column.set_cell_alignment(right);
            column.set_padding((2, 0));
            let least = u16::try_from(text_width(&headings[number]) + 2).unwrap_or(u16::MAX);
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least)));
        }
        Self { table }
    }

    /// Left-aligns one more column.
    pub(crate) fn left(&mut self, column: usize) {
        if let Some(column) = self.table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Left);
        }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.table.add_row(cells);
    }

    /// The table as text, without blanks at line ends.
    pub(crate) fn text(&self) -> String {
        self.table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
    }
}

/// The cells of a column, the largest number in bold when there is something to choose from.
pub(crate) fn worst_in_bold(values: &[Option<i64>], show: impl Fn(i64) -> String) -> Vec<String> {
    let worst = values.iter().flatten().max().copied();
    let several = values.iter().flatten().count() > 1;
    let cell = |value: &Option<i64>| match value {
        None => "–".to_owned(),
        Some(value) if several && Some(*value) == worst => paint(BOLD, show(*value)),
        Some(value) => show(*value),
    };
    values.iter().map(cell).collect()
}

/// Rows from columns.
pub(crate) fn transpose(columns: &[Vec<String>]) -> Vec<Vec<String>> {
    let rows = columns.first().map_or(0, Vec::len);
    (0..rows).map(|row| columns.iter().map(|column| column[row].clone()).collect()).collect()
}
