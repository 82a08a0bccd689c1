//! The screen of a run, from what has been recorded of it so far: the same analysis that prints the end result.

use howlate_analyse::{Analysis, Summary, Together, one_by_one, together};
use howlate_model::{Command, Distribution, Header, Latency, Work};
use howlate_render::condition::{beside_one_another, in_common, joined};
use howlate_render::numbers::{count, micros_in, rough};
use howlate_render::result_columns::{ColumnSpec, MAX, MEDIAN, P99, P99_9};
use howlate_render::{SoFar, TuneStage, doubtful, event_loops_away, legible, machine, main_causes, watched};

use super::detail::{causes, histogram, history};
use super::recent::Recent;
use crate::screenful::{Asked, Cell, Column, Grid, Progress, Row, Screenful};

/// What was known when somebody asked for maxima to begin anew, by condition.
#[derive(Clone, Debug, Default)]
pub(crate) struct Baseline(Vec<Distribution>);

impl Baseline {
    /// Everything that has been recorded so far.
    pub(crate) fn of(analysis: &Analysis) -> Self {
        Self(analysis.outcomes().iter().map(|one| one.latency().clone()).collect())
    }

    /// The largest latency of `row` since, to the width of a bucket, which is less than 1 %; exact where it is the largest of all.
    fn largest_since(&self, row: &Together<'_>, analysis: &Analysis) -> Option<Latency> {
        let of_one = |outcome: &howlate_analyse::Outcome| {
            let place = analysis.outcomes().iter().position(|other| std::ptr::eq(other, outcome))?;
            let before = self.0.get(place);
            let all = outcome.latency();
            if before.is_none_or(|before| before.max() != all.max()) {
                return all.max();
            }
            let had = |nanos: u64| before.map_or(0, |before| before.count() - before.up_to(nanos));
            let newer = all.buckets().filter(|bucket| {
                let beyond = all.count() - all.up_to(bucket.highest);
                bucket.count + beyond > had(bucket.lowest.saturating_sub(1))
            });
            newer.last().map(|bucket| Latency::from_nanos(i64::try_from(bucket.highest).unwrap_or(i64::MAX)))
        };
        row.outcomes().filter_map(of_one).max()
    }
}

/// The screen of `run`.
pub(crate) fn screenful(
    run: &SoFar<'_>,
    asked: &Asked,
    baseline: Option<&Baseline>,
    recent: &Recent,
) -> Screenful {
    let analysis = run.analysis;
    let loops = loops(analysis, asked.each);
    let names = names(&loops);
    let selected = loops.iter().position(|one| Some(key(one, analysis)) == asked.selected).unwrap_or(0);
    let (late, parts) = recent.grids(&loops, &names, analysis);
    let row = loops.get(selected);
    let is_traced = analysis.outcomes().iter().any(|one| one.traces.is_some());
    Screenful {
        title: title(&analysis.header),
        machine: legible(&machine(&analysis.header.system)).into_owned(),
        doubts: event_loops_away(analysis).into_iter().chain(doubtful(analysis)).collect(),
        progress: run.time.map(|[left, whole]| Progress { left, whole, is_most: run.stage.is_some() }),
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

/// Loops that have a row. Threads of a periodic loop differ in their CPU alone; of everything else each has its own.
fn loops(analysis: &Analysis, each: bool) -> Vec<Together<'_>> {
    if is_periodic(analysis) && !each { together(analysis) } else { one_by_one(analysis) }
}

fn is_periodic(analysis: &Analysis) -> bool {
    analysis.outcomes().iter().all(|one| matches!(one.condition.work, Work::Cyclic { .. }))
}

/// A row from one moment to the next: the number of the first of its conditions.
pub(super) fn key(row: &Together<'_>, analysis: &Analysis) -> u64 {
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

fn names(loops: &[Together<'_>]) -> Vec<String> {
    beside_one_another(loops).iter().map(|name| legible(name).into_owned()).collect()
}

/// `stage 2 of 4: each setting · turn 3 of 12 · fifo:80`
fn doing(run: &SoFar<'_>, loops: &[Together<'_>], names: &[String]) -> String {
    let stage = run.stage.map(TuneStage::in_words);
    let turn = run.turns.map(|[turn, turns]| format!("turn {turn} of {turns}"));
    let is_now = |one: &&Together<'_>| one.outcomes().any(|outcome| Some(&outcome.condition) == run.now);
    let now = loops.iter().zip(names).find(|(one, _)| is_now(one)).map(|(_, name)| name.clone());
    // What has no end of its own has lasted for so long.
    let lasts = (run.time.is_none() && run.turns.is_none()).then(|| rough(run.lasts));
    joined(
        &lasts
            .into_iter()
            .chain(stage)
            .chain(turn)
            .chain(now.filter(|_| names.len() > 1))
            .collect::<Vec<_>>(),
    )
}

/// What all rows have in common, and what sees who made them late.
fn fixed(analysis: &Analysis, loops: &[Together<'_>]) -> Vec<String> {
    let mut parts = in_common(loops);
    let tracer = analysis.outcomes().iter().find_map(|one| one.traces.as_ref()).map(|one| one.tracer.clone());
    parts.extend(tracer);
    parts.iter().map(|part| legible(part).into_owned()).collect()
}

/// Letters of the longest name for which columns of numbers make room.
const MOST_OF_NAMES: usize = 32;

const NUMBERS: [ColumnSpec; 4] = [MEDIAN, P99, P99_9, MAX];

fn table(
    run: &SoFar<'_>,
    loops: &[Together<'_>],
    names: &[String],
    baseline: Option<&Baseline>,
    is_traced: bool,
) -> Grid {
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(12);
    let least = u16::try_from(longest.min(MOST_OF_NAMES)).unwrap_or(12);
    let mut columns = vec![Column::growing_to(longest, "", least), Column::number("wake-ups", 9, 2)];
    let is_periodic = loops.iter().any(|one| one.first().condition.work.period().is_some());
    if is_periodic {
        columns.push(Column::number("missed", 6, 0));
    }
    columns.extend([
        Column::number("median", 6, 0),
        Column::number("p99", 7, 0),
        Column::number("p99.9", 7, 1),
        Column::number("max", 7, 0),
    ]);
    if baseline.is_some() {
        columns.push(Column::number("max since R", 11, 0));
    }
    if is_traced {
        columns.push(Column { goes: 3, ..Column::growing("main causes", 24) });
    }
    let row = |(one, name): (&Together<'_>, &String)| {
        let planned = one.planned();
        let mut cells = vec![Cell::text(name.as_str()), counted(one.happened().count())];
        if is_periodic {
            cells.push(counted(one.missed()));
        }
        cells.extend(numbers(&planned));
        if let Some(baseline) = baseline {
            let largest = baseline.largest_since(one, run.analysis);
            cells.push(largest.map_or_else(Cell::unknown, |late| {
                Cell::number(howlate_render::numbers::micros(late.as_nanos()), late.as_nanos() as f64)
            }));
        }
        if is_traced {
            let causes = one.why_late(None).and_then(|why| main_causes(&why));
            cells.push(Cell::text(causes.unwrap_or_else(|| "–".to_owned())));
        }
        let is_running = run.threads.iter().any(|thread| holds(one, thread.condition, run.analysis));
        Row { key: key(one, run.analysis), cells, is_running, ..Row::default() }
    };
    let mut rows: Vec<Row> = loops.iter().zip(names).map(row).collect();
    mark_worst(&mut rows, columns.len());
    let missed = if is_periodic { ", missed periods counted in" } else { "" };
    let title = format!("so far · latency in µs{missed}");
    Grid { title, columns, rows, nothing: "Nothing has woken yet.".to_owned() }
}

fn holds(row: &Together<'_>, condition: u32, analysis: &Analysis) -> bool {
    row.outcomes().any(|outcome| number(outcome, analysis) == Some(u64::from(condition)))
}

fn counted(number: u64) -> Cell {
    Cell::number(count(number), number as f64)
}

/// The numbers for which there are enough wake-ups.
fn numbers(all: &Distribution) -> [Cell; 4] {
    let summary = Summary::from_distribution(all);
    NUMBERS.map(|column| {
        let Some(summary) = summary.as_ref().filter(|_| all.count() >= column.least) else {
            return Cell::unknown();
        };
        let nanos = column.nanos(summary);
        Cell::number(micros_in(summary, nanos), nanos as f64)
    })
}

/// The worst of each column of latencies, where there are several to choose from.
fn mark_worst(rows: &mut [Row], columns: usize) {
    if rows.len() < 2 {
        return;
    }
    // What stands before are a name and counts.
    for column in 2..columns {
        let number = |row: &Row| row.cells.get(column).and_then(|cell| cell.number);
        let worst = rows.iter().filter_map(number).max_by(f64::total_cmp).filter(|worst| *worst > 0.0);
        let is_worst = |row: &&mut Row| worst.is_some() && number(row) == worst;
        rows.iter_mut().filter(is_worst).for_each(|row| {
            row.cells.iter_mut().skip(column).take(1).for_each(|cell| cell.is_worst = true);
        });
    }
}
