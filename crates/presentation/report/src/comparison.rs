//! The comparison of conditions or recordings, for the page and for Markdown.

use howlate_analyse::compare::Verdict;
use howlate_render::{ComparisonReport, ComparisonTexts, PairTexts, StatisticTexts, markdown_text};

use crate::prose;
use crate::table::ReportTable;

/// Pairs of conditions in the tables; `howlate compare` prints all.
const PAIRS: usize = 24;

/// One row per statistic of each pair.
pub(crate) fn table(messages: &ComparisonTexts<'_>) -> ReportTable {
    let interval = format!("{} interval", messages.confidence);
    let headings =
        ["compared", "number", "base", "new", "differ by", "", &interval, "detectable", "p", "verdict"];
    let rows = rows(messages, |row| {
        let [base, new, by] = row.numbers.clone();
        vec![base, new, by, row.percent.clone(), row.interval.clone(), detectable(row), row.p.clone()]
    });
    let mut table = ReportTable::plain(&caption(messages), &headings, 2, rows);
    mark_differences(&mut table, messages);
    table
}

fn caption(messages: &ComparisonTexts<'_>) -> String {
    let more = messages.pairs.len().saturating_sub(PAIRS);
    let more =
        if more == 0 { String::new() } else { format!(" {more} more pairs: `howlate compare` prints them.") };
    format!(
        "In µs. {}. p is corrected for all comparisons; detectable: a difference found with a chance of at least 80 %.{more}",
        messages.tally
    )
}

fn detectable(row: &StatisticTexts<'_>) -> String {
    if row.detectable.is_empty() { "–".to_owned() } else { row.detectable.clone() }
}

fn rows(
    messages: &ComparisonTexts<'_>,
    numbers: impl Fn(&StatisticTexts<'_>) -> Vec<String>,
) -> Vec<Vec<String>> {
    let row = |pair: &PairTexts<'_>, row: &StatisticTexts<'_>| {
        let mut cells = vec![pair.subject.clone(), row.statistic.to_owned()];
        cells.extend(numbers(row));
        cells.push(row.verdict.to_owned());
        cells
    };
    let pair_rows =
        |pair: &'_ PairTexts<'_>| pair.rows.iter().map(|statistic| row(pair, statistic)).collect::<Vec<_>>();
    messages.pairs.iter().take(PAIRS).flat_map(pair_rows).collect()
}

/// Marks the verdicts `better` and `worse`, in the last column.
fn mark_differences(table: &mut ReportTable, messages: &ComparisonTexts<'_>) {
    let verdicts =
        messages.pairs.iter().take(PAIRS).flat_map(|pair| &pair.rows).map(|row| row.tested.verdict);
    for (row, verdict) in table.rows.iter_mut().zip(verdicts) {
        let stands_out = matches!(verdict, Verdict::Better | Verdict::Worse);
        row.last_mut().into_iter().for_each(|cell| cell.is_worst = stands_out);
    }
}

/// A narrow table and the notes; the verdict stands above the whole text.
pub(crate) fn markdown(comparison: &ComparisonReport<'_>) -> String {
    let messages = comparison.messages();
    let notes: String = messages.notes.iter().map(|note| format!("- {}\n", prose::markdown(note))).collect();
    let gap = if notes.is_empty() { "" } else { "\n" };
    format!("**{}**\n\n{}{gap}{notes}\n", markdown_text(&title(&messages)), brief(&messages).markdown())
}

/// Heading, with the conditions where there is one pair.
fn title(messages: &ComparisonTexts<'_>) -> String {
    match messages.pairs.as_slice() {
        [only] => format!("What differs: {}", only.subject),
        _ => "What differs".to_owned(),
    }
}

/// The table for narrow pages: the pair is named in its first row, or above the table where there is only one.
fn brief(messages: &ComparisonTexts<'_>) -> ReportTable {
    let interval = format!("{} interval", messages.confidence);
    let mut rows = rows(messages, |row| {
        let [base, new, _] = row.numbers.clone();
        vec![base, new, row.percent.clone(), row.interval.clone()]
    });
    let mut headings = vec!["compared", "µs", "base", "new", "differ by", &interval, "verdict"];
    let mut current = String::new();
    for row in &mut rows {
        let is_same = row[0] == current;
        current.clone_from(&row[0]);
        row[0] = if is_same { String::new() } else { current.clone() };
    }
    let is_single = messages.pairs.len() == 1;
    if is_single {
        headings.remove(0);
        rows.iter_mut().for_each(|row| drop(row.remove(0)));
    }
    let mut table = ReportTable::plain("", &headings, if is_single { 1 } else { 2 }, rows);
    mark_differences(&mut table, messages);
    table
}
