//! Who took the time of the slowest wake-ups: a line for each loop.

use std::cmp::Reverse;

use howlate_analyse::cause::{Family, Why, WhyCause, families};
use howlate_analyse::{Analysis, Together, together};
use howlate_model::{Latency, Span, Work};

use super::name_among;
use crate::cause_words::{cause_in_words, percent};
use crate::condition::ALL;
use crate::numbers::{count, length};
use crate::prose::{text_width, wrapped};
use crate::style::{HEADING, paint};

/// Causes that are named of each loop.
const MOST: usize = 3;
/// Threads of a watched program whose causes are named, those that were latest.
const THREADS_SHOWN: usize = 4;
/// A cause of less than this is not named beside others.
const LEAST: f64 = 0.01;

/// A loop that was traced, and why its wake-ups were late.
pub(super) struct Explained<'a> {
    pub(super) one: Together<'a>,
    pub(super) name: String,
    pub(super) why: Why,
}

/// The loops that were traced and had late wake-ups: those at least `above` late, or above the 99th percentile.
pub(super) fn explained(analysis: &Analysis, above: Option<Span>) -> Vec<Explained<'_>> {
    let mut loops = together(analysis);
    latest_watched(&mut loops);
    let names: Vec<Option<String>> = loops.iter().map(|one| name_among(one, &loops)).collect();
    let mut explained = Vec::new();
    for (one, name) in loops.into_iter().zip(names) {
        if let Some(why) = one.why_late(above).filter(|why| why.late.count > 0) {
            explained.push(Explained { one, name: name.unwrap_or_else(|| ALL.to_owned()), why });
        }
    }
    explained
}

/// Of the threads of a watched program keeps those that were latest; of what was asked for, everything.
fn latest_watched(loops: &mut Vec<Together<'_>>) {
    let is_watched = |one: &Together<'_>| matches!(one.first().condition.work, Work::Watch { .. });
    if loops.iter().all(is_watched) {
        loops.sort_by_key(|one| Reverse(one.happened().max()));
        loops.truncate(THREADS_SHOWN);
    }
}

/// The first causes of each loop, with their shares of the late time.
pub(crate) fn causes(analysis: &Analysis, above: Option<Span>, width: usize) -> String {
    let explained = explained(analysis, above);
    let Some(first) = explained.first() else { return none_late(analysis, above, width) };
    let names = explained.iter().map(|one| text_width(&one.name)).max().unwrap_or(0);
    let line = |one: &Explained<'_>| {
        let pad = names - text_width(&one.name);
        let indent = names + 4;
        format!("  {}{:pad$}  {}\n", one.name, "", first_causes(&one.why, width.saturating_sub(indent)))
    };
    let lines: String = explained.iter().map(line).collect();
    format!("{}\n{lines}", paint(HEADING, wrapped(&title(&first.why, above.is_some()), width, 0)))
}

/// What there is to say where something was traced, and nothing of it was that late.
fn none_late(analysis: &Analysis, above: Option<Span>, width: usize) -> String {
    let ledgers = analysis.outcomes().iter().filter_map(|outcome| Some(&outcome.traces.as_deref()?.ledger));
    let traced: u64 = ledgers.map(|ledger| ledger.decomposed + ledger.unknown()).sum();
    let late = above.map_or_else(|| "late".to_owned(), |above| format!("at least {} late", length(above)));
    let text = format!("None of {} traced wake-ups was {late}.", count(traced));
    if traced == 0 { String::new() } else { format!("{}\n", wrapped(&text, width, 0)) }
}

fn title(why: &Why, is_asked: bool) -> String {
    if is_asked {
        let above = Latency::from_span(why.late.above);
        return format!("Causes of wake-ups at least {above} late (share of their lateness)");
    }
    "Causes of the slowest 1 % (share of their lateness)".to_owned()
}

/// As many of the first causes as there is room for: `hog 69 %, timer slack 19 %`.
fn first_causes(why: &Why, room: usize) -> String {
    let families = families(why);
    let named = families.iter().enumerate().filter(|(at, one)| *at == 0 || one.cause.share >= LEAST);
    let mut text = String::new();
    for (_, family) in named.take(MOST) {
        let more = format!("{} {}", in_words(family), percent(family.cause.share));
        let longer = if text.is_empty() { more } else { format!("{text}, {more}") };
        if !text.is_empty() && text_width(&longer) > room {
            break;
        }
        text = longer;
    }
    text
}

/// Who it was; of several how many: `opt cgu.* (4 names)`.
pub(crate) fn in_words(family: &Family) -> String {
    // Whose process it was is in the details; a name is what one looks for.
    let words = cause_in_words(&WhyCause { pid: None, ..family.cause.clone() });
    if family.names > 1 { format!("{words} ({} names)", family.names) } else { words }
}
