//! Tables without rules: numbers right-aligned below their headings. To fit the width, headings are broken, then the least important columns left out, then rows stacked. Cells are never cut.

mod column;
mod layout;
mod unit;

use crate::numbers::at_least;
use crate::result_columns::{ColumnSpec, RowNumbers};
use crate::style::{BOLD, DIM, paint};
use column::TableColumn;
use layout::TableLayout;
pub(crate) use unit::TableUnit;

/// A table under construction.
pub(crate) struct TextTable {
    columns: Vec<TableColumn>,
    /// Number of columns that name a row.
    names: usize,
}

impl TextTable {
    /// A table with these headings; the first `left` columns are left-aligned and name the rows.
    pub(crate) fn new(headings: &[String], left: usize) -> Self {
        let column = |(number, heading): (usize, &String)| TableColumn::new(heading, number < left);
        Self { columns: headings.iter().enumerate().map(column).collect(), names: left }
    }

    /// A table without columns; the first `left` that are added are left-aligned and name the rows.
    pub(crate) const fn without_columns(left: usize) -> Self {
        Self { columns: Vec::new(), names: left }
    }

    pub(crate) fn column(&mut self, heading: &str, cells: impl IntoIterator<Item = String>) {
        let is_left = self.columns.len() < self.names;
        self.columns
            .push(TableColumn { cells: cells.into_iter().collect(), ..TableColumn::new(heading, is_left) });
    }

    /// Adds columns of statistics in µs, the worst of each in bold.
    pub(crate) fn results(&mut self, columns: &[ColumnSpec], rows: &[RowNumbers]) {
        self.results_in(TableUnit::Micros, columns, rows);
    }

    /// Like `results`, in another unit.
    pub(crate) fn results_in(&mut self, unit: TableUnit, columns: &[ColumnSpec], rows: &[RowNumbers]) {
        for column in columns {
            let values: Vec<Option<i64>> = rows.iter().map(|row| row.nanos(column)).collect();
            let cells = worst_in_bold(&values, |nanos| unit.show(nanos)).into_iter().zip(rows);
            self.column(column.heading, cells.map(|(cell, row)| at_least(row.is_lower_bound(column), &cell)));
        }
    }

    /// Empties the columns without any known value, so that they take no room.
    pub(crate) fn empty_unknown(&mut self) {
        let is_unknown = |column: &&mut TableColumn| column.cells.iter().all(|cell| cell == "–");
        self.columns.iter_mut().filter(is_unknown).for_each(|column| column.cells.fill(String::new()));
    }

    /// Left-aligns one more column.
    pub(crate) fn left(&mut self, column: usize) {
        if let Some(column) = self.columns.get_mut(column) {
            column.is_left = true;
        }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.columns.iter_mut().zip(cells).for_each(|(column, cell)| column.cells.push(cell));
    }

    /// Headings and columns, for other formats.
    pub(crate) fn into_parts(self) -> (Vec<String>, Vec<Vec<String>>) {
        self.columns.into_iter().map(|column| (column.heading, column.cells)).unzip()
    }

    /// Whether each row takes one line of `width`.
    pub(crate) fn stands_side_by_side(&self, width: usize) -> bool {
        TableLayout::new(&self.with_something(), self.names, width).is_side_by_side()
    }

    /// The columns that are not empty; those that name rows are always included.
    fn with_something(&self) -> Vec<&TableColumn> {
        let has_some = |column: &TableColumn| {
            column.cells.is_empty() || column.cells.iter().any(|cell| !cell.is_empty())
        };
        let is_shown = |(number, column): &(usize, &TableColumn)| *number < self.names || has_some(column);
        self.columns.iter().enumerate().filter(is_shown).map(|(_, column)| column).collect()
    }

    /// The table as text in lines of at most `width`, without trailing blanks, followed by a note on columns that are not shown.
    pub(crate) fn text(&self, width: usize) -> String {
        let columns = self.with_something();
        let layout = TableLayout::new(&columns, self.names, width);
        let left_out = match layout.left_out().join(", ") {
            none if none.is_empty() => none,
            some => format!("{}\n", paint(DIM, format!("Not shown at this width: {some}."))),
        };
        format!("{}{left_out}", layout.text())
    }
}

/// Cells of a column, the largest value in bold if there are several.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_is_stacked_is_called_by_its_name_alone() {
        let mut table = TextTable::new(&["cause", "share", "wake-ups"].map(str::to_owned), 1);
        table.row(["when idle", "", ""].map(str::to_owned).to_vec());
        table.row(["the hypervisor, or interrupts off", "24 %", "213"].map(str::to_owned).to_vec());
        let text = anstream::adapter::strip_str(&table.text(44)).to_string();
        let expected = "  cause\n    share  wake-ups\n  when idle\n  the hypervisor, or interrupts off\n     24 %       213\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_name_of_several_parts_leaves_out_what_says_nothing() {
        let headings = ["policy", "slack", "CPU", "thread", "wake-ups", "largest latency"];
        let mut table = TextTable::new(&headings.map(str::to_owned), 4);
        table.row(["fifo:80", "–", "0", "0", "1 990", "96.9"].map(str::to_owned).to_vec());
        let text = anstream::adapter::strip_str(&table.text(34)).to_string();
        let names: Vec<&str> = text.lines().filter(|line| line.contains("policy")).collect();
        assert_eq!(names, ["  policy fifo:80 · CPU 0"], "{text}");
        assert!(text.ends_with("Not shown at this width: thread.\n"), "{text}");
    }

    #[test]
    fn a_column_without_anything_takes_no_room() {
        let table = |middle: &str| {
            let mut table = TextTable::new(&["name", "unseen", "p"].map(str::to_owned), 1);
            table.row(vec!["one".to_owned(), middle.to_owned(), "0.01".to_owned()]);
            anstream::adapter::strip_str(&table.text(80)).to_string()
        };
        assert_eq!(table(""), "  name     p\n  one   0.01\n");
        assert!(table("±1").contains("unseen"), "{}", table("±1"));
    }
}
