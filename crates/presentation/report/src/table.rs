//! Tables, for the page and for Markdown.

use howlate_render::markdown_text;
use howlate_render::numbers::at_least;
use maud::{Markup, html};

use crate::prose::{self, markdown_plain};

/// A table with more rows scrolls within the page.
const LONG: usize = 40;

/// A table, before it is written as HTML or Markdown.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReportTable {
    /// Read out by screen readers.
    pub(crate) caption: String,
    pub(crate) headings: Vec<String>,
    /// Number of leading columns that name the row.
    pub(crate) names: usize,
    pub(crate) rows: Vec<Vec<TableCell>>,
    /// Whether the other columns are text rather than numbers.
    pub(crate) is_text: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct TableCell {
    pub(crate) text: String,
    /// Second line, in a smaller font.
    pub(crate) below: String,
    /// Whether it is the worst of its column, printed bold.
    pub(crate) is_worst: bool,
    /// CSS class of its shade.
    pub(crate) shade: Option<&'static str>,
}

impl TableCell {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Marks a lower bound with `≥`.
    pub(crate) fn at_least(self, is_lower_bound: bool) -> Self {
        Self { text: at_least(is_lower_bound, &self.text), ..self }
    }
}

impl ReportTable {
    /// A table of plain texts.
    pub(crate) fn plain(caption: &str, headings: &[&str], names: usize, rows: Vec<Vec<String>>) -> Self {
        Self {
            caption: caption.to_owned(),
            headings: headings.iter().map(|heading| (*heading).to_owned()).collect(),
            names,
            rows: rows.into_iter().map(|row| row.into_iter().map(TableCell::new).collect()).collect(),
            is_text: false,
        }
    }

    /// HTML; wide tables scroll horizontally.
    pub(crate) fn html(&self) -> Markup {
        html! {
            div class={ "scroll" @if self.rows.len() > LONG { " long" } } role="region" tabindex="0" aria-label=(self.caption) {
                table {
                    caption { (prose::plain(&self.caption)) }
                    thead {
                        tr {
                            @for (number, heading) in self.headings.iter().enumerate() {
                                th scope="col" class=[(number >= self.names).then_some(self.class())] { (heading) }
                            }
                        }
                    }
                    tbody {
                        @for row in &self.rows { tr { @for (number, cell) in row.iter().enumerate() { (self.cell(number, cell)) } } }
                    }
                }
            }
        }
    }

    const fn class(&self) -> &'static str {
        if self.is_text { "text" } else { "number" }
    }

    fn cell(&self, number: usize, cell: &TableCell) -> Markup {
        if number < self.names {
            return html! { th scope="row" { (prose::plain(&cell.text)) } };
        }
        html! {
            td class={ (self.class()) " " (cell.shade.unwrap_or_default()) } {
                @if cell.is_worst { strong { (prose::plain(&cell.text)) } } @else { (prose::plain(&cell.text)) }
                @if !cell.below.is_empty() { br; small { (cell.below) } }
            }
        }
    }

    /// Markdown as GitHub reads it.
    pub(crate) fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut text = line(self.headings.iter().map(|heading| markdown_text(heading)).collect());
        let rule = |number| if number < self.names || self.is_text { "---" } else { "--:" }.to_owned();
        text.push_str(&line((0..self.headings.len()).map(rule).collect()));
        for row in &self.rows {
            text.push_str(&line(row.iter().map(markdown_cell).collect()));
        }
        text
    }
}

fn markdown_cell(cell: &TableCell) -> String {
    let text = if cell.is_worst {
        format!("**{}**", markdown_plain(&cell.text))
    } else {
        markdown_plain(&cell.text)
    };
    if cell.below.is_empty() { text } else { format!("{text} ({})", markdown_plain(&cell.below)) }
}

/// Ratio of the largest to the smallest value above which the largest is marked; less is noise.
const MARKED_RATIO: f64 = 1.25;

/// Cells of a column; the largest is marked where it clearly exceeds the smallest.
pub(crate) fn column(values: &[Option<i64>], show: impl Fn(i64) -> String) -> Vec<TableCell> {
    let worst = values.iter().flatten().max().copied();
    let least = values.iter().flatten().min().copied();
    let several = least.zip(worst).is_some_and(|(least, worst)| worst as f64 > MARKED_RATIO * least as f64);
    let cell = |value: &Option<i64>| TableCell {
        text: value.map_or_else(|| "–".to_owned(), &show),
        is_worst: several && value.is_some() && *value == worst,
        ..TableCell::default()
    };
    values.iter().map(cell).collect()
}
