//! Many comparisons in one table: a row for each pair of conditions.

use howlate_analyse::compare::{Compared, Statistic, Tested, Verdict};

use super::{ComparisonReport, words};
use crate::markdown_text;
use crate::prose::wrapped;
use crate::style::{BOLD, DIM, GOOD, HEADING, paint};
use crate::table::Columns;

/// What brackets mean.
const BRACKETS: &str =
    "New against base, in per cent of the base. In brackets: not distinguishable or inconclusive.";

/// A pair of conditions and its name.
type Row<'a> = (String, &'a Compared);

/// Columns and rows; `None` where one pair speaks for itself, or none of them says anything.
fn rows<'a>(report: &'a ComparisonReport<'_>) -> Option<(Vec<Statistic>, Vec<Row<'a>>)> {
    let compared = &report.comparison.compared;
    let is_there = |statistic: &Statistic| compared.iter().any(|one| tested_in(one, *statistic).is_some());
    let statistics: Vec<Statistic> = Statistic::ALL.into_iter().filter(is_there).collect();
    let names = words::Rows::new(report);
    (compared.len() > 1 && !statistics.is_empty())
        .then(|| (statistics, compared.iter().map(|one| (names.name(one, false), one)).collect()))
}

fn tested_in(one: &Compared, statistic: Statistic) -> Option<&Tested> {
    one.statistics.iter().find(|tested| tested.statistic == statistic)
}

/// `-84 % better`; in brackets where nothing is said.
fn cell(one: &Compared, statistic: Statistic, mark: fn(Verdict, String) -> String) -> String {
    let Some(tested) = tested_in(one, statistic) else { return "–".to_owned() };
    let percent = words::percent_apart(tested);
    match tested.verdict {
        Verdict::NotDistinguishable | Verdict::Inconclusive => format!("({percent})"),
        said => mark(said, format!("{percent} {}", words::verdict(said))),
    }
}

/// For a terminal.
pub(super) fn text(report: &ComparisonReport<'_>, width: usize) -> Option<String> {
    let (statistics, rows) = rows(report)?;
    let marked = |verdict, text| match verdict {
        Verdict::Better | Verdict::Equivalent => paint(GOOD, text),
        _ => paint(BOLD, text),
    };
    let headings = headings(report, &statistics);
    let mut table = Columns::new(&headings, 1);
    for (name, one) in rows {
        let cells = statistics.iter().map(|statistic| cell(one, *statistic, marked));
        table.row(std::iter::once(name).chain(cells).collect());
    }
    let about = paint(DIM, wrapped(BRACKETS, width, 0));
    Some(format!("{}\n{about}\n\n{}", paint(HEADING, "Summary"), table.text(width)))
}

/// For a pull request.
pub(super) fn markdown(report: &ComparisonReport<'_>) -> String {
    let Some((statistics, rows)) = rows(report) else { return String::new() };
    let bold = |_, text| format!("**{text}**");
    let headings = headings(report, &statistics).join(" | ");
    let mut text = format!("\n| {headings} |\n|:---|{}\n", "---:|".repeat(statistics.len()));
    for (name, one) in rows {
        let cells: Vec<String> = statistics.iter().map(|statistic| cell(one, *statistic, bold)).collect();
        text.push_str(&format!("| {} | {} |\n", markdown_text(&name), cells.join(" | ")));
    }
    format!("{text}\n<sub>{BRACKETS}</sub>\n")
}

fn headings(report: &ComparisonReport<'_>, statistics: &[Statistic]) -> Vec<String> {
    let design = report.comparison.compared.first().map(|one| one.design);
    let name = |statistic: &Statistic| design.map_or("", |design| words::statistic(*statistic, design));
    std::iter::once("").chain(statistics.iter().map(name)).map(str::to_owned).collect()
}
