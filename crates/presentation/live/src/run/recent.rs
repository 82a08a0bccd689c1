//! The panel of recent late wake-ups.
//!
//! Recordings keep the worst wake-ups of each condition. One that is among them now and was not at the last update is new.

use std::collections::{BTreeSet, VecDeque};

use howlate_analyse::{Analysis, LoopOutcomes, Outcome, percentile};
use howlate_model::{Latency, MonotonicTime, Span, WakeupBreakdown};
use howlate_render::condition::joined;
use howlate_render::numbers::rough;
use howlate_render::{percent, segment_in_words};

use crate::screenful::{LiveCell, LiveColumn, LiveTable, LiveTableRow};

/// Late wake-ups on the screen.
const MAX_WAKEUPS: usize = 100;
/// Width that the name column may take as its minimum.
const MAX_NAME_MINIMUM: usize = 14;
/// Wake-ups that a condition needs for a 99th percentile.
const MIN_FOR_P99: u64 = 100;

/// The latest late wake-ups, newest first.
#[derive(Debug, Default)]
pub(crate) struct RecentWakeups {
    previous_worst: BTreeSet<(usize, MonotonicTime)>,
    wakeups: VecDeque<RecentWakeup>,
    /// Total number so far; the source of keys.
    total: u64,
}

#[derive(Clone, Debug)]
struct RecentWakeup {
    key: u64,
    condition: usize,
    at: MonotonicTime,
    latency: Latency,
    explained: Option<Box<WakeupBreakdown>>,
}

impl RecentWakeups {
    /// Updates the list from the present state of the analysis.
    pub(crate) fn update(&mut self, analysis: &Analysis) {
        let mut worst_now: BTreeSet<(usize, MonotonicTime)> = BTreeSet::new();
        let mut new: Vec<RecentWakeup> = Vec::new();
        for (condition, outcome) in analysis.outcomes().iter().enumerate() {
            for (at, latency, explained) in worst(outcome) {
                worst_now.insert((condition, at));
                if !self.previous_worst.contains(&(condition, at)) && is_late(outcome, latency, analysis) {
                    new.push(RecentWakeup {
                        key: 0,
                        condition,
                        at,
                        latency,
                        explained: explained.cloned().map(Box::new),
                    });
                }
            }
        }
        self.explain(analysis);
        self.previous_worst = worst_now;
        new.sort_by_key(|wakeup| wakeup.at);
        for mut wakeup in new {
            self.total += 1;
            wakeup.key = self.total;
            self.wakeups.push_front(wakeup);
        }
        self.wakeups.truncate(MAX_WAKEUPS);
    }

    /// Fills in explanations: with `howlate watch` they come some time after the wake-up.
    fn explain(&mut self, analysis: &Analysis) {
        for wakeup in self.wakeups.iter_mut().filter(|wakeup| wakeup.explained.is_none()) {
            let traces =
                analysis.outcomes().get(wakeup.condition).and_then(|outcome| outcome.traces.as_ref());
            let mut worst = traces.iter().flat_map(|traces| traces.ledger.worst());
            wakeup.explained = worst.find(|explained| explained.at == wakeup.at).cloned().map(Box::new);
        }
    }

    /// The table of wake-ups, and for each the table of its parts by key.
    pub(super) fn tables(
        &self,
        loops: &[LoopOutcomes<'_>],
        names: &[String],
        analysis: &Analysis,
    ) -> (LiveTable, Vec<(u64, LiveTable)>) {
        let name = |condition: usize| {
            let outcome = analysis.outcomes().get(condition)?;
            let row =
                loops.iter().position(|row| row.outcomes().any(|other| std::ptr::eq(other, outcome)))?;
            names.get(row).cloned()
        };
        let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(5);
        let min_width = u16::try_from(longest.min(MAX_NAME_MINIMUM)).unwrap_or(5);
        let name_drop_order = if names.len() > 1 { 1 } else { 9 };
        let mut columns = vec![
            LiveColumn::number("after", 7, 0),
            LiveColumn::number("late", 8, 0),
            LiveColumn { drop_order: name_drop_order, ..LiveColumn::growing_to(longest, "", min_width) },
        ];
        if analysis.outcomes().iter().any(|outcome| outcome.traces.is_some()) {
            columns.push(LiveColumn::growing("most of it", 12));
        }
        let row = |wakeup: &RecentWakeup| LiveTableRow {
            key: wakeup.key,
            cells: vec![
                LiveCell::text(rough(wakeup.at.since(analysis.header.at))),
                LiveCell::text(wakeup.latency.to_string()),
                LiveCell::text(name(wakeup.condition).unwrap_or_default()),
                LiveCell::text(
                    wakeup.explained.as_deref().map_or_else(|| "not traced".to_owned(), main_part),
                ),
            ],
            ..LiveTableRow::default()
        };
        let title = "late wake-ups as they came".to_owned();
        let empty_text = "None was later than 99 % of its condition yet.".to_owned();
        let parts = self
            .wakeups
            .iter()
            .filter_map(|wakeup| Some((wakeup.key, parts(wakeup.explained.as_deref()?, analysis))));
        (
            LiveTable { title, columns, rows: self.wakeups.iter().map(row).collect(), empty_text },
            parts.collect(),
        )
    }
}

/// The worst wake-ups of a condition, traced ones first.
fn worst(outcome: &Outcome) -> impl Iterator<Item = (MonotonicTime, Latency, Option<&WakeupBreakdown>)> {
    let traced = outcome.traces.iter().flat_map(|traces| traces.ledger.worst());
    let untraced = outcome.worst().iter().map(|wakeup| (wakeup.at, wakeup.latency, None));
    traced.map(|explained| (explained.at, explained.latency, Some(explained))).chain(untraced)
}

/// As in the result: above the threshold of the run, or above the 99th percentile of the condition.
fn is_late(outcome: &Outcome, latency: Latency, analysis: &Analysis) -> bool {
    if let Some(above) = analysis.header.late_above {
        return latency.reaches(above);
    }
    let distribution = match &outcome.traces {
        Some(traces) if outcome.count() < MIN_FOR_P99 => &traces.ledger.latency,
        _ => outcome.latency(),
    };
    distribution.count() >= MIN_FOR_P99 && percentile(distribution, 0.99).is_some_and(|p99| latency >= p99)
}

/// `waiting for the CPU (rustc, pid 812) 68 %`
fn main_part(explained: &WakeupBreakdown) -> String {
    let causes = explained.by_cause();
    let longest = causes.iter().map(|(segment, _)| segment).max_by_key(|segment| segment.ns);
    longest.map_or_else(String::new, |segment| {
        format!("{} {}", percent(share(segment.ns, explained.latency)), segment_in_words(segment))
    })
}

fn share(part: Span, total: Latency) -> f64 {
    part.as_nanos() as f64 / (total.as_nanos().max(1) as f64)
}

/// The parts of one wake-up, by cause.
fn parts(explained: &WakeupBreakdown, analysis: &Analysis) -> LiveTable {
    let columns = vec![
        LiveColumn::growing("part", 20),
        LiveColumn::number("took", 8, 0),
        LiveColumn::number("share", 7, 0),
    ];
    let row = |(number, (segment, times)): (u64, &(howlate_model::Segment, usize))| {
        let times = if *times > 1 { format!(", {times} times") } else { String::new() };
        let took = Latency::from_span(segment.ns).to_string();
        LiveTableRow {
            key: number,
            cells: vec![
                LiveCell::text(format!("{}{times}", segment_in_words(segment))),
                LiveCell::text(took),
                LiveCell::text(percent(share(segment.ns, explained.latency)).replace("below ", "<")),
            ],
            ..LiveTableRow::default()
        }
    };
    let after = rough(explained.at.since(analysis.header.at));
    let cpu = explained.cpu.map(|cpu| format!("CPU {cpu}"));
    let title = [format!("part by part: {} late", explained.latency), format!("after {after}")];
    let title = joined(&title.into_iter().chain(cpu).collect::<Vec<_>>());
    let rows = (0..).zip(&explained.by_cause()).map(row).collect();
    LiveTable { title, columns, rows, empty_text: String::new() }
}
