//! A watched program on one screen: the rows that matter, what they mean, who took the time, and what to do. The last lines are
//! what people came for.

use howlate_analyse::{Analysis, Outcome};

use crate::answer::{Reasons, SCREENFUL};
use crate::ask_again::show_again;
use crate::detail::Detail;
use crate::notes::doubts;
use crate::prose::wrapped;
use crate::style::{DIM, paint};
use crate::watch::{
    Meaning, Rows, activations, event_loops, few_wakeups, has_run, is_unseen, loop_lines, run_queue,
};

/// Lines of the answer: what a terminal shows without scrolling back.
const ANSWER: usize = 24;

/// How much there is of what can be left out.
#[derive(Clone, Copy)]
struct Extent {
    rows: usize,
    event_loops: usize,
    /// Sentences on marked loops.
    marked: usize,
    /// Lines of doubts.
    doubts: usize,
    meanings: usize,
    causes: usize,
    remedies: usize,
}

/// From the most to the least.
const EXTENTS: [Extent; 8] = [
    Extent { rows: 10, event_loops: 4, marked: 4, doubts: 6, meanings: 5, causes: 4, remedies: 3 },
    Extent { rows: 8, event_loops: 3, marked: 2, doubts: 4, meanings: 4, causes: 4, remedies: 3 },
    Extent { rows: 6, event_loops: 3, marked: 2, doubts: 3, meanings: 3, causes: 4, remedies: 3 },
    Extent { rows: 5, event_loops: 2, marked: 1, doubts: 2, meanings: 3, causes: 3, remedies: 2 },
    Extent { rows: 4, event_loops: 2, marked: 1, doubts: 1, meanings: 2, causes: 3, remedies: 2 },
    Extent { rows: 3, event_loops: 1, marked: 1, doubts: 1, meanings: 2, causes: 2, remedies: 1 },
    Extent { rows: 2, event_loops: 1, marked: 0, doubts: 1, meanings: 1, causes: 1, remedies: 1 },
    Extent { rows: 2, event_loops: 0, marked: 0, doubts: 1, meanings: 1, causes: 1, remedies: 1 },
];

/// What stands below `top`, as much as there is room for.
pub(crate) fn screen(analysis: &Analysis, top: &str, detail: Detail, width: usize) -> String {
    let reasons = Reasons::find(analysis, None, detail);
    let parts = |extent: &Extent| {
        let above = format!(
            "{top}{}\n{}",
            apart(&doubts(analysis, extent.doubts, width)),
            numbers(analysis, *extent, width)
        );
        (above, answer(analysis, &reasons, *extent, width))
    };
    let fits = |(above, answer): &(String, String)| {
        let (above, answer) = (above.lines().count(), answer.lines().count());
        answer <= ANSWER && above + answer <= SCREENFUL
    };
    let mut all = EXTENTS.iter().map(parts);
    let fitting = all.clone().find(fits);
    let (above, answer) = fitting.or_else(|| all.next_back()).unwrap_or_default();
    above + &answer
}

fn apart(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("\n{text}") }
}

/// The tables.
fn numbers(analysis: &Analysis, extent: Extent, width: usize) -> String {
    let late = analysis.header.late_above;
    let (unseen, outcomes): (Vec<&Outcome>, Vec<&Outcome>) = analysis.outcomes().iter().partition(is_unseen);
    let unseen = run_queue::table(unseen, extent.rows, width);
    let event_loops = event_loops::rows(&outcomes, extent.event_loops, width);
    let have_run: Vec<&Outcome> = outcomes.iter().copied().filter(has_run).collect();
    let Rows { shown, .. } = &Rows::choose(&have_run, extent.rows, true);
    if shown.is_empty() {
        return format!("{event_loops}{unseen}");
    }
    let marked = loop_lines(&have_run, width).into_iter().take(extent.marked).collect::<String>();
    let rows = activations(shown, late, true, width);
    let below = below(&have_run, extent, &rows, shown, width);
    format!("{rows}{below}\n{event_loops}{}{unseen}", if marked.is_empty() { marked } else { marked + "\n" })
}

/// What is not in the table, and what a dash in it means.
fn below(all: &[&Outcome], extent: Extent, rows: &str, shown: &[&Outcome], width: usize) -> String {
    let folded = Rows::choose(all, extent.rows, true).folded().map(|text| format!("{text}."));
    let few = few_wakeups(shown, rows);
    let lines = folded.into_iter().chain(few);
    lines.map(|text| format!("{}\n", paint(DIM, wrapped(&text, width, 0)))).collect()
}

/// What the numbers mean, who took the time, and what to do.
fn answer(analysis: &Analysis, reasons: &Reasons<'_>, extent: Extent, width: usize) -> String {
    let meaning = Meaning::of(analysis).text(extent.meanings, width);
    let causes = reasons.first_causes_of(extent.causes, width);
    let remedies = reasons.remedies(extent.remedies, width);
    let is_traced = !causes.is_empty();
    let more = if is_traced { "The latencies include what tracing adds. " } else { "" };
    let more = format!("{more}Everything: {}.", show_again(analysis, "--details"));
    let parts = [meaning, apart_after(causes), apart_after(remedies)];
    format!("{}{}\n", parts.concat(), paint(DIM, wrapped(&more, width, 0)))
}

fn apart_after(text: String) -> String {
    if text.is_empty() { text } else { text + "\n" }
}
