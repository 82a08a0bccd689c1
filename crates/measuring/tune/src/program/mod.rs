//! Tuning of a running program of the user: settings are applied to its threads from outside.

mod external_settings;
mod initial_observation;
mod observer;
mod time_windows;

use std::sync::atomic::Ordering;

use howlate_analyse::compare::Statistic;
use howlate_guard::Guard;
use howlate_model::{Caveat, Condition, Load, Task, Turn, Work};
use howlate_plan::Plan;
use howlate_render::TunedProgram;
use howlate_session::{AdaptiveParts, Environment, Request, Resume, TurnSettings, measure_in_steps};
use howlate_watched_program::{NamedProcess, WatchTarget};

use crate::budget::{TURN, wakeups_per_turn};
use crate::error::{NothingToCompare, TuneError};
use crate::options::ProgramOptions;
use crate::result::TuneResult;
use crate::thread_facts::ThreadFacts;
use crate::tuner::Tuner;
use external_settings::ExternalSettings;
use initial_observation::InitialObservation;
use observer::{ThreadOfProcess, threads_of};
use time_windows::{SETTLE, WindowEngine};

pub use observer::ProgramObserver;

/// The settings of this machine, and the program on which they are tried.
pub struct ProgramTuner<'a> {
    tuner: Tuner,
    program: TunedProgram,
    subject: &'a mut WatchTarget,
    observer: &'a mut ProgramObserver,
}

impl<'a> ProgramTuner<'a> {
    /// Looks at a program that runs, for some seconds at most; `seed` draws the order of turns, and `caveats` are to be said of
    /// whatever comes of it.
    ///
    /// # Errors
    ///
    /// When nothing of it can be compared.
    pub fn begin(
        options: &ProgramOptions,
        environment: &Environment,
        guard: Guard,
        (subject, observer): (&'a mut WatchTarget, &'a mut ProgramObserver),
        caveats: Vec<Caveat>,
        seed: u64,
    ) -> Result<Self, TuneError> {
        let observation = InitialObservation::take(
            observer,
            subject,
            wanted_wakeups(options.options.goal),
            &environment.interrupted,
        );
        let threads = observer.chosen_threads();
        let is_comparable = !subject.has_ended(observer.threads()) && !observation.compared.is_empty();
        let Some((first, _)) = threads.first().filter(|_| is_comparable) else {
            let why = nothing_to_compare(options, subject, observer, environment);
            return Err(TuneError::NothingToCompare { program: subject.name().to_owned(), why });
        };
        let facts = facts(options, *first, &threads, subject);
        let plan =
            Plan { left_out: caveats, ..plan(options, subject.name(), &facts, &observation, environment) };
        let tuner = Tuner::new(plan, seed, options.options.clone(), guard, Some(&facts))?;
        let program = describe(options, subject, &facts, &observation, tuner.turn());
        Ok(Self { tuner, program, subject, observer })
    }

    /// The settings for this program.
    pub const fn settings(&self) -> &Tuner {
        &self.tuner
    }

    /// A sentence on how long the program must run.
    pub fn duration_text(&self) -> String {
        howlate_render::tune_takes(&self.program, self.tuner.budget())
    }

    /// Tries the settings.
    ///
    /// # Errors
    ///
    /// When nothing could be measured.
    pub fn measure(
        self,
        request: Request<'_>,
        environment: &Environment,
        turning: Option<TurnSettings>,
    ) -> Result<TuneResult, TuneError> {
        let Self { tuner, program, subject, observer } = self;
        let turning = turning.unwrap_or_else(|| TurnSettings::for_external_changes(tuner.guard()));
        let base = Task::from_condition(0, tuner.baseline());
        let (mut search, plan) = tuner.search();
        search.check_time_for_turns_of(tuner.turn().estimate);
        let mut external = ExternalSettings::new(tuner.guard());
        let engine = WindowEngine::new(observer, subject, &mut external, base);
        let parts = AdaptiveParts { turn_settings: Some(turning), engine: Some(Box::new(engine)) };
        let track = measure_in_steps(request, environment, &plan, &mut search, parts, Resume::No)?;
        let result = tuner.result(search, track);
        let unrestored = [result.unrestored.unwrap_or_default(), external.unrestored()].concat();
        Ok(TuneResult { unrestored: Some(unrestored), program: Some(program), ..result })
    }
}

/// A program whose settings are listed.
pub enum TuneTarget<'a> {
    Running(&'a NamedProcess),
    /// The command of a program that was not started.
    NotStarted(&'a str),
}

/// Looks at the settings, to be listed; neither is the program started nor anything changed.
///
/// # Errors
///
/// None is expected: its plan has one condition.
pub fn list_settings(
    options: &ProgramOptions,
    target: &TuneTarget<'_>,
    environment: &Environment,
) -> Result<Tuner, TuneError> {
    let (name, facts) = match target {
        TuneTarget::Running(process) => {
            let count = threads_of(process.pid, options.follow).update().started.len();
            (
                process.name.as_str(),
                facts_of_chosen(options, ThreadFacts::of_thread(process.pid, count), Vec::new),
            )
        }
        TuneTarget::NotStarted(name) => {
            (*name, facts_of_chosen(options, ThreadFacts::of_this_process(), Vec::new))
        }
    };
    let plan = plan(options, name, &facts, &InitialObservation::assumed(), environment);
    Tuner::new(plan, 0, options.options.clone(), Guard::default(), Some(&facts))
}

/// Facts of the measured threads, read from the first.
fn facts(
    options: &ProgramOptions,
    first: u32,
    threads: &[ThreadOfProcess],
    subject: &WatchTarget,
) -> ThreadFacts {
    // Threads of a program started by this run end with it.
    let lasting_ids = || match subject {
        WatchTarget::Running(_) => threads.iter().map(|(tid, _)| *tid).collect(),
        WatchTarget::Started(..) => Vec::new(),
    };
    facts_of_chosen(options, ThreadFacts::of_thread(first, threads.len()), lasting_ids)
}

/// If threads were chosen by name, settings are recommended for those alone.
fn facts_of_chosen(
    options: &ProgramOptions,
    facts: ThreadFacts,
    ids: impl FnOnce() -> Vec<u32>,
) -> ThreadFacts {
    if options.threads.is_empty() { facts } else { facts.for_chosen_threads(ids()) }
}

/// Wake-ups wanted per turn: half as many again as for howlate's own threads, because their rate varies.
fn wanted_wakeups(goal: Statistic) -> u64 {
    wakeups_per_turn(TURN, goal) * 3 / 2
}

/// The plan of the baseline: the unchanged program, with a condition for each kind of wake-up, all threads together.
fn plan(
    options: &ProgramOptions,
    name: &str,
    facts: &ThreadFacts,
    observation: &InitialObservation,
    environment: &Environment,
) -> Plan {
    let length = options.turn.unwrap_or_else(|| observation.turn(wanted_wakeups(options.options.goal), TURN));
    let name = if options.threads.is_empty() { name.to_owned() } else { options.threads.join(",") };
    let condition = |mechanism| Condition {
        policy: facts.policy,
        name: Some(name.clone()),
        ..Condition::new(Work::Watch { mechanism }, &environment.system.kernel)
    };
    let conditions: Vec<Condition> = observation.compared.iter().copied().map(condition).collect();
    let tasks = conditions
        .iter()
        .enumerate()
        .map(|(number, condition)| Task::from_condition(number, condition))
        .collect();
    let estimate = length.plus(SETTLE);
    let turn = Turn { tasks, load: Load::IDLE, duration: Some(length), cut_after: None, estimate };
    Plan { conditions, turns: vec![turn], left_out: Vec::new() }
}

/// The program, as the report describes it.
fn describe(
    options: &ProgramOptions,
    subject: &WatchTarget,
    facts: &ThreadFacts,
    observation: &InitialObservation,
    turn: &Turn,
) -> TunedProgram {
    let length = turn.duration.unwrap_or_default();
    TunedProgram {
        name: subject.name().to_owned(),
        pid: subject.pid(),
        threads: facts.threads,
        chosen: options.threads.clone(),
        compared: observation.compared.clone(),
        turn_ns: length,
        wakeups_per_turn: observation.expected_in(length),
    }
}

/// Why nothing of the program can be compared.
fn nothing_to_compare(
    options: &ProgramOptions,
    subject: &mut WatchTarget,
    observer: &ProgramObserver,
    environment: &Environment,
) -> NothingToCompare {
    if environment.interrupted.load(Ordering::Relaxed) {
        NothingToCompare::Interrupted
    } else if subject.has_ended(observer.threads()) {
        NothingToCompare::Ended
    } else if !observer.is_traced() {
        NothingToCompare::Unseen
    } else if options.threads.is_empty() {
        NothingToCompare::NoneWoke
    } else {
        NothingToCompare::NoneOfThatNameWoke
    }
}
