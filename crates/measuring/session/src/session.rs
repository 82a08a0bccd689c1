//! Runs the turns of a plan one after the other, each with its settings, its load and its engine.

use std::mem::take;
use std::sync::Arc;

use howlate_analyse::Analysis;
use howlate_guard::Guard;
use howlate_linux::clock;
use howlate_load::{RunningLoad, StartError};
use howlate_measure::{ProcessSetup, allow_realtime};
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
use crate::late_actions::LateActions;
use crate::measured_turn::MeasuredTurn;
use crate::recorder::{Intake, Recorder};
use crate::request::Request;
use crate::resume::{Resume, StartedSession};
use crate::timelines::Timelines;
use crate::traced_turn::TracedTurn;
use crate::tracing::Tracing;
use crate::turn_load::{TurnLoads, UnderLoad};
use crate::turn_settings::TurnSettings;
use crate::until::is_known;
use crate::wakeup_file::WakeupFile;

/// Runs all remaining turns of `plan`; returns the results.
///
/// # Errors
///
/// When nothing was measured.
pub fn measure(
    mut request: Request<'_>,
    environment: &Environment,
    plan: &Plan,
    resume: Resume,
) -> Result<Analysis, SessionError> {
    check_loads(plan)?;
    let (mut tracing, mut untraced) = request.traced.map(Tracing::begin).transpose()?.unwrap_or_default();
    untraced.extend(tracing.as_mut().and_then(|tracing| keep_timelines(tracing, &request, environment)));
    match (&mut tracing, late_actions(&mut request)) {
        (Some(tracing), Some(actions)) => tracing.act(actions),
        (None, Some(_)) => return Err(SessionError::OnLateNotSeen),
        (_, None) => {}
    }
    let StartedSession { recorder, mut turns } = resume.begin(&request, environment, plan)?;
    if let (Some(traced), None) = (request.traced, &tracing) {
        turns.retain(|turn| !Tracing::is_traced(traced.from_round, turn));
    }
    let header = &recorder.analysis().header;
    let wakeups = request.samples_out.map(|path| WakeupFile::create(path, header)).transpose()?;
    let mut process = ProcessSetup::prepare(request.dma_latency_us);
    process.caveats.extend(allow_realtime(plan.conditions.iter().map(|condition| condition.policy)));
    let bounds = bounds(&request, environment, &process);
    let mut session = Session::begin(recorder, request.screen);
    (session.wakeups, session.tracing) = (wakeups, tracing);
    session.loads.reuse_running = plan.has_runs_of_loads();
    session.turn_settings =
        has_setting_writes(plan).then(|| TurnSettings::for_external_changes(Guard::default()));
    session.display.add(&plan.conditions, &turns);
    session.record_known_caveats(&untraced, environment, plan, &turns, &process);
    let how = session.take_turns(&turns, &mut Engines::new(&environment.probes), &bounds);
    Ok(session.end(how?, environment))
}

/// Keeps timelines of late wake-ups if requested; returns a caveat if that is not possible.
fn keep_timelines(tracing: &mut Tracing, request: &Request<'_>, environment: &Environment) -> Option<Caveat> {
    let traced = request.traced?;
    let (recording, requested) = (request.out.or(request.kept), &environment.timeline_asked);
    match Timelines::begin(traced.keep?, traced.late_above, recording, requested) {
        Ok(timelines) => tracing.keep(timelines),
        Err(caveat) => return Some(*caveat),
    }
    None
}

/// What is done about late wake-ups, if anything is.
fn late_actions(request: &mut Request<'_>) -> Option<LateActions> {
    let above = request.traced?.late_above?;
    (!request.on_late.is_empty()).then(|| LateActions::new(above, take(&mut request.on_late)))
}

/// Whether a condition changes machine settings for its turns.
fn has_setting_writes(plan: &Plan) -> bool {
    plan.conditions
        .iter()
        .any(|condition| condition.tuned.as_ref().is_some_and(|tuned| !tuned.writes.is_empty()))
}

/// The control block that all turns share.
pub(crate) fn bounds(
    request: &Request<'_>,
    environment: &Environment,
    process: &ProcessSetup,
) -> TurnControl {
    TurnControl {
        stop_above: request.stop_above,
        interrupted: Arc::clone(&environment.interrupted),
        process: process.state(),
        ..TurnControl::default()
    }
}

/// Checks all loads first, so that no turn runs before a load that cannot be applied.
pub(crate) fn check_loads(plan: &Plan) -> Result<(), StartError> {
    let loads = plan.conditions.iter().map(|condition| condition.load.clone());
    let once = deduplicate(&loads.collect::<Vec<_>>());
    once.iter().try_for_each(howlate_load::check)
}

/// A running measurement.
pub(crate) struct Session<T> {
    pub(crate) recorder: Recorder<T>,
    wakeups: Option<WakeupFile>,
    pub(crate) display: Display,
    disturbances: Disturbances,
    tracing: Option<Tracing>,
    /// Applies the machine settings of conditions.
    pub(crate) turn_settings: Option<TurnSettings>,
    pub(crate) loads: TurnLoads,
    /// Conditions whose program failed. It would fail again, so their turns are skipped.
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
            turn_settings: None,
            loads: TurnLoads::default(),
            failed: Vec::new(),
        }
    }

    /// Records the caveats that are known before the first turn.
    pub(crate) fn record_known_caveats(
        &mut self,
        untraced: &[Caveat],
        environment: &Environment,
        plan: &Plan,
        turns: &[Turn],
        process: &ProcessSetup,
    ) {
        let caveats =
            untraced.iter().chain(&environment.refused).chain(&plan.left_out).chain(&process.caveats);
        for caveat in caveats.cloned().chain(contention(turns, &environment.system)) {
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
            let (applied, result) = self.apply_settings(turn);
            let started = clock::now();
            let how = match result {
                Ok(()) => self.take_turn_under_load(turn, engines, bounds)?,
                Err(reason) => self.record_failed_turn(turn, &reason),
            };
            let conditions: Vec<u32> = turn.tasks.iter().map(|task| task.condition).collect();
            let (load, length) = (&turn.load, clock::now().since(started).as_secs_f64());
            log::debug!("turn of conditions {conditions:?} under load {load}: {how:?} after {length:.3} s");
            let back = self.restore_settings(turn);
            if let Some(ended) = [how, applied, back].into_iter().find(|reason| *reason != EndReason::Done) {
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

    /// Applies the machine settings of `turn`; an error if none of them can be applied.
    fn apply_settings(&mut self, turn: &Turn) -> (EndReason, Result<(), AsText<TurnFailure>>) {
        let Some(turn_settings) = &mut self.turn_settings else { return (EndReason::Done, Ok(())) };
        // All threads of a turn belong to the same variant, with the same machine settings.
        let first = turn.tasks.first().and_then(|task| {
            self.recorder.analysis().header.conditions.get(task.condition as usize)?.tuned.as_ref()
        });
        let writes: Vec<SettingWrite> = first.map_or_else(Vec::new, |tuned| tuned.writes.clone());
        let (caveats, result) = turn_settings.begin(&writes);
        (self.record_caveats(caveats), result)
    }

    /// Restores the settings. Conditions whose settings another process has changed are not tried again.
    fn restore_settings(&mut self, turn: &Turn) -> EndReason {
        let caveats = self.turn_settings.as_mut().map_or_else(Vec::new, TurnSettings::end);
        if caveats.iter().any(|caveat| matches!(caveat, Caveat::SettingChanged { .. })) {
            self.failed.extend(turn.tasks.iter().map(|task| task.condition));
        }
        self.record_caveats(caveats)
    }

    /// Records caveats about settings. If a setting cannot be restored, the run ends: later turns would measure another machine.
    fn record_caveats(&mut self, caveats: Vec<Caveat>) -> EndReason {
        let is_left = caveats.iter().any(|caveat| matches!(caveat, Caveat::SettingNotRestored { .. }));
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
            Err(error) => Ok(self.record_failed_turn(turn, &AsText::Text(error.to_string()))),
        }
    }

    /// Records a turn whose load or settings cannot be applied; the run continues.
    fn record_failed_turn(&mut self, turn: &Turn, error: &AsText<TurnFailure>) -> EndReason {
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

    /// Runs the turn under `load` with the first suitable engine, traced or measured.
    fn take_turn(
        &mut self,
        turn: &Turn,
        load: RunningLoad,
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
            // The turn is then measured like any other.
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
        let restored = self.turn_settings.take().map_or_else(Vec::new, TurnSettings::finish);
        let not_restored = restored.into_iter().chain(environment.put_back());
        let disturbances = self.disturbances.caveats(&self.recorder.analysis().header.system);
        let missing = self.wakeups.take().and_then(WakeupFile::close);
        let timelines = self.tracing.as_ref().and_then(Tracing::missing_timelines);
        let commands = self.tracing.as_ref().and_then(Tracing::commands_left_out);
        let caveats = not_restored.chain(disturbances).chain(missing).chain(timelines).chain(commands);
        caveats.for_each(|caveat| self.recorder.caveat(caveat));
        self.recorder.end(Some(how))
    }
}
