//! What threads got of CPUs whose wake-ups nobody saw.

use std::cmp::Reverse;

use howlate_analyse::Outcome;
use howlate_analyse::watch::{Rhythm, RunQueueNumbers};
use howlate_model::{Latency, Span};

use super::{name, nanos, none};
use crate::numbers::count;
use crate::prose::wrapped;
use crate::scale_of_table::Unit;
use crate::table::Columns;

const HEADINGS: [&str; 7] = ["thread", "interval", "jitter", "switch-ins", "preempted", "waited", "each"];
const MEANS: &str = "How long runnable threads waited for a CPU, in total and per run. When they were due, and what woke them, is unknown without a tracer.";

/// One row per thread, by name: those that waited longest, so many at most.
pub(crate) fn table(mut outcomes: Vec<&Outcome>, most: usize, width: usize) -> String {
    if outcomes.is_empty() {
        return String::new();
    }
    outcomes.sort_by_key(|one| Reverse(numbers(one).map_or(Span::ZERO, |got| got.waited)));
    let left_out = outcomes.split_off(outcomes.len().min(most)).len();
    outcomes.sort_by_key(|one| (&one.condition.name, one.condition.thread));
    let mut table = Columns::new(&HEADINGS.map(str::to_owned), 1);
    let waited = outcomes.iter().filter_map(|one| numbers(one)).map(|got| Latency::from_span(got.waited));
    let unit = Unit::of(waited);
    outcomes.into_iter().for_each(|one| table.row(row(one, unit)));
    let more = match left_out {
        0 => String::new(),
        some => format!("  {some} more waited less; `--json` has all.\n"),
    };
    let means = wrapped(MEANS, width, 0);
    format!(
        "Threads of a program, from the kernel's accounting · {unit}\n\n{}{more}\n{means}\n\n",
        table.text(width)
    )
}

fn row(one: &Outcome, unit: Unit) -> Vec<String> {
    let span = |span: Option<Span>| span.map_or_else(none, |span| unit.show(nanos(span)));
    let (rhythm, got) = (one.rhythm.as_deref(), numbers(one));
    vec![
        name(one),
        span(rhythm.and_then(Rhythm::period)),
        span(rhythm.and_then(Rhythm::jitter)),
        got.map_or_else(none, |got| count(got.switch_ins)),
        got.and_then(|got| got.preempted).map_or_else(none, count),
        span(got.map(|got| got.waited)),
        span(got.and_then(|got| got.mean_wait)),
    ]
}

fn numbers(one: &Outcome) -> Option<RunQueueNumbers> {
    one.rhythm.as_deref().and_then(Rhythm::run_queue)
}
