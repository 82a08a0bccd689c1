//! Forest plot of the settings: `├──●──┤` is the estimate of the change and its interval.

use howlate_analyse::compare::{Tested, Verdict};

use super::{TuneReport, TuneRow, wording};
use crate::plot::{column, line_of_words};
use crate::prose::text_width;
use crate::scale::Scale;
use crate::style::{BOLD, DIM, GOOD, HEADING, paint};

/// Ratios with and without the setting are clamped to this range.
const LEAST: f64 = 1e-3;
const MOST: f64 = 1e3;
/// Minimum and maximum width of the plot.
const NARROWEST: usize = 24;
const WIDEST: usize = 72;
/// Columns kept free on both sides of the "no difference" label.
const FREE: usize = 8;

struct KnobRow<'a> {
    name: &'a str,
    verdict: Verdict,
    at: f64,
    interval: (f64, f64),
}

impl<'a> KnobRow<'a> {
    fn from_row(row: &'a TuneRow, report: &TuneReport<'_>) -> Option<Self> {
        let tested = row.tested.iter().find(|tested| tested.statistic == report.goal)?;
        let (low, high) = tested.interval_ns?;
        let interval = (multiple(tested, low)?, multiple(tested, high)?);
        let at = multiple(tested, tested.difference_ns)?;
        Some(Self { name: row.setting.knob, verdict: tested.verdict, at, interval })
    }

    /// The interval and the estimate; the line of no difference shows elsewhere.
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

/// Ratio of the value with the setting to that without it, for a given difference.
fn multiple(tested: &Tested, difference: f64) -> Option<f64> {
    (tested.base_ns > 0.0).then(|| (1.0 + difference / tested.base_ns).clamp(LEAST, MOST))
}

/// One line per tried setting; empty without data or room.
pub(super) fn forest(report: &TuneReport<'_>, width: usize) -> String {
    let rows: Vec<KnobRow<'_>> = report.tried().filter_map(|row| KnobRow::from_row(row, report)).collect();
    let indent = rows.iter().map(|row| text_width(row.name)).max().unwrap_or(0) + 4;
    let columns = width.saturating_sub(indent).min(WIDEST);
    if rows.is_empty() || columns < NARROWEST {
        return String::new();
    }
    let scale = scale(&rows);
    let title = format!("{} with each setting, in per cent of that without it", wording::number(report.goal));
    let axis = line_of_words(&axis_labels(scale, columns), columns);
    let line = |row: &KnobRow<'_>| format!("  {:<1$}{2}\n", row.name, indent - 2, row.draw(scale, columns));
    let lines: String = rows.iter().map(line).collect();
    format!("{}\n{:indent$}{}\n{lines}", paint(HEADING, title), "", paint(DIM, axis))
}

/// Logarithmic: half and twice as late are equally far from no difference.
fn scale(rows: &[KnobRow<'_>]) -> Scale {
    let ends = || rows.iter().flat_map(|row| [row.at, row.interval.0, row.interval.1]);
    // Some room on both sides of no difference.
    Scale::between(ends().fold(0.9, f64::min), ends().fold(1.1, f64::max))
}

/// Labels at the ends and at the line of no difference.
fn axis_labels(scale: Scale, columns: usize) -> Vec<(usize, String)> {
    let none = column(scale.place(1.0), columns);
    let mut labels = vec![(none, "100 %".to_owned())];
    if none >= 2 * FREE {
        labels.insert(0, (0, per_cent(scale.from())));
    }
    if none + 2 * FREE < columns {
        labels.push((columns, per_cent(scale.to())));
    }
    labels
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
    fn draw(at: f64, interval: (f64, f64)) -> String {
        let row = KnobRow { name: "fifo", verdict: Verdict::NotDistinguishable, at, interval };
        row.draw(Scale::between(0.1, 10.0), 21)
    }

    #[test]
    fn an_estimate_lies_in_its_interval_beside_the_line_of_no_difference() {
        assert_eq!(draw(0.1, (0.1, 0.2)), "●──┤      │");
        assert_eq!(draw(1.0, (0.5, 2.0)), "       ├──●──┤");
        assert_eq!(draw(5.0, (5.0, 5.0)), "          │      ●");
        assert_eq!(draw(10.0, (2.0, 10.0)), "          │  ├──────●");
    }

    #[test]
    fn the_ends_are_named_where_there_is_room() {
        let names = |from, to| {
            axis_labels(Scale::between(from, to), 60).into_iter().map(|label| label.1).collect::<Vec<_>>()
        };
        assert_eq!(names(0.005, 1.1), ["0.5 %", "100 %"]);
        assert_eq!(names(0.9, 4.0), ["100 %", "400 %"]);
        assert_eq!(names(0.1, 10.0), ["10 %", "100 %", "1000 %"]);
    }
}
