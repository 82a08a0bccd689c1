//! Where the iterations of marked loops spent their time, by the named spans of the program.

use howlate_analyse::watch::Rhythm;
use howlate_analyse::{Analysis, Outcome};
use howlate_model::{IterationsBlock, Latency, LongestIteration, Span, SpanBlock};

use super::name;
use crate::numbers::count;
use crate::result_columns::{MAX, MEDIAN, P99, RowNumbers};
use crate::table::TextTable;
use crate::untrusted_text::legible;

/// Most spans of the longest iteration that are listed.
const MOST_SPANS: usize = 2;

/// ` The longest took 3.20 ms, 2.90 ms of it in `plan` and 210 µs in `act`.` Empty if the iteration is not recorded.
pub(super) fn longest(turns: &IterationsBlock) -> String {
    let Some(LongestIteration { work, spans }) = &turns.longest else { return String::new() };
    let work = latency(*work);
    let mut times = spans.iter().take(MOST_SPANS).map(|span| (latency(span.spent), legible(&span.name)));
    let Some((spent, name)) = times.next() else {
        return format!(". The longest iteration took {work}, none of it in a span");
    };
    let rest: String = times.map(|(spent, name)| format!(" and {spent} in `{name}`")).collect();
    format!(". The longest iteration took {work}, {spent} of it in `{name}`{rest}")
}

fn latency(span: Span) -> Latency {
    Latency::from_nanos(i64::try_from(span.as_nanos()).unwrap_or(i64::MAX))
}

/// One row per span: in how many iterations it occurred, and the time it took in those.
pub(crate) fn table(analysis: &Analysis, width: usize) -> String {
    let rows: Vec<(&Outcome, &SpanBlock)> = analysis.outcomes().iter().flat_map(spans_of).collect();
    if rows.is_empty() {
        return String::new();
    }
    let mut table = TextTable::without_columns(2);
    table.column("loop", rows.iter().map(|(outcome, _)| name(outcome)));
    table.column("span", rows.iter().map(|(_, span)| legible(&span.name).into_owned()));
    table.column("iterations", rows.iter().map(|(_, span)| count(span.time.count())));
    let numbers: Vec<_> = rows.iter().map(|(_, span)| RowNumbers::supported_by(&span.time)).collect();
    table.results(&[MEDIAN, P99, MAX], &numbers);
    table.empty_unknown();
    format!("Time in each span, per iteration · µs\n\n{}\n", table.text(width))
}

fn spans_of(outcome: &Outcome) -> impl Iterator<Item = (&Outcome, &SpanBlock)> {
    let turns = outcome.rhythm.as_deref().and_then(Rhythm::turns);
    turns.into_iter().flat_map(|turns| &turns.spans).map(move |span| (outcome, span))
}
