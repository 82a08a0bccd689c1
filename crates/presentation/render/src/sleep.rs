//! Results of `howlate sleep`.

use howlate_analyse::{Analysis, Outcome};
use howlate_model::{Property, Span};

use crate::condition::{joined, named_by};
use crate::confidence::left_out;
use crate::detail::{Brevity, and_more, show_again};
use crate::insights::what_this_means;
use crate::numbers::{count, length, length as length_of, micros_of, round};
use crate::prose::wrapped;
use crate::result_columns::{ColumnSpec, MAX, MEAN, MEDIAN, MIN, P99, RowNumbers, STDDEV};
use crate::style::{DIM, HEADING, paint};
use crate::table::TextTable;

/// Rows in the shortest form.
const MOST_ROWS: usize = 8;

/// One table per set of circumstances, then explanations.
pub(crate) fn tables(analysis: &Analysis, brevity: Brevity, width: usize) -> String {
    let mut text = overview(analysis.outcomes(), label, width);
    let says_all = !text.is_empty() && brevity.is(Brevity::WithoutRepeats);
    let groups = if says_all { Vec::new() } else { groups(analysis.outcomes()) };
    for group in &groups {
        let shown = brevity.of(group.len(), MOST_ROWS);
        text.push_str(&table(&group[..shown], width));
        text.push_str(&and_more(analysis, group.len() - shown, 2, width));
        text.push('\n');
    }
    if says_all {
        let more = format!("Medians, percentiles and maxima: {}.", show_again(analysis, "--details"));
        text.push_str(&format!("{}\n\n", paint(DIM, wrapped(&more, width, 0))));
    }
    let all: Vec<&Outcome> = analysis.outcomes().iter().collect();
    if let Some(why) = left_out(&all, &[P99]).filter(|_| !says_all) {
        text.push_str(&format!("{}\n\n", paint(DIM, wrapped(&why, width, 0))));
    }
    if !brevity.is(Brevity::WithoutAsides) {
        text.push_str(&runtimes(analysis.outcomes(), width));
    }
    text.push_str(&what_this_means(analysis, brevity, width));
    text
}

/// The runtime of each program and its warm-up.
fn runtimes(outcomes: &[Outcome], width: usize) -> String {
    let mut programs: Vec<(String, u64)> = Vec::new();
    for outcome in outcomes {
        let Some(runtime) = &outcome.runtime else { continue };
        let runtime = format!("{}: {runtime}", outcome.condition.work.mechanism());
        let warm_up = outcome.warm_up.unwrap_or(0);
        match programs.iter_mut().find(|(existing, _)| *existing == runtime) {
            Some((_, sum)) => *sum += warm_up,
            None => programs.push((runtime, warm_up)),
        }
    }
    if programs.is_empty() {
        return String::new();
    }
    let mut lines: Vec<String> = programs.into_iter().map(with_warm_up).collect();
    lines.push("elapsed, user and sys of programs include their start-up".to_owned());
    let shown = |line: &String| format!("{}\n", paint(DIM, wrapped(line, width, 2)));
    lines.iter().map(shown).collect::<String>() + "\n"
}

fn with_warm_up((runtime, warm_up): (String, u64)) -> String {
    match warm_up {
        0 => runtime,
        1 => format!("{runtime}; 1 warm-up sleep not counted"),
        _ => format!("{runtime}; {} warm-up sleeps not counted", count(warm_up)),
    }
}

/// Outcomes with equal circumstances, sorted by length.
fn groups(outcomes: &[Outcome]) -> Vec<Vec<&Outcome>> {
    let mut groups: Vec<Vec<&Outcome>> = Vec::new();
    for outcome in outcomes {
        match groups.iter_mut().find(|group| title(group[0]) == title(outcome)) {
            Some(group) => group.push(outcome),
            None => groups.push(vec![outcome]),
        }
    }
    for group in &mut groups {
        group.sort_by_key(|outcome| outcome.condition.work.length());
    }
    groups
}

/// The sleeping call and the circumstances.
fn label(outcome: &Outcome) -> String {
    joined(&[outcome.condition.work.mechanism().to_string(), title(outcome)])
}

fn title(outcome: &Outcome) -> String {
    named_by(outcome, &[Property::Policy, Property::Slack, Property::Cpu, Property::Load, Property::Knob])
}

/// Columns of the tables.
const ERRORS: [ColumnSpec; 6] = [MIN, MEAN, STDDEV, MEDIAN, P99, MAX];

fn table(group: &[&Outcome], width: usize) -> String {
    let call = |outcome: &&Outcome| outcome.condition.work.mechanism().to_string();
    let first = group.first().map_or_else(String::new, call);
    let several = group.iter().any(|outcome| call(outcome) != first);
    let mut table = TextTable::without_columns(if several { 2 } else { 1 });
    table.column("asked", group.iter().map(|outcome| length(outcome.condition.work.length())));
    if several {
        table.column("call", group.iter().map(call));
    }
    table.column("sleeps", group.iter().map(|outcome| count(outcome.count())));
    table.column("took (mean)", group.iter().map(|outcome| took(outcome)));
    table.results(
        &ERRORS,
        &group.iter().map(|outcome| RowNumbers::supported_by(outcome.latency())).collect::<Vec<_>>(),
    );
    table.column("elapsed", group.iter().map(|outcome| millis(outcome.usage.elapsed)));
    table.column("user", group.iter().map(|outcome| millis(outcome.usage.user)));
    table.column("sys", group.iter().map(|outcome| millis(outcome.usage.system)));
    let units = paint(DIM, "µs later than asked; elapsed, user and sys: ms for all sleeps");
    let of_one = if several { String::new() } else { format!("{first} · ") };
    let title = title(group[0]);
    let title = format!("{} · {units}", paint(HEADING, format!("{of_one}{title}")));
    format!("{}\n\n{}", wrapped(&title, width, 0), table.text(width))
}

fn took(outcome: &Outcome) -> String {
    let length = outcome.condition.work.length().as_nanos() as f64;
    outcome.latency().mean_nanos().map_or_else(|| "–".to_owned(), |late| micros_of(length + late))
}

fn millis(span: Span) -> String {
    round(span.as_secs_f64() * 1e3)
}

/// The mean lateness of all sleeps, by `label` and length. Empty unless there are several of both.
pub(crate) fn overview(outcomes: &[Outcome], label: impl Fn(&Outcome) -> String, width: usize) -> String {
    let length = |outcome: &Outcome| outcome.condition.work.length();
    let mut lengths: Vec<Span> = outcomes.iter().map(length).collect();
    lengths.sort_unstable();
    lengths.dedup();
    let mut labels: Vec<String> = Vec::new();
    for row_label in outcomes.iter().map(&label) {
        if !labels.contains(&row_label) {
            labels.push(row_label);
        }
    }
    if labels.len() < 2 || lengths.len() < 2 {
        return String::new();
    }
    let headings = std::iter::once("asked".to_owned()).chain(lengths.iter().map(|span| length_of(*span)));
    let mut table = TextTable::new(&headings.collect::<Vec<_>>(), 1);
    for row in labels {
        let cell = |span: &Span| {
            let found = outcomes.iter().find(|outcome| length(outcome) == *span && label(outcome) == row);
            found.and_then(|outcome| outcome.latency().mean_nanos()).map_or_else(|| "–".to_owned(), micros_of)
        };
        let cells = lengths.iter().map(cell).collect::<Vec<_>>();
        table.row([vec![row.clone()], cells].concat());
    }
    let units = paint(DIM, "mean, µs");
    format!("{} · {units}\n\n{}\n", paint(HEADING, "How much later than asked"), table.text(width))
}
