//! Settings tried from outside, on a program that goes on.

mod external_settings;
mod first_look;
mod observer;
mod options;
mod time_windows;

use std::sync::atomic::Ordering;

use howlate_analyse::compare::Statistic;
use howlate_guard::Guard;
use howlate_model::{Caveat, Condition, Load, Task, Turn, Work};
use howlate_plan::Plan;
use howlate_render::TunedProgram;
use howlate_session::{AdaptiveParts, Environment, Request, Resume, TurnSettings, measure_in_steps};
use howlate_watched_program::{NamedProcess, WatchTarget};

use crate::error::{NothingToCompare, TuneError};
use crate::facts::Facts;
use crate::found::Found;
use crate::prepared::Prepared;
use crate::turn_length::{TURN, wakeups_per_turn};
use external_settings::Outside;
use first_look::FirstLook;
use observer::{OfProgram, threads_of};
use time_windows::{SETTLE, Windows};

pub use observer::Sight;
pub use options::ProgramOptions;

/// Settings as they are here, and the program that they are to be tried on.
pub struct PreparedProgram<'a> {
    prepared: Prepared,
    program: TunedProgram,
    subject: &'a mut WatchTarget,
    sight: &'a mut Sight,
}

impl<'a> PreparedProgram<'a> {
    /// Looks at a program that runs, for some seconds at most; `seed` draws the order of turns, and `caveats` are to be said of
    /// whatever comes of it.
    ///
    /// # Errors
    ///
    /// When nothing of it can be compared.
    pub fn begin(
        asked: &ProgramOptions,
        environment: &Environment,
        guard: Guard,
        (subject, sight): (&'a mut WatchTarget, &'a mut Sight),
        caveats: Vec<Caveat>,
        seed: u64,
    ) -> Result<Self, TuneError> {
        let look = FirstLook::take(sight, subject, enough(asked.options.goal), &environment.interrupted);
        let threads = sight.chosen();
        let goes_on = !subject.has_ended(sight.threads()) && !look.compared.is_empty();
        let Some((first, _)) = threads.first().filter(|_| goes_on) else {
            let why = nothing_to_compare(asked, subject, sight, environment);
            return Err(TuneError::NothingToCompare { program: subject.name().to_owned(), why });
        };
        let facts = facts(asked, *first, &threads, subject);
        let plan = Plan { left_out: caveats, ..plan(asked, subject.name(), &facts, &look, environment) };
        let prepared = Prepared::new(plan, seed, asked.options.clone(), guard, Some(&facts))?;
        let program = described(asked, subject, &facts, &look, prepared.turn());
        Ok(Self { prepared, program, subject, sight })
    }

    /// The settings that may be tried on this program.
    pub const fn settings(&self) -> &Prepared {
        &self.prepared
    }

    /// How long it takes, for which the program has to run.
    pub fn how_long(&self) -> String {
        howlate_render::tune_takes(&self.program, self.prepared.budget())
    }

    /// Tries them.
    ///
    /// # Errors
    ///
    /// When nothing could be measured.
    pub fn measure(
        self,
        request: Request<'_>,
        environment: &Environment,
        turning: Option<TurnSettings>,
    ) -> Result<Found, TuneError> {
        let Self { prepared, program, subject, sight } = self;
        let turning = turning.unwrap_or_else(|| TurnSettings::for_external_changes(prepared.guard()));
        let base = Task::from_condition(0, prepared.baseline());
        let (mut trying, plan) = prepared.trying();
        trying.check_time_for_turns_of(prepared.turn().estimate);
        let mut outside = Outside::by(prepared.guard());
        let engine = Windows::new(sight, subject, &mut outside, base);
        let parts = AdaptiveParts { turn_settings: Some(turning), engine: Some(Box::new(engine)) };
        let track = measure_in_steps(request, environment, &plan, &mut trying, parts, Resume::No)?;
        let found = prepared.found(trying, track);
        let left = [found.left.unwrap_or_default(), outside.left()].concat();
        Ok(Found { left: Some(left), program: Some(program), ..found })
    }
}

/// A program of which nothing but the settings is looked at.
pub enum Whom<'a> {
    /// It runs already.
    Running(&'a NamedProcess),
    /// It is to be started; what was typed for it.
    ToStart(&'a str),
}

/// Looks at the settings, to be listed; neither is the program started nor anything changed.
///
/// # Errors
///
/// None is known: its plan is of one condition.
pub fn look_at_settings(
    asked: &ProgramOptions,
    whom: &Whom<'_>,
    environment: &Environment,
) -> Result<Prepared, TuneError> {
    let (name, facts) = match whom {
        Whom::Running(process) => {
            let count = threads_of(process.pid, asked.follow).update().started.len();
            (process.name.as_str(), named_facts(asked, Facts::of_thread(process.pid, count), Vec::new))
        }
        Whom::ToStart(name) => (*name, named_facts(asked, Facts::of_what_is_started(), Vec::new)),
    };
    let plan = plan(asked, name, &facts, &FirstLook::before(), environment);
    Prepared::new(plan, 0, asked.options.clone(), Guard::default(), Some(&facts))
}

/// Of the threads that are measured, of which `first` speaks for all.
fn facts(asked: &ProgramOptions, first: u32, threads: &[OfProgram], subject: &WatchTarget) -> Facts {
    // Those of a program that was started for this end with it.
    let stay = || match subject {
        WatchTarget::Running(_) => threads.iter().map(|(tid, _)| *tid).collect(),
        WatchTarget::Started(..) => Vec::new(),
    };
    named_facts(asked, Facts::of_thread(first, threads.len()), stay)
}

/// Where threads were chosen by name, what helps is had for those alone.
fn named_facts(asked: &ProgramOptions, facts: Facts, ids: impl FnOnce() -> Vec<u32>) -> Facts {
    if asked.threads.is_empty() { facts } else { facts.of_chosen(ids()) }
}

/// Half as many wake-ups again as a turn of howlate's own threads has: nobody knows how many will come.
fn enough(goal: Statistic) -> u64 {
    wakeups_per_turn(TURN, goal) * 3 / 2
}

/// The baseline: the program as it is, its wake-ups by what they are compared by, all threads together.
fn plan(
    asked: &ProgramOptions,
    name: &str,
    facts: &Facts,
    look: &FirstLook,
    environment: &Environment,
) -> Plan {
    let length = asked.turn.unwrap_or_else(|| look.turn(enough(asked.options.goal), TURN));
    let name = if asked.threads.is_empty() { name.to_owned() } else { asked.threads.join(",") };
    let of = |mechanism| Condition {
        policy: facts.policy,
        name: Some(name.clone()),
        ..Condition::new(Work::Watch { mechanism }, &environment.system.kernel)
    };
    let conditions: Vec<Condition> = look.compared.iter().copied().map(of).collect();
    let tasks =
        conditions.iter().enumerate().map(|(number, one)| Task::from_condition(number, one)).collect();
    let estimate = length.plus(SETTLE);
    let turn = Turn { tasks, load: Load::IDLE, duration: Some(length), cut_after: None, estimate };
    Plan { conditions, turns: vec![turn], left_out: Vec::new() }
}

/// What was tried on, in the report.
fn described(
    asked: &ProgramOptions,
    subject: &WatchTarget,
    facts: &Facts,
    look: &FirstLook,
    turn: &Turn,
) -> TunedProgram {
    let length = turn.duration.unwrap_or_default();
    TunedProgram {
        name: subject.name().to_owned(),
        pid: subject.pid(),
        threads: facts.threads,
        chosen: asked.threads.clone(),
        compared: look.compared.clone(),
        turn_ns: length,
        wakeups_per_turn: look.expected_in(length),
    }
}

/// Why no turn can be taken of it.
fn nothing_to_compare(
    asked: &ProgramOptions,
    subject: &mut WatchTarget,
    sight: &Sight,
    environment: &Environment,
) -> NothingToCompare {
    if environment.interrupted.load(Ordering::Relaxed) {
        NothingToCompare::Interrupted
    } else if subject.has_ended(sight.threads()) {
        NothingToCompare::Ended
    } else if !sight.is_traced() {
        NothingToCompare::Unseen
    } else if asked.threads.is_empty() {
        NothingToCompare::NoneWoke
    } else {
        NothingToCompare::NoneOfThatNameWoke
    }
}
