//! A watched program on one screen: the important rows, what they mean, who took the time, and what to do, last.

use howlate_analyse::{Analysis, Outcome};

use crate::answer::{CauseReport, SCREENFUL};
use crate::detail::{Detail, show_again};
use crate::notes::doubts;
use crate::prose::wrapped;
use crate::style::{DIM, paint};
use crate::watch::{
    Meaning, ThreadRows, activations, event_loops, few_wakeups, has_run, is_accounted_only, loop_lines,
    request_lines, run_queue,
};

/// Lines of the answer: what a terminal shows without scrolling back.
const ANSWER: usize = 24;

/// How many lines each optional part of the screen may take.
#[derive(Clone, Copy)]
struct WatchExtent {
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

/// From longest to shortest; the first that fits is used.
const WATCH_EXTENTS: [WatchExtent; 8] = [
    WatchExtent { rows: 10, event_loops: 4, marked: 4, doubts: 6, meanings: 5, causes: 4, remedies: 3 },
    WatchExtent { rows: 8, event_loops: 3, marked: 2, doubts: 4, meanings: 4, causes: 4, remedies: 3 },
    WatchExtent { rows: 6, event_loops: 3, marked: 2, doubts: 3, meanings: 3, causes: 4, remedies: 3 },
    WatchExtent { rows: 5, event_loops: 2, marked: 1, doubts: 2, meanings: 3, causes: 3, remedies: 2 },
    WatchExtent { rows: 4, event_loops: 2, marked: 1, doubts: 1, meanings: 2, causes: 3, remedies: 2 },
    WatchExtent { rows: 3, event_loops: 1, marked: 1, doubts: 1, meanings: 2, causes: 2, remedies: 1 },
    WatchExtent { rows: 2, event_loops: 1, marked: 0, doubts: 1, meanings: 1, causes: 1, remedies: 1 },
    WatchExtent { rows: 2, event_loops: 0, marked: 0, doubts: 1, meanings: 1, causes: 1, remedies: 1 },
];

/// The text below `top`, as long as the screen has room for.
pub(crate) fn screen(analysis: &Analysis, top: &str, detail: Detail, width: usize) -> String {
    let cause_report = CauseReport::find(analysis, None, detail);
    let parts = |extent: &WatchExtent| {
        let above = format!(
            "{top}{}\n{}",
            apart(&doubts(analysis, extent.doubts, width)),
            numbers(analysis, *extent, width)
        );
        (above, answer(analysis, &cause_report, *extent, width))
    };
    let fits = |(above, answer): &(String, String)| {
        let (above, answer) = (above.lines().count(), answer.lines().count());
        answer <= ANSWER && above + answer <= SCREENFUL
    };
    let mut all = WATCH_EXTENTS.iter().map(parts);
    let fitting = all.clone().find(fits);
    let (above, answer) = fitting.or_else(|| all.next_back()).unwrap_or_default();
    above + &answer
}

fn apart(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("\n{text}") }
}

fn numbers(analysis: &Analysis, extent: WatchExtent, width: usize) -> String {
    let late = analysis.header.late_above;
    let (accounted, outcomes): (Vec<&Outcome>, Vec<&Outcome>) =
        analysis.outcomes().iter().partition(is_accounted_only);
    let accounted = run_queue::table(accounted, extent.rows, width);
    let requests = request_lines(&outcomes, width);
    // Who asked for requests is shown these first.
    let loops = if requests.is_empty() { extent.event_loops } else { extent.event_loops / 2 };
    let event_loops = event_loops::rows(&outcomes, loops, width);
    let requests: String = requests.into_iter().take(extent.causes).map(|text| text + "\n").collect();
    let have_run: Vec<&Outcome> = outcomes.iter().copied().filter(has_run).collect();
    let ThreadRows { shown, .. } = &ThreadRows::choose(&have_run, extent.rows, true);
    if shown.is_empty() {
        return format!("{event_loops}{accounted}");
    }
    let marked = if requests.is_empty() { extent.marked } else { extent.marked / 2 };
    let marked = loop_lines(&have_run, width).into_iter().take(marked).collect::<String>();
    let rows = activations(shown, late, true, width);
    let below = below(&have_run, extent, &rows, shown, width);
    format!(
        "{rows}{below}\n{requests}{event_loops}{}{accounted}",
        if marked.is_empty() { marked } else { marked + "\n" }
    )
}

/// The rows that were left out, and the meaning of dashes.
fn below(all: &[&Outcome], extent: WatchExtent, rows: &str, shown: &[&Outcome], width: usize) -> String {
    let folded = ThreadRows::choose(all, extent.rows, true).folded().map(|text| format!("{text}."));
    let few = few_wakeups(shown, rows);
    let lines = folded.into_iter().chain(few);
    lines.map(|text| format!("{}\n", paint(DIM, wrapped(&text, width, 0)))).collect()
}

/// What the numbers mean, who took the time, and what to do.
fn answer(analysis: &Analysis, cause_report: &CauseReport<'_>, extent: WatchExtent, width: usize) -> String {
    let meaning = Meaning::of(analysis).text(extent.meanings, width);
    let causes = cause_report.first_causes_of(extent.causes, width);
    let remedies = cause_report.remedies(extent.remedies, width);
    let is_traced = !causes.is_empty();
    let more = if is_traced { "The latencies include what tracing adds. " } else { "" };
    let more = format!("{more}Everything: {}.", show_again(analysis, "--details"));
    let parts = [meaning, apart_after(causes), apart_after(remedies)];
    format!("{}{}\n", parts.concat(), paint(DIM, wrapped(&more, width, 0)))
}

fn apart_after(text: String) -> String {
    if text.is_empty() { text } else { text + "\n" }
}
