//! The answer on one screen: how late, why, and what to do. Everything else is in the details.
//!
//! One row and one line of causes per loop, however many CPUs it ran on. Doubts about the numbers stand above them; the last
//! lines say what to do.

mod causes;
mod numbers;
mod remedies;
mod request_advice;
#[cfg(test)]
mod tests;
mod thread_advice;

use howlate_analyse::{
    Analysis, Insight, LoopOutcomes, Outcome, Punctuality, insights, per_loop, per_thread, punctuality_of,
};
use howlate_model::{Command, Work};

use crate::condition::distinguished_by;
use crate::confidence::what_the_maxima_support;
use crate::detail::{Detail, show_again};
use crate::insights::{explanation, iterations, period_late};
use crate::notes::doubts;
use crate::property::varying;
use crate::prose::wrapped;
use crate::recurrence;
use crate::style::{DIM, paint};

pub(crate) use causes::CauseReport;
pub(crate) use remedies::MOST as MOST_REMEDIES;

/// Lines of the whole result, for up to eight conditions: a screen, and half of one above it.
pub(crate) const SCREENFUL: usize = 40;

/// How many lines each optional part of the answer may take.
#[derive(Clone, Copy)]
struct AnswerExtent {
    /// Lines of doubts.
    doubts: usize,
    /// Sentences on what the numbers mean, besides the headline.
    meanings: usize,
    /// Whether to say what the maxima support.
    maxima: bool,
    /// Numbered remedies.
    remedies: usize,
    /// Whether a blank line precedes the hint at what is not shown.
    is_apart: bool,
}

/// From longest to shortest; the first that fits is used.
const ANSWER_EXTENTS: [AnswerExtent; 7] = [
    AnswerExtent { doubts: 6, meanings: 2, maxima: true, remedies: 3, is_apart: true },
    AnswerExtent { doubts: 6, meanings: 2, maxima: true, remedies: 2, is_apart: true },
    AnswerExtent { doubts: 4, meanings: 1, maxima: true, remedies: 2, is_apart: true },
    AnswerExtent { doubts: 4, meanings: 1, maxima: true, remedies: 1, is_apart: true },
    AnswerExtent { doubts: 2, meanings: 1, maxima: false, remedies: 1, is_apart: true },
    AnswerExtent { doubts: 2, meanings: 1, maxima: false, remedies: 1, is_apart: false },
    AnswerExtent { doubts: 2, meanings: 0, maxima: false, remedies: 1, is_apart: true },
];

/// The commands that show what this screen leaves out.
fn more(analysis: &Analysis, detail: Detail) -> String {
    let everything = show_again(analysis, "--details");
    match detail {
        Detail::PerCpu => format!("Everything: {everything}."),
        _ => format!("Per CPU: {}; everything: {everything}.", show_again(analysis, "--by cpu")),
    }
}

/// Whether the result fits one screen: periodic work on one machine, outside guests.
pub(crate) fn is_on_one_screen(analysis: &Analysis) -> bool {
    let is_one_machine = analysis.members.len() <= 1 && analysis.boots.is_empty();
    let is_periodic = |outcome: &Outcome| matches!(outcome.condition.work, Work::Cyclic { .. });
    let has_some = !analysis.outcomes().is_empty() && analysis.header.command != Command::Quick;
    is_one_machine && has_some && analysis.outcomes().iter().all(is_periodic)
}

/// The rows: one per loop, or one per thread with `--by cpu`.
fn loops(analysis: &Analysis, detail: Detail) -> Vec<LoopOutcomes<'_>> {
    if detail == Detail::PerCpu { per_thread(analysis) } else { per_loop(analysis) }
}

/// The text between `top` and `bottom`, as long as the screen has room for.
pub(crate) fn answer(analysis: &Analysis, detail: Detail, [top, bottom]: [&str; 2], width: usize) -> String {
    let (loops, late_causes) = (loops(analysis, detail), CauseReport::find(analysis, None, detail));
    let text_of = |extent: &AnswerExtent| {
        let parts = [
            doubts(analysis, extent.doubts, width),
            numbers::table(&loops, width),
            sentences(analysis, &loops, *extent, width),
            causes_and_remedies(&late_causes, extent.remedies, width),
        ];
        let parts = parts.into_iter().filter(|part| !part.is_empty()).map(|part| format!("\n{part}"));
        let (text, gap) = (parts.collect::<String>(), if extent.is_apart { "\n" } else { "" });
        format!("{text}{gap}{}\n", paint(DIM, wrapped(&more(analysis, detail), width, 0)))
    };
    let room = SCREENFUL.saturating_sub(top.lines().count() + bottom.lines().count());
    let mut texts = ANSWER_EXTENTS.iter().map(text_of);
    let fitting = texts.clone().find(|text| text.lines().count() <= room);
    let text = fitting.or_else(|| texts.next_back()).unwrap_or_default();
    format!("{top}{text}{bottom}")
}

/// Who took the time, and what to do; empty where nothing was traced.
fn causes_and_remedies(late_causes: &CauseReport<'_>, most: usize, width: usize) -> String {
    let (causes, remedies) = (late_causes.causes(width), late_causes.remedies(most, width));
    let between = if causes.is_empty() || remedies.is_empty() { "" } else { "\n" };
    format!("{causes}{between}{remedies}")
}

/// The values in which the loop differs from the others; `None` where there is no other.
fn name_among(row: &LoopOutcomes<'_>, rows: &[LoopOutcomes<'_>]) -> Option<String> {
    let name = distinguished_by(row, &varying(rows));
    (rows.len() > 1 && !name.is_empty()).then_some(name)
}

/// How late, what makes the difference, and what the maximum is worth.
fn sentences(analysis: &Analysis, loops: &[LoopOutcomes<'_>], extent: AnswerExtent, width: usize) -> String {
    let mut sentences: Vec<String> = headline(loops).into_iter().collect();
    sentences.extend(recurrence::sentences(analysis).into_iter().take(1));
    let insights = insights(analysis);
    let meanings = insights.iter().filter(|insight| !matches!(insight, Insight::Turns(_)));
    sentences.extend(meanings.take(extent.meanings).map(|insight| explanation(insight, analysis)));
    let maxima = what_the_maxima_support(analysis.outcomes().iter());
    sentences.extend(maxima.filter(|_| extent.maxima));
    sentences.iter().map(|sentence| format!("{}\n", wrapped(sentence, width, 0))).collect()
}

/// How late the iterations of the loop start; of several loops, the best and the worst.
fn headline(loops: &[LoopOutcomes<'_>]) -> Option<String> {
    let mut ranked: Vec<(&LoopOutcomes<'_>, Punctuality)> =
        loops.iter().filter_map(|row| Some((row, punctuality_of(row)?))).collect();
    ranked.sort_by_key(|(_, turns)| (turns.p99, turns.p999));
    let p99_and_name = |(row, turns): &(&LoopOutcomes<'_>, Punctuality)| {
        name_among(row, loops).map(|name| format!("{} ({name})", turns.p99))
    };
    match ranked.as_slice() {
        [] => None,
        [(_, turns)] => Some(format!("{} {}", iterations(turns), period_late(turns))),
        [best, .., worst] => Some(format!(
            "99 % of iterations start within {} at best, {} at worst.",
            p99_and_name(best)?,
            p99_and_name(worst)?
        )),
    }
}
