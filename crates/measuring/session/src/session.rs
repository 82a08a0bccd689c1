//! Taking the turns of a plan, one after the other: their settings, their load, the engine, and what becomes of their lines.

use std::sync::Arc;

use howlate_analyse::Analysis;
use howlate_guard::Guard;
use howlate_linux::clock;
use howlate_load::{Running, StartError};
use howlate_measure::{Process, allow_realtime};
use howlate_model::{
    AsText, Caveat, EndReason, Line, SettingWrite, Turn, TurnControl, TurnFailure, TurnFinished,
};
use howlate_plan::{Plan, deduplicate};
use howlate_render::Screen;

use crate::affinity::{contention, observer_cpus};
use crate::display::Display;
use crate::disturbances::Disturbances;
use crate::engines::Engines;
use crate::environment::Environment;
use crate::error::SessionError;
use crate::loads::Loads;
use crate::measured_turn::MeasuredTurn;
use crate::recorder::{Intake, Recorder};
use crate::request::Request;
use crate::resume::{Begun, Resume};
use crate::timelines::Timelines;
use crate::traced_turn::TracedTurn;
use crate::tracing::Tracing;
use crate::turn_load::UnderLoad;
use crate::turn_settings::Turning;
use crate::until::is_known;
use crate::wakeup_file::WakeupFile;

/// Takes all turns of `plan` that are not taken already; returns what was found.
///
/// # Errors
///
/// When nothing could be measured.
pub fn measure(
    request: Request<'_>,
    environment: &Environment,
    plan: &Plan,
    resume: Resume,
) -> Result<Analysis, SessionError> {
    check_loads(plan)?;
    let (mut tracing, mut untraced) = request.traced.map(Tracing::begin).transpose()?.unwrap_or_default();
    untraced.extend(tracing.as_mut().and_then(|tracing| keep_timelines(tracing, &request, environment)));
    let Begun { recorder, mut turns } = resume.begin(&request, environment, plan)?;
    if let (Some(traced), None) = (request.traced, &tracing) {
        turns.retain(|turn| !Tracing::is_traced(traced.from_round, turn));
    }
    let header = &recorder.analysis().header;
    let wakeups = request.samples_out.map(|path| WakeupFile::create(path, header)).transpose()?;
    let mut process = Process::prepare(request.dma_latency_us);
    process.caveats.extend(allow_realtime(plan.conditions.iter().map(|condition| condition.policy)));
    let bounds = bounds(&request, environment, &process);
    let mut session = Session::begin(recorder, request.screen);
    (session.wakeups, session.tracing) = (wakeups, tracing);
    session.loads.go_on = plan.has_runs_of_loads();
    session.turning = holds_a_setting(plan).then(|| Turning::of_others(Guard::default()));
    session.display.add(&plan.conditions, &turns);
    session.knows(&untraced, environment, plan, &turns, &process);
    let how = session.take_turns(&turns, &mut Engines::new(&environment.probes), &bounds);
    Ok(session.end(how?, environment))
}

/// Has what all CPUs do kept around late wake-ups, where that was asked for; what is to be said where it cannot be.
fn keep_timelines(tracing: &mut Tracing, request: &Request<'_>, environment: &Environment) -> Option<Caveat> {
    let traced = request.traced?;
    let (recording, asked) = (request.out.or(request.kept), &environment.timeline_asked);
    match Timelines::begin(traced.keep?, traced.late_above, recording, asked) {
        Ok(timelines) => tracing.keep(timelines),
        Err(caveat) => return Some(*caveat),
    }
    None
}

/// Whether a condition asks for a setting of the machine for its turns.
fn holds_a_setting(plan: &Plan) -> bool {
    plan.conditions.iter().any(|one| one.tuned.as_ref().is_some_and(|tuned| !tuned.writes.is_empty()))
}

/// What bounds every turn.
pub(crate) fn bounds(request: &Request<'_>, environment: &Environment, process: &Process) -> TurnControl {
    TurnControl {
        stop_above: request.stop_above,
        interrupted: Arc::clone(&environment.interrupted),
        process: process.state(),
        ..TurnControl::default()
    }
}

/// So that nothing is measured in vain before a load that cannot be applied.
pub(crate) fn check_loads(plan: &Plan) -> Result<(), StartError> {
    let loads = plan.conditions.iter().map(|condition| condition.load.clone());
    let once = deduplicate(&loads.collect::<Vec<_>>());
    once.iter().try_for_each(howlate_load::check)
}

/// A measurement under way.
pub(crate) struct Session<T> {
    pub(crate) recorder: Recorder<T>,
    wakeups: Option<WakeupFile>,
    pub(crate) display: Display,
    disturbances: Disturbances,
    tracing: Option<Tracing>,
    /// Puts settings of the machine in force for turns of conditions that ask for them.
    pub(crate) turning: Option<Turning>,
    /// Where the loads of turns come from.
    pub(crate) loads: Loads,
    /// Conditions whose program failed; it would fail again.
    failed: Vec<u32>,
}

impl<T: Intake> Session<T> {
    pub(crate) fn begin(recorder: Recorder<T>, screen: Option<Box<dyn Screen>>) -> Self {
        Self {
            recorder,
            wakeups: None,
            display: Display::new(screen),
            disturbances: Disturbances::new(),
            tracing: None,
            turning: None,
            loads: Loads::default(),
            failed: Vec::new(),
        }
    }

    /// Keeps what is to be said before anything is measured.
    pub(crate) fn knows(
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

    pub(crate) fn take_turns(
        &mut self,
        turns: &[Turn],
        engines: &mut Engines<'_>,
        bounds: &TurnControl,
    ) -> Result<EndReason, SessionError> {
        for turn in turns {
            self.display.turn_begins(turn);
            if turn.tasks.iter().any(|task| self.failed.contains(&task.condition)) {
                continue;
            }
            let (turned, begun) = self.turn_machine(turn);
            let started = clock::now();
            let how = match begun {
                Ok(()) => self.take_turn_under_load(turn, engines, bounds)?,
                Err(reason) => self.cannot_be_taken(turn, &reason),
            };
            let conditions: Vec<u32> = turn.tasks.iter().map(|task| task.condition).collect();
            let (load, length) = (&turn.load, clock::now().since(started).as_secs_f64());
            log::debug!("turn of conditions {conditions:?} under load {load}: {how:?} after {length:.3} s");
            let back = self.turn_machine_back(turn);
            if let Some(ended) = [how, turned, back].into_iter().find(|one| *one != EndReason::Done) {
                return Ok(ended);
            }
            if is_known(self.recorder.analysis()) {
                return Ok(EndReason::Done);
            }
            if bounds.is_interrupted() {
                return Ok(EndReason::Interrupted);
            }
        }
        Ok(EndReason::Done)
    }

    /// Puts in force what the conditions of `turn` ask of the machine; the reason where nothing of it can be had.
    fn turn_machine(&mut self, turn: &Turn) -> (EndReason, Result<(), AsText<TurnFailure>>) {
        let Some(turning) = &mut self.turning else { return (EndReason::Done, Ok(())) };
        // All threads of a turn are of one variant, with the same settings of the machine.
        let first = turn.tasks.first().and_then(|task| {
            self.recorder.analysis().header.conditions.get(task.condition as usize)?.tuned.as_ref()
        });
        let writes: Vec<SettingWrite> = first.map_or_else(Vec::new, |tuned| tuned.writes.clone());
        let (caveats, begun) = turning.begin(&writes);
        (self.record_caveats(caveats), begun)
    }

    /// Puts it back. What somebody else has changed meanwhile is not tried again.
    fn turn_machine_back(&mut self, turn: &Turn) -> EndReason {
        let caveats = self.turning.as_mut().map_or_else(Vec::new, Turning::end);
        if caveats.iter().any(|one| matches!(one, Caveat::SettingChanged { .. })) {
            self.failed.extend(turn.tasks.iter().map(|task| task.condition));
        }
        self.record_caveats(caveats)
    }

    /// Records what is to be said of settings. Where one cannot be put back, no turn to come would be of the machine that was
    /// to be measured.
    fn record_caveats(&mut self, caveats: Vec<Caveat>) -> EndReason {
        let is_left = caveats.iter().any(|one| matches!(one, Caveat::SettingNotRestored { .. }));
        caveats.into_iter().for_each(|caveat| self.recorder.caveat(caveat));
        if is_left { EndReason::NotRestored } else { EndReason::Done }
    }

    fn take_turn_under_load(
        &mut self,
        turn: &Turn,
        engines: &mut Engines<'_>,
        bounds: &TurnControl,
    ) -> Result<EndReason, SessionError> {
        match self.loads.begin(&turn.load) {
            Ok(load) => self.take_turn(turn, load, engines, bounds),
            Err(error) => Ok(self.cannot_be_taken(turn, &AsText::Text(error.to_string()))),
        }
    }

    /// A turn whose load cannot be started, or whose settings cannot be had, is reported; the rest goes on.
    fn cannot_be_taken(&mut self, turn: &Turn, error: &AsText<TurnFailure>) -> EndReason {
        for task in &turn.tasks {
            self.failed.push(task.condition);
            self.recorder.keep(&Line::Finished(TurnFinished {
                condition: task.condition,
                round: task.round,
                at: clock::now(),
                usage: None,
                unfinished: true,
                load: None,
                error: Some(error.clone()),
            }));
        }
        EndReason::Done
    }

    /// Measures under `load`, by the first engine that can; traces instead, if the turn is one to be traced.
    fn take_turn(
        &mut self,
        turn: &Turn,
        load: Running,
        engines: &mut Engines<'_>,
        bounds: &TurnControl,
    ) -> Result<EndReason, SessionError> {
        self.wakeups.iter_mut().for_each(|file| file.turn_begins(turn));
        load.caveats().into_iter().for_each(|caveat| self.recorder.caveat(caveat));
        let load = UnderLoad::begin(load, turn);
        let observer_cpus = observer_cpus(turn, &self.recorder.analysis().header.system);
        let poll_interval = self.display.changes_every();
        self.display.keep_to(observer_cpus.clone());
        let mut bounds = TurnControl { observer_cpus, poll_interval, ..bounds.clone() };
        let engine = engines.for_turn(turn)?;
        let Self { recorder, display, disturbances, loads, .. } = self;
        disturbances.turn_begins();
        let joining = match self.tracing.as_mut().map(|tracing| tracing.turn_begins(turn)) {
            Some(Ok(joining)) => joining,
            // The turn is like any other then.
            Some(Err(refused)) => {
                self.tracing = None;
                recorder.caveat(*refused);
                None
            }
            None => None,
        };
        let ended = match joining {
            Some(joining) => {
                bounds.after_each = joining.after_each();
                let mut traced = TracedTurn::begin(recorder, display, joining, load);
                let ended = engine.run(turn, &bounds, &mut traced)?;
                disturbances.turn_ended(turn);
                traced.end(loads);
                ended
            }
            None => {
                let enough = Arc::clone(&bounds.enough);
                let mut measured =
                    MeasuredTurn::begin(recorder, display, self.wakeups.as_mut(), load, enough)
                        .side_by_side(turn.tasks.len());
                let ended = engine.run(turn, &bounds, &mut measured)?;
                disturbances.turn_ended(turn);
                self.failed.extend(measured.end(loads));
                ended
            }
        };
        let is_enough = ended.how == EndReason::Interrupted && bounds.is_enough();
        Ok(if is_enough { EndReason::Done } else { ended.how })
    }

    pub(crate) fn end(mut self, how: EndReason, environment: &Environment) -> T {
        self.display.clear();
        let turned_back = self.turning.take().map_or_else(Vec::new, Turning::finish);
        let not_restored = turned_back.into_iter().chain(environment.put_back());
        let disturbances = self.disturbances.caveats(&self.recorder.analysis().header.system);
        let missing = self.wakeups.take().and_then(WakeupFile::close);
        let timelines = self.tracing.as_ref().and_then(Tracing::missing_timelines);
        let known = not_restored.chain(disturbances).chain(missing).chain(timelines);
        known.for_each(|caveat| self.recorder.caveat(caveat));
        self.recorder.end(Some(how))
    }
}
