//! Sleeps of all circumstances in one table: the mean lateness, by who sleeps and how long.

use howlate_analyse::Outcome;
use howlate_model::Span;

use crate::numbers::{length as length_of, micros_of};
use crate::style::{DIM, HEADING, paint};
use crate::table::Columns;

/// Empty unless there are several rows to compare and several lengths. `label` names an outcome's row.
pub(crate) fn overview(outcomes: &[Outcome], label: impl Fn(&Outcome) -> String, width: usize) -> String {
    let length = |outcome: &Outcome| outcome.condition.work.length();
    let mut lengths: Vec<Span> = outcomes.iter().map(length).collect();
    lengths.sort_unstable();
    lengths.dedup();
    let mut labels: Vec<String> = Vec::new();
    for one in outcomes.iter().map(&label) {
        if !labels.contains(&one) {
            labels.push(one);
        }
    }
    if labels.len() < 2 || lengths.len() < 2 {
        return String::new();
    }
    let headings = std::iter::once("asked".to_owned()).chain(lengths.iter().map(|asked| length_of(*asked)));
    let mut table = Columns::new(&headings.collect::<Vec<_>>(), 1);
    for row in labels {
        let cell = |asked: &Span| {
            let found = outcomes.iter().find(|outcome| length(outcome) == *asked && label(outcome) == row);
            found.and_then(|one| one.latency().mean_nanos()).map_or_else(|| "–".to_owned(), micros_of)
        };
        let cells = lengths.iter().map(cell).collect::<Vec<_>>();
        table.row([vec![row.clone()], cells].concat());
    }
    let units = paint(DIM, "mean, µs");
    format!("{} · {units}\n\n{}\n", paint(HEADING, "How much later than asked"), table.text(width))
}
