//! What has come so far, as a screen.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

use howlate_model::{Incident, IncidentCause, LateAbove, Latency, MonotonicTime, Span};
use howlate_render::numbers::{count, rough};
use howlate_render::{incident_cause, late_above, legible, part_of_incident, percent};

use crate::paint_thread::Content;
use crate::screenful::{Asked, Cell, Column, Grid, History, Moment, Row, Screenful};

/// So many incidents are kept, the newest; the recording has all.
const KEPT: usize = 200;
/// A moment of a history is so long, and so many are kept.
const MOMENT: Span = Span::from_secs(2);
const MOMENTS: usize = 300;
/// Processes, and causes of one, that are told apart: the others are in the recording.
const PROCESSES: usize = 500;
const CAUSES: usize = 200;

/// What has come so far.
#[derive(Clone, Debug)]
pub(crate) struct Incidents {
    machine: String,
    above: LateAbove,
    folder: String,
    began: MonotonicTime,
    now: MonotonicTime,
    lost: u64,
    marks: usize,
    processes: BTreeMap<String, Process>,
    newest: VecDeque<(u64, Incident)>,
    counted: u64,
}

/// The incidents of all processes of a name.
#[derive(Clone, Debug, Default)]
struct Process {
    key: u64,
    count: u64,
    worst: Span,
    time: Span,
    last: String,
    /// By what stands for a cause: its time, how often, and the longest.
    causes: BTreeMap<String, (Span, u64, Span)>,
    /// By number: how many, their time together, the longest.
    moments: VecDeque<(u64, u64, Span, Span)>,
}

impl Incidents {
    pub(crate) fn new(machine: String, above: LateAbove, folder: String, began: MonotonicTime) -> Self {
        Self {
            machine,
            above,
            folder,
            began,
            now: began,
            lost: 0,
            marks: 0,
            processes: BTreeMap::new(),
            newest: VecDeque::new(),
            counted: 0,
        }
    }

    /// So many moments more have been marked.
    pub(crate) fn marked(&mut self, more: usize) {
        self.marks += more;
    }

    /// Takes in what has come by `now`.
    pub(crate) fn take(&mut self, new: &[Incident], lost: u64, now: MonotonicTime) {
        (self.now, self.lost) = (now, lost);
        for one in new {
            self.counted += 1;
            let moment = self.moment(one.at_ns);
            if self.processes.len() < PROCESSES || self.processes.contains_key(&one.thread.process) {
                let next = self.processes.len() as u64;
                let new = || Process { key: next, ..Process::default() };
                self.processes.entry(one.thread.process.clone()).or_insert_with(new).take(one, moment);
            }
            self.newest.push_front((self.counted, one.clone()));
        }
        self.newest.truncate(KEPT);
    }

    fn moment(&self, at: MonotonicTime) -> u64 {
        at.since(self.began).as_nanos() / MOMENT.as_nanos()
    }

    /// Latest first.
    fn sorted(&self) -> Vec<(&String, &Process)> {
        let mut all: Vec<_> = self.processes.iter().collect();
        all.sort_by_key(|(_, one)| Reverse(one.worst));
        all
    }

    /// Every moment since the first, as far as they are kept.
    fn history(&self, of: &Process) -> History {
        let until = self.moment(self.now);
        let from = of
            .moments
            .front()
            .map_or(until, |(moment, ..)| *moment)
            .max((until + 1).saturating_sub(MOMENTS as u64));
        let at = |number: u64| {
            let known = of.moments.iter().find(|(moment, ..)| *moment == number);
            let values =
                known.map(|(_, count, time, worst)| [time.as_nanos() / (*count).max(1), worst.as_nanos()]);
            Moment { lasts: MOMENT, values, ..Moment::default() }
        };
        History { moments: (from..=until).map(at).collect() }
    }
}

impl Process {
    fn take(&mut self, one: &Incident, moment: u64) {
        self.count += 1;
        self.worst = self.worst.max(one.latency);
        self.time = self.time.plus(one.latency);
        self.last.clone_from(&one.at);
        for cause in &one.causes {
            self.add(cause);
        }
        match self.moments.back_mut().filter(|(last, ..)| *last == moment) {
            Some((_, count, time, worst)) => {
                (*count, *time, *worst) = (*count + 1, time.plus(one.latency), (*worst).max(one.latency));
            }
            None => self.moments.push_back((moment, 1, one.latency, one.latency)),
        }
        if self.moments.len() > MOMENTS {
            self.moments.pop_front();
        }
    }

    fn add(&mut self, cause: &IncidentCause) {
        let name = incident_cause(cause);
        if self.causes.len() < CAUSES || self.causes.contains_key(&name) {
            let (time, times, longest) = self.causes.entry(name).or_default();
            (*time, *times, *longest) = (time.plus(cause.took), *times + 1, (*longest).max(cause.took));
        }
    }

    /// Who took most of the time first.
    fn sorted(&self) -> Vec<(&String, &(Span, u64, Span))> {
        let mut all: Vec<_> = self.causes.iter().collect();
        all.sort_by_key(|(_, (time, ..))| Reverse(*time));
        all
    }
}

impl Content for Incidents {
    fn screenful(&self, asked: &Asked) -> Screenful {
        let processes = self.sorted();
        let selected =
            processes.iter().find(|(_, one)| Some(one.key) == asked.selected).or(processes.first());
        let lost = format!("{} incidents were left out or lost: there were too many.", count(self.lost));
        let marks =
            if self.marks > 0 { format!(" · {} marked", count(self.marks as u64)) } else { String::new() };
        Screenful {
            title: "howlate record".to_owned(),
            machine: self.machine.clone(),
            doubts: (self.lost > 0).then_some(lost).into_iter().collect(),
            doing: format!(
                "{} · {} incidents{marks}",
                rough(self.now.since(self.began)),
                count(self.counted)
            ),
            fixed: vec![format!("above {}", late_above(self.above)), legible(&self.folder).into_owned()],
            table: table(&processes),
            is_list: false,
            can_mark: true,
            can_write_timelines: true,
            detail_of: selected.map(|(name, _)| legible(name).into_owned()).unwrap_or_default(),
            history: selected.map(|(_, one)| self.history(one)),
            history_title: "mean, max",
            causes: Some(causes(selected.map(|(_, one)| *one))),
            late: Some(late(&self.newest)),
            parts: self.newest.iter().map(|(key, one)| (*key, parts(one))).collect(),
            ..Screenful::default()
        }
    }
}

fn span(span: Span) -> Cell {
    Cell::number(Latency::from_span(span).to_string(), span.as_nanos() as f64)
}

/// The time of the day, UTC: `03:12:07`.
fn time_of_day(at: &str) -> &str {
    at.get(11..19).unwrap_or(at)
}

fn table(processes: &[(&String, &Process)]) -> Grid {
    let columns = vec![
        Column::growing("process", 15),
        Column::number("incidents", 9, 0),
        Column::number("mean", 7, 1),
        Column::number("worst", 7, 0),
        Column::text("last (UTC)", 10, 2),
        Column::growing("main cause", 18),
    ];
    let row = |(name, one): &(&String, &Process)| {
        let main = one.sorted().first().map(|(cause, (time, ..))| {
            format!("{} ({})", cause, percent(time.as_secs_f64() / one.time.as_secs_f64().max(1e-9)))
        });
        let cells = vec![
            Cell::text(legible(name)),
            Cell::number(count(one.count), one.count as f64),
            span(Span::from_nanos(one.time.as_nanos() / one.count.max(1))),
            span(one.worst),
            Cell::text(time_of_day(&one.last)),
            Cell::text(main.unwrap_or_else(|| "–".to_owned())),
        ];
        Row { key: one.key, cells, ..Row::default() }
    };
    let rows = processes.iter().map(row).collect();
    let title = "waits for a CPU that were too long, by process".to_owned();
    Grid { title, columns, rows, nothing: "Nothing has waited so long yet.".to_owned() }
}

fn causes(of: Option<&Process>) -> Grid {
    let columns = vec![
        Column::growing("cause", 16),
        Column::number("share", 6, 0),
        Column::number("incidents", 9, 2),
        Column::number("largest", 8, 1),
    ];
    let whole = of.map_or(1.0, |one| one.time.as_secs_f64()).max(1e-9);
    let row = |(key, (name, (time, times, longest))): (u64, (&String, &(Span, u64, Span)))| {
        let share = percent(time.as_secs_f64() / whole).replace("below ", "<");
        let cells = vec![
            Cell::text(name.as_str()),
            Cell::text(share),
            Cell::text(count(*times)),
            Cell::text(Latency::from_span(*longest).to_string()),
        ];
        Row { key, cells, ..Row::default() }
    };
    let rows = (0..).zip(of.map(Process::sorted).unwrap_or_default()).map(row).collect();
    Grid { title: "causes".to_owned(), columns, rows, nothing: String::new() }
}

fn late(newest: &VecDeque<(u64, Incident)>) -> Grid {
    let columns = vec![
        Column::text("at (UTC)", 8, 0),
        Column::number("waited", 7, 0),
        Column::text("thread", 15, 1),
        Column::growing("most of it", 10),
    ];
    let row = |(key, one): &(u64, Incident)| {
        let most =
            one.causes.first().map(|cause| format!("{} {}", percent(cause.share), incident_cause(cause)));
        let cells = vec![
            Cell::text(time_of_day(&one.at)),
            Cell::text(Latency::from_span(one.latency).to_string()),
            Cell::text(legible(&one.thread.name)),
            Cell::text(most.unwrap_or_default()),
        ];
        Row { key: *key, cells, ..Row::default() }
    };
    let rows = newest.iter().map(row).collect();
    Grid { title: "as they came".to_owned(), columns, rows, nothing: "None yet.".to_owned() }
}

fn parts(one: &Incident) -> Grid {
    let columns = vec![Column::growing("part", 20), Column::number("took", 8, 0)];
    let row = |(key, part): (u64, &howlate_model::Segment)| {
        let took = Latency::from_span(part.ns).to_string();
        Row { key, cells: vec![Cell::text(part_of_incident(part)), Cell::text(took)], ..Row::default() }
    };
    let who = format!("{}, thread {}, CPU {}", legible(&one.thread.name), one.thread.tid, one.cpu);
    let title = format!("part by part: {who}");
    Grid { title, columns, rows: (0..).zip(&one.parts).map(row).collect(), nothing: String::new() }
}
