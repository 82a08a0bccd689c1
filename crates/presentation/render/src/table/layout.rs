//! Fits a table into a width.

use comfy_table::{CellAlignment, ColumnConstraint, Table, Width, presets};

use super::column::TableColumn;
use crate::prose::lines;
use crate::style::{DIM, paint};

/// Headings of columns that may be left out, in this order. The thread number may go only if another column has the same cells; `p` follows from verdict and interval.
const SPARE: [&str; 9] = ["min", "stddev", "thread", "p", "sys", "user", "elapsed", "threads", "count"];

/// Indentation of stacked numbers below the name of their row.
const INDENT: usize = 2;

/// A table fitted into a width.
pub(super) struct TableLayout<'a> {
    all: &'a [&'a TableColumn],
    names: Vec<&'a TableColumn>,
    /// Columns side by side; each further band is a table of its own below.
    bands: Vec<Vec<&'a TableColumn>>,
    left_out: Vec<&'a TableColumn>,
    is_broken: bool,
    /// Whether names stand on lines of their own.
    is_stacked: bool,
    width: usize,
}

impl<'a> TableLayout<'a> {
    /// Fits `all` columns, of which the first `names` name the rows, into `width`.
    pub(super) fn new(all: &'a [&'a TableColumn], names: usize, width: usize) -> Self {
        let (names, numbers) = all.split_at(names.min(all.len()));
        let mut layout = Self {
            all,
            names: names.to_vec(),
            bands: vec![numbers.to_vec()],
            left_out: Vec::new(),
            is_broken: false,
            is_stacked: false,
            width,
        };
        layout.is_broken = !layout.fits();
        layout.leave_out_until(Self::fits);
        if !layout.fits() {
            layout.stack();
        }
        layout
    }

    /// Leaves out spare columns until `fits` holds; none if that does not help.
    fn leave_out_until(&mut self, fits: impl Fn(&Self) -> bool) {
        let whole = (self.names.clone(), self.bands.clone());
        for heading in SPARE {
            if !fits(self) {
                self.leave_out(heading);
            }
        }
        if !fits(self) {
            (self.names, self.bands) = whole;
            self.left_out.clear();
        }
    }

    /// Headings of columns that are not shown.
    pub(super) fn left_out(&self) -> Vec<&'a str> {
        self.left_out.iter().map(|column| column.heading.as_str()).collect()
    }

    /// Whether each row takes one line.
    pub(super) fn is_side_by_side(&self) -> bool {
        !self.is_stacked && self.bands.len() == 1
    }

    fn fits(&self) -> bool {
        let numbers = self.bands.first().map_or(0, |band| self.extent(band));
        self.extent(&self.names) + numbers <= self.width
    }

    fn extent(&self, columns: &[&TableColumn]) -> usize {
        columns.iter().map(|column| column.width(self.is_broken)).sum()
    }

    /// Leaves out the columns with this heading, if allowed.
    fn leave_out(&mut self, heading: &str) {
        let all = self.all;
        let may_go = |column: &TableColumn| {
            let repeats = |other: &&&TableColumn| other.heading != heading && other.cells == column.cells;
            column.heading == heading && (heading != "thread" || all.iter().any(|other| repeats(&other)))
        };
        for columns in std::iter::once(&mut self.names).chain(&mut self.bands) {
            let (removed, remaining) = columns.iter().partition(|column| may_go(column));
            *columns = remaining;
            self.left_out.extend::<Vec<&TableColumn>>(removed);
        }
    }

    /// Stacks names above their numbers if all numbers then fit one band, or if names are long; otherwise repeats the names before each band.
    fn stack(&mut self) {
        let below_names = self.width.saturating_sub(INDENT);
        let is_one_band = |layout: &Self| layout.bands.iter().all(|band| layout.extent(band) <= below_names);
        if !self.names.is_empty() {
            self.leave_out_until(is_one_band);
        }
        self.leave_out("thread");
        let (names, numbers) = (self.extent(&self.names), self.bands.concat());
        self.is_stacked = !self.names.is_empty() && (is_one_band(self) || names > self.width / 2);
        let room = if self.is_stacked { below_names } else { self.width.saturating_sub(names) };
        self.bands = vec![Vec::new()];
        for column in numbers {
            let is_full = |band: &Vec<&TableColumn>| {
                !band.is_empty() && self.extent(band) + column.width(self.is_broken) > room
            };
            if self.bands.last().is_none_or(is_full) {
                self.bands.push(Vec::new());
            }
            self.bands.iter_mut().last().into_iter().for_each(|band| band.push(column));
        }
    }

    /// The table as text.
    pub(super) fn text(&self) -> String {
        let bands: Vec<String> = self.bands.iter().map(|band| self.band(band)).collect();
        bands.join("\n")
    }

    fn band(&self, numbers: &[&TableColumn]) -> String {
        if !self.is_stacked {
            return joined(&self.grid(&[&self.names, numbers].concat(), self.width));
        }
        let grid = self.grid(numbers, self.width - INDENT);
        let rows = self.all.first().map_or(0, |column| column.cells.len());
        let (head, below) = grid.split_at(grid.len().saturating_sub(rows));
        let indented = |line: &String| format!("{:INDENT$}{line}", "");
        let mut text: Vec<String> = self.heading_of_names().into_iter().collect();
        text.extend(head.iter().map(indented));
        for (row, line) in below.iter().enumerate() {
            text.extend(self.name(row));
            // A heading row within the table has no numbers.
            text.extend((!line.trim().is_empty()).then(|| indented(line)));
        }
        joined(&text)
    }

    /// Heading of the names, above the headings of the numbers.
    fn heading_of_names(&self) -> Option<String> {
        match self.names.as_slice() {
            [only] if !only.heading.is_empty() => {
                Some(format!("{:INDENT$}{}", "", paint(DIM, &only.heading)))
            }
            _ => None,
        }
    }

    /// Name of a row; several columns with their headings.
    fn name(&self, row: usize) -> Vec<String> {
        let parts: Vec<String> = match self.names.as_slice() {
            [only] => only.cells.get(row).cloned().into_iter().collect(),
            several => several.iter().filter_map(|column| column.named_cell(row)).collect(),
        };
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.trim().is_empty()).collect();
        let lines = lines(&parts.join(" · "), self.width.saturating_sub(2 * INDENT));
        lines.into_iter().map(|line| format!("{:INDENT$}{line}", "")).collect()
    }

    /// Lines with headings; cells are broken only if wider than the table.
    fn grid(&self, columns: &[&TableColumn], width: usize) -> Vec<String> {
        let height = columns.iter().map(|column| column.heading_lines(self.is_broken).len()).max();
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(
            columns.iter().map(|column| column.heading_cell(self.is_broken, height.unwrap_or(1))),
        );
        for (table_column, column) in table.column_iter_mut().zip(columns) {
            let side = if column.is_left { CellAlignment::Left } else { CellAlignment::Right };
            table_column.set_cell_alignment(side);
            table_column.set_padding((2, 0));
            let least = u16::try_from(column.width(self.is_broken).min(width)).unwrap_or(u16::MAX);
            table_column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least)));
        }
        let rows = self.all.first().map_or(0, |column| column.cells.len());
        for row in 0..rows {
            table.add_row(columns.iter().map(|column| column.cells.get(row).cloned().unwrap_or_default()));
        }
        table.lines().map(|line| line.trim_end().to_owned()).collect()
    }
}

fn joined(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}
