//! One measurement from plan to result: load, threads, recording, display.

mod affinity;
mod display;
mod disturbances;
mod engines;
mod loads;
mod replay;
mod request;
mod resume;
mod steps;
mod stepwise;
mod tracing;
mod turn_load;
mod turn_settings;
mod wakeup_file;

use std::fmt::Display as Words;
use std::mem::take;
use std::sync::Arc;

use howlate_analyse::Analysis;
use howlate_linux::clock;
use howlate_load::{Running, StartError};
use howlate_measure::Process;
use howlate_model::{
    Bounds, Caveat, Finished, HowEnded, Line, LoadReport, MonotonicTime, Progress, Sink, Span, Turn, Wakeup,
    Write,
};
use howlate_plan::Plan;

use crate::cli::without_repeats;
use crate::environment::Environment;
use crate::error::Error;
use crate::recorder::{Intake, Recorder};
use crate::remedy;
use affinity::{contention, observer_cpus};
use display::Display;
use disturbances::Disturbances;
use engines::Engines;
use loads::Loads;
#[cfg(test)]
pub(crate) use replay::replay;
pub(crate) use request::Request;
use resume::Begun;
pub(crate) use resume::Resume;
pub(crate) use steps::{Step, Steps};
pub(crate) use stepwise::{Parts, measure_in_steps};
pub(crate) use tracing::Traced;
use tracing::Tracing;
use turn_load::UnderLoad;
pub(crate) use turn_settings::Turning;
use wakeup_file::WakeupFile;

/// Takes all turns of `plan` that are not taken already; returns what was found.
pub(crate) fn measure(
    request: &Request<'_>,
    environment: &Environment,
    plan: &Plan,
    resume: Resume,
) -> Result<Analysis, Error> {
    check_loads(plan)?;
    let (tracing, untraced) = request.traced.map(Tracing::begin).transpose()?.unwrap_or_default();
    let Begun { recorder, mut turns } = resume.begin(request, environment, plan)?;
    if let (Some(traced), None) = (request.traced, &tracing) {
        turns.retain(|turn| !Tracing::is_traced(traced.from_round, turn));
    }
    let header = &recorder.analysis().header;
    let wakeups = request.samples_out.map(|path| WakeupFile::create(path, header)).transpose()?;
    let mut session = Session::begin(recorder, request.quiet);
    (session.wakeups, session.tracing) = (wakeups, tracing);
    session.display.add(&plan.conditions, &turns);
    let process = Process::prepare(request.dma_latency_us);
    session.knows(&untraced, environment, plan, &turns, &process);
    let bounds = bounds(request, environment, &process);
    let how = session.take_turns(&turns, &mut Engines::of(&environment.probes), &bounds);
    Ok(session.end(how?, environment))
}

/// What bounds every turn.
fn bounds(request: &Request<'_>, environment: &Environment, process: &Process) -> Bounds {
    Bounds {
        stop_above: request.stop_above,
        interrupted: Arc::clone(&environment.interrupted),
        process: process.state(),
        ..Bounds::default()
    }
}

/// So that nothing is measured in vain before a load that cannot be applied.
fn check_loads(plan: &Plan) -> Result<(), StartError> {
    let loads = plan.conditions.iter().map(|condition| condition.load.clone());
    let once = without_repeats(&loads.collect::<Vec<_>>());
    once.iter().try_for_each(howlate_load::check)
}

/// A measurement under way.
struct Session<T> {
    recorder: Recorder<T>,
    wakeups: Option<WakeupFile>,
    display: Display,
    disturbances: Disturbances,
    tracing: Option<Tracing>,
    /// Puts settings of the machine in force for turns of conditions that ask for them.
    turning: Option<Turning>,
    /// Where the loads of turns come from.
    loads: Loads,
    /// The load of the current turn.
    load: Option<UnderLoad>,
    /// Ends of threads' turns, held back until the load has reported.
    finished: Vec<Finished>,
    /// Conditions whose program failed; it would fail again.
    failed: Vec<u32>,
}

impl<T: Intake> Session<T> {
    fn begin(recorder: Recorder<T>, quiet: bool) -> Self {
        Self {
            recorder,
            wakeups: None,
            display: Display::new(quiet),
            disturbances: Disturbances::new(),
            tracing: None,
            turning: None,
            loads: Loads::default(),
            load: None,
            finished: Vec::new(),
            failed: Vec::new(),
        }
    }

    /// Keeps what is to be said before anything is measured.
    fn knows(
        &mut self,
        untraced: &[Caveat],
        environment: &Environment,
        plan: &Plan,
        turns: &[Turn],
        process: &Process,
    ) {
        let known = untraced.iter().chain(&environment.refused).chain(&plan.left_out).chain(&process.caveats);
        for caveat in known.cloned().chain(contention(turns, &environment.system)) {
            self.recorder.caveat(caveat);
        }
    }

    fn take_turns(
        &mut self,
        turns: &[Turn],
        engines: &mut Engines<'_>,
        bounds: &Bounds,
    ) -> Result<HowEnded, Error> {
        for turn in turns {
            self.display.turn_begins(turn);
            if turn.tasks.iter().any(|task| self.failed.contains(&task.condition)) {
                continue;
            }
            let (turned, begun) = self.turn_machine(turn);
            let how = match begun {
                Ok(()) => self.take_turn_under_load(turn, engines, bounds)?,
                Err(reason) => self.cannot_be_taken(turn, &reason),
            };
            let back = self.turn_machine_back(turn);
            if let Some(ended) = [how, turned, back].into_iter().find(|one| *one != HowEnded::Done) {
                return Ok(ended);
            }
            if bounds.is_interrupted() {
                return Ok(HowEnded::Interrupted);
            }
        }
        Ok(HowEnded::Done)
    }

    /// Puts in force what the conditions of `turn` ask of the machine; the reason where nothing of it can be had.
    fn turn_machine(&mut self, turn: &Turn) -> (HowEnded, Result<(), String>) {
        let Some(turning) = &mut self.turning else { return (HowEnded::Done, Ok(())) };
        // All threads of a turn are of one variant, with the same settings of the machine.
        let first = turn.tasks.first().and_then(|task| {
            self.recorder.analysis().header.conditions.get(task.condition as usize)?.tuned.as_ref()
        });
        let writes: Vec<Write> = first.map_or_else(Vec::new, |tuned| tuned.writes.clone());
        let (caveats, begun) = turning.begin(&writes);
        (self.told(caveats), begun)
    }

    /// Puts it back. What somebody else has changed meanwhile is not tried again.
    fn turn_machine_back(&mut self, turn: &Turn) -> HowEnded {
        let caveats = self.turning.as_mut().map_or_else(Vec::new, Turning::end);
        if caveats.iter().any(|one| matches!(one, Caveat::SettingChanged { .. })) {
            self.failed.extend(turn.tasks.iter().map(|task| task.condition));
        }
        self.told(caveats)
    }

    /// Records what is to be said of settings. Where one cannot be put back, no turn to come would be of the machine that was
    /// to be measured.
    fn told(&mut self, caveats: Vec<Caveat>) -> HowEnded {
        let is_left = caveats.iter().any(|one| matches!(one, Caveat::SettingNotRestored { .. }));
        caveats.into_iter().for_each(|caveat| self.recorder.caveat(caveat));
        if is_left { HowEnded::NotRestored } else { HowEnded::Done }
    }

    fn take_turn_under_load(
        &mut self,
        turn: &Turn,
        engines: &mut Engines<'_>,
        bounds: &Bounds,
    ) -> Result<HowEnded, Error> {
        match self.loads.begin(&turn.load) {
            Ok(load) => self.take_turn(turn, load, engines, bounds),
            Err(error) => Ok(self.cannot_be_taken(turn, &error)),
        }
    }

    /// A turn whose load cannot be started, or whose settings cannot be had, is reported; the rest goes on.
    fn cannot_be_taken(&mut self, turn: &Turn, error: &impl Words) -> HowEnded {
        for task in &turn.tasks {
            self.failed.push(task.condition);
            self.recorder.keep(&Line::Finished(Finished {
                condition: task.condition,
                round: task.round,
                at_ns: clock::now(),
                usage: None,
                unfinished: true,
                load: None,
                error: Some(error.to_string()),
            }));
        }
        HowEnded::Done
    }

    /// Measures under `load`, by the first engine that can.
    fn take_turn(
        &mut self,
        turn: &Turn,
        load: Running,
        engines: &mut Engines<'_>,
        bounds: &Bounds,
    ) -> Result<HowEnded, Error> {
        self.wakeups.iter_mut().for_each(|file| file.turn_begins(turn));
        load.caveats().into_iter().for_each(|caveat| self.recorder.caveat(caveat));
        self.load = Some(UnderLoad::begin(load, turn));
        let observer_cpus = observer_cpus(turn, &self.recorder.analysis().header.system);
        let poll_interval = self.display.changes_every();
        self.disturbances.turn_begins();
        self.trace(turn);
        let after_each = self.tracing.as_ref().and_then(Tracing::after_each);
        let bounds = Bounds { observer_cpus, poll_interval, after_each, ..bounds.clone() };
        let ended = engines.for_turn(turn)?.run(turn, &bounds, self)?;
        self.disturbances.turn_ended(turn);
        self.turn_ended();
        Ok(ended.how)
    }

    /// Begins to trace, if `turn` is one to be traced; without a tracer that fails now, the turn is like any other.
    fn trace(&mut self, turn: &Turn) {
        let Some(tracing) = &mut self.tracing else { return };
        if let Err(refusal) = tracing.turn_begins(turn) {
            let tracer = tracing.name().to_owned();
            self.tracing = None;
            self.recorder.caveat(Caveat::TracerRefused { tracer, reason: refusal.to_string() });
        }
    }

    fn is_traced(&self) -> bool {
        self.tracing.as_ref().is_some_and(Tracing::is_under_way)
    }

    /// Once for all threads whose block ended at `until`.
    fn sample_load(&mut self, until: MonotonicTime) {
        let lines = self.load.as_mut().map_or_else(Vec::new, |load| load.sample(until));
        lines.iter().for_each(|line| self.recorder.keep(line));
    }

    /// What a turn that was traced leaves: why its wake-ups were late, and nothing else.
    fn traced_turn_ended(&mut self) {
        self.finished.clear();
        let (lines, _) = self.load_ended();
        let caveats = lines.into_iter().filter(|line| matches!(line, Line::Caveat(_)));
        let why = self.tracing.as_mut().map_or_else(Vec::new, Tracing::turn_ended);
        caveats.chain(why).for_each(|line| self.recorder.keep(&line));
    }

    /// Lines of a turn that is traced: its latencies are not those of the result.
    fn traced_line(&mut self, line: &Line) {
        if let Line::Started(started) = line {
            self.follow(started.condition, started.in_force.tid, started.in_force.slack_ns);
        }
    }

    /// Follows a thread of a turn that is traced.
    fn follow(&mut self, condition: u32, tid: u32, slack: Span) {
        let Some(tracing) = &mut self.tracing else { return };
        if let Err(refusal) = tracing.started(condition, tid, slack) {
            let tracer = tracing.name().to_owned();
            self.recorder.caveat(Caveat::TracerRefused { tracer, reason: refusal.to_string() });
        }
    }

    /// What the load of the turn did.
    fn load_ended(&mut self) -> (Vec<Line>, Option<LoadReport>) {
        let load = self.load.take();
        load.map(|load| load.end(&mut self.loads)).unwrap_or_default()
    }

    fn turn_ended(&mut self) {
        if self.is_traced() {
            return self.traced_turn_ended();
        }
        let (lines, report) = self.load_ended();
        lines.iter().for_each(|line| self.recorder.keep(line));
        for mut finished in take(&mut self.finished) {
            finished.load.clone_from(&report);
            let outcome = self.recorder.analysis().outcomes().get(finished.condition as usize);
            let is_program = outcome.is_some_and(|one| one.condition.work.runtime().is_some());
            if is_program && finished.error.is_some() {
                self.failed.push(finished.condition);
            }
            self.recorder.keep(&Line::Finished(finished));
        }
    }

    fn end(mut self, how: HowEnded, environment: &Environment) -> T {
        self.display.clear();
        let turned_back = self.turning.take().map_or_else(Vec::new, Turning::finish);
        let not_restored = turned_back.into_iter().chain(environment.put_back());
        let disturbances = self.disturbances.caveats(&self.recorder.analysis().header.system);
        let missing = self.wakeups.take().and_then(WakeupFile::close);
        let known = not_restored.chain(disturbances).chain(missing);
        known.for_each(|caveat| self.recorder.caveat(caveat));
        self.recorder.end(Some(how))
    }
}

impl<T: Intake> Sink for Session<T> {
    fn line(&mut self, mut line: Line) {
        if self.is_traced() {
            return self.traced_line(&line);
        }
        remedy::advise(&mut line, &self.recorder.analysis().header.findings);
        match line {
            Line::Finished(finished) => self.finished.push(finished),
            Line::Block(block) => {
                self.sample_load(block.until_ns);
                self.wakeups.iter_mut().for_each(|file| file.block(&block));
                self.recorder.keep(&Line::Block(block));
            }
            line => self.recorder.keep(&line),
        }
    }

    fn progress(&mut self, threads: &[Progress]) {
        self.display.progress(threads, self.recorder.analysis());
        let lines = self.tracing.as_mut().map_or_else(Vec::new, Tracing::poll);
        lines.iter().for_each(|line| self.recorder.keep(line));
    }

    fn program_started(&mut self, condition: u32, tid: u32, slack: Span) {
        self.follow(condition, tid, slack);
    }

    fn wants_wakeups(&self) -> bool {
        self.wakeups.is_some() || self.is_traced()
    }

    fn wakeups(&mut self, thread: usize, wakeups: &[Wakeup]) {
        match self.tracing.as_mut().filter(|tracing| tracing.is_under_way()) {
            Some(tracing) => tracing.wakeups(thread, wakeups),
            None => self.wakeups.iter_mut().for_each(|file| file.wakeups(thread, wakeups)),
        }
    }
}
