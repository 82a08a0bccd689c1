//! Where the iterations of marked loops spent their time, by the spans that their program has named.

use howlate_analyse::watch::Rhythm;
use howlate_analyse::{Analysis, Outcome};
use howlate_model::{IterationsBlock, Latency, LongestIteration, Span, SpanBlock};

use super::name;
use crate::numbers::count;
use crate::result_columns::{MAX, MEDIAN, P99, RowNumbers};
use crate::table::Columns;
use crate::untrusted_text::legible;

/// Spans of the longest iteration that are told.
const TOLD: usize = 2;

/// ` The longest took 3.20 ms, 2.90 ms of it in `plan` and 210 µs in `act`.` Empty where the program names no spans.
pub(super) fn longest(turns: &IterationsBlock) -> String {
    let Some(LongestIteration { work, spans }) = &turns.longest else { return String::new() };
    let work = latency(*work);
    let mut told = spans.iter().take(TOLD).map(|one| (latency(one.spent), legible(&one.name)));
    let Some((spent, name)) = told.next() else {
        return format!(". The longest iteration took {work}, none of it in a span");
    };
    let others: String = told.map(|(spent, name)| format!(" and {spent} in `{name}`")).collect();
    format!(". The longest iteration took {work}, {spent} of it in `{name}`{others}")
}

fn latency(span: Span) -> Latency {
    Latency::from_nanos(i64::try_from(span.as_nanos()).unwrap_or(i64::MAX))
}

/// A row for each span: in how many iterations it occurred, and how much of those it took.
pub(crate) fn table(analysis: &Analysis, width: usize) -> String {
    let rows: Vec<(&Outcome, &SpanBlock)> = analysis.outcomes().iter().flat_map(of_loop).collect();
    if rows.is_empty() {
        return String::new();
    }
    let mut table = Columns::without_columns(2);
    table.column("loop", rows.iter().map(|(of, _)| name(of)));
    table.column("span", rows.iter().map(|(_, span)| legible(&span.name).into_owned()));
    table.column("iterations", rows.iter().map(|(_, span)| count(span.time.count())));
    let numbers: Vec<_> = rows.iter().map(|(_, span)| RowNumbers::supported_by(&span.time)).collect();
    table.results(&[MEDIAN, P99, MAX], &numbers);
    table.empty_unknown();
    format!("Time in each span, per iteration · µs\n\n{}\n", table.text(width))
}

fn of_loop(outcome: &Outcome) -> impl Iterator<Item = (&Outcome, &SpanBlock)> {
    let turns = outcome.rhythm.as_deref().and_then(Rhythm::turns);
    turns.into_iter().flat_map(|turns| &turns.spans).map(move |span| (outcome, span))
}
