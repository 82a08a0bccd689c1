//! One sample of the machine's waits, as a screen.

use std::collections::HashMap;

use howlate_analyse::waits::{WaitNature, WaitOrder};
use howlate_model::{Latency, Span};
use howlate_render::numbers::{count, rough};
use howlate_render::{TopBy, TopReport, TopRow, TopView, legible, percent};

use crate::paint_thread::Content;
use crate::screenful::{
    HistoryInterval, LatencyHistory, LiveCell, LiveColumn, LiveTable, LiveTableRow, Query, Screenful, Tone,
};

/// Share of its time held up from which a row is marked as bad, and as worth a look.
const BAD_SHARE: f64 = 0.1;
const NOTABLE_SHARE: f64 = 0.01;

/// The latest sample and the history of samples.
pub(crate) struct TopContent {
    pub(crate) top: TopReport,
    pub(crate) view: TopView,
    pub(crate) every: Span,
    pub(crate) machine: String,
    pub(crate) samples: u64,
    /// Samples of each wait by the key of its row, oldest first.
    pub(crate) histories: HashMap<u64, Vec<SampledWait>>,
}

/// A wait in one sample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SampledWait {
    pub(crate) sample: u64,
    pub(crate) mean: Span,
    pub(crate) longest: Span,
}

impl Content for TopContent {
    fn screenful(&self, query: &Query) -> Screenful {
        let group_by = TopBy::ALL.get(query.group_by).copied().unwrap_or_default();
        let rows = self.top.rows(&TopView { by: group_by, ..self.view.clone() }, query.idle);
        let selected = rows.iter().find(|row| Some(row.key) == query.selected).or_else(|| rows.first());
        let processes = self.top.table.processes.iter().filter(|process| process.pid.is_some()).count();
        let counted = |number: usize, noun: &str| format!("{} {noun}", count(number as u64));
        Screenful {
            title: "howlate top".to_owned(),
            doing: [
                format!("the last {}", rough(self.top.lasted)),
                counted(processes, "processes"),
                counted(self.top.table.threads.len(), "threads"),
            ]
            .join(" · "),
            machine: self.machine.clone(),
            doubts: self.top.doubts(),
            fixed: self.fixed(),
            table: table(&rows, group_by, query.idle),
            legend: if group_by == TopBy::Culprit { CULPRIT_LEGEND } else { WAIT_LEGEND },
            is_list: true,
            group_by: Some(group_by.name()),
            detail_of: selected.map(|row| format!("{}: {}", row.name, row.what)).unwrap_or_default(),
            history: selected.filter(|_| group_by != TopBy::Culprit).map(|row| self.history(row)),
            history_title: "mean, max",
            causes: selected.map(|row| other_processes(row, group_by)),
            parts: selected
                .filter(|_| group_by != TopBy::Culprit)
                .map(|row| (row.key, functions(row)))
                .into_iter()
                .collect(),
            ..Screenful::default()
        }
    }
}

impl TopContent {
    fn fixed(&self) -> Vec<String> {
        let mut fixed = vec![self.top.source.to_owned(), format!("every {}", rough(self.every))];
        let only = [&self.view.process, &self.view.group];
        fixed.extend(only.into_iter().flatten().map(|name| legible(name).into_owned()));
        fixed.extend(self.view.kinds.iter().map(ToString::to_string));
        fixed
    }

    /// All samples since the wait first appeared; a gap where it did not wait.
    fn history(&self, row: &TopRow) -> LatencyHistory {
        let samples = self.histories.get(&row.key).map_or(&[][..], Vec::as_slice);
        let first = samples.first().map_or(self.samples, |wait| wait.sample);
        let interval = |number: u64| {
            let wait =
                samples.iter().find(|wait| wait.sample == number).filter(|wait| !wait.longest.is_zero());
            let values = wait.map(|wait| [wait.mean.as_nanos(), wait.longest.as_nanos()]);
            HistoryInterval { length: self.every, values, ..HistoryInterval::default() }
        };
        LatencyHistory { intervals: (first..=self.samples).map(interval).collect() }
    }
}

const WAIT_LEGEND: &[[&str; 2]] = &[
    ["!!  !", "held up for at least 10 % of its time; 1 %"],
    ["CPU", "the time in which its threads ran, of one CPU"],
    ["waits for", "what; for a CPU: who had it (share)"],
    ["waits", "how many ended, or are ongoing"],
    ["mean  max", "of their full lengths; +: one ongoing"],
    ["time", "share of its threads' time"],
];

const CULPRIT_LEGEND: &[[&str; 2]] = &[
    ["!!  !", "10 % of all waits for a CPU or more; 1 %"],
    ["CPU", "the time in which its threads ran, of one CPU"],
    ["held up", "who was ready to run meanwhile"],
    ["others", "how many those were"],
    ["time", "how long they waited for it in total"],
    ["of all", "share of all time spent waiting for CPUs"],
];

/// Columns are fixed, so that they keep their place between samples.
fn columns(by: TopBy) -> Vec<LiveColumn> {
    let who = by.name();
    if by == TopBy::Culprit {
        return vec![
            LiveColumn::text("", 2, 0),
            LiveColumn::growing(who, 15),
            LiveColumn::number("pid", 7, 0),
            LiveColumn::number("CPU", 6, 0),
            LiveColumn::growing("held up", 20),
            LiveColumn::number("others", 6, 1),
            LiveColumn::number("time", 7, 0),
            LiveColumn::number("of all", 6, 0),
        ];
    }
    let id = if by == TopBy::Thread { "tid" } else { "pid" };
    let name = if by == TopBy::Group { LiveColumn::growing(who, 15) } else { LiveColumn::text(who, 15, 0) };
    let mut columns = vec![LiveColumn::text("", 2, 0), name];
    if by != TopBy::Group {
        columns.push(LiveColumn::number(id, 7, 0));
    }
    columns.extend([
        LiveColumn::number("CPU", 6, 0),
        LiveColumn::growing("waits for", 18),
        LiveColumn::number("waits", 7, 1),
        LiveColumn::number("mean", 7, 2),
        LiveColumn::number("max", 8, 0),
        LiveColumn::number("time", 6, 0),
    ]);
    columns
}

/// The column, in rows of processes, that sorts by `order`; `None` for the natural order, longest held up first.
pub(super) fn column_of(order: WaitOrder) -> Option<usize> {
    let heading = match order {
        WaitOrder::HeldUp => return None,
        WaitOrder::Time => "time",
        WaitOrder::Count => "waits",
        WaitOrder::Mean => "mean",
        WaitOrder::Longest => "max",
    };
    columns(TopBy::Process).iter().position(|column| column.heading == heading)
}

fn table(rows: &[TopRow], by: TopBy, idle: bool) -> LiveTable {
    let title = match by {
        TopBy::Culprit => "who had a CPU while others were ready to run",
        _ if idle => "who waits for what",
        _ => "who waits for what; idle waits are hidden",
    };
    let empty_text = match by {
        TopBy::Culprit => "No waits for a busy CPU.",
        _ => "Nothing waited for 0.1 % of its time.",
    };
    let rows = rows.iter().map(|row| line(row, by)).collect();
    LiveTable { title: title.to_owned(), columns: columns(by), rows, empty_text: empty_text.to_owned() }
}

fn line(row: &TopRow, by: TopBy) -> LiveTableRow {
    let is_wait = row.sum.count > 0;
    let length = |span: Span, is_ongoing: bool| match is_wait {
        true => LiveCell::number(format!("{}{}", unit(span), if is_ongoing { "+" } else { "" }), nanos(span)),
        false => LiveCell::unknown(),
    };
    let (mark, tone) = severity(row);
    let mut cells = vec![LiveCell::text(mark), LiveCell::text(row.name.as_str())];
    if by != TopBy::Group {
        cells.push(
            row.id.map_or_else(LiveCell::unknown, |id| LiveCell::number(id.to_string(), f64::from(id))),
        );
    }
    cells.push(row.cpu.map_or_else(LiveCell::unknown, |cpu| LiveCell::number(short_percent(cpu), cpu)));
    cells.push(LiveCell { short: Some(row.short.clone()), ..LiveCell::text(row.what.as_str()) });
    let times = if is_wait {
        LiveCell::number(count(row.sum.count), row.sum.count as f64)
    } else {
        LiveCell::unknown()
    };
    cells.push(times);
    match by {
        TopBy::Culprit => cells.push(length(row.sum.time, false)),
        _ => cells.extend([length(row.sum.mean(), false), length(row.sum.longest, row.sum.ongoing > 0)]),
    }
    cells.push(if is_wait {
        LiveCell::number(short_percent(row.share), row.share)
    } else {
        LiveCell::unknown()
    });
    LiveTableRow { key: row.key, cells, tone, ..LiveTableRow::default() }
}

/// Severity as a sign and as a colour.
fn severity(row: &TopRow) -> (&'static str, Tone) {
    match row.nature {
        Some(WaitNature::HeldUp) if row.share >= BAD_SHARE => ("!!", Tone::Bad),
        Some(WaitNature::HeldUp) if row.share >= NOTABLE_SHARE => ("!", Tone::Warn),
        Some(WaitNature::AsAsked) => ("", Tone::Dim),
        _ => ("", Tone::Plain),
    }
}

/// With a unit, for a narrow column: `6.32 s`, `850 µs`.
fn unit(span: Span) -> String {
    if span >= Span::from_secs(100) { rough(span) } else { Latency::from_span(span).to_string() }
}

fn nanos(span: Span) -> f64 {
    span.as_nanos() as f64
}

/// For a narrow column: `<0.1 %` instead of `below 0.1 %`.
pub(crate) fn short_percent(share: f64) -> String {
    percent(share).replace("below ", "<")
}

/// Processes that had the CPU meanwhile; of a culprit, those that it held up.
fn other_processes(row: &TopRow, by: TopBy) -> LiveTable {
    let columns = vec![
        LiveColumn::growing(if by == TopBy::Culprit { "process" } else { "had the CPU" }, 14),
        LiveColumn::number("time", 7, 0),
        LiveColumn::number("share", 6, 1),
    ];
    let total = nanos(row.sum.time).max(1.0);
    let line = |(key, (name, time)): (u64, &(String, Span))| {
        let share = short_percent((nanos(*time) / total).min(1.0));
        let cells = vec![LiveCell::text(name.as_str()), LiveCell::text(unit(*time)), LiveCell::text(share)];
        LiveTableRow { key, cells, ..LiveTableRow::default() }
    };
    let rows = (0..).zip(&row.counterparts).map(line).collect();
    let (title, empty_text) = match by {
        TopBy::Culprit => ("who waited for it", String::new()),
        _ => ("who had the CPU meanwhile", "Not a wait for a CPU, or below 20 µs.".to_owned()),
    };
    LiveTable { title: title.to_owned(), columns, rows, empty_text }
}

fn functions(row: &TopRow) -> LiveTable {
    let line = |(key, name): (u64, &String)| LiveTableRow {
        key,
        cells: vec![LiveCell::text(name.as_str())],
        ..LiveTableRow::default()
    };
    LiveTable {
        title: "where in the kernel".to_owned(),
        columns: vec![LiveColumn::growing("the innermost function first", 20)],
        rows: (0..).zip(&row.functions).map(line).collect(),
        empty_text: "Not sampled.".to_owned(),
    }
}
