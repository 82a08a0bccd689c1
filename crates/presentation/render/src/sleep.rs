//! Tables of sleeps.

use howlate_analyse::{Analysis, Outcome};
use howlate_model::{Property, Span};

use crate::ask_again::show_again;
use crate::brevity::{Brevity, and_more};
use crate::condition::{joined, named_by};
use crate::confidence::left_out;
use crate::insights::what_this_means;
use crate::numbers::{count, length, micros_of, round};
use crate::prose::wrapped;
use crate::result_columns::{ColumnSpec, MAX, MEAN, MEDIAN, MIN, P99, RowNumbers, STDDEV};
use crate::sleep_overview::overview;
use crate::style::{DIM, HEADING, paint};
use crate::table::Columns;

/// Rows that say enough where there is little room.
const FEW: usize = 8;

/// One table for each set of circumstances, then what the numbers mean.
pub(crate) fn tables(analysis: &Analysis, brevity: Brevity, width: usize) -> String {
    let mut text = overview(analysis.outcomes(), label, width);
    let says_all = !text.is_empty() && brevity.is(Brevity::WithoutRepeats);
    let groups = if says_all { Vec::new() } else { groups(analysis.outcomes()) };
    for group in &groups {
        let shown = brevity.of(group.len(), FEW);
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

/// What each program said of its language, once, and how it was warmed up.
fn runtimes(outcomes: &[Outcome], width: usize) -> String {
    let mut programs: Vec<(String, u64)> = Vec::new();
    for outcome in outcomes {
        let Some(said) = &outcome.runtime else { continue };
        let said = format!("{}: {said}", outcome.condition.work.mechanism());
        let warm_up = outcome.warm_up.unwrap_or(0);
        match programs.iter_mut().find(|(known, _)| *known == said) {
            Some((_, sum)) => *sum += warm_up,
            None => programs.push((said, warm_up)),
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

fn with_warm_up((said, warm_up): (String, u64)) -> String {
    match warm_up {
        0 => said,
        1 => format!("{said}; 1 warm-up sleep not counted"),
        _ => format!("{said}; {} warm-up sleeps not counted", count(warm_up)),
    }
}

/// Outcomes that differ only in what sleeps and how long stand in one table, those of a length together.
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

/// What sleeps, and under which circumstances.
fn label(outcome: &Outcome) -> String {
    joined(&[outcome.condition.work.mechanism().to_string(), title(outcome)])
}

fn title(outcome: &Outcome) -> String {
    named_by(outcome, &[Property::Policy, Property::Slack, Property::Cpu, Property::Load, Property::Knob])
}

/// What each length is reported by.
const ERRORS: [ColumnSpec; 6] = [MIN, MEAN, STDDEV, MEDIAN, P99, MAX];

fn table(group: &[&Outcome], width: usize) -> String {
    let call = |outcome: &&Outcome| outcome.condition.work.mechanism().to_string();
    let first = group.first().map_or_else(String::new, call);
    let several = group.iter().any(|outcome| call(outcome) != first);
    let mut table = Columns::without_columns(if several { 2 } else { 1 });
    table.column("asked", group.iter().map(|outcome| length(outcome.condition.work.length())));
    if several {
        table.column("call", group.iter().map(call));
    }
    table.column("sleeps", group.iter().map(|outcome| count(outcome.count())));
    table.column("took (mean)", group.iter().map(|outcome| took(outcome)));
    table.results(
        &ERRORS,
        &group.iter().map(|one| RowNumbers::supported_by(one.latency())).collect::<Vec<_>>(),
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
    let asked = outcome.condition.work.length().as_nanos() as f64;
    outcome.latency().mean_nanos().map_or_else(|| "–".to_owned(), |late| micros_of(asked + late))
}

fn millis(span: Span) -> String {
    round(span.as_secs_f64() * 1e3)
}
