//! A table column and its width.

use crate::prose::{lines, text_width};
use crate::style::{DIM, paint};

/// Blanks before each column.
const BEFORE: usize = 2;
/// Headings up to this length are not broken.
const SHORT: usize = 9;

/// A heading with the cells below it.
pub(super) struct TableColumn {
    pub(super) heading: String,
    pub(super) is_left: bool,
    pub(super) cells: Vec<String>,
}

impl TableColumn {
    pub(super) fn new(heading: &str, is_left: bool) -> Self {
        Self { heading: heading.to_owned(), is_left, cells: Vec::new() }
    }

    /// Width including the blanks before it.
    pub(super) fn width(&self, is_broken: bool) -> usize {
        let heading = self.heading_lines(is_broken).iter().map(|line| text_width(line)).max();
        BEFORE + self.widest_cell().max(heading.unwrap_or(0))
    }

    /// Lines of the heading, broken if allowed and wider than the cells.
    pub(super) fn heading_lines(&self, is_broken: bool) -> Vec<String> {
        match is_broken {
            true => lines(&self.heading, self.widest_cell().max(SHORT)),
            false => vec![self.heading.clone()],
        }
    }

    /// The heading as a cell of `height` lines, aligned to the bottom.
    pub(super) fn heading_cell(&self, is_broken: bool, height: usize) -> String {
        let lines = self.heading_lines(is_broken);
        let above = "\n".repeat(height.saturating_sub(lines.len()));
        let painted: Vec<String> = lines.iter().map(|line| painted(line)).collect();
        format!("{above}{}", painted.join("\n"))
    }

    fn widest_cell(&self) -> usize {
        self.cells.iter().map(|cell| text_width(cell)).max().unwrap_or(0)
    }

    /// The cell with its heading, for stacked rows: `policy fifo:80`; `None` without a value.
    pub(super) fn named_cell(&self, row: usize) -> Option<String> {
        let cell = self.cells.get(row).filter(|cell| *cell != "–")?;
        Some(if self.heading.is_empty() { cell.clone() } else { format!("{} {cell}", self.heading) })
    }
}

/// A styled line of a heading; empty lines get no style.
fn painted(line: &str) -> String {
    if line.is_empty() { String::new() } else { paint(DIM, line) }
}
