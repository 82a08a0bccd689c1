//! Tuning of howlate's own threads: lists the settings first, then tries them.

use howlate_analyse::compare::Track;
use howlate_guard::{Guard, LockError};
use howlate_model::{Condition, SettingScope, Span, Turn};
use howlate_plan::{Plan, Trials};
use howlate_procfs::Root;
use howlate_render::SettingTrial;
use howlate_session::{AdaptiveParts, Environment, Request, Resume, TurnSettings, measure_in_steps};

use crate::candidates::TuneCandidates;
use crate::error::TuneError;
use crate::options::TuneOptions;
use crate::report;
use crate::result::TuneResult;
use crate::search::Search;
use crate::thread_facts::ThreadFacts;
use howlate_system::settings::tuning_daemons;

/// The settings of this machine, and the plan on which they are tried.
pub struct Tuner {
    plan: Plan,
    trials: Trials,
    candidates: TuneCandidates,
    options: TuneOptions,
    guard: Guard,
    is_for_program: bool,
}

impl Tuner {
    /// Looks at them, to be listed; `seed` draws the order of turns.
    ///
    /// # Errors
    ///
    /// When the plan has several conditions.
    pub fn for_list(plan: Plan, seed: u64, options: TuneOptions) -> Result<Self, TuneError> {
        Self::new(plan, seed, options, Guard::default(), None)
    }

    /// For trying the settings. While another howlate has changed settings, the current values are not the real ones.
    ///
    /// # Errors
    ///
    /// When the plan has several conditions, or settings of the machine are to be tried while another howlate is running.
    pub fn begin(plan: Plan, seed: u64, options: TuneOptions) -> Result<Self, TuneError> {
        let guard = Guard::default();
        check_exclusive(&guard, &options)?;
        Self::new(plan, seed, options, guard, None)
    }

    /// With the facts of a user's program, or for howlate's own threads.
    pub(crate) fn new(
        plan: Plan,
        seed: u64,
        options: TuneOptions,
        guard: Guard,
        program: Option<&ThreadFacts>,
    ) -> Result<Self, TuneError> {
        let trials = Trials::from_plan(plan.clone(), seed)?;
        let candidates = TuneCandidates::list(&Root::live(), &options.knobs, trials.base(), program);
        Ok(Self { plan, trials, candidates, options, guard, is_for_program: program.is_some() })
    }

    /// The condition of the first thread on which the settings are tried.
    pub fn baseline(&self) -> &Condition {
        &self.trials.base()[0]
    }

    /// Every setting with its state on this machine.
    pub fn listed(&self) -> Vec<SettingTrial> {
        self.candidates.listed()
    }

    /// The budget needed, where the requested one cannot suffice. `None` for a program: the length of its turns is not known yet.
    pub fn needs(&self) -> Option<Span> {
        if self.is_for_program {
            return None;
        }
        let (mut search, _) = self.search();
        search.check_time_for_turns_of(self.turn().estimate);
        search.needs
    }

    /// Changes settings of the machine for turns, exclusively; `None` if none is to be tried.
    ///
    /// # Errors
    ///
    /// When another howlate or a tuning daemon changes them, or they could not be restored reliably.
    pub fn turning(&self) -> Result<Option<TurnSettings>, TuneError> {
        if !self.candidates.change_the_machine() {
            return Ok(None);
        }
        let daemons = tuning_daemons::running(&Root::live());
        if !daemons.is_empty() && !self.options.beside_tuners {
            return Err(TuneError::Tuners(daemons));
        }
        self.guard.begin()?;
        Ok(Some(TurnSettings::with_guard(self.guard.clone())))
    }

    /// The search, and the plan with its initial conditions.
    pub(crate) fn search(&self) -> (Search, Plan) {
        let search = Search::new(self.trials.clone(), &self.candidates, &self.options);
        let plan = Plan { conditions: search.conditions().to_vec(), ..self.plan.clone() };
        (search, plan)
    }

    /// Tries the settings, or continues an interrupted run.
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
    ) -> Result<TuneResult, TuneError> {
        let (mut search, plan) = self.search();
        // Checked first, because the self-test alone takes several seconds.
        search.check_time_for_turns_of(self.turn().estimate);
        let parts = AdaptiveParts { turn_settings: turning, engine: None };
        let track = measure_in_steps(request, environment, &plan, &mut search, parts, resume)?;
        Ok(self.result(search, track))
    }

    pub(crate) const fn budget(&self) -> Span {
        self.options.budget
    }

    pub(crate) const fn turn(&self) -> &Turn {
        self.trials.turn()
    }

    pub(crate) fn guard(&self) -> Guard {
        self.guard.clone()
    }

    /// The result; reads the changed files again.
    pub(crate) fn result(self, search: Search, track: Track) -> TuneResult {
        let unrestored = report::unrestored(&self.candidates);
        TuneResult { candidates: self.candidates, search, track, unrestored, program: None }
    }
}

/// Refuses to run beside another howlate. A missing journal folder matters only once it is known what can be changed.
fn check_exclusive(guard: &Guard, options: &TuneOptions) -> Result<(), LockError> {
    let tries_machine = options.knobs.iter().any(|selection| selection.may_include(SettingScope::Machine));
    match tries_machine.then(|| guard.begin()) {
        Some(Err(LockError::Busy)) => Err(LockError::Busy),
        Some(Err(error @ LockError::TooLong { .. })) => Err(error),
        Some(Ok(()) | Err(LockError::UnsafeFolder(_) | LockError::NoFolder | LockError::Io(_))) | None => {
            Ok(())
        }
    }
}
