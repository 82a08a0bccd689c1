//! `howlate top`: shows what processes wait for.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};

use howlate_analyse::waits::{WaitAccumulator, WaitTable};
use howlate_linux::terminal_keys::TerminalKeys;
use howlate_linux::{clock, sched};
use howlate_live::LiveTop;
use howlate_model::{MonotonicTime, Span, TracerRefusal};
use howlate_procfs::Root;
use howlate_render::{KeyEffect, TopBy, TopControls, TopReport as TopSample, TopView, machine};
use howlate_system::describe;
use howlate_trace::{WaitReader, read_waits};
use howlate_watched_program::{ProcessCgroups, WatchError, process_exists};

use super::formats::answer;
use super::{detail, record_folder};
use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::startup::on_interrupt;
use crate::terminal::{self, InPlace, stderr_is_terminal};
use howlate_cli::TopArgs;

const KEY_INTERVAL: Span = Span::from_millis(100);
/// Length of `--once` without `--duration`.
const ONCE_DURATION: Span = Span::from_secs(5);
const MIN_INTERVAL: Span = Span::from_millis(100);

pub(crate) fn run(args: &TopArgs) -> Result<ExitStatus, Error> {
    if args.moments.is_set() {
        return record_folder::top(args);
    }
    let interrupted = on_interrupt()?;
    if let Some(process) = args.process().filter(|_| Root::live().has_processes()) {
        process_exists(&Root::live(), process)?;
    }
    let (reader, refused) = read_waits(args.tracer).map_err(Error::Waits)?;
    let is_interactive = !args.once && !args.json && io::stdout().is_terminal() && stderr_is_terminal();
    let begin_live =
        || LiveTop::begin(&interrupted, view(args), args.interval, machine(&describe(&Root::live())));
    // Without a live view, the table is replaced in place.
    let live = is_interactive.then(begin_live).and_then(Result::ok);
    let in_place = is_interactive && live.is_none();
    let mut session = TopSession {
        reader,
        refused,
        adding: WaitAccumulator::default(),
        view: view(args),
        json: args.json,
        live,
        groups: ProcessCgroups::default(),
        display: in_place.then(InPlace::default),
        keys: if in_place { TerminalKeys::listen() } else { TerminalKeys::none() },
        controls: TopControls::default(),
        last: None,
        interrupted: &interrupted,
    };
    let duration = args.duration.or_else(|| args.once.then_some(ONCE_DURATION));
    let interval = if args.once { duration.unwrap_or(ONCE_DURATION) } else { args.interval };
    let process_seen =
        session.run(duration.map(|duration| clock::now().plus(duration)), interval.max(MIN_INTERVAL))?;
    match args.process() {
        Some(process) if !process_seen => Err(WatchError::not_there(process).into()),
        _ => Ok(ExitStatus::Done),
    }
}

fn view(args: &TopArgs) -> TopView {
    TopView {
        order: args.sort.into(),
        process: args.process().map(str::to_owned),
        kinds: args.kind.clone(),
        group: args.group.clone(),
        by: args.by,
        filter: String::new(),
        rows: None,
        details: args.details,
    }
}

/// A running `howlate top`.
struct TopSession<'a> {
    reader: Box<dyn WaitReader>,
    /// Why no better source is used.
    refused: Option<TracerRefusal>,
    adding: WaitAccumulator,
    view: TopView,
    json: bool,
    /// The live view, if it is shown.
    live: Option<LiveTop>,
    groups: ProcessCgroups,
    /// The table in place, if it is shown.
    display: Option<InPlace>,
    keys: TerminalKeys,
    controls: TopControls,
    /// The last table, to be redrawn after a key.
    last: Option<TopSample>,
    interrupted: &'a AtomicBool,
}

impl TopSession<'_> {
    /// Shows a table per interval until the end. Returns whether the requested process was in any of them.
    fn run(&mut self, end: Option<MonotonicTime>, interval: Span) -> Result<bool, Error> {
        let mut process_seen = false;
        self.replace();
        loop {
            let start = clock::now();
            let sample_end = start.plus(interval);
            let ended = self.read_until(end.map_or(sample_end, |end| end.min(sample_end)))?;
            let now = clock::now();
            let sample = self.sample(now.since(start));
            process_seen |= sample.has(&self.view);
            let ended = ended || end.is_some_and(|end| now >= end);
            if ended {
                self.print(&sample)?;
                return Ok(process_seen);
            }
            self.show(sample)?;
        }
    }

    /// Collects waits until then; returns whether the user ended it.
    fn read_until(&mut self, until: MonotonicTime) -> Result<bool, Error> {
        loop {
            let pause_end = until.min(clock::now().plus(self.reader.every()));
            let ended = self.wait_until(pause_end);
            self.adding.add_reading(self.reader.read().map_err(Error::Waits)?);
            if ended || clock::now() >= until {
                return Ok(ended);
            }
        }
    }

    /// Handles keys until then; returns whether the user ended it.
    fn wait_until(&mut self, until: MonotonicTime) -> bool {
        loop {
            let pressed = self.controls.press(&self.keys.read_pressed(), &mut self.view);
            if self.interrupted.load(Ordering::Relaxed) || pressed == KeyEffect::Quit {
                return true;
            }
            if pressed == KeyEffect::Changed {
                self.replace();
            }
            let remaining = until.since(clock::now());
            if remaining.is_zero() {
                return false;
            }
            // A signal ends the sleep_for early.
            let has_keys = self.keys.is_listening() || self.live.is_some();
            drop(clock::sleep_for(if has_keys { remaining.min(KEY_INTERVAL) } else { remaining }));
        }
    }

    fn sample(&mut self, lasted: Span) -> TopSample {
        let table: WaitTable = self.adding.table();
        let cpus = sched::bindable_cpus().map_or(1, |cpus| cpus.len());
        self.update_groups(&table);
        let groups = self.groups.paths().clone();
        TopSample {
            source: self.reader.source().name(),
            refused: self.refused.clone(),
            lasted,
            cpus,
            table,
            groups,
        }
    }

    /// Reads cgroups where the view shows them or the user may switch to them.
    fn update_groups(&mut self, table: &WaitTable) {
        if self.live.is_none() && self.view.by != TopBy::Group && self.view.group.is_none() {
            return;
        }
        let pids: Vec<u32> = table.processes.iter().filter_map(|process| process.pid).collect();
        self.groups.update(&pids);
    }

    /// Shows an intermediate table: in the live view, in place, or printed.
    fn show(&mut self, sample: TopSample) -> Result<(), Error> {
        if let Some(live) = &mut self.live {
            live.show(sample);
            return Ok(());
        }
        if self.display.is_none() {
            return self.print(&sample);
        }
        self.last = Some(sample);
        self.replace();
        Ok(())
    }

    /// Redraws the last table in place, below the line of keys.
    fn replace(&mut self) {
        let (Some(display), width) = (&mut self.display, terminal::width()) else { return };
        let view = TopView { rows: terminal::height(), ..self.view.clone() };
        let keys =
            if self.keys.is_listening() { view.keys(self.controls.is_typing, width) } else { String::new() };
        let table = self.last.as_ref().map(|last| last.text(&view, width)).unwrap_or_default();
        display.show(&format!("{keys}\n\n{table}"));
    }

    /// Prints a table for good.
    fn print(&mut self, sample: &TopSample) -> Result<(), Error> {
        if self.json {
            let detail = detail(self.view.details, None);
            return Ok(terminal::print_or_json(&answer(sample.json(&self.view)?, detail)?, true)?);
        }
        self.live.iter_mut().for_each(LiveTop::end);
        self.display.iter_mut().for_each(InPlace::clear);
        Ok(terminal::print(&sample.text(&self.view, terminal::width()))?)
    }
}
