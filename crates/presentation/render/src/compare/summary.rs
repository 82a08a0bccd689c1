//! Many comparisons in one table: one row per pair of conditions.

use howlate_analyse::compare::{Compared, Statistic, Tested, Verdict};

use super::{ComparisonReport, wording};
use crate::markdown_text;
use crate::prose::wrapped;
use crate::style::{BOLD, DIM, GOOD, HEADING, paint};
use crate::table::TextTable;

/// Legend of the table.
const BRACKETS: &str =
    "New against base, in per cent of the base. In brackets: not distinguishable or inconclusive.";

/// A pair of conditions with its name.
type NamedPair<'a> = (String, &'a Compared);

/// Columns and rows; `None` for a single pair, or where no statistic was tested.
fn rows<'a>(report: &'a ComparisonReport<'_>) -> Option<(Vec<Statistic>, Vec<NamedPair<'a>>)> {
    let compared = &report.comparison.compared;
    let is_there = |statistic: &Statistic| compared.iter().any(|pair| tested_in(pair, *statistic).is_some());
    let statistics: Vec<Statistic> = Statistic::ALL.into_iter().filter(is_there).collect();
    let names = wording::RowNames::new(report);
    (compared.len() > 1 && !statistics.is_empty())
        .then(|| (statistics, compared.iter().map(|pair| (names.name(pair, false), pair)).collect()))
}

fn tested_in(pair: &Compared, statistic: Statistic) -> Option<&Tested> {
    pair.statistics.iter().find(|tested| tested.statistic == statistic)
}

/// `-84 % better`; in brackets without a significant result.
fn cell(pair: &Compared, statistic: Statistic, mark: fn(Verdict, String) -> String) -> String {
    let Some(tested) = tested_in(pair, statistic) else { return "–".to_owned() };
    let percent = wording::percent_apart(tested);
    match tested.verdict {
        Verdict::NotDistinguishable | Verdict::Inconclusive => format!("({percent})"),
        verdict => mark(verdict, format!("{percent} {}", wording::verdict(verdict))),
    }
}

/// The table for a terminal.
pub(super) fn text(report: &ComparisonReport<'_>, width: usize) -> Option<String> {
    let (statistics, rows) = rows(report)?;
    let marked = |verdict, text| match verdict {
        Verdict::Better | Verdict::Equivalent => paint(GOOD, text),
        _ => paint(BOLD, text),
    };
    let headings = headings(report, &statistics);
    let mut table = TextTable::new(&headings, 1);
    for (name, pair) in rows {
        let cells = statistics.iter().map(|statistic| cell(pair, *statistic, marked));
        table.row(std::iter::once(name).chain(cells).collect());
    }
    let about = paint(DIM, wrapped(BRACKETS, width, 0));
    Some(format!("{}\n{about}\n\n{}", paint(HEADING, "Summary"), table.text(width)))
}

/// The table as Markdown.
pub(super) fn markdown(report: &ComparisonReport<'_>) -> String {
    let Some((statistics, rows)) = rows(report) else { return String::new() };
    let bold = |_, text| format!("**{text}**");
    let headings = headings(report, &statistics).join(" | ");
    let mut text = format!("\n| {headings} |\n|:---|{}\n", "---:|".repeat(statistics.len()));
    for (name, pair) in rows {
        let cells: Vec<String> = statistics.iter().map(|statistic| cell(pair, *statistic, bold)).collect();
        text.push_str(&format!("| {} | {} |\n", markdown_text(&name), cells.join(" | ")));
    }
    format!("{text}\n<sub>{BRACKETS}</sub>\n")
}

fn headings(report: &ComparisonReport<'_>, statistics: &[Statistic]) -> Vec<String> {
    let design = report.comparison.compared.first().map(|pair| pair.design);
    let name = |statistic: &Statistic| design.map_or("", |design| wording::statistic(*statistic, design));
    std::iter::once("").chain(statistics.iter().map(name)).map(str::to_owned).collect()
}
