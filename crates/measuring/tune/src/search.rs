//! Trying settings, turn by turn: what is measured next follows from what was found.
//!
//! First the baseline against itself; then every setting against the baseline, those that are open longest; then those that help are
//! joined one by one, as long as each helps beside the others; and at last the set against the baseline, on turns that had no part in
//! choosing it.

use howlate_analyse::compare::{Statistic, Track, Trial};
use howlate_knobs::{Change, ThreadSetting};
use howlate_model::{Caveat, Condition, SettingWrite, Span, TunedKnobs, Tuning};
use howlate_plan::Trials;
use howlate_render::{self as render, TuneStage};
use howlate_session::{AdaptivePlan, AdaptiveStep};

use crate::altered::{altered, writes};
use crate::budget::{Budget, Looks};
use crate::candidates::Candidates;
use crate::options::Options;

/// What turns nothing.
const NOTHING: Change = Change::Thread(ThreadSetting::Nothing);

/// Confidence of all that is said of single settings together; of the rest, of each statement.
pub(crate) const CONFIDENCE: f64 = 0.95;

/// Rounds of the baseline against itself, and of one set against another.
const PAIRS: usize = 10;

/// Rounds that confirm, within these bounds.
const CONFIRMING: (usize, usize) = (12, 40);

/// What is tried.
struct Tried {
    /// Its place among the candidates.
    candidate: usize,
    name: &'static str,
    change: Change,
    /// The number of its variant in the plan.
    variant: usize,
}

/// A set of settings on turns of its own.
pub(crate) struct Confirming {
    /// Places among the candidates.
    pub(crate) candidates: Vec<usize>,
    pub(crate) names: Vec<String>,
    pub(crate) variant: usize,
    /// Its first round.
    pub(crate) from: u32,
}

/// What is being measured.
enum Stage {
    Begin,
    SelfTest,
    Screening { from: u32, looks: Looks, look: usize },
    Joining(Joining),
    Confirming,
}

/// Settings that help, joined one by one.
struct Joining {
    /// Places among those that are tried, the best first: these are in the set, and these are to come.
    set: Vec<usize>,
    rest: Vec<usize>,
    /// The variant of the set.
    variant: usize,
    /// What is being tried beside it: its variant and first round.
    trying: Option<(usize, usize, u32)>,
    /// How many are to be tried beside it, which share the error.
    steps: usize,
}

/// Settings being tried.
pub(crate) struct Trying {
    trials: Trials,
    tried: Vec<Tried>,
    /// The variant that is the baseline once more.
    nothing: usize,
    goal: Statistic,
    budget: Budget,
    stage: Stage,
    /// The first round that was not planned yet.
    round: u32,
    /// Conditions that are in the recording.
    known: usize,
    pub(crate) self_test: Option<Trial>,
    pub(crate) screening: Option<Trial>,
    pub(crate) confirming: Option<Confirming>,
    /// The budget that it takes, where there was too little.
    pub(crate) needs: Option<Span>,
    /// Whether it came to its end.
    pub(crate) is_done: bool,
}

impl Trying {
    pub(crate) fn new(mut trials: Trials, candidates: &Candidates, options: &Options) -> Self {
        let nothing = |condition: &Condition| altered(condition, TunedKnobs::NOTHING, &NOTHING).ok();
        // There is no condition in which nothing cannot be turned.
        let nothing = trials.add(nothing).unwrap_or(BASELINE);
        let mut tried = Vec::new();
        for (candidate, one) in candidates.tried() {
            let (Some(change), name) = (one.state.change.clone(), one.knob.name) else { continue };
            let variant = match change {
                NOTHING => Some(nothing),
                _ => trials.add(|condition| altered(condition, name, &change).ok()),
            };
            let Some(variant) = variant else { continue };
            tried.push(Tried { candidate, name, change, variant });
        }
        Self {
            known: trials.conditions().len(),
            trials,
            tried,
            nothing,
            goal: options.goal,
            budget: Budget::begin(options.budget),
            stage: Stage::Begin,
            round: 0,
            self_test: None,
            screening: None,
            confirming: None,
            needs: None,
            is_done: false,
        }
    }

    /// Tries nothing where turns of this length take more time than there is.
    pub(crate) fn check_time_for_turns_of(&mut self, each: Span) {
        self.needs = self.budget.lacks(each, PAIRS, self.tried.len(), CONFIDENCE);
    }

    /// The conditions that are known from the start.
    pub(crate) fn conditions(&self) -> &[Condition] {
        self.trials.conditions()
    }

    pub(crate) const fn goal(&self) -> Statistic {
        self.goal
    }

    /// The conditions of a variant.
    pub(crate) fn indices(&self, variant: usize) -> Vec<usize> {
        self.trials.indices(variant).collect()
    }

    /// What was found of the candidate at this place, and why that is worth nothing, if so.
    pub(crate) fn found(
        &self,
        candidate: usize,
        track: &Track,
    ) -> Option<(&howlate_analyse::compare::Arm, Option<String>)> {
        let place = self.tried.iter().position(|one| one.candidate == candidate)?;
        let arm = self.screening.as_ref()?.arms.get(place)?;
        Some((arm, self.refused(self.tried[place].variant, track)))
    }

    /// Why a variant did not run as asked.
    fn refused(&self, variant: usize, track: &Track) -> Option<String> {
        let outcomes = self.trials.indices(variant).filter_map(|index| track.analysis.outcomes().get(index));
        let mut of_threads = outcomes.flat_map(howlate_analyse::Outcome::caveats).filter(is_refusal);
        let of_threads = of_threads.next().map(|caveat| match caveat {
            Caveat::Unfinished { reason, .. } => reason.to_string(),
            caveat => render::caveat(&caveat),
        });
        of_threads.or_else(|| {
            let taken = track.analysis.caveats.iter().find(|caveat| self.is_lost(variant, caveat));
            taken.map(render::caveat).or_else(|| self.missing(variant, track))
        })
    }

    /// A setting of the machine of which nothing was in force in a turn of a variant, although the rest of its set was.
    fn missing(&self, variant: usize, track: &Track) -> Option<String> {
        let conditions = &self.trials.conditions()[self.trials.indices(variant)];
        let names: Vec<&String> =
            conditions.iter().flat_map(|one| &one.tuned).flat_map(|one| &one.knobs).collect();
        let parts = self.tried.iter().filter(|one| names.iter().any(|name| *name == one.name));
        parts.filter_map(|one| all_left_out(one, &track.analysis.caveats)).next()
    }

    /// Whether a setting of the machine did not hold for a variant's turns, or did after them.
    fn is_lost(&self, variant: usize, caveat: &Caveat) -> bool {
        match caveat {
            Caveat::SettingChanged { path, .. } | Caveat::SettingNotRestored { path, .. } => {
                self.writes(variant, path)
            }
            _ => false,
        }
    }

    /// What of a candidate could not be had, while the rest of it was tried.
    pub(crate) fn without(&self, candidate: usize, track: &Track) -> Vec<String> {
        let tried = self.tried.iter().find(|one| one.candidate == candidate);
        let caveats = track.analysis.caveats.iter();
        let writes = tried.map(|one| writes(&one.change)).unwrap_or_default();
        let said = |caveat: &Caveat| writes.iter().find_map(|write| reason_for(caveat, write));
        let of_threads = tried.map_or_else(Vec::new, |one| self.left_out_of_threads(one.variant, track));
        caveats.filter_map(said).chain(of_threads).collect()
    }

    /// What some threads of a program could not be given.
    fn left_out_of_threads(&self, variant: usize, track: &Track) -> Vec<String> {
        /// More of them say no more.
        const MOST: usize = 3;
        let outcomes = self.trials.indices(variant).filter_map(|index| track.analysis.outcomes().get(index));
        let caveats = outcomes.flat_map(howlate_analyse::Outcome::caveats);
        let said = caveats.filter_map(|caveat| caveat.setting_left_out());
        said.take(MOST).map(|failure| failure.to_string()).collect()
    }

    fn writes(&self, variant: usize, path: &str) -> bool {
        let conditions = &self.trials.conditions()[self.trials.indices(variant)];
        let mut writes = conditions.iter().flat_map(|one| &one.tuned).flat_map(|tuned| &tuned.writes);
        writes.any(|write| write.path == path)
    }

    /// So many more rounds of these variants.
    fn rounds(&mut self, variants: &[usize], rounds: usize) -> AdaptiveStep {
        let until = self.round.saturating_add(u32::try_from(rounds).unwrap_or(u32::MAX));
        let turns = self.trials.turns(variants, self.round..until);
        self.round = until;
        self.budget.spend(turns.len());
        let conditions = self.trials.conditions()[self.known..].to_vec();
        self.known = self.trials.conditions().len();
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
                let from = self.round;
                self.stage = Stage::Screening { from, looks, look: 0 };
                let all: Vec<usize> = (0..self.tried.len()).collect();
                Some(self.screen(&all, looks.first))
            }
            Err(needed) => {
                self.needs = Some(needed);
                self.end()
            }
        }
    }

    /// So many more rounds of the baseline and what is open.
    fn screen(&mut self, open: &[usize], rounds: usize) -> AdaptiveStep {
        let arms = open.iter().map(|arm| self.tried[*arm].variant);
        let variants: Vec<usize> = std::iter::once(BASELINE).chain(arms).collect();
        self.rounds(&variants, rounds)
    }

    /// The settings that need more turns, and can have them.
    fn open(&self, track: &Track) -> Vec<usize> {
        let open = self.screening.as_ref().map_or_else(Vec::new, Trial::open);
        open.into_iter().filter(|arm| self.refused(self.tried[*arm].variant, track).is_none()).collect()
    }

    fn after_screening(
        &mut self,
        track: &Track,
        from: u32,
        looks: Looks,
        look: usize,
    ) -> Option<AdaptiveStep> {
        let mut trial = self.screening.take()?;
        self.look(&mut trial, track, BASELINE, from, |arm| self.tried[arm].variant);
        self.screening = Some(trial);
        let open = self.open(track);
        // Before each further look there are twice as many rounds.
        let more = looks.first << look;
        let goes_on =
            !open.is_empty() && look + 1 < looks.looks && self.budget.has_time_to_screen(more, open.len());
        if goes_on {
            self.stage = Stage::Screening { from, looks, look: look + 1 };
            return Some(self.screen(&open, more));
        }
        self.join(track)
    }

    /// Begins with what helps most.
    fn join(&mut self, track: &Track) -> Option<AdaptiveStep> {
        let helpful = self.helpful(track);
        let Some((best, rest)) = helpful.split_first() else { return self.end() };
        let variant = self.tried[*best].variant;
        let rest: Vec<usize> = rest.to_vec();
        let steps = rest.len();
        self.go_on_joining(Joining { set: vec![*best], rest, variant, trying: None, steps })
    }

    /// Those that help, by how much; what the goal gained goes before what only others did.
    fn helpful(&self, track: &Track) -> Vec<usize> {
        let Some(trial) = &self.screening else { return Vec::new() };
        let helps = |place: &usize| {
            trial.arms[*place].helps(self.goal) && self.refused(self.tried[*place].variant, track).is_none()
        };
        let mut places: Vec<usize> = (0..self.tried.len()).filter(helps).collect();
        places.sort_by(|a, b| trial.arms[*a].gain(self.goal).total_cmp(&trial.arms[*b].gain(self.goal)));
        places
    }

    /// Tries the next one beside the set, or confirms the set.
    fn go_on_joining(&mut self, mut joining: Joining) -> Option<AdaptiveStep> {
        while !joining.rest.is_empty() && self.budget.has_time_to_combine(PAIRS) {
            let next = joining.rest.remove(0);
            let Some(variant) = self.together(&joining.set, next) else { continue };
            joining.trying = Some((next, variant, self.round));
            let step = self.rounds(&[joining.variant, variant], PAIRS);
            self.stage = Stage::Joining(joining);
            return Some(step);
        }
        Some(self.confirm(&joining))
    }

    /// The variant of a set and one more; `None` where they are nothing together, in one order or the other.
    fn together(&mut self, set: &[usize], next: usize) -> Option<usize> {
        let (forth, back) = ([set, &[next]].concat(), [&[next], set].concat());
        let tried = &self.tried;
        let with = |first: &Condition, places: &[usize]| {
            places.iter().try_fold(first.clone(), |condition, place| {
                altered(&condition, tried[*place].name, &tried[*place].change).ok()
            })
        };
        self.trials.add(|one| with(one, &back).and_then(|_| with(one, &forth)))
    }

    fn after_joining(&mut self, track: &Track, mut joining: Joining) -> Option<AdaptiveStep> {
        if let Some((next, variant, from)) = joining.trying.take() {
            let confidence = 1.0 - (1.0 - CONFIDENCE) / share(joining.steps);
            let mut trial = Trial::new(1, self.goal, 1, confidence);
            self.look(&mut trial, track, joining.variant, from, |_| variant);
            if trial.arms[0].helps(self.goal) && self.refused(variant, track).is_none() {
                joining.set.push(next);
                joining.variant = variant;
            }
        }
        self.go_on_joining(joining)
    }

    fn confirm(&mut self, joining: &Joining) -> AdaptiveStep {
        let names = joining.set.iter().map(|place| self.tried[*place].name.to_owned()).collect();
        let candidates = joining.set.iter().map(|place| self.tried[*place].candidate).collect();
        self.confirming = Some(Confirming { candidates, names, variant: joining.variant, from: self.round });
        self.stage = Stage::Confirming;
        let rounds = self.budget.confirming(CONFIRMING.0, CONFIRMING.1);
        self.rounds(&[BASELINE, joining.variant], rounds)
    }

    const fn end(&mut self) -> Option<AdaptiveStep> {
        self.is_done = true;
        None
    }
}

/// Whether a thread, or the machine for it, was not as it was to be.
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

/// Why nothing of a setting was in force in some turn; `None` where some of it was in all.
fn all_left_out(one: &Tried, caveats: &[Caveat]) -> Option<String> {
    let left_out = |write: &SettingWrite| caveats.iter().find_map(|caveat| reason_for(caveat, write));
    let mut writes = writes(&one.change);
    writes.retain(|write| !write.watched && write.now != write.value);
    let reasons: Vec<String> = writes.iter().map(left_out).collect::<Option<_>>()?;
    reasons.into_iter().next().map(|reason| format!("{} was not in force in all turns: {reason}", one.name))
}

fn reason_for(caveat: &Caveat, write: &SettingWrite) -> Option<String> {
    let of_write =
        |caveat: &&Caveat| matches!(caveat, Caveat::SettingLeftOut { setting, .. } if *setting == write.path);
    Some(caveat).filter(of_write)?.setting_left_out().map(|failure| failure.to_string())
}

/// The variant in which nothing is changed.
pub(crate) const BASELINE: usize = 0;

fn share(steps: usize) -> f64 {
    steps.max(1) as f64
}

impl AdaptivePlan for Trying {
    fn tuning(&self) -> Tuning {
        let turn = self.trials.turn();
        let (samples, duration) = (turn.tasks.first().and_then(|task| task.samples), turn.duration);
        Tuning { goal: self.goal.name().to_owned(), budget: self.budget.whole(), samples, duration }
    }

    fn next(&mut self, track: &Track) -> Option<AdaptiveStep> {
        self.budget.has_taken(track.duration());
        match std::mem::replace(&mut self.stage, Stage::Begin) {
            Stage::Begin if self.needs.is_some() => self.end(),
            Stage::Begin => {
                self.stage = Stage::SelfTest;
                Some(self.rounds(&[BASELINE, self.nothing], PAIRS))
            }
            Stage::SelfTest => self.after_self_test(track),
            Stage::Screening { from, looks, look } => self.after_screening(track, from, looks, look),
            Stage::Joining(joining) => self.after_joining(track, joining),
            Stage::Confirming => self.end(),
        }
    }

    fn stage(&self) -> render::Stage {
        let which = match self.stage {
            Stage::Begin | Stage::SelfTest => TuneStage::SelfTest,
            Stage::Screening { .. } => TuneStage::Screening,
            Stage::Joining(_) => TuneStage::Joining,
            Stage::Confirming => TuneStage::Confirming,
        };
        render::Stage { which, left: self.budget.left(), whole: self.budget.whole() }
    }

    /// What was found of settings is told although they were to be looked at later: the look is one of those that share the error.
    fn ended(&mut self, track: &Track) {
        let Stage::Screening { from, .. } = self.stage else { return };
        let Some(mut trial) = self.screening.take() else { return };
        self.look(&mut trial, track, BASELINE, from, |arm| self.tried[arm].variant);
        self.screening = Some(trial);
    }
}
