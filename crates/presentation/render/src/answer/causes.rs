//! Who took the time of the slowest wake-ups: a line for each loop.

use std::cmp::Reverse;

use howlate_analyse::cause::{Why, families};
use howlate_analyse::{Analysis, LoopOutcomes, Outcome, per_thread};
use howlate_model::{Latency, Span, Work};

use super::{loops, name_among};
use crate::cause_words::{family_in_words, percent};
use crate::condition::ALL;
use crate::detail::Detail;
use crate::numbers::{count, length};
use crate::prose::{text_width, wrapped};
use crate::style::{HEADING, paint};
use crate::watch::{is_of_one_program, told};

/// Causes that are named of each loop.
const MOST: usize = 3;
/// Threads of a watched program whose causes are named, those that were latest.
const THREADS_SHOWN: usize = 4;
/// The tracer that needs no privilege, and sees nobody but the thread itself.
const WITHOUT_NAMES: &str = "switches";
/// With `--why` as many wake-ups are traced as are measured; of so many times fewer, it is said.
const FEW: u64 = 4;
/// The latest wake-up is so many times as late as the latest traced one: the causes below say nothing of it.
const FAR: i64 = 2;
/// A cause of less than this is not named beside others.
const LEAST: f64 = 0.01;

/// Why the wake-ups of a recording were late, as far as they were traced.
pub(crate) struct Reasons<'a> {
    pub(super) analysis: &'a Analysis,
    /// Which wake-ups count as late; `None`: those above the 99th percentile of their loop.
    above: Option<Span>,
    pub(super) explained: Vec<Explained<'a>>,
}

/// A loop that was traced and had late wake-ups.
pub(super) struct Explained<'a> {
    pub(super) one: LoopOutcomes<'a>,
    name: String,
    pub(super) why: Why,
}

/// Which wake-ups were asked for. The ledger has edges: where it counts from is said where that is not the same.
fn above_in_words(asked: Span, counted: Span) -> String {
    let [asked, counted] = [asked, counted].map(|span| Latency::from_span(span).to_string());
    let from = if asked == counted { String::new() } else { format!(", counted from {counted}") };
    format!("Causes of wake-ups at least {asked} late{from}")
}

impl<'a> Reasons<'a> {
    /// Of those that were at least `above` late, or as late as the run was asked for.
    pub(crate) fn find(analysis: &'a Analysis, above: Option<Span>, detail: Detail) -> Self {
        let above = above.or(analysis.header.late_above);
        let named =
            if is_of_one_program(analysis) { threads(analysis) } else { named_loops(analysis, detail) };
        let mut explained = Vec::new();
        for (name, one) in named {
            if let Some(why) = one.why_late(above).filter(|why| why.late.count > 0) {
                explained.push(Explained { one, name, why });
            }
        }
        if is_of_one_program(analysis) {
            explained.truncate(THREADS_SHOWN);
        }
        Self { analysis, above, explained }
    }

    /// The first causes of each loop, with their shares of the late time; empty where nothing was traced.
    pub(crate) fn causes(&self, width: usize) -> String {
        self.first_causes_of(usize::MAX, width)
    }

    /// The same of so many loops at most.
    pub(crate) fn first_causes_of(&self, most: usize, width: usize) -> String {
        let Some(first) = self.explained.first() else { return self.none_late(width) };
        let shown = &self.explained[..self.explained.len().min(most)];
        let names = shown.iter().map(|one| text_width(&one.name)).max().unwrap_or(0);
        let line = |one: &Explained<'_>| {
            let pad = names - text_width(&one.name);
            let indent = names + 4;
            format!("  {}{:pad$}  {}\n", one.name, "", first_causes(&one.why, width.saturating_sub(indent)))
        };
        let lines: String = shown.iter().map(line).collect();
        let title = match self.above {
            Some(asked) => above_in_words(asked, first.why.late.above),
            None => "Causes of the slowest 1 %".to_owned(),
        };
        let unnamed = if first.why.tracer == WITHOUT_NAMES { "; names need root" } else { "" };
        let part = if self.is_part() { "; in a tenth of the run" } else { "" };
        let title = wrapped(&format!("{title} (share of their lateness{unnamed}{part})"), width, 0);
        let beyond = self
            .worst_untraced()
            .map_or_else(String::new, |text| format!("  {}\n", wrapped(&text, width, 2)));
        format!("{}\n{lines}{beyond}", paint(HEADING, title))
    }

    /// Where the latest wake-up of all is far above what was traced of its loop.
    fn worst_untraced(&self) -> Option<String> {
        let latest = self.explained.iter().filter_map(|one| Some((one, one.one.planned().max()?)));
        let (one, max) = latest.max_by_key(|(_, max)| *max)?;
        let traced = one.why.worst.iter().map(|worst| worst.latency.as_nanos()).max()?;
        let whose = if one.name == ALL { String::new() } else { format!(", {}", one.name) };
        (max.as_nanos() >= FAR * traced)
            .then(|| format!("The slowest wake-up ({max}{whose}) was in a turn without tracing."))
    }

    /// Wake-ups that were traced.
    fn traced(&self) -> u64 {
        let ledger = |outcome: &'a Outcome| Some(&outcome.traces.as_deref()?.ledger);
        let ledgers = self.analysis.outcomes().iter().filter_map(ledger);
        ledgers.map(|ledger| ledger.decomposed + ledger.undecomposed()).sum()
    }

    /// Whether far fewer wake-ups were traced than are in the numbers, as where nobody asked for it.
    fn is_part(&self) -> bool {
        let measured: u64 = self.analysis.outcomes().iter().map(|outcome| outcome.latency().count()).sum();
        FEW * self.traced() < measured
    }

    /// What there is to say where something was traced, and nothing of it was that late.
    fn none_late(&self, width: usize) -> String {
        let traced = self.traced();
        let late =
            self.above.map_or_else(|| "late".to_owned(), |above| format!("at least {} late", length(above)));
        let text = format!("None of {} traced wake-ups was {late}.", count(traced));
        if traced == 0 { String::new() } else { format!("{}\n", wrapped(&text, width, 0)) }
    }
}

/// Of what was asked for, everything; of several watched programs, what was latest.
fn named_loops(analysis: &Analysis, detail: Detail) -> Vec<(String, LoopOutcomes<'_>)> {
    let mut loops = loops(analysis, detail);
    let is_watched = |one: &LoopOutcomes<'_>| matches!(one.first().condition.work, Work::Watch { .. });
    if loops.iter().all(is_watched) {
        loops.sort_by_key(|one| Reverse(one.happened().max()));
        loops.truncate(THREADS_SHOWN);
    }
    let name = |one| name_among(one, &loops).unwrap_or_else(|| ALL.to_owned());
    let names: Vec<String> = loops.iter().map(name).collect();
    names.into_iter().zip(loops).collect()
}

/// The threads of a watched program that matter most, each once.
fn threads(analysis: &Analysis) -> Vec<(String, LoopOutcomes<'_>)> {
    let outcomes: Vec<&Outcome> = analysis.outcomes().iter().collect();
    let all = per_thread(analysis);
    let of = |outcome: &Outcome| all.iter().find(|one| std::ptr::eq(one.first(), outcome)).cloned();
    told(&outcomes).into_iter().filter_map(|(name, outcome)| Some((name, of(outcome)?))).collect()
}

/// As many of the first causes as there is room for: `hog 69 %, timer slack 19 %`.
fn first_causes(why: &Why, room: usize) -> String {
    let mut text = String::new();
    for family in families(why).iter().take(MOST) {
        let more = format!("{} {}", family_in_words(family), percent(family.cause.share));
        let longer = if text.is_empty() { more } else { format!("{text}, {more}") };
        // Of the first there is all, whatever it takes.
        if !text.is_empty() && (family.cause.share < LEAST || text_width(&longer) > room) {
            break;
        }
        text = longer;
    }
    text
}
