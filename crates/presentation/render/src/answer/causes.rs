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
use crate::watch::{is_of_one_program, ranked_threads};

/// Causes named per loop.
const MOST: usize = 3;
/// Threads of a watched program whose causes are shown: the latest ones.
const THREADS_SHOWN: usize = 4;
/// The tracer that needs no privilege and cannot name other threads.
const WITHOUT_NAMES: &str = "switches";
/// With `--why` as many wake-ups are traced as are measured. Below a quarter of that, the title says so.
const FEW: u64 = 4;
/// The latest wake-up is at least this many times as late as the latest traced one: the causes do not cover it.
const FAR: i64 = 2;
/// Minimum share of a cause that is named beside others.
const LEAST: f64 = 0.01;

/// Why the wake-ups of a recording were late, as far as they were traced.
pub(crate) struct CauseReport<'a> {
    pub(super) analysis: &'a Analysis,
    /// Which wake-ups count as late; `None`: those above the 99th percentile of their loop.
    above: Option<Span>,
    pub(super) loops: Vec<LateLoop<'a>>,
}

/// A loop that was traced and had late wake-ups.
pub(super) struct LateLoop<'a> {
    pub(super) together: LoopOutcomes<'a>,
    name: String,
    pub(super) why: Why,
}

/// The title for a threshold. The ledger counts from a bucket edge, which is named where it differs from the threshold.
fn above_in_words(threshold: Span, counted: Span) -> String {
    let [threshold, counted] = [threshold, counted].map(|span| Latency::from_span(span).to_string());
    let from = if threshold == counted { String::new() } else { format!(", counted from {counted}") };
    format!("Causes of wake-ups at least {threshold} late{from}")
}

impl<'a> CauseReport<'a> {
    /// Causes of wake-ups at least `above` late; by default the threshold that the run was started with.
    pub(crate) fn find(analysis: &'a Analysis, above: Option<Span>, detail: Detail) -> Self {
        let above = above.or(analysis.header.late_above);
        let named_loops =
            if is_of_one_program(analysis) { threads(analysis) } else { named_loops(analysis, detail) };
        let mut loops = Vec::new();
        for (name, together) in named_loops {
            if let Some(why) = together.why_late(above).filter(|why| why.late.count > 0) {
                loops.push(LateLoop { together, name, why });
            }
        }
        if is_of_one_program(analysis) {
            loops.truncate(THREADS_SHOWN);
        }
        Self { analysis, above, loops }
    }

    /// The first causes of each loop, with their shares of the late time; empty where nothing was traced.
    pub(crate) fn causes(&self, width: usize) -> String {
        self.first_causes_of(usize::MAX, width)
    }

    /// Like `causes`, for at most `most` loops.
    pub(crate) fn first_causes_of(&self, most: usize, width: usize) -> String {
        let Some(first) = self.loops.first() else { return self.none_late(width) };
        let shown = &self.loops[..self.loops.len().min(most)];
        let names = shown.iter().map(|late_loop| text_width(&late_loop.name)).max().unwrap_or(0);
        let line = |late_loop: &LateLoop<'_>| {
            let pad = names - text_width(&late_loop.name);
            let indent = names + 4;
            format!(
                "  {}{:pad$}  {}\n",
                late_loop.name,
                "",
                first_causes(&late_loop.why, width.saturating_sub(indent))
            )
        };
        let lines: String = shown.iter().map(line).collect();
        let title = match self.above {
            Some(threshold) => above_in_words(threshold, first.why.late.above),
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

    /// A note where the latest wake-up of all is far above the latest traced one of its loop. What is watched is traced all the time, but
    /// not all of it can be taken apart.
    fn worst_untraced(&self) -> Option<String> {
        let latest =
            self.loops.iter().filter_map(|late_loop| Some((late_loop, late_loop.together.planned().max()?)));
        let (late_loop, max) = latest.max_by_key(|(_, max)| *max)?;
        let traced = late_loop.why.worst.iter().map(|worst| worst.latency.as_nanos()).max()?;
        let whose = if late_loop.name == ALL { String::new() } else { format!(", {}", late_loop.name) };
        let is_watched = matches!(late_loop.together.first().condition.work, Work::Watch { .. });
        let reason = if is_watched { "could not be broken down" } else { "was in a turn without tracing" };
        let what = if is_watched { "worst of all" } else { "slowest wake-up" };
        (max.as_nanos() >= FAR * traced).then(|| format!("The {what} ({max}{whose}) {reason}."))
    }

    /// Number of traced wake-ups.
    fn traced(&self) -> u64 {
        let ledger = |outcome: &'a Outcome| Some(&outcome.traces.as_deref()?.ledger);
        let ledgers = self.analysis.outcomes().iter().filter_map(ledger);
        ledgers.map(|ledger| ledger.decomposed + ledger.undecomposed()).sum()
    }

    /// Whether far fewer wake-ups were traced than measured, as in the short traced part that every run has.
    fn is_part(&self) -> bool {
        let measured: u64 = self.analysis.outcomes().iter().map(|outcome| outcome.latency().count()).sum();
        FEW * self.traced() < measured
    }

    /// The sentence for when wake-ups were traced but none was late enough.
    fn none_late(&self, width: usize) -> String {
        let traced = self.traced();
        let late =
            self.above.map_or_else(|| "late".to_owned(), |above| format!("at least {} late", length(above)));
        let text = format!("None of {} traced wake-ups was {late}.", count(traced));
        if traced == 0 { String::new() } else { format!("{}\n", wrapped(&text, width, 0)) }
    }
}

/// All loops; of several watched programs, the latest.
fn named_loops(analysis: &Analysis, detail: Detail) -> Vec<(String, LoopOutcomes<'_>)> {
    let mut loops = loops(analysis, detail);
    let is_watched = |row: &LoopOutcomes<'_>| matches!(row.first().condition.work, Work::Watch { .. });
    if loops.iter().all(is_watched) {
        loops.sort_by_key(|row| Reverse(row.happened().max()));
        loops.truncate(THREADS_SHOWN);
    }
    let name = |row| name_among(row, &loops).unwrap_or_else(|| ALL.to_owned());
    let names: Vec<String> = loops.iter().map(name).collect();
    names.into_iter().zip(loops).collect()
}

/// The threads of a watched program that lost most time, each once.
fn threads(analysis: &Analysis) -> Vec<(String, LoopOutcomes<'_>)> {
    let outcomes: Vec<&Outcome> = analysis.outcomes().iter().collect();
    let all = per_thread(analysis);
    let of = |outcome: &Outcome| all.iter().find(|row| std::ptr::eq(row.first(), outcome)).cloned();
    ranked_threads(&outcomes).into_iter().filter_map(|(name, outcome)| Some((name, of(outcome)?))).collect()
}

/// As many of the first causes as there is room for: `hog 69 %, timer slack 19 %`.
fn first_causes(why: &Why, room: usize) -> String {
    let mut text = String::new();
    for family in families(why).iter().take(MOST) {
        let more = format!("{} {}", family_in_words(family), percent(family.cause.share));
        let longer = if text.is_empty() { more } else { format!("{text}, {more}") };
        // The first cause is shown in full, however long.
        if !text.is_empty() && (family.cause.share < LEAST || text_width(&longer) > room) {
            break;
        }
        text = longer;
    }
    text
}
