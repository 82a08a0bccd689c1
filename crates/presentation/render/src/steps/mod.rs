//! Steps in the lateness of sleeps of increasing length, on one screen.

mod wording;

use howlate_analyse::Analysis;
use howlate_analyse::steps::{ControlResult, LengthLevel, LengthStep, Remainder, Staircase, staircases};

use crate::numbers::{count, length, micros_of, signed_micros};
use crate::prose::wrapped;
use crate::style::{BOLD, DIM, GOOD, HEADING, paint};
use crate::table::TextTable;
pub(crate) use wording::sentence;
use wording::{control_name, headline};

/// Lines of a screen, less the next prompt.
const MOST_LINES: usize = 23;

/// The results of all sweeps; `None` without any.
pub(crate) fn answer(analysis: &Analysis, above: usize, width: usize) -> Option<String> {
    let staircases = staircases(analysis);
    let room = MOST_LINES.saturating_sub(above) / staircases.len().max(1);
    let text: String =
        staircases.iter().map(|staircase| sweep_text(staircase, analysis, room, width)).collect();
    (!staircases.is_empty()).then_some(text)
}

/// Where the steps are, and why, a sentence each.
pub(crate) fn sentences(analysis: &Analysis) -> Vec<String> {
    let sentences_of = |staircase: &Staircase| {
        let steps = staircase.steps.iter().map(sentence).collect::<Vec<_>>();
        std::iter::once(headline(staircase)).chain(steps).collect::<Vec<_>>()
    };
    staircases(analysis).iter().flat_map(sentences_of).collect()
}

/// Where the steps of the first sweep are; `None` without a sweep.
pub fn steps_headline(analysis: &Analysis) -> Option<String> {
    staircases(analysis).first().map(headline)
}

fn sweep_text(staircase: &Staircase, analysis: &Analysis, room: usize, width: usize) -> String {
    let headline = wrapped(&paint(BOLD, headline(staircase)), width, 0);
    let below = paint(DIM, wrapped(&wording::how(staircase, analysis), width, 0));
    let table =
        if staircase.steps.is_empty() { String::new() } else { format!("\n{}", table(staircase, width)) };
    let used = [&headline, &below, &table].map(|text| text.lines().count()).iter().sum::<usize>() + 3;
    let reasons = reasons(staircase, room.saturating_sub(used), width);
    format!("{headline}\n{table}{reasons}\n{below}\n")
}

/// Causes of the steps, largest steps first, as far as there is room.
fn reasons(staircase: &Staircase, room: usize, width: usize) -> String {
    let mut largest: Vec<&LengthStep> = staircase.steps.iter().collect();
    largest.sort_by_key(|step| std::cmp::Reverse(step.rise.as_nanos().unsigned_abs()));
    let mut shown: Vec<(&LengthStep, String)> = Vec::new();
    let mut lines = 0;
    for step in largest {
        let text = format!("{}\n", wrapped(&sentence(step), width, 2));
        lines += text.lines().count();
        if lines > room && !shown.is_empty() {
            break;
        }
        shown.push((step, text));
    }
    shown.sort_by_key(|(step, _)| step.at);
    let text: String = shown.iter().map(|(_, text)| text.as_str()).collect();
    match staircase.steps.len() - shown.len() {
        0 if text.is_empty() => text,
        0 => format!("\n{text}"),
        more => format!("\n{text}{}\n", paint(DIM, format!("{} more: `--details`.", count(more as u64)))),
    }
}

/// One row per level, with the step before it, and its remainder with each control.
fn table(staircase: &Staircase, width: usize) -> String {
    let mut table = TextTable::without_columns(1);
    table.column("sleeps of", staircase.levels.iter().map(lengths));
    table.column("late", staircase.levels.iter().map(|level| micros_of(level.late.as_nanos() as f64)));
    let steps = || std::iter::once(None).chain(staircase.steps.iter().map(Some));
    table.column("step", steps().map(|step| step.map_or_else(String::new, rise)));
    for control in &staircase.controls {
        let cell = |step: Option<&LengthStep>| {
            let controlled =
                step.and_then(|step| step.controls.iter().find(|controlled| controlled.control == *control));
            controlled.map_or_else(String::new, remainder)
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

/// The rise with its interval: `+6.94 (6.1 … 7.7)`.
fn rise(step: &LengthStep) -> String {
    let micros = |nanos: i64| micros_of(nanos as f64);
    let (low, high) = (step.interval.low.as_nanos(), step.interval.high.as_nanos());
    format!("{} ({} … {})", signed_micros(step.rise.as_nanos() as f64), micros(low), micros(high))
}

fn remainder(controlled: &ControlResult) -> String {
    let left = micros_of(controlled.left.as_nanos() as f64);
    match controlled.verdict {
        Remainder::Gone => paint(GOOD, format!("{left} gone")),
        Remainder::Remains => left,
        Remainder::Unclear => format!("{left} ?"),
    }
}
