//! `howlate top`

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};

use howlate_analyse::waits::{WaitAccumulator, WaitTable};
use howlate_linux::terminal_keys::TerminalKeys;
use howlate_linux::{clock, sched};
use howlate_live::LiveTop;
use howlate_model::{MonotonicTime, Span, TracerRefusal};
use howlate_procfs::Root;
use howlate_render::{Controls, Pressed, Top as Shown, TopBy, TopView, machine};
use howlate_system::describe;
use howlate_trace::{WaitReader, read_waits};
use howlate_watched_program::{ProcessCgroups, WatchError, process_exists};

use super::recorded;
use crate::error::Error;
use crate::exit_status::Status;
use crate::startup::on_interrupt;
use crate::terminal::{self, InPlace, is_watched};
use howlate_cli::TopArgs;

/// TerminalKeys are looked for this often.
const KEYS_EVERY: Span = Span::from_millis(100);
/// How long is looked once.
const ONCE: Span = Span::from_secs(5);
/// No table is of less.
const LEAST: Span = Span::from_millis(100);

pub(crate) fn run(asked: &TopArgs) -> Result<Status, Error> {
    if asked.moments.is_set() {
        return recorded::top(asked);
    }
    let interrupted = on_interrupt()?;
    if let Some(process) = asked.process().filter(|_| Root::live().has_processes()) {
        process_exists(&Root::live(), process)?;
    }
    let (reader, refused) = read_waits(asked.tracer).map_err(Error::Waits)?;
    let is_watched = !asked.once && !asked.json && io::stdout().is_terminal() && is_watched();
    let begin =
        || LiveTop::begin(&interrupted, view(asked), asked.interval, machine(&describe(&Root::live())));
    // Where the whole screen will not do, a table changes in place.
    let live = is_watched.then(begin).and_then(Result::ok);
    let in_place = is_watched && live.is_none();
    let mut looking = Looking {
        reader,
        refused,
        adding: WaitAccumulator::default(),
        view: view(asked),
        json: asked.json,
        live,
        groups: ProcessCgroups::default(),
        place: in_place.then(InPlace::default),
        keys: if in_place { TerminalKeys::listen() } else { TerminalKeys::none() },
        controls: Controls::default(),
        last: None,
        interrupted: &interrupted,
    };
    let duration = asked.duration.or_else(|| asked.once.then_some(ONCE));
    let each = if asked.once { duration.unwrap_or(ONCE) } else { asked.interval };
    let was_seen = looking.until(duration.map(|duration| clock::now().plus(duration)), each.max(LEAST))?;
    match asked.process() {
        Some(process) if !was_seen => Err(WatchError::not_there(process).into()),
        _ => Ok(Status::Done),
    }
}

fn view(asked: &TopArgs) -> TopView {
    TopView {
        order: asked.sort.into(),
        process: asked.process().map(str::to_owned),
        kinds: asked.kind.clone(),
        group: asked.group.clone(),
        by: asked.by(),
        filter: String::new(),
        rows: None,
        details: asked.details,
    }
}

/// A machine that is being looked at.
struct Looking<'a> {
    reader: Box<dyn WaitReader>,
    /// Why there is no better one.
    refused: Option<TracerRefusal>,
    adding: WaitAccumulator,
    view: TopView,
    json: bool,
    /// Where it has the whole screen.
    live: Option<LiveTop>,
    groups: ProcessCgroups,
    /// Where the table changes in place.
    place: Option<InPlace>,
    keys: TerminalKeys,
    controls: Controls,
    /// What is shown, to be shown otherwise at a key.
    last: Option<Shown>,
    interrupted: &'a AtomicBool,
}

impl Looking<'_> {
    /// A table every so often, until it is over; returns whether the process that was asked for was in any.
    fn until(&mut self, end: Option<MonotonicTime>, each: Span) -> Result<bool, Error> {
        let mut was_seen = false;
        self.replace();
        loop {
            let began = clock::now();
            let next = began.plus(each);
            let over = self.look_until(end.map_or(next, |end| end.min(next)))?;
            let now = clock::now();
            let shown = self.shown(now.since(began));
            was_seen |= shown.has(&self.view);
            let over = over || end.is_some_and(|end| now >= end);
            if over {
                self.print(&shown)?;
                return Ok(was_seen);
            }
            self.show(shown)?;
        }
    }

    /// Takes in what there is until then; returns whether somebody ended it before.
    fn look_until(&mut self, until: MonotonicTime) -> Result<bool, Error> {
        loop {
            let next = until.min(clock::now().plus(self.reader.every()));
            let over = self.wait_until(next);
            self.adding.add_reading(self.reader.read().map_err(Error::Waits)?);
            if over || clock::now() >= until {
                return Ok(over);
            }
        }
    }

    fn wait_until(&mut self, until: MonotonicTime) -> bool {
        loop {
            let pressed = self.controls.press(&self.keys.read_pressed(), &mut self.view);
            if self.interrupted.load(Ordering::Relaxed) || pressed == Pressed::End {
                return true;
            }
            if pressed == Pressed::Otherwise {
                self.replace();
            }
            let left = until.since(clock::now());
            if left.is_zero() {
                return false;
            }
            // A signal makes the look come earlier.
            let has_keys = self.keys.is_listening() || self.live.is_some();
            drop(clock::sleep_for(if has_keys { left.min(KEYS_EVERY) } else { left }));
        }
    }

    fn shown(&mut self, lasted: Span) -> Shown {
        let table: WaitTable = self.adding.table();
        let cpus = sched::bindable_cpus().map_or(1, |cpus| cpus.len());
        self.look_for_groups(&table);
        let groups = self.groups.paths().clone();
        Shown {
            source: self.reader.source().name(),
            refused: self.refused.clone(),
            lasted,
            cpus,
            table,
            groups,
        }
    }

    /// Where somebody may ask for them.
    fn look_for_groups(&mut self, table: &WaitTable) {
        if self.live.is_none() && self.view.by != TopBy::Group && self.view.group.is_none() {
            return;
        }
        let there: Vec<u32> = table.processes.iter().filter_map(|one| one.pid).collect();
        self.groups.update(&there);
    }

    /// In place, where that can be: there is more to come.
    fn show(&mut self, shown: Shown) -> Result<(), Error> {
        if let Some(live) = &mut self.live {
            live.show(shown);
            return Ok(());
        }
        if self.place.is_none() {
            return self.print(&shown);
        }
        self.last = Some(shown);
        self.replace();
        Ok(())
    }

    /// The table that was last made, as it is chosen now, below the keys.
    fn replace(&mut self) {
        let (Some(place), width) = (&mut self.place, terminal::width()) else { return };
        let view = TopView { rows: terminal::height(), ..self.view.clone() };
        let keys =
            if self.keys.is_listening() { view.keys(self.controls.is_typing, width) } else { String::new() };
        let table = self.last.as_ref().map(|last| last.text(&view, width)).unwrap_or_default();
        place.show(&format!("{keys}\n\n{table}"));
    }

    /// A table that stays.
    fn print(&mut self, shown: &Shown) -> Result<(), Error> {
        if self.json {
            return Ok(terminal::print_or_json(&shown.json(&self.view)?, true)?);
        }
        self.live.iter_mut().for_each(LiveTop::end);
        self.place.iter_mut().for_each(InPlace::clear);
        Ok(terminal::print(&shown.text(&self.view, terminal::width()))?)
    }
}
