//! What `compare` says, for the page and for Markdown.

use howlate_analyse::compare::Verdict;
use howlate_render::{ComparisonReport, Messages, ToldPair, ToldRow, markdown_text};

use crate::prose;
use crate::table::Table;

/// Pairs of conditions that the tables hold; `howlate compare` prints all.
const PAIRS: usize = 24;

/// Everything that was tested: a row for each statistic of each pair.
pub(crate) fn table(told: &Messages<'_>) -> Table {
    let interval = format!("{} interval", told.confidence);
    let headings =
        ["compared", "number", "base", "new", "differ by", "", &interval, "detectable", "p", "verdict"];
    let rows = rows(told, |one| {
        let [base, new, by] = one.numbers.clone();
        vec![base, new, by, one.percent.clone(), one.interval.clone(), detectable(one), one.p.clone()]
    });
    let mut table = Table::plain(&caption(told), &headings, 2, rows);
    embolden(&mut table, told);
    table
}

fn caption(told: &Messages<'_>) -> String {
    let more = told.pairs.len().saturating_sub(PAIRS);
    let more =
        if more == 0 { String::new() } else { format!(" {more} more pairs: `howlate compare` prints them.") };
    format!(
        "In µs. {}. p is corrected for all comparisons; detectable: a difference found with a chance of at least 80 %.{more}",
        told.tally
    )
}

fn detectable(row: &ToldRow<'_>) -> String {
    if row.detectable.is_empty() { "–".to_owned() } else { row.detectable.clone() }
}

fn rows(told: &Messages<'_>, numbers: impl Fn(&ToldRow<'_>) -> Vec<String>) -> Vec<Vec<String>> {
    let row = |pair: &ToldPair<'_>, row: &ToldRow<'_>| {
        let mut cells = vec![pair.subject.clone(), row.statistic.to_owned()];
        cells.extend(numbers(row));
        cells.push(row.verdict.to_owned());
        cells
    };
    let each = |pair: &'_ ToldPair<'_>| pair.rows.iter().map(|one| row(pair, one)).collect::<Vec<_>>();
    told.pairs.iter().take(PAIRS).flat_map(each).collect()
}

/// The verdicts that say something stands out, in the last column of each row.
fn embolden(table: &mut Table, told: &Messages<'_>) {
    let verdicts = told.pairs.iter().take(PAIRS).flat_map(|pair| &pair.rows).map(|row| row.tested.verdict);
    for (row, verdict) in table.rows.iter_mut().zip(verdicts) {
        let stands_out = matches!(verdict, Verdict::Better | Verdict::Worse);
        row.last_mut().into_iter().for_each(|cell| cell.is_worst = stands_out);
    }
}

/// A table of few columns, and what to know; the verdict stands above everything.
pub(crate) fn markdown(comparison: &ComparisonReport<'_>) -> String {
    let told = comparison.messages();
    let notes: String = told.notes.iter().map(|note| format!("- {}\n", prose::markdown(note))).collect();
    let gap = if notes.is_empty() { "" } else { "\n" };
    format!("**{}**\n\n{}{gap}{notes}\n", markdown_text(&title(&told)), brief(&told).markdown())
}

/// What was compared, where it is one pair.
fn title(told: &Messages<'_>) -> String {
    match told.pairs.as_slice() {
        [only] => format!("What differs: {}", only.subject),
        _ => "What differs".to_owned(),
    }
}

/// The table for pages that are narrow: a pair is named in its first row, or above where there is only one.
fn brief(told: &Messages<'_>) -> Table {
    let interval = format!("{} interval", told.confidence);
    let mut rows = rows(told, |one| {
        let [base, new, _] = one.numbers.clone();
        vec![base, new, one.percent.clone(), one.interval.clone()]
    });
    let mut headings = vec!["compared", "µs", "base", "new", "differ by", &interval, "verdict"];
    let mut named = String::new();
    for row in &mut rows {
        let is_known = row[0] == named;
        named.clone_from(&row[0]);
        row[0] = if is_known { String::new() } else { named.clone() };
    }
    let is_single = told.pairs.len() == 1;
    if is_single {
        headings.remove(0);
        rows.iter_mut().for_each(|row| drop(row.remove(0)));
    }
    let mut table = Table::plain("", &headings, if is_single { 1 } else { 2 }, rows);
    embolden(&mut table, told);
    table
}
