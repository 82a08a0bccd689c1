//! What is to be tried, before anything is changed.

use howlate_analyse::compare::Track;
use howlate_guard::{Guard, LockError};
use howlate_model::{Condition, SettingScope, Span, Turn};
use howlate_plan::{Plan, Trials};
use howlate_procfs::Root;
use howlate_render::Listed;
use howlate_session::{AdaptiveParts, Environment, Request, Resume, TurnSettings, measure_in_steps};

use crate::candidates::Candidates;
use crate::error::TuneError;
use crate::facts::Facts;
use crate::found::Found;
use crate::options::Options;
use crate::report;
use crate::search::Trying;
use howlate_knobs::tuning_daemons;

/// Settings as they are here, and what they are to be tried on.
pub struct Prepared {
    plan: Plan,
    trials: Trials,
    candidates: Candidates,
    options: Options,
    guard: Guard,
    is_of_program: bool,
}

impl Prepared {
    /// Looks at them, to be listed; `seed` draws the order of turns.
    ///
    /// # Errors
    ///
    /// When the plan is of several conditions.
    pub fn look(plan: Plan, seed: u64, options: Options) -> Result<Self, TuneError> {
        Self::new(plan, seed, options, Guard::default(), None)
    }

    /// The same to try them. While another howlate has settings changed, those of the machine are not what they look like.
    ///
    /// # Errors
    ///
    /// When the plan is of several conditions, or another howlate is at work and settings of the machine are to be tried.
    pub fn begin(plan: Plan, seed: u64, options: Options) -> Result<Self, TuneError> {
        let guard = Guard::default();
        stand_alone(&guard, &options)?;
        Self::new(plan, seed, options, guard, None)
    }

    /// Of howlate's own threads, or of the program of which these are the facts.
    pub(crate) fn new(
        plan: Plan,
        seed: u64,
        options: Options,
        guard: Guard,
        program: Option<&Facts>,
    ) -> Result<Self, TuneError> {
        let trials = Trials::from_plan(plan.clone(), seed)?;
        let candidates = Candidates::list(&Root::live(), &options.knobs, trials.base(), program);
        Ok(Self { plan, trials, candidates, options, guard, is_of_program: program.is_some() })
    }

    /// The condition that they are to be tried on, of the first thread.
    pub fn baseline(&self) -> &Condition {
        &self.trials.base()[0]
    }

    /// Every setting with its state here.
    pub fn listed(&self) -> Vec<Listed> {
        self.candidates.listed()
    }

    /// The budget that it takes, where the one that was asked for cannot suffice; how long turns of a program have to be is known
    /// when it was looked at.
    pub fn needs(&self) -> Option<Span> {
        if self.is_of_program {
            return None;
        }
        let (mut trying, _) = self.trying();
        trying.check_time_for_turns_of(self.turn().estimate);
        trying.needs
    }

    /// What turns settings of the machine, where any is to be tried: nobody else may do so meanwhile.
    ///
    /// # Errors
    ///
    /// When another howlate or another program changes them, or they could not be put back for certain.
    pub fn turning(&self) -> Result<Option<TurnSettings>, TuneError> {
        if !self.candidates.change_the_machine() {
            return Ok(None);
        }
        let tuners = tuning_daemons::at_work(&Root::live());
        if !tuners.is_empty() && !self.options.beside_tuners {
            return Err(TuneError::Tuners(tuners));
        }
        self.guard.begin()?;
        Ok(Some(TurnSettings::with_guard(self.guard.clone())))
    }

    /// The search, and the plan with all conditions that it begins with.
    pub(crate) fn trying(&self) -> (Trying, Plan) {
        let trying = Trying::new(self.trials.clone(), &self.candidates, &self.options);
        let plan = Plan { conditions: trying.conditions().to_vec(), ..self.plan.clone() };
        (trying, plan)
    }

    /// Tries them, or goes on with that where an interrupted run stopped.
    ///
    /// # Errors
    ///
    /// When nothing could be measured.
    pub fn measure(
        self,
        request: Request<'_>,
        environment: &Environment,
        turning: Option<TurnSettings>,
        resume: Resume,
    ) -> Result<Found, TuneError> {
        let (mut trying, plan) = self.trying();
        // Said now: the baseline against itself alone takes several seconds.
        trying.check_time_for_turns_of(self.turn().estimate);
        let parts = AdaptiveParts { turn_settings: turning, engine: None };
        let track = measure_in_steps(request, environment, &plan, &mut trying, parts, resume)?;
        Ok(self.found(trying, track))
    }

    pub(crate) const fn budget(&self) -> Span {
        self.options.budget
    }

    /// The turn of the baseline.
    pub(crate) const fn turn(&self) -> &Turn {
        self.trials.turn()
    }

    pub(crate) fn guard(&self) -> Guard {
        self.guard.clone()
    }

    /// What was found; files are read once more.
    pub(crate) fn found(self, trying: Trying, track: Track) -> Found {
        let left = report::left_out(&self.candidates);
        Found { candidates: self.candidates, trying, track, left, program: None }
    }
}

/// Whether it matters that there is no place for a journal is seen when it is known what may be changed.
fn stand_alone(guard: &Guard, options: &Options) -> Result<(), LockError> {
    let of_machine = options.knobs.iter().any(|chosen| chosen.reaches(SettingScope::Machine));
    match of_machine.then(|| guard.begin()) {
        Some(Err(LockError::Busy)) => Err(LockError::Busy),
        Some(Err(too_long @ LockError::TooLong { .. })) => Err(too_long),
        Some(Ok(()) | Err(LockError::UnsafeFolder(_) | LockError::NoFolder | LockError::Io(_))) | None => {
            Ok(())
        }
    }
}
