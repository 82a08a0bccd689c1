//! Steps in the lateness of sleeps: where they are, and why, on one screen.

mod words;

use howlate_analyse::Analysis;
use howlate_analyse::steps::{ControlResult, LengthLevel, LengthStep, Remainder, Staircase, staircases};

use crate::numbers::{count, length, micros_of, signed_micros};
use crate::prose::wrapped;
use crate::style::{BOLD, DIM, GOOD, HEADING, paint};
use crate::table::Columns;
pub(crate) use words::sentence;
use words::{control_name, headline};

/// Lines of a screen, less one for what is typed next.
const MOST_LINES: usize = 23;

/// The answer of every sweep; `None` where nothing was swept.
pub(crate) fn answer(analysis: &Analysis, above: usize, width: usize) -> Option<String> {
    let found = staircases(analysis);
    let room = MOST_LINES.saturating_sub(above) / found.len().max(1);
    let text: String = found.iter().map(|one| of_sweep(one, analysis, room, width)).collect();
    (!found.is_empty()).then_some(text)
}

/// Where the steps are, and why, a sentence each.
pub(crate) fn sentences(analysis: &Analysis) -> Vec<String> {
    let told = |one: &Staircase| {
        let steps = one.steps.iter().map(sentence).collect::<Vec<_>>();
        std::iter::once(headline(one)).chain(steps).collect::<Vec<_>>()
    };
    staircases(analysis).iter().flat_map(told).collect()
}

/// Where the steps of the first sweep are; `None` where nothing was swept.
pub fn steps_headline(analysis: &Analysis) -> Option<String> {
    staircases(analysis).first().map(headline)
}

fn of_sweep(found: &Staircase, analysis: &Analysis, room: usize, width: usize) -> String {
    let headline = wrapped(&paint(BOLD, headline(found)), width, 0);
    let below = paint(DIM, wrapped(&words::how(found, analysis), width, 0));
    let table = if found.steps.is_empty() { String::new() } else { format!("\n{}", table(found, width)) };
    let used = [&headline, &below, &table].map(|text| text.lines().count()).iter().sum::<usize>() + 3;
    let reasons = reasons(found, room.saturating_sub(used), width);
    format!("{headline}\n{table}{reasons}\n{below}\n")
}

/// Why each step is there, as many as there is room for, the largest first.
fn reasons(found: &Staircase, room: usize, width: usize) -> String {
    let mut largest: Vec<&LengthStep> = found.steps.iter().collect();
    largest.sort_by_key(|step| std::cmp::Reverse(step.rise.as_nanos().unsigned_abs()));
    let mut told: Vec<(&LengthStep, String)> = Vec::new();
    let mut lines = 0;
    for step in largest {
        let text = format!("{}\n", wrapped(&sentence(step), width, 2));
        lines += text.lines().count();
        if lines > room && !told.is_empty() {
            break;
        }
        told.push((step, text));
    }
    told.sort_by_key(|(step, _)| step.at);
    let text: String = told.iter().map(|(_, text)| text.as_str()).collect();
    match found.steps.len() - told.len() {
        0 if text.is_empty() => text,
        0 => format!("\n{text}"),
        more => format!("\n{text}{}\n", paint(DIM, format!("{} more: `--details`.", count(more as u64)))),
    }
}

/// A row for each level; the step that leads to it, and what each control leaves of that.
fn table(found: &Staircase, width: usize) -> String {
    let mut table = Columns::without_columns(1);
    table.column("sleeps of", found.levels.iter().map(lengths));
    table.column("late", found.levels.iter().map(|level| micros_of(level.late.as_nanos() as f64)));
    let steps = || std::iter::once(None).chain(found.steps.iter().map(Some));
    table.column("step", steps().map(|step| step.map_or_else(String::new, rise)));
    for control in &found.controls {
        let cell = |step: Option<&LengthStep>| {
            let left = step.and_then(|step| step.controls.iter().find(|one| one.control == *control));
            left.map_or_else(String::new, left_of)
        };
        table.column(control_name(*control), steps().map(cell));
    }
    let units = "µs; step: 95 % interval; then: what is left of it with the";
    let title = format!("{} · {}", paint(HEADING, "Median lateness"), paint(DIM, units));
    format!("{}\n{}", wrapped(&title, width, 0), table.text(width))
}

fn lengths(level: &LengthLevel) -> String {
    if level.from == level.until {
        return length(level.from);
    }
    format!("{} … {}", length(level.from), length(level.until))
}

/// `+6.94 (6.1 … 7.7)`.
fn rise(step: &LengthStep) -> String {
    let micros = |nanos: i64| micros_of(nanos as f64);
    let (low, high) = (step.interval.low.as_nanos(), step.interval.high.as_nanos());
    format!("{} ({} … {})", signed_micros(step.rise.as_nanos() as f64), micros(low), micros(high))
}

fn left_of(one: &ControlResult) -> String {
    let left = micros_of(one.left.as_nanos() as f64);
    match one.verdict {
        Remainder::Gone => paint(GOOD, format!("{left} gone")),
        Remainder::Remains => left,
        Remainder::Unclear => format!("{left} ?"),
    }
}
