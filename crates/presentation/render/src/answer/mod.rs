//! The answer on one screen: how late, why, and what to do. Everything else is in the details.
//!
//! A row and a line of causes for each loop, however many CPUs it ran on; what makes the numbers doubtful stands above them, and
//! the last lines are what people came for.

mod causes;
mod numbers;
mod remedies;
#[cfg(test)]
mod tests;
mod thread_advice;

use howlate_analyse::{
    Analysis, Insight, LoopOutcomes, Outcome, Punctuality, insights, per_loop, per_thread, punctuality_of,
};
use howlate_model::{Command, Work};

use crate::ask_again::show_again;
use crate::condition::told_by;
use crate::confidence::what_the_maxima_support;
use crate::detail::Detail;
use crate::insights::{explanation, iterations, period_late};
use crate::notes::doubts;
use crate::property::varying;
use crate::prose::wrapped;
use crate::recurrence;
use crate::style::{DIM, paint};

pub(crate) use causes::Reasons;
pub(crate) use remedies::MOST as MOST_REMEDIES;

/// Lines of the whole result, for up to eight conditions: a screen, and half of one above it.
pub(crate) const SCREENFUL: usize = 40;

/// How much there is of what can be left out.
#[derive(Clone, Copy)]
struct Extent {
    /// Lines of doubts.
    doubts: usize,
    /// Sentences on what the numbers mean, beside the first.
    meanings: usize,
    /// Whether what the maxima are worth is told.
    maxima: bool,
    /// Things to do.
    remedies: usize,
    /// Whether what is not shown stands apart from them.
    is_apart: bool,
}

/// From the most to the least.
const EXTENTS: [Extent; 7] = [
    Extent { doubts: 6, meanings: 2, maxima: true, remedies: 3, is_apart: true },
    Extent { doubts: 6, meanings: 2, maxima: true, remedies: 2, is_apart: true },
    Extent { doubts: 4, meanings: 1, maxima: true, remedies: 2, is_apart: true },
    Extent { doubts: 4, meanings: 1, maxima: true, remedies: 1, is_apart: true },
    Extent { doubts: 2, meanings: 1, maxima: false, remedies: 1, is_apart: true },
    Extent { doubts: 2, meanings: 1, maxima: false, remedies: 1, is_apart: false },
    Extent { doubts: 2, meanings: 0, maxima: false, remedies: 1, is_apart: true },
];

/// What is not on the screen.
fn more(analysis: &Analysis, detail: Detail) -> String {
    let everything = show_again(analysis, "--details");
    match detail {
        Detail::PerCpu => format!("Everything: {everything}."),
        _ => format!("Per CPU: {}; everything: {everything}.", show_again(analysis, "--by cpu")),
    }
}

/// Whether the result of a recording is one screen: periodic work of one machine, that no guest did.
pub(crate) fn is_on_one_screen(analysis: &Analysis) -> bool {
    let is_one_machine = analysis.members.len() <= 1 && analysis.boots.is_empty();
    let is_periodic = |outcome: &Outcome| matches!(outcome.condition.work, Work::Cyclic { .. });
    let has_some = !analysis.outcomes().is_empty() && analysis.header.command != Command::Quick;
    is_one_machine && has_some && analysis.outcomes().iter().all(is_periodic)
}

/// The rows: a loop each, or a thread of one.
fn loops(analysis: &Analysis, detail: Detail) -> Vec<LoopOutcomes<'_>> {
    if detail == Detail::PerCpu { per_thread(analysis) } else { per_loop(analysis) }
}

/// What stands between `top` and `bottom`, as much as there is room for.
pub(crate) fn answer(analysis: &Analysis, detail: Detail, [top, bottom]: [&str; 2], width: usize) -> String {
    let (loops, reasons) = (loops(analysis, detail), Reasons::find(analysis, None, detail));
    let text_of = |extent: &Extent| {
        let parts = [
            doubts(analysis, extent.doubts, width),
            numbers::table(&loops, width),
            sentences(analysis, &loops, *extent, width),
            explained(&reasons, extent.remedies, width),
        ];
        let parts = parts.into_iter().filter(|part| !part.is_empty()).map(|part| format!("\n{part}"));
        let (text, gap) = (parts.collect::<String>(), if extent.is_apart { "\n" } else { "" });
        format!("{text}{gap}{}\n", paint(DIM, wrapped(&more(analysis, detail), width, 0)))
    };
    let room = SCREENFUL.saturating_sub(top.lines().count() + bottom.lines().count());
    let mut texts = EXTENTS.iter().map(text_of);
    let fitting = texts.clone().find(|text| text.lines().count() <= room);
    let text = fitting.or_else(|| texts.next_back()).unwrap_or_default();
    format!("{top}{text}{bottom}")
}

/// Who took the time, and what to do; empty where nothing was traced.
fn explained(reasons: &Reasons<'_>, most: usize, width: usize) -> String {
    let (causes, remedies) = (reasons.causes(width), reasons.remedies(most, width));
    let between = if causes.is_empty() || remedies.is_empty() { "" } else { "\n" };
    format!("{causes}{between}{remedies}")
}

/// What a loop is called beside the others: by that in which they differ. `None` where there is no other.
fn name_among(one: &LoopOutcomes<'_>, all: &[LoopOutcomes<'_>]) -> Option<String> {
    let name = told_by(one, &varying(all));
    (all.len() > 1 && !name.is_empty()).then_some(name)
}

/// How late, what makes the difference, and what the maximum is worth.
fn sentences(analysis: &Analysis, loops: &[LoopOutcomes<'_>], extent: Extent, width: usize) -> String {
    let mut sentences: Vec<String> = headline(loops).into_iter().collect();
    sentences.extend(recurrence::sentences(analysis).into_iter().take(1));
    let found = insights(analysis);
    let meanings = found.iter().filter(|one| !matches!(one, Insight::Turns(_)));
    sentences.extend(meanings.take(extent.meanings).map(|one| explanation(one, analysis)));
    let maxima = what_the_maxima_support(analysis.outcomes().iter());
    sentences.extend(maxima.filter(|_| extent.maxima));
    sentences.iter().map(|sentence| format!("{}\n", wrapped(sentence, width, 0))).collect()
}

/// How late the iterations of the loop begin; of several, those of the best and of the worst.
fn headline(loops: &[LoopOutcomes<'_>]) -> Option<String> {
    let mut judged: Vec<(&LoopOutcomes<'_>, Punctuality)> =
        loops.iter().filter_map(|one| Some((one, punctuality_of(one)?))).collect();
    judged.sort_by_key(|(_, turns)| (turns.p99, turns.p999));
    let named = |(one, turns): &(&LoopOutcomes<'_>, Punctuality)| {
        name_among(one, loops).map(|name| format!("{} ({name})", turns.p99))
    };
    match judged.as_slice() {
        [] => None,
        [(_, turns)] => Some(format!("{} {}", iterations(turns), period_late(turns))),
        [best, .., worst] => Some(format!(
            "99 % of iterations start within {} at best, {} at worst.",
            named(best)?,
            named(worst)?
        )),
    }
}
