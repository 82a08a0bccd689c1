//! How long threads waited for a CPU, where only the kernel's accounting is available.

use std::cmp::Reverse;

use howlate_analyse::Outcome;
use howlate_analyse::watch::{Rhythm, RunQueueNumbers};
use howlate_model::{Latency, Span};

use super::{name, nanos, none};
use crate::numbers::count;
use crate::prose::wrapped;
use crate::table::{TableUnit, TextTable};

const HEADINGS: [&str; 7] = ["thread", "interval", "jitter", "switch-ins", "preempted", "waited", "each"];
const MEANS: &str = "How long runnable threads waited for a CPU, in total and per run. When they were due, and what woke them, is unknown without a tracer.";

/// One row per thread, sorted by name: the `most` threads that waited longest.
pub(crate) fn table(mut outcomes: Vec<&Outcome>, most: usize, width: usize) -> String {
    if outcomes.is_empty() {
        return String::new();
    }
    outcomes.sort_by_key(|outcome| Reverse(run_queue(outcome).map_or(Span::ZERO, |numbers| numbers.waited)));
    let left_out = outcomes.split_off(outcomes.len().min(most)).len();
    outcomes.sort_by_key(|outcome| (&outcome.condition.name, outcome.condition.thread));
    let mut table = TextTable::new(&HEADINGS.map(str::to_owned), 1);
    let waited = outcomes
        .iter()
        .filter_map(|outcome| run_queue(outcome))
        .map(|numbers| Latency::from_span(numbers.waited));
    let unit = TableUnit::of(waited);
    outcomes.into_iter().for_each(|outcome| table.row(row(outcome, unit)));
    let more = match left_out {
        0 => String::new(),
        some => format!("  {some} more waited less; `--json --details` has all.\n"),
    };
    let means = wrapped(MEANS, width, 0);
    format!(
        "Threads of a program, from the kernel's accounting · {unit}\n\n{}{more}\n{means}\n\n",
        table.text(width)
    )
}

fn row(outcome: &Outcome, unit: TableUnit) -> Vec<String> {
    let span = |span: Option<Span>| span.map_or_else(none, |span| unit.show(nanos(span)));
    let (rhythm, numbers) = (outcome.rhythm.as_deref(), run_queue(outcome));
    vec![
        name(outcome),
        span(rhythm.and_then(Rhythm::period)),
        span(rhythm.and_then(Rhythm::jitter)),
        numbers.map_or_else(none, |numbers| count(numbers.switch_ins)),
        numbers.and_then(|numbers| numbers.preempted).map_or_else(none, count),
        span(numbers.map(|numbers| numbers.waited)),
        span(numbers.and_then(|numbers| numbers.mean_wait)),
    ]
}

fn run_queue(outcome: &Outcome) -> Option<RunQueueNumbers> {
    outcome.rhythm.as_deref().and_then(Rhythm::run_queue)
}
