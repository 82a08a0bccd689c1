//! By how much the number that matters differs with each setting, drawn in letters: `├──●──┤` is the estimate and its interval.

use howlate_analyse::compare::{Tested, Verdict};

use super::{TuneReport, TuneRow, words};
use crate::plot::{column, line_of_words};
use crate::prose::text_width;
use crate::scale::Scale;
use crate::style::{BOLD, DIM, GOOD, HEADING, paint};

/// With the setting as a multiple of without it, beyond which nobody needs to see how far.
const LEAST: f64 = 1e-3;
const MOST: f64 = 1e3;
/// Columns that a picture takes at least and at most.
const NARROWEST: usize = 24;
const WIDEST: usize = 72;
/// Columns that the word at the line of no difference keeps free on both sides.
const FREE: usize = 8;

struct Row<'a> {
    name: &'a str,
    verdict: Verdict,
    at: f64,
    interval: (f64, f64),
}

impl<'a> Row<'a> {
    fn from_row(row: &'a TuneRow, report: &TuneReport<'_>) -> Option<Self> {
        let tested = row.tested.iter().find(|tested| tested.statistic == report.goal)?;
        let (low, high) = tested.interval_ns?;
        let interval = (multiple(tested, low)?, multiple(tested, high)?);
        let at = multiple(tested, tested.difference_ns)?;
        Some(Self { name: row.setting.knob, verdict: tested.verdict, at, interval })
    }

    /// Its interval and its estimate, on `columns`; the line of no difference where neither is.
    fn draw(&self, scale: Scale, columns: usize) -> String {
        let place = |value: f64| column(scale.place(value), columns);
        let mut letters = vec![' '; columns];
        letters[place(1.0)] = '│';
        let (low, high) = (place(self.interval.0), place(self.interval.1));
        letters[low..=high].fill('─');
        (letters[low], letters[high]) = ('├', '┤');
        letters[place(self.at)] = '●';
        let text = letters.into_iter().collect::<String>().trim_end().to_owned();
        match self.verdict {
            Verdict::Better => paint(GOOD, text),
            Verdict::Worse => paint(BOLD, text),
            _ => text,
        }
    }
}

/// With the setting as a multiple of without it, were the difference this.
fn multiple(tested: &Tested, difference: f64) -> Option<f64> {
    (tested.base_ns > 0.0).then(|| (1.0 + difference / tested.base_ns).clamp(LEAST, MOST))
}

/// One line for each setting that was tried; nothing where there is too little to draw, or no room.
pub(super) fn forest(report: &TuneReport<'_>, width: usize) -> String {
    let rows: Vec<Row<'_>> = report.tried().filter_map(|row| Row::from_row(row, report)).collect();
    let indent = rows.iter().map(|row| text_width(row.name)).max().unwrap_or(0) + 4;
    let columns = width.saturating_sub(indent).min(WIDEST);
    if rows.is_empty() || columns < NARROWEST {
        return String::new();
    }
    let scale = scale(&rows);
    let title = format!("{} with each setting, in per cent of that without it", words::number(report.goal));
    let axis = line_of_words(&named(scale, columns), columns);
    let line = |row: &Row<'_>| format!("  {:<1$}{2}\n", row.name, indent - 2, row.draw(scale, columns));
    let lines: String = rows.iter().map(line).collect();
    format!("{}\n{:indent$}{}\n{lines}", paint(HEADING, title), "", paint(DIM, axis))
}

/// Equal ratios are equally far apart, so that half as late and twice as late are.
fn scale(rows: &[Row<'_>]) -> Scale {
    let ends = || rows.iter().flat_map(|row| [row.at, row.interval.0, row.interval.1]);
    // Some room on both sides of no difference, whatever was found.
    Scale::between(ends().fold(0.9, f64::min), ends().fold(1.1, f64::max))
}

/// What stands at the ends and at the line of no difference.
fn named(scale: Scale, columns: usize) -> Vec<(usize, String)> {
    let none = column(scale.place(1.0), columns);
    let mut named = vec![(none, "100 %".to_owned())];
    if none >= 2 * FREE {
        named.insert(0, (0, per_cent(scale.from())));
    }
    if none + 2 * FREE < columns {
        named.push((columns, per_cent(scale.to())));
    }
    named
}

fn per_cent(multiple: f64) -> String {
    match multiple {
        few if few < 0.01 => format!("{:.1} %", 100.0 * few),
        many => format!("{:.0} %", 100.0 * many),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // 10 %            100 %  200 %
    fn drawn(at: f64, interval: (f64, f64)) -> String {
        let row = Row { name: "fifo", verdict: Verdict::NotDistinguishable, at, interval };
        row.draw(Scale::between(0.1, 10.0), 21)
    }

    #[test]
    fn an_estimate_lies_in_its_interval_beside_the_line_of_no_difference() {
        assert_eq!(drawn(0.1, (0.1, 0.2)), "●──┤      │");
        assert_eq!(drawn(1.0, (0.5, 2.0)), "       ├──●──┤");
        assert_eq!(drawn(5.0, (5.0, 5.0)), "          │      ●");
        assert_eq!(drawn(10.0, (2.0, 10.0)), "          │  ├──────●");
    }

    #[test]
    fn the_ends_are_named_where_there_is_room() {
        let names =
            |from, to| named(Scale::between(from, to), 60).into_iter().map(|one| one.1).collect::<Vec<_>>();
        assert_eq!(names(0.005, 1.1), ["0.5 %", "100 %"]);
        assert_eq!(names(0.9, 4.0), ["100 %", "400 %"]);
        assert_eq!(names(0.1, 10.0), ["10 %", "100 %", "1000 %"]);
    }
}
