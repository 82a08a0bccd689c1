//! The screen of a run, made by the same analysis that prints the final result.

use howlate_analyse::{Analysis, LoopOutcomes, Summary, per_loop, per_thread};
use howlate_model::{Command, Distribution, Header, Latency, Work};
use howlate_render::condition::{beside_one_another, in_common, joined};
use howlate_render::numbers::{count, micros_in, rough};
use howlate_render::result_columns::{ColumnSpec, MAX, MEDIAN, P99, P99_9};
use howlate_render::{
    RunState, TuneStage, blocked_event_loop_lines, doubtful, legible, machine, main_causes, watched,
};

use super::detail::{causes, histogram, history};
use super::recent::RecentWakeups;
use crate::screenful::{LiveCell, LiveColumn, LiveTable, LiveTableRow, Query, RunProgress, Screenful};

/// The distribution of each condition when the user restarted the maxima.
#[derive(Clone, Debug, Default)]
pub(crate) struct Baseline(Vec<Distribution>);

impl Baseline {
    pub(crate) fn of(analysis: &Analysis) -> Self {
        Self(analysis.outcomes().iter().map(|outcome| outcome.latency().clone()).collect())
    }

    /// The largest latency of `row` since then. Exact if it is the overall maximum, otherwise to the width of a bucket (below 1 %).
    fn largest_since(&self, row: &LoopOutcomes<'_>, analysis: &Analysis) -> Option<Latency> {
        let largest_of_outcome = |outcome: &howlate_analyse::Outcome| {
            let place = analysis.outcomes().iter().position(|other| std::ptr::eq(other, outcome))?;
            let before = self.0.get(place);
            let now = outcome.latency();
            if before.is_none_or(|before| before.max() != now.max()) {
                return now.max();
            }
            let count_before = |nanos: u64| before.map_or(0, |before| before.count() - before.up_to(nanos));
            let newer = now.buckets().filter(|bucket| {
                let beyond = now.count() - now.up_to(bucket.highest);
                bucket.count + beyond > count_before(bucket.lowest.saturating_sub(1))
            });
            newer.last().map(|bucket| Latency::from_nanos(i64::try_from(bucket.highest).unwrap_or(i64::MAX)))
        };
        row.outcomes().filter_map(largest_of_outcome).max()
    }
}

pub(crate) fn screenful(
    run: &RunState<'_>,
    query: &Query,
    baseline: Option<&Baseline>,
    recent: &RecentWakeups,
) -> Screenful {
    let analysis = run.analysis;
    let loops = loops(analysis, query.each_cpu);
    let names = names(&loops);
    let selected = loops.iter().position(|row| Some(key(row, analysis)) == query.selected).unwrap_or(0);
    let (late, parts) = recent.tables(&loops, &names, analysis);
    let row = loops.get(selected);
    let is_traced = analysis.outcomes().iter().any(|outcome| outcome.traces.is_some());
    Screenful {
        title: title(&analysis.header),
        machine: legible(&machine(&analysis.header.system)).into_owned(),
        doubts: blocked_event_loop_lines(analysis).into_iter().chain(doubtful(analysis)).collect(),
        progress: run.time.map(|[remaining, total]| RunProgress {
            remaining,
            total,
            is_upper_bound: run.stage.is_some(),
        }),
        doing: doing(run, &loops, &names),
        fixed: fixed(analysis, &loops),
        table: table(run, &loops, &names, baseline, is_traced),
        detail_of: names.get(selected).filter(|_| names.len() > 1).cloned().unwrap_or_default(),
        history: row.map(history),
        histogram: row.map(histogram),
        causes: is_traced.then(|| causes(row, &analysis.header.findings)),
        late: Some(late),
        parts,
        each_cpu: is_periodic(analysis),
        can_reset: true,
        can_mark: true,
        ..Screenful::default()
    }
}

/// `howlate cyclic`, `howlate watch 4711`
fn title(header: &Header) -> String {
    let what = if header.command == Command::Watch { watched(&header.arguments) } else { String::new() };
    format!("howlate {} {what}", header.command).trim_end().to_owned()
}

/// Loops with a row. The threads of a periodic loop differ only in their CPU and share a row; all others have their own.
fn loops(analysis: &Analysis, each_cpu: bool) -> Vec<LoopOutcomes<'_>> {
    if is_periodic(analysis) && !each_cpu { per_loop(analysis) } else { per_thread(analysis) }
}

fn is_periodic(analysis: &Analysis) -> bool {
    analysis.outcomes().iter().all(|outcome| matches!(outcome.condition.work, Work::Cyclic { .. }))
}

/// Identifies a row between updates: index of its first condition.
pub(super) fn key(row: &LoopOutcomes<'_>, analysis: &Analysis) -> u64 {
    number(row.first(), analysis).unwrap_or(u64::MAX)
}

fn number(outcome: &howlate_analyse::Outcome, analysis: &Analysis) -> Option<u64> {
    analysis
        .outcomes()
        .iter()
        .zip(0..)
        .find(|(other, _)| std::ptr::eq(*other, outcome))
        .map(|(_, number)| number)
}

fn names(loops: &[LoopOutcomes<'_>]) -> Vec<String> {
    beside_one_another(loops).iter().map(|name| legible(name).into_owned()).collect()
}

/// `stage 2 of 4: each_cpu setting · turn 3 of 12 · fifo:80`
fn doing(run: &RunState<'_>, loops: &[LoopOutcomes<'_>], names: &[String]) -> String {
    let stage = run.stage.map(TuneStage::in_words);
    let turn = run.turns.map(|[turn, turns]| format!("turn {turn} of {turns}"));
    let is_current =
        |row: &&LoopOutcomes<'_>| row.outcomes().any(|outcome| Some(&outcome.condition) == run.now);
    let current = loops.iter().zip(names).find(|(row, _)| is_current(row)).map(|(_, name)| name.clone());
    // Without a planned end, the elapsed time.
    let elapsed = (run.time.is_none() && run.turns.is_none()).then(|| rough(run.lasts));
    joined(
        &elapsed
            .into_iter()
            .chain(stage)
            .chain(turn)
            .chain(current.filter(|_| names.len() > 1))
            .collect::<Vec<_>>(),
    )
}

/// Settings that all rows share, and the tracer.
fn fixed(analysis: &Analysis, loops: &[LoopOutcomes<'_>]) -> Vec<String> {
    let mut parts = in_common(loops);
    let tracer = analysis
        .outcomes()
        .iter()
        .find_map(|outcome| outcome.traces.as_ref())
        .map(|traces| traces.tracer.clone());
    parts.extend(tracer);
    parts.iter().map(|part| legible(part).into_owned()).collect()
}

/// Longest name, in letters, that the name column has as its minimum width.
const MAX_NAME_MINIMUM: usize = 32;

const NUMBERS: [ColumnSpec; 4] = [MEDIAN, P99, P99_9, MAX];

fn table(
    run: &RunState<'_>,
    loops: &[LoopOutcomes<'_>],
    names: &[String],
    baseline: Option<&Baseline>,
    is_traced: bool,
) -> LiveTable {
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(12);
    let min_width = u16::try_from(longest.min(MAX_NAME_MINIMUM)).unwrap_or(12);
    let mut columns =
        vec![LiveColumn::growing_to(longest, "", min_width), LiveColumn::number("wake-ups", 9, 2)];
    let is_periodic = loops.iter().any(|row| row.first().condition.work.period().is_some());
    if is_periodic {
        columns.push(LiveColumn::number("missed", 6, 0));
    }
    columns.extend([
        LiveColumn::number("median", 6, 0),
        LiveColumn::number("p99", 7, 0),
        LiveColumn::number("p99.9", 7, 1),
        LiveColumn::number("max", 7, 0),
    ]);
    if baseline.is_some() {
        columns.push(LiveColumn::number("max since R", 11, 0));
    }
    if is_traced {
        columns.push(LiveColumn { drop_order: 3, ..LiveColumn::growing("main causes", 24) });
    }
    let row = |(row, name): (&LoopOutcomes<'_>, &String)| {
        let planned = row.planned();
        let mut cells = vec![LiveCell::text(name.as_str()), count_cell(row.happened().count())];
        if is_periodic {
            cells.push(count_cell(row.missed()));
        }
        cells.extend(number_cells(&planned));
        if let Some(baseline) = baseline {
            let largest = baseline.largest_since(row, run.analysis);
            cells.push(largest.map_or_else(LiveCell::unknown, |latency| {
                LiveCell::number(
                    howlate_render::numbers::micros(latency.as_nanos()),
                    latency.as_nanos() as f64,
                )
            }));
        }
        if is_traced {
            let causes = row.why_late(None).and_then(|why| main_causes(&why));
            cells.push(LiveCell::text(causes.unwrap_or_else(|| "–".to_owned())));
        }
        let is_running = run.threads.iter().any(|thread| has_condition(row, thread.condition, run.analysis));
        LiveTableRow { key: key(row, run.analysis), cells, is_running, ..LiveTableRow::default() }
    };
    let mut rows: Vec<LiveTableRow> = loops.iter().zip(names).map(row).collect();
    mark_worst(&mut rows, columns.len());
    let missed = if is_periodic { ", missed periods counted in" } else { "" };
    let title = format!("so far · latency in µs{missed}");
    LiveTable { title, columns, rows, empty_text: "Nothing has woken yet.".to_owned() }
}

fn has_condition(row: &LoopOutcomes<'_>, condition: u32, analysis: &Analysis) -> bool {
    row.outcomes().any(|outcome| number(outcome, analysis) == Some(u64::from(condition)))
}

fn count_cell(number: u64) -> LiveCell {
    LiveCell::number(count(number), number as f64)
}

/// Cells of the columns that have enough wake-ups.
fn number_cells(distribution: &Distribution) -> [LiveCell; 4] {
    let summary = Summary::from_distribution(distribution);
    NUMBERS.map(|column| {
        let Some(summary) = summary.as_ref().filter(|_| distribution.count() >= column.least) else {
            return LiveCell::unknown();
        };
        let nanos = column.nanos(summary);
        LiveCell::number(micros_in(summary, nanos), nanos as f64)
    })
}

/// Marks the worst value of each latency column where there are several rows.
fn mark_worst(rows: &mut [LiveTableRow], columns: usize) {
    if rows.len() < 2 {
        return;
    }
    // The first columns are a name and counts.
    for column in 2..columns {
        let number = |row: &LiveTableRow| row.cells.get(column).and_then(|cell| cell.number);
        let worst = rows.iter().filter_map(number).max_by(f64::total_cmp).filter(|worst| *worst > 0.0);
        let is_worst = |row: &&mut LiveTableRow| worst.is_some() && number(row) == worst;
        rows.iter_mut().filter(is_worst).for_each(|row| {
            row.cells.iter_mut().skip(column).take(1).for_each(|cell| cell.is_worst = true);
        });
    }
}
