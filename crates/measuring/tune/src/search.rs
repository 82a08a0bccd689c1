//! Search settings, turn by turn: what is measured next follows from what was found.
//!
//! First the baseline against itself; then every setting against the baseline, those that are open longest; then those that help are
//! joined one by one, as long as each helps beside the others; and at last the set against the baseline, on turns that had no part in
//! choosing it.

use howlate_analyse::compare::{Statistic, Track, Trial};
use howlate_model::{Caveat, Condition, SettingWrite, Span, TunedKnobs, Tuning};
use howlate_plan::Trials;
use howlate_render::{self as render, TuneStage};
use howlate_session::{AdaptivePlan, AdaptiveStep};
use howlate_system::settings::{Change, ThreadSetting};

use crate::budget::{Budget, LookPlan};
use crate::candidates::TuneCandidates;
use crate::condition_with_setting::{with_setting, writes};
use crate::options::TuneOptions;

const NOTHING: Change = Change::Thread(ThreadSetting::Nothing);

/// Confidence of all statements on single settings together, and of each other statement.
pub(crate) const CONFIDENCE: f64 = 0.95;

/// Rounds of the self-test, and of each comparison of two sets.
const PAIRS: usize = 10;

/// Least and most rounds of the confirmation.
const CONFIRMATION_ROUNDS: (usize, usize) = (12, 40);

/// A setting that is tried.
struct TriedSetting {
    /// Index of the candidate.
    candidate: usize,
    name: &'static str,
    change: Change,
    /// Its variant in the plan.
    variant: usize,
}

/// The confirmation of a set of settings on new turns.
pub(crate) struct Confirmation {
    /// Indices of the candidates.
    pub(crate) candidates: Vec<usize>,
    pub(crate) names: Vec<String>,
    pub(crate) variant: usize,
    pub(crate) first_round: u32,
}

enum SearchStage {
    Begin,
    SelfTest,
    Screening { from: u32, looks: LookPlan, look: usize },
    Combination(SettingCombination),
    Confirmation,
}

/// The set of settings that help, extended one by one.
struct SettingCombination {
    /// Indices of tried settings in the set.
    set: Vec<usize>,
    /// Indices of tried settings to add next, the best first.
    remaining: Vec<usize>,
    /// The variant of the set.
    variant: usize,
    /// The setting being tried beside the set: its index, variant and first round.
    candidate: Option<(usize, usize, u32)>,
    /// Number of settings to try beside the set, which share the error probability.
    steps: usize,
}

/// The state of a search.
pub(crate) struct Search {
    trials: Trials,
    tried: Vec<TriedSetting>,
    /// The variant that repeats the baseline.
    nothing: usize,
    goal: Statistic,
    budget: Budget,
    stage: SearchStage,
    /// The next round to plan.
    next_round: u32,
    /// Number of conditions already in the recording.
    recorded_conditions: usize,
    pub(crate) self_test: Option<Trial>,
    pub(crate) screening: Option<Trial>,
    pub(crate) confirmation: Option<Confirmation>,
    /// The budget needed, if the given one is too small.
    pub(crate) needs: Option<Span>,
    pub(crate) is_done: bool,
}

impl Search {
    pub(crate) fn new(mut trials: Trials, candidates: &TuneCandidates, options: &TuneOptions) -> Self {
        let nothing = |condition: &Condition| with_setting(condition, TunedKnobs::NOTHING, &NOTHING).ok();
        // Changing nothing is possible in every condition.
        let nothing = trials.add(nothing).unwrap_or(BASELINE);
        let mut tried = Vec::new();
        for (index, candidate) in candidates.tried() {
            let (Some(change), name) = (candidate.state.change.clone(), candidate.tunable.name) else {
                continue;
            };
            let variant = match change {
                NOTHING => Some(nothing),
                _ => trials.add(|condition| with_setting(condition, name, &change).ok()),
            };
            let Some(variant) = variant else { continue };
            tried.push(TriedSetting { candidate: index, name, change, variant });
        }
        Self {
            recorded_conditions: trials.conditions().len(),
            trials,
            tried,
            nothing,
            goal: options.goal,
            budget: Budget::begin(options.budget),
            stage: SearchStage::Begin,
            next_round: 0,
            self_test: None,
            screening: None,
            confirmation: None,
            needs: None,
            is_done: false,
        }
    }

    /// Tries nothing if the budget is too small for turns of this length.
    pub(crate) fn check_time_for_turns_of(&mut self, turn: Span) {
        self.needs = self.budget.missing(turn, PAIRS, self.tried.len(), CONFIDENCE);
    }

    /// All conditions so far.
    pub(crate) fn conditions(&self) -> &[Condition] {
        self.trials.conditions()
    }

    pub(crate) const fn goal(&self) -> Statistic {
        self.goal
    }

    /// Indices of the conditions of a variant.
    pub(crate) fn indices(&self, variant: usize) -> Vec<usize> {
        self.trials.indices(variant).collect()
    }

    /// The result of a candidate, and why it is invalid, if so.
    pub(crate) fn result_of(
        &self,
        candidate: usize,
        track: &Track,
    ) -> Option<(&howlate_analyse::compare::Arm, Option<String>)> {
        let place = self.tried.iter().position(|setting| setting.candidate == candidate)?;
        let arm = self.screening.as_ref()?.arms.get(place)?;
        Some((arm, self.failure(self.tried[place].variant, track)))
    }

    /// Why a variant did not run as requested.
    fn failure(&self, variant: usize, track: &Track) -> Option<String> {
        let outcomes = self.trials.indices(variant).filter_map(|index| track.analysis.outcomes().get(index));
        let mut refusals = outcomes.flat_map(howlate_analyse::Outcome::caveats).filter(is_refusal);
        let refusal = refusals.next().map(|caveat| match caveat {
            Caveat::Unfinished { reason, .. } => reason.to_string(),
            caveat => render::caveat(&caveat),
        });
        refusal.or_else(|| {
            let lost = track.analysis.caveats.iter().find(|caveat| self.is_lost(variant, caveat));
            lost.map(render::caveat).or_else(|| self.missing(variant, track))
        })
    }

    /// A setting of the machine that was not in force in a turn of a variant, although the rest of its set was.
    fn missing(&self, variant: usize, track: &Track) -> Option<String> {
        let conditions = &self.trials.conditions()[self.trials.indices(variant)];
        let names: Vec<&String> =
            conditions.iter().flat_map(|condition| &condition.tuned).flat_map(|tuned| &tuned.knobs).collect();
        let parts = self.tried.iter().filter(|setting| names.iter().any(|name| *name == setting.name));
        parts.filter_map(|setting| all_left_out(setting, &track.analysis.caveats)).next()
    }

    /// Whether a setting of the machine changed during a variant's turns, or was not restored after them.
    fn is_lost(&self, variant: usize, caveat: &Caveat) -> bool {
        match caveat {
            Caveat::SettingChanged { path, .. } | Caveat::SettingNotRestored { path, .. } => {
                self.writes(variant, path)
            }
            _ => false,
        }
    }

    /// Parts of a candidate that failed, while the rest of it was tried.
    pub(crate) fn failures(&self, candidate: usize, track: &Track) -> Vec<String> {
        let tried = self.tried.iter().find(|setting| setting.candidate == candidate);
        let caveats = track.analysis.caveats.iter();
        let writes = tried.map(|setting| writes(&setting.change)).unwrap_or_default();
        let reason = |caveat: &Caveat| writes.iter().find_map(|write| reason_for(caveat, write));
        let thread_failures =
            tried.map_or_else(Vec::new, |setting| self.thread_failures(setting.variant, track));
        caveats.filter_map(reason).chain(thread_failures).collect()
    }

    /// Why a setting could not be applied to some threads of a program.
    fn thread_failures(&self, variant: usize, track: &Track) -> Vec<String> {
        const MOST: usize = 3;
        let outcomes = self.trials.indices(variant).filter_map(|index| track.analysis.outcomes().get(index));
        let caveats = outcomes.flat_map(howlate_analyse::Outcome::caveats);
        let failures = caveats.filter_map(|caveat| caveat.setting_left_out());
        failures.take(MOST).map(|failure| failure.to_string()).collect()
    }

    fn writes(&self, variant: usize, path: &str) -> bool {
        let conditions = &self.trials.conditions()[self.trials.indices(variant)];
        let mut writes =
            conditions.iter().flat_map(|condition| &condition.tuned).flat_map(|tuned| &tuned.writes);
        writes.any(|write| write.path == path)
    }

    /// Plans more rounds of these variants.
    fn plan_rounds(&mut self, variants: &[usize], rounds: usize) -> AdaptiveStep {
        let end = self.next_round.saturating_add(u32::try_from(rounds).unwrap_or(u32::MAX));
        let turns = self.trials.turns(variants, self.next_round..end);
        self.next_round = end;
        self.budget.add_turns(turns.len());
        let conditions = self.trials.conditions()[self.recorded_conditions..].to_vec();
        self.recorded_conditions = self.trials.conditions().len();
        AdaptiveStep { conditions, turns }
    }

    fn look(
        &self,
        trial: &mut Trial,
        track: &Track,
        base: usize,
        from: u32,
        variant: impl Fn(usize) -> usize,
    ) {
        trial.look(track, &self.indices(base), from, |arm| self.indices(variant(arm)));
    }

    fn after_self_test(&mut self, track: &Track) -> Option<AdaptiveStep> {
        let mut trial = Trial::new(1, self.goal, 1, CONFIDENCE);
        self.look(&mut trial, track, BASELINE, 0, |_| self.nothing);
        self.self_test = Some(trial);
        if self.tried.is_empty() {
            return self.end();
        }
        match self.budget.screening(self.tried.len(), CONFIDENCE) {
            Ok(looks) => {
                self.screening = Some(Trial::new(self.tried.len(), self.goal, looks.looks, CONFIDENCE));
                let from = self.next_round;
                self.stage = SearchStage::Screening { from, looks, look: 0 };
                let settings: Vec<usize> = (0..self.tried.len()).collect();
                Some(self.screen(&settings, looks.first))
            }
            Err(needed) => {
                self.needs = Some(needed);
                self.end()
            }
        }
    }

    /// Plans more rounds of the baseline and these settings.
    fn screen(&mut self, settings: &[usize], rounds: usize) -> AdaptiveStep {
        let arms = settings.iter().map(|arm| self.tried[*arm].variant);
        let variants: Vec<usize> = std::iter::once(BASELINE).chain(arms).collect();
        self.plan_rounds(&variants, rounds)
    }

    /// Undecided settings that did not fail.
    fn undecided(&self, track: &Track) -> Vec<usize> {
        let undecided = self.screening.as_ref().map_or_else(Vec::new, Trial::open);
        undecided.into_iter().filter(|arm| self.failure(self.tried[*arm].variant, track).is_none()).collect()
    }

    fn after_screening(
        &mut self,
        track: &Track,
        from: u32,
        looks: LookPlan,
        look: usize,
    ) -> Option<AdaptiveStep> {
        let mut trial = self.screening.take()?;
        self.look(&mut trial, track, BASELINE, from, |arm| self.tried[arm].variant);
        self.screening = Some(trial);
        let undecided = self.undecided(track);
        // Twice as many rounds before each further look.
        let rounds = looks.first << look;
        let continues = !undecided.is_empty()
            && look + 1 < looks.looks
            && self.budget.has_time_to_screen(rounds, undecided.len());
        if continues {
            self.stage = SearchStage::Screening { from, looks, look: look + 1 };
            return Some(self.screen(&undecided, rounds));
        }
        self.combine(track)
    }

    /// Begins the combination with the setting that helps most.
    fn combine(&mut self, track: &Track) -> Option<AdaptiveStep> {
        let helpful = self.helpful(track);
        let Some((best, remaining)) = helpful.split_first() else { return self.end() };
        let variant = self.tried[*best].variant;
        let remaining: Vec<usize> = remaining.to_vec();
        let steps = remaining.len();
        self.extend_set(SettingCombination { set: vec![*best], remaining, variant, candidate: None, steps })
    }

    /// Settings that help, the best first; an improvement of the goal counts before that of other statistics.
    fn helpful(&self, track: &Track) -> Vec<usize> {
        let Some(trial) = &self.screening else { return Vec::new() };
        let helps = |place: &usize| {
            trial.arms[*place].helps(self.goal) && self.failure(self.tried[*place].variant, track).is_none()
        };
        let mut places: Vec<usize> = (0..self.tried.len()).filter(helps).collect();
        places.sort_by(|a, b| trial.arms[*a].gain(self.goal).total_cmp(&trial.arms[*b].gain(self.goal)));
        places
    }

    /// Tries the next setting beside the set, or confirms the set.
    fn extend_set(&mut self, mut combination: SettingCombination) -> Option<AdaptiveStep> {
        while !combination.remaining.is_empty() && self.budget.has_time_to_combine(PAIRS) {
            let next = combination.remaining.remove(0);
            let Some(variant) = self.add_combination(&combination.set, next) else { continue };
            combination.candidate = Some((next, variant, self.next_round));
            let step = self.plan_rounds(&[combination.variant, variant], PAIRS);
            self.stage = SearchStage::Combination(combination);
            return Some(step);
        }
        Some(self.confirm(&combination))
    }

    /// The variant of a set with one more setting; `None` if one has no effect beside the others, in either order.
    fn add_combination(&mut self, set: &[usize], next: usize) -> Option<usize> {
        let (forward, backward) = ([set, &[next]].concat(), [&[next], set].concat());
        let tried = &self.tried;
        let with = |condition: &Condition, places: &[usize]| {
            places.iter().try_fold(condition.clone(), |condition, place| {
                with_setting(&condition, tried[*place].name, &tried[*place].change).ok()
            })
        };
        self.trials.add(|condition| with(condition, &backward).and_then(|_| with(condition, &forward)))
    }

    fn after_combination(
        &mut self,
        track: &Track,
        mut combination: SettingCombination,
    ) -> Option<AdaptiveStep> {
        if let Some((next, variant, from)) = combination.candidate.take() {
            let confidence = 1.0 - (1.0 - CONFIDENCE) / error_share(combination.steps);
            let mut trial = Trial::new(1, self.goal, 1, confidence);
            self.look(&mut trial, track, combination.variant, from, |_| variant);
            if trial.arms[0].helps(self.goal) && self.failure(variant, track).is_none() {
                combination.set.push(next);
                combination.variant = variant;
            }
        }
        self.extend_set(combination)
    }

    fn confirm(&mut self, combination: &SettingCombination) -> AdaptiveStep {
        let names = combination.set.iter().map(|place| self.tried[*place].name.to_owned()).collect();
        let candidates = combination.set.iter().map(|place| self.tried[*place].candidate).collect();
        self.confirmation = Some(Confirmation {
            candidates,
            names,
            variant: combination.variant,
            first_round: self.next_round,
        });
        self.stage = SearchStage::Confirmation;
        let rounds = self.budget.confirmation_rounds(CONFIRMATION_ROUNDS.0, CONFIRMATION_ROUNDS.1);
        self.plan_rounds(&[BASELINE, combination.variant], rounds)
    }

    const fn end(&mut self) -> Option<AdaptiveStep> {
        self.is_done = true;
        None
    }
}

/// Whether a requested setting of a thread or the machine was not in force.
const fn is_refusal(caveat: &Caveat) -> bool {
    matches!(
        caveat,
        Caveat::PolicyRefused { .. }
            | Caveat::PolicyChanged { .. }
            | Caveat::SlackDiffers { .. }
            | Caveat::SlackChanged { .. }
            | Caveat::SliceChanged { .. }
            | Caveat::GroupChanged { .. }
            | Caveat::ClockStepped { .. }
            | Caveat::SliceRefused { .. }
            | Caveat::AffinityDiffers { .. }
            | Caveat::Unfinished { .. }
    )
}

/// Why a whole setting was not in force in some turn; `None` if a part of it was in all turns.
fn all_left_out(tried: &TriedSetting, caveats: &[Caveat]) -> Option<String> {
    let left_out = |write: &SettingWrite| caveats.iter().find_map(|caveat| reason_for(caveat, write));
    let mut writes = writes(&tried.change);
    writes.retain(|write| !write.watched && write.now != write.value);
    let reasons: Vec<String> = writes.iter().map(left_out).collect::<Option<_>>()?;
    reasons.into_iter().next().map(|reason| format!("{} was not in force in all turns: {reason}", tried.name))
}

fn reason_for(caveat: &Caveat, write: &SettingWrite) -> Option<String> {
    let is_for_write =
        |caveat: &&Caveat| matches!(caveat, Caveat::SettingLeftOut { setting, .. } if *setting == write.path);
    Some(caveat).filter(is_for_write)?.setting_left_out().map(|failure| failure.to_string())
}

/// The variant in which nothing is changed.
pub(crate) const BASELINE: usize = 0;

fn error_share(steps: usize) -> f64 {
    steps.max(1) as f64
}

impl AdaptivePlan for Search {
    fn tuning(&self) -> Tuning {
        let turn = self.trials.turn();
        let (samples, duration) = (turn.tasks.first().and_then(|task| task.samples), turn.duration);
        Tuning { goal: self.goal.name().to_owned(), budget: self.budget.whole(), samples, duration }
    }

    fn next(&mut self, track: &Track) -> Option<AdaptiveStep> {
        self.budget.set_elapsed(track.duration());
        match std::mem::replace(&mut self.stage, SearchStage::Begin) {
            SearchStage::Begin if self.needs.is_some() => self.end(),
            SearchStage::Begin => {
                self.stage = SearchStage::SelfTest;
                Some(self.plan_rounds(&[BASELINE, self.nothing], PAIRS))
            }
            SearchStage::SelfTest => self.after_self_test(track),
            SearchStage::Screening { from, looks, look } => self.after_screening(track, from, looks, look),
            SearchStage::Combination(combination) => self.after_combination(track, combination),
            SearchStage::Confirmation => self.end(),
        }
    }

    fn stage(&self) -> render::Stage {
        let which = match self.stage {
            SearchStage::Begin | SearchStage::SelfTest => TuneStage::SelfTest,
            SearchStage::Screening { .. } => TuneStage::Screening,
            SearchStage::Combination(_) => TuneStage::Joining,
            SearchStage::Confirmation => TuneStage::Confirming,
        };
        render::Stage { which, left: self.budget.remaining(), whole: self.budget.whole() }
    }

    /// Looks early at interrupted screening: this is one of the looks that share the error probability.
    fn ended(&mut self, track: &Track) {
        let SearchStage::Screening { from, .. } = self.stage else { return };
        let Some(mut trial) = self.screening.take() else { return };
        self.look(&mut trial, track, BASELINE, from, |arm| self.tried[arm].variant);
        self.screening = Some(trial);
    }
}
