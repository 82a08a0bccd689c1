//! Late wake-ups as they came.
//!
//! Recordings keep the worst of each condition. One that is among them now and was not a moment ago has come meanwhile.

use std::collections::{BTreeSet, VecDeque};

use howlate_analyse::{Analysis, Outcome, Together, percentile};
use howlate_model::{Explained, Latency, MonotonicTime, Span};
use howlate_render::condition::joined;
use howlate_render::numbers::rough;
use howlate_render::{percent, segment_in_words};

use crate::screenful::{Cell, Column, Grid, Row};

/// So many are kept.
const KEPT: usize = 100;
/// Letters of the longest name that its column has room for.
const MOST_OF_NAMES: usize = 14;
/// A condition has a 99th percentile from here on.
const ENOUGH: u64 = 100;

/// Late wake-ups as they came, the newest first.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    known: BTreeSet<(usize, MonotonicTime)>,
    late: VecDeque<Late>,
    /// How many there were in all.
    counted: u64,
}

/// A late wake-up.
#[derive(Clone, Debug)]
struct Late {
    key: u64,
    condition: usize,
    at: MonotonicTime,
    latency: Latency,
    explained: Option<Box<Explained>>,
}

impl Recent {
    /// Takes in what is known by now.
    pub(crate) fn look(&mut self, analysis: &Analysis) {
        let mut now: BTreeSet<(usize, MonotonicTime)> = BTreeSet::new();
        let mut come: Vec<Late> = Vec::new();
        for (condition, outcome) in analysis.outcomes().iter().enumerate() {
            for (at, latency, explained) in worst(outcome) {
                now.insert((condition, at));
                if !self.known.contains(&(condition, at)) && is_late(outcome, latency, analysis) {
                    come.push(Late {
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
        self.known = now;
        come.sort_by_key(|one| one.at);
        for mut one in come {
            self.counted += 1;
            one.key = self.counted;
            self.late.push_front(one);
        }
        self.late.truncate(KEPT);
    }

    /// Of a program that is watched, who made a wake-up late is told some time after it.
    fn explain(&mut self, analysis: &Analysis) {
        for late in self.late.iter_mut().filter(|late| late.explained.is_none()) {
            let traces = analysis.outcomes().get(late.condition).and_then(|outcome| outcome.traces.as_ref());
            let mut worst = traces.iter().flat_map(|traces| traces.ledger.worst());
            late.explained = worst.find(|one| one.at == late.at).cloned().map(Box::new);
        }
    }

    /// A table of them, and a table of each one's parts by its key.
    pub(super) fn grids(
        &self,
        loops: &[Together<'_>],
        names: &[String],
        analysis: &Analysis,
    ) -> (Grid, Vec<(u64, Grid)>) {
        let name = |condition: usize| {
            let outcome = analysis.outcomes().get(condition)?;
            let row =
                loops.iter().position(|one| one.outcomes().any(|other| std::ptr::eq(other, outcome)))?;
            names.get(row).cloned()
        };
        let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(5);
        let least = u16::try_from(longest.min(MOST_OF_NAMES)).unwrap_or(5);
        let name_goes = if names.len() > 1 { 1 } else { 9 };
        let mut columns = vec![
            Column::number("after", 7, 0),
            Column::number("late", 8, 0),
            Column { goes: name_goes, ..Column::growing_to(longest, "", least) },
        ];
        if analysis.outcomes().iter().any(|one| one.traces.is_some()) {
            columns.push(Column::growing("most of it", 12));
        }
        let row = |late: &Late| Row {
            key: late.key,
            cells: vec![
                Cell::text(rough(late.at.since(analysis.header.at))),
                Cell::text(late.latency.to_string()),
                Cell::text(name(late.condition).unwrap_or_default()),
                Cell::text(late.explained.as_deref().map_or_else(|| "not traced".to_owned(), most_of_it)),
            ],
            ..Row::default()
        };
        let title = "late wake-ups as they came".to_owned();
        let nothing = "None was later than 99 % of its condition yet.".to_owned();
        let parts =
            self.late.iter().filter_map(|late| Some((late.key, parts(late.explained.as_deref()?, analysis))));
        (Grid { title, columns, rows: self.late.iter().map(row).collect(), nothing }, parts.collect())
    }
}

/// The worst of a condition, traced ones first.
fn worst(outcome: &Outcome) -> impl Iterator<Item = (MonotonicTime, Latency, Option<&Explained>)> {
    let traced = outcome.traces.iter().flat_map(|traces| traces.ledger.worst());
    let plain = outcome.worst().iter().map(|one| (one.at, one.latency, None));
    traced.map(|one| (one.at, one.latency, Some(one))).chain(plain)
}

/// As the result has it: later than was asked for, or than 99 % of the condition.
fn is_late(outcome: &Outcome, latency: Latency, analysis: &Analysis) -> bool {
    if let Some(above) = analysis.header.late_above {
        return latency.reaches(above);
    }
    let all = match &outcome.traces {
        Some(traces) if outcome.count() < ENOUGH => &traces.ledger.latency,
        _ => outcome.latency(),
    };
    all.count() >= ENOUGH && percentile(all, 0.99).is_some_and(|p99| latency >= p99)
}

/// `waiting for the CPU (rustc, pid 812) 68 %`
fn most_of_it(one: &Explained) -> String {
    let causes = one.by_cause();
    let most = causes.iter().map(|(segment, _)| segment).max_by_key(|segment| segment.ns);
    most.map_or_else(String::new, |segment| {
        format!("{} {}", percent(share(segment.ns, one.latency)), segment_in_words(segment))
    })
}

fn share(part: Span, whole: Latency) -> f64 {
    part.as_nanos() as f64 / (whole.as_nanos().max(1) as f64)
}

/// One wake-up part by part, in their order.
fn parts(one: &Explained, analysis: &Analysis) -> Grid {
    let columns =
        vec![Column::growing("part", 20), Column::number("took", 8, 0), Column::number("share", 7, 0)];
    let row = |(number, (segment, times)): (u64, &(howlate_model::Segment, usize))| {
        let times = if *times > 1 { format!(", {times} times") } else { String::new() };
        let took = Latency::from_span(segment.ns).to_string();
        Row {
            key: number,
            cells: vec![
                Cell::text(format!("{}{times}", segment_in_words(segment))),
                Cell::text(took),
                Cell::text(percent(share(segment.ns, one.latency)).replace("below ", "<")),
            ],
            ..Row::default()
        }
    };
    let after = rough(one.at.since(analysis.header.at));
    let cpu = one.cpu.map(|cpu| format!("CPU {cpu}"));
    let title = [format!("part by part: {} late", one.latency), format!("after {after}")];
    let title = joined(&title.into_iter().chain(cpu).collect::<Vec<_>>());
    let rows = (0..).zip(&one.by_cause()).map(row).collect();
    Grid { title, columns, rows, nothing: String::new() }
}
