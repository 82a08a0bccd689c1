//! One look at the machine's waits, as a screen.

use std::collections::HashMap;

use howlate_analyse::waits::{Nature, Order};
use howlate_model::{Latency, Span};
use howlate_render::numbers::{count, rough};
use howlate_render::{Top, TopBy, TopRow, TopView, legible, percent};

use crate::paint_thread::Content;
use crate::screenful::{Asked, Cell, Column, Grid, History, Moment, Row, Screenful, Tone};

/// A larger part of its time is a lot to be held up for, and a smaller one is hardly worth a look.
const MUCH: f64 = 0.1;
const LITTLE: f64 = 0.01;

/// One look, with what was seen before.
pub(crate) struct TopContent {
    pub(crate) top: Top,
    pub(crate) wanted: TopView,
    pub(crate) every: Span,
    pub(crate) machine: String,
    /// How many looks there were.
    pub(crate) looks: u64,
    /// Each wait at earlier looks, oldest first.
    pub(crate) histories: HashMap<u64, Vec<Seen>>,
}

/// A wait at one look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) look: u64,
    pub(crate) mean: Span,
    pub(crate) longest: Span,
}

impl Content for TopContent {
    fn screenful(&self, asked: &Asked) -> Screenful {
        let by = TopBy::ALL.get(asked.by).copied().unwrap_or_default();
        let rows = self.top.rows(&TopView { by, ..self.wanted.clone() }, asked.idle);
        let selected = rows.iter().find(|row| Some(row.key) == asked.selected).or_else(|| rows.first());
        let processes = self.top.table.processes.iter().filter(|one| one.pid.is_some()).count();
        let there = |number: usize, what: &str| format!("{} {what}", count(number as u64));
        Screenful {
            title: "howlate top".to_owned(),
            doing: [
                format!("the last {}", rough(self.top.lasted)),
                there(processes, "processes"),
                there(self.top.table.threads.len(), "threads"),
            ]
            .join(" · "),
            machine: self.machine.clone(),
            doubts: self.top.doubts(),
            fixed: self.fixed(),
            table: table(&rows, by, asked.idle),
            legend: if by == TopBy::Culprit { OF_CULPRITS } else { OF_WAITS },
            is_list: true,
            by: Some(by.name()),
            detail_of: selected.map(|row| format!("{}: {}", row.name, row.what)).unwrap_or_default(),
            history: selected.filter(|_| by != TopBy::Culprit).map(|row| self.history(row)),
            history_title: "mean, max",
            causes: selected.map(|row| others(row, by)),
            parts: selected
                .filter(|_| by != TopBy::Culprit)
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
        let only = [&self.wanted.process, &self.wanted.group];
        fixed.extend(only.into_iter().flatten().map(|one| legible(one).into_owned()));
        fixed.extend(self.wanted.kinds.iter().map(ToString::to_string));
        fixed
    }

    /// Every look since it was first seen; a gap where it did not wait.
    fn history(&self, row: &TopRow) -> History {
        let seen = self.histories.get(&row.key).map_or(&[][..], Vec::as_slice);
        let first = seen.first().map_or(self.looks, |one| one.look);
        let at = |look: u64| {
            let here = seen.iter().find(|one| one.look == look).filter(|one| !one.longest.is_zero());
            let values = here.map(|one| [one.mean.as_nanos(), one.longest.as_nanos()]);
            Moment { lasts: self.every, values, ..Moment::default() }
        };
        History { moments: (first..=self.looks).map(at).collect() }
    }
}

/// What the columns of waits mean.
const OF_WAITS: &[[&str; 2]] = &[
    ["!!  !", "held up for 10 % of its time or more; for 1 %"],
    ["CPU", "the time in which its threads ran, of one CPU"],
    ["waits for", "what; of a CPU: who had it, and its share"],
    ["waits", "how many ended meanwhile, or go on"],
    ["mean  max", "of their whole lengths; +: one goes on"],
    ["time", "the part of its threads' time that they took"],
];

/// What the columns of culprits mean.
const OF_CULPRITS: &[[&str; 2]] = &[
    ["!!  !", "10 % of all waits for a CPU or more; 1 %"],
    ["CPU", "the time in which its threads ran, of one CPU"],
    ["held up", "who was ready to run meanwhile"],
    ["others", "how many those were"],
    ["time", "for how long they waited for it, together"],
    ["of all", "the part of all time that was waited for CPUs"],
];

/// Columns that stay as they are from one look to the next.
fn columns(by: TopBy) -> Vec<Column> {
    let who = by.name();
    if by == TopBy::Culprit {
        return vec![
            Column::text("", 2, 0),
            Column::growing(who, 15),
            Column::number("pid", 7, 0),
            Column::number("CPU", 6, 0),
            Column::growing("held up", 20),
            Column::number("others", 6, 1),
            Column::number("time", 7, 0),
            Column::number("of all", 6, 0),
        ];
    }
    let id = if by == TopBy::Thread { "tid" } else { "pid" };
    let name = if by == TopBy::Group { Column::growing(who, 15) } else { Column::text(who, 15, 0) };
    let mut columns = vec![Column::text("", 2, 0), name];
    if by != TopBy::Group {
        columns.push(Column::number(id, 7, 0));
    }
    columns.extend([
        Column::number("CPU", 6, 0),
        Column::growing("waits for", 18),
        Column::number("waits", 7, 1),
        Column::number("mean", 7, 2),
        Column::number("max", 8, 0),
        Column::number("time", 6, 0),
    ]);
    columns
}

/// The column of rows of processes that an order is of; `None`: as they come, what is held up first.
pub(super) fn column_of(order: Order) -> Option<usize> {
    let heading = match order {
        Order::HeldUp => return None,
        Order::Time => "time",
        Order::Count => "waits",
        Order::Mean => "mean",
        Order::Longest => "max",
    };
    columns(TopBy::Process).iter().position(|column| column.heading == heading)
}

fn table(rows: &[TopRow], by: TopBy, idle: bool) -> Grid {
    let title = match by {
        TopBy::Culprit => "who had a CPU while others were ready to run",
        _ if idle => "who waits for what",
        _ => "who waits for what; idle waits are hidden",
    };
    let nothing = match by {
        TopBy::Culprit => "Nobody waited for a CPU that another had.",
        _ => "Nothing waited for a thousandth of its time.",
    };
    let rows = rows.iter().map(|row| line(row, by)).collect();
    Grid { title: title.to_owned(), columns: columns(by), rows, nothing: nothing.to_owned() }
}

fn line(row: &TopRow, by: TopBy) -> Row {
    let is_wait = row.sum.count > 0;
    let length = |span: Span, more: bool| match is_wait {
        true => Cell::number(format!("{}{}", unit(span), if more { "+" } else { "" }), nanos(span)),
        false => Cell::unknown(),
    };
    let (mark, tone) = severity(row);
    let mut cells = vec![Cell::text(mark), Cell::text(row.name.as_str())];
    if by != TopBy::Group {
        cells.push(row.id.map_or_else(Cell::unknown, |id| Cell::number(id.to_string(), f64::from(id))));
    }
    cells.push(row.cpu.map_or_else(Cell::unknown, |cpu| Cell::number(short_percent(cpu), cpu)));
    cells.push(Cell { short: Some(row.short.clone()), ..Cell::text(row.what.as_str()) });
    let times =
        if is_wait { Cell::number(count(row.sum.count), row.sum.count as f64) } else { Cell::unknown() };
    cells.push(times);
    match by {
        TopBy::Culprit => cells.push(length(row.sum.time, false)),
        _ => cells.extend([length(row.sum.mean(), false), length(row.sum.longest, row.sum.ongoing > 0)]),
    }
    cells.push(if is_wait { Cell::number(short_percent(row.share), row.share) } else { Cell::unknown() });
    Row { key: row.key, cells, tone, ..Row::default() }
}

/// How bad a wait is, by a sign and by a colour.
fn severity(row: &TopRow) -> (&'static str, Tone) {
    match row.nature {
        Some(Nature::HeldUp) if row.share >= MUCH => ("!!", Tone::Bad),
        Some(Nature::HeldUp) if row.share >= LITTLE => ("!", Tone::Warn),
        Some(Nature::AsAsked) => ("", Tone::Dim),
        _ => ("", Tone::Plain),
    }
}

/// A length with its unit, in the room of a column: `6.32 s`, `850 µs`.
fn unit(span: Span) -> String {
    if span >= Span::from_secs(100) { rough(span) } else { Latency::from_span(span).to_string() }
}

fn nanos(span: Span) -> f64 {
    span.as_nanos() as f64
}

/// Of a column that is narrow: `below 0.1 %` is `<0.1 %`.
pub(crate) fn short_percent(share: f64) -> String {
    percent(share).replace("below ", "<")
}

/// Who had the CPU meanwhile; of a culprit, whom it held up.
fn others(row: &TopRow, by: TopBy) -> Grid {
    let columns = vec![
        Column::growing(if by == TopBy::Culprit { "process" } else { "had the CPU" }, 14),
        Column::number("time", 7, 0),
        Column::number("share", 6, 1),
    ];
    let whole = nanos(row.sum.time).max(1.0);
    let line = |(key, (name, time)): (u64, &(String, Span))| {
        let share = short_percent((nanos(*time) / whole).min(1.0));
        let cells = vec![Cell::text(name.as_str()), Cell::text(unit(*time)), Cell::text(share)];
        Row { key, cells, ..Row::default() }
    };
    let rows = (0..).zip(&row.others).map(line).collect();
    let (title, nothing) = match by {
        TopBy::Culprit => ("who waited for it", String::new()),
        _ => ("who had the CPU meanwhile", "It is no wait for a CPU, or none of 20 µs.".to_owned()),
    };
    Grid { title: title.to_owned(), columns, rows, nothing }
}

fn functions(row: &TopRow) -> Grid {
    let line =
        |(key, name): (u64, &String)| Row { key, cells: vec![Cell::text(name.as_str())], ..Row::default() };
    Grid {
        title: "where in the kernel".to_owned(),
        columns: vec![Column::growing("the innermost function first", 20)],
        rows: (0..).zip(&row.functions).map(line).collect(),
        nothing: "Nobody looked.".to_owned(),
    }
}
