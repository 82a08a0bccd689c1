//! Incidents so far, as a screen.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

use howlate_model::{Incident, IncidentCause, LateThreshold, Latency, MonotonicTime, Span};
use howlate_render::numbers::{count, rough};
use howlate_render::{incident_cause, late_above, legible, part_of_incident, percent};

use crate::paint_thread::Content;
use crate::screenful::{
    HistoryInterval, LatencyHistory, LiveCell, LiveColumn, LiveTable, LiveTableRow, Query, Screenful,
};

/// Incidents on the screen, the newest; the recording has all.
const MAX_INCIDENTS: usize = 200;
/// Length of an interval of the history, and the number of intervals kept.
const INTERVAL: Span = Span::from_secs(2);
const MAX_INTERVALS: usize = 300;
/// Processes that have a row, and causes of one; the recording has the others.
const MAX_PROCESSES: usize = 500;
const MAX_CAUSES: usize = 200;

/// Incidents of a recording of the whole machine.
#[derive(Clone, Debug)]
pub(crate) struct IncidentLog {
    machine: String,
    above: LateThreshold,
    folder: String,
    start: MonotonicTime,
    now: MonotonicTime,
    lost: u64,
    marks: usize,
    processes: BTreeMap<String, ProcessIncidents>,
    newest: VecDeque<(u64, Incident)>,
    counted: u64,
}

/// The incidents of all processes with one name.
#[derive(Clone, Debug, Default)]
struct ProcessIncidents {
    key: u64,
    count: u64,
    worst: Span,
    time: Span,
    last: String,
    /// Total time, number of incidents and longest time, by the name of the cause.
    causes: BTreeMap<String, (Span, u64, Span)>,
    /// Number of the interval, incidents, their total time, the longest. Ascending.
    intervals: VecDeque<(u64, u64, Span, Span)>,
}

impl IncidentLog {
    pub(crate) fn new(machine: String, above: LateThreshold, folder: String, start: MonotonicTime) -> Self {
        Self {
            machine,
            above,
            folder,
            start,
            now: start,
            lost: 0,
            marks: 0,
            processes: BTreeMap::new(),
            newest: VecDeque::new(),
            counted: 0,
        }
    }

    pub(crate) fn add_marks(&mut self, count: usize) {
        self.marks += count;
    }

    /// Adds the incidents that came by `now`.
    pub(crate) fn add(&mut self, incidents: &[Incident], lost: u64, now: MonotonicTime) {
        (self.now, self.lost) = (now, lost);
        for incident in incidents {
            self.counted += 1;
            let interval = self.interval_at(incident.at_ns);
            if self.processes.len() < MAX_PROCESSES || self.processes.contains_key(&incident.thread.process) {
                let next = self.processes.len() as u64;
                let new_process = || ProcessIncidents { key: next, ..ProcessIncidents::default() };
                self.processes
                    .entry(incident.thread.process.clone())
                    .or_insert_with(new_process)
                    .add(incident, interval);
            }
            self.newest.push_front((self.counted, incident.clone()));
        }
        self.newest.truncate(MAX_INCIDENTS);
    }

    fn interval_at(&self, at: MonotonicTime) -> u64 {
        at.since(self.start).as_nanos() / INTERVAL.as_nanos()
    }

    /// The largest worst case first.
    fn sorted(&self) -> Vec<(&String, &ProcessIncidents)> {
        let mut processes: Vec<_> = self.processes.iter().collect();
        processes.sort_by_key(|(_, process)| Reverse(process.worst));
        processes
    }

    /// All intervals since the first incident of the process that are still kept.
    fn history(&self, process: &ProcessIncidents) -> LatencyHistory {
        let until = self.interval_at(self.now);
        let from = process
            .intervals
            .front()
            .map_or(until, |(interval, ..)| *interval)
            .max((until + 1).saturating_sub(MAX_INTERVALS as u64));
        let history_interval = |number: u64| {
            let interval = process.intervals.iter().find(|(interval, ..)| *interval == number);
            let values =
                interval.map(|(_, count, time, worst)| [time.as_nanos() / (*count).max(1), worst.as_nanos()]);
            HistoryInterval { length: INTERVAL, values, ..HistoryInterval::default() }
        };
        LatencyHistory { intervals: (from..=until).map(history_interval).collect() }
    }
}

impl ProcessIncidents {
    fn add(&mut self, incident: &Incident, interval: u64) {
        self.count += 1;
        self.worst = self.worst.max(incident.latency);
        self.time = self.time.plus(incident.latency);
        self.last.clone_from(&incident.at);
        for cause in &incident.causes {
            self.add_cause(cause);
        }
        match self.intervals.back_mut().filter(|(last, ..)| *last == interval) {
            Some((_, count, time, worst)) => {
                (*count, *time, *worst) =
                    (*count + 1, time.plus(incident.latency), (*worst).max(incident.latency));
            }
            None => self.intervals.push_back((interval, 1, incident.latency, incident.latency)),
        }
        if self.intervals.len() > MAX_INTERVALS {
            self.intervals.pop_front();
        }
    }

    fn add_cause(&mut self, cause: &IncidentCause) {
        let name = incident_cause(cause);
        if self.causes.len() < MAX_CAUSES || self.causes.contains_key(&name) {
            let (time, times, longest) = self.causes.entry(name).or_default();
            (*time, *times, *longest) = (time.plus(cause.took), *times + 1, (*longest).max(cause.took));
        }
    }

    /// Causes with their times, longest total first.
    fn sorted(&self) -> Vec<(&String, &(Span, u64, Span))> {
        let mut causes: Vec<_> = self.causes.iter().collect();
        causes.sort_by_key(|(_, (time, ..))| Reverse(*time));
        causes
    }
}

impl Content for IncidentLog {
    fn screenful(&self, query: &Query) -> Screenful {
        let processes = self.sorted();
        let selected =
            processes.iter().find(|(_, process)| Some(process.key) == query.selected).or(processes.first());
        let lost = format!("{} incidents were left out or lost: there were too many.", count(self.lost));
        let marks =
            if self.marks > 0 { format!(" · {} marked", count(self.marks as u64)) } else { String::new() };
        Screenful {
            title: "howlate record".to_owned(),
            machine: self.machine.clone(),
            doubts: (self.lost > 0).then_some(lost).into_iter().collect(),
            doing: format!(
                "{} · {} incidents{marks}",
                rough(self.now.since(self.start)),
                count(self.counted)
            ),
            fixed: vec![format!("above {}", late_above(self.above)), legible(&self.folder).into_owned()],
            table: table(&processes),
            is_list: false,
            can_mark: true,
            can_write_timelines: true,
            detail_of: selected.map(|(name, _)| legible(name).into_owned()).unwrap_or_default(),
            history: selected.map(|(_, process)| self.history(process)),
            history_title: "mean, max",
            causes: Some(causes(selected.map(|(_, process)| *process))),
            late: Some(late(&self.newest)),
            parts: self.newest.iter().map(|(key, incident)| (*key, parts(incident))).collect(),
            ..Screenful::default()
        }
    }
}

fn span(span: Span) -> LiveCell {
    LiveCell::number(Latency::from_span(span).to_string(), span.as_nanos() as f64)
}

/// The time of the day, UTC: `03:12:07`.
fn time_of_day(at: &str) -> &str {
    at.get(11..19).unwrap_or(at)
}

fn table(processes: &[(&String, &ProcessIncidents)]) -> LiveTable {
    let columns = vec![
        LiveColumn::growing("process", 15),
        LiveColumn::number("incidents", 9, 0),
        LiveColumn::number("mean", 7, 1),
        LiveColumn::number("worst", 7, 0),
        LiveColumn::text("last (UTC)", 10, 2),
        LiveColumn::growing("main cause", 18),
    ];
    let row = |(name, process): &(&String, &ProcessIncidents)| {
        let main = process.sorted().first().map(|(cause, (time, ..))| {
            format!("{} ({})", cause, percent(time.as_secs_f64() / process.time.as_secs_f64().max(1e-9)))
        });
        let cells = vec![
            LiveCell::text(legible(name)),
            LiveCell::number(count(process.count), process.count as f64),
            span(Span::from_nanos(process.time.as_nanos() / process.count.max(1))),
            span(process.worst),
            LiveCell::text(time_of_day(&process.last)),
            LiveCell::text(main.unwrap_or_else(|| "–".to_owned())),
        ];
        LiveTableRow { key: process.key, cells, ..LiveTableRow::default() }
    };
    let rows = processes.iter().map(row).collect();
    let title = "incidents, by process".to_owned();
    LiveTable { title, columns, rows, empty_text: "No incidents yet.".to_owned() }
}

fn causes(process: Option<&ProcessIncidents>) -> LiveTable {
    let columns = vec![
        LiveColumn::growing("cause", 16),
        LiveColumn::number("share", 6, 0),
        LiveColumn::number("incidents", 9, 2),
        LiveColumn::number("largest", 8, 1),
    ];
    let total = process.map_or(1.0, |process| process.time.as_secs_f64()).max(1e-9);
    let row = |(key, (name, (time, times, longest))): (u64, (&String, &(Span, u64, Span)))| {
        let share = percent(time.as_secs_f64() / total).replace("below ", "<");
        let cells = vec![
            LiveCell::text(name.as_str()),
            LiveCell::text(share),
            LiveCell::text(count(*times)),
            LiveCell::text(Latency::from_span(*longest).to_string()),
        ];
        LiveTableRow { key, cells, ..LiveTableRow::default() }
    };
    let rows = (0..).zip(process.map(ProcessIncidents::sorted).unwrap_or_default()).map(row).collect();
    LiveTable { title: "causes".to_owned(), columns, rows, empty_text: String::new() }
}

fn late(newest: &VecDeque<(u64, Incident)>) -> LiveTable {
    let columns = vec![
        LiveColumn::text("at (UTC)", 8, 0),
        LiveColumn::number("waited", 7, 0),
        LiveColumn::text("thread", 15, 1),
        LiveColumn::growing("most of it", 10),
    ];
    let row = |(key, incident): &(u64, Incident)| {
        let main_cause = incident
            .causes
            .first()
            .map(|cause| format!("{} {}", percent(cause.share), incident_cause(cause)));
        let cells = vec![
            LiveCell::text(time_of_day(&incident.at)),
            LiveCell::text(Latency::from_span(incident.latency).to_string()),
            LiveCell::text(legible(&incident.thread.name)),
            LiveCell::text(main_cause.unwrap_or_default()),
        ];
        LiveTableRow { key: *key, cells, ..LiveTableRow::default() }
    };
    let rows = newest.iter().map(row).collect();
    LiveTable { title: "as they came".to_owned(), columns, rows, empty_text: "None yet.".to_owned() }
}

fn parts(incident: &Incident) -> LiveTable {
    let columns = vec![LiveColumn::growing("part", 20), LiveColumn::number("took", 8, 0)];
    let row = |(key, part): (u64, &howlate_model::Segment)| {
        let took = Latency::from_span(part.ns).to_string();
        LiveTableRow {
            key,
            cells: vec![LiveCell::text(part_of_incident(part)), LiveCell::text(took)],
            ..LiveTableRow::default()
        }
    };
    let who =
        format!("{}, thread {}, CPU {}", legible(&incident.thread.name), incident.thread.tid, incident.cpu);
    let title = format!("part by part: {who}");
    LiveTable {
        title,
        columns,
        rows: (0..).zip(&incident.parts).map(row).collect(),
        empty_text: String::new(),
    }
}
