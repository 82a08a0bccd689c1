//! Trials: several settings, each against the same baseline, tested at several looks.
//!
//! All turns of a round are neighbours in random order, so a setting and the baseline are compared by the sign-flip test of
//! their differences, round by round. Two things would make chance look like an effect. There are many settings and several
//! statistics of each: Holm's correction covers all of them. And there are several looks, so that hopeless and obvious
//! settings cost little time: each look may use an equal share of the error. A statistic that was decided at one look keeps
//! its p, and passes its share on to the others, as Holm's correction does.
//!
//! ```text
//! round      1       2       3       4             5     6     7     8
//! turns     |0 A B| |B 0 A| |A B 0| |0 B A| look |A 0| |0 A| |A 0| |0 A| look     0: the baseline
//! A          A - 0 of each round:           open  ................       decided: closed
//! B          B - 0 of each round:           hopeless: closed
//! ```
//!
//! Sources: Holm, Scandinavian Journal of Statistics 6 (1979); Maurer & Bretz, Statistics in Biopharmaceutical Research 5 (2013).

use howlate_model::Span;
use schemars::JsonSchema;
use serde::Serialize;

use super::block_series::Track;
use super::sampling_unit::{self, SamplingUnits};
use super::signed_rank::SignedRank;
use super::statistic::Statistic;
use super::test_result::{Tested, covered};
use super::verdict::Verdict;
use super::{CorrectedP, Criteria, hodges_lehmann, holm, least_pairs};

/// Settings against a baseline.
#[derive(Clone, Debug)]
pub struct Trial {
    goal: Statistic,
    confidence: f64,
    /// Most looks.
    looks: usize,
    /// The settings, in the order in which they were given.
    pub arms: Vec<Arm>,
}

/// One setting of a trial.
#[derive(Clone, Debug, Default)]
pub struct Arm {
    /// Results at the look after which it was closed, or at the latest.
    pub tested: Vec<Tested>,
    /// Whether it needs more turns.
    pub state: ArmState,
}

/// State of a setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArmState {
    /// More turns may still show something.
    #[default]
    Open,
    /// The goal is better, or worse.
    Decided,
    /// An improvement worth having is excluded.
    Hopeless,
}

/// Least share of the baseline for an improvement to be worth more turns.
const WORTH: f64 = 0.05;

/// Least improvement in nanoseconds: reading a clock takes as long.
const WORTH_NS: f64 = 200.0;

impl Arm {
    /// The result for one statistic; `None` if turns are too short for it.
    pub fn number(&self, statistic: Statistic) -> Option<&Tested> {
        self.tested.iter().find(|tested| tested.statistic == statistic)
    }

    /// The verdict on the goal.
    pub fn verdict(&self, goal: Statistic) -> Verdict {
        self.number(goal).map_or(Verdict::Inconclusive, |tested| tested.verdict)
    }

    /// Whether it improves the goal, or another statistic while none becomes worse.
    pub fn helps(&self, goal: Statistic) -> bool {
        let any = |verdict: Verdict| self.tested.iter().any(|tested| tested.verdict == verdict);
        self.verdict(goal) == Verdict::Better || (any(Verdict::Better) && !any(Verdict::Worse))
    }

    /// Change of the goal as a share of the baseline: the less, the better. 0 if only other statistics improved.
    pub fn gain(&self, goal: Statistic) -> f64 {
        let share = |tested: &Tested| {
            if tested.base_ns > 0.0 { tested.difference_ns / tested.base_ns } else { tested.difference_ns }
        };
        self.number(goal).filter(|tested| tested.verdict == Verdict::Better).map_or(0.0, share)
    }

    fn judge(&self, goal: Statistic, alpha: f64) -> ArmState {
        match self.number(goal) {
            Some(tested) if matches!(tested.verdict, Verdict::Better | Verdict::Worse) => ArmState::Decided,
            Some(tested) if is_hopeless(tested, alpha) => ArmState::Hopeless,
            _ => ArmState::Open,
        }
    }
}

/// Whether all improvements that the turns leave possible are too small to be worth having. Only a reason to stop, so that this setting
/// alone counts.
fn is_hopeless(tested: &Tested, alpha: f64) -> bool {
    let worth = (tested.base_ns.abs() * WORTH).max(WORTH_NS);
    let is_less = |(low, _): (f64, f64)| low > -worth;
    tested.verdict == Verdict::NotDistinguishable && tested.interval_alone(alpha).is_some_and(is_less)
}

impl Trial {
    /// A trial of `arms` settings by `goal`, with up to `looks` looks; all statements together hold with `confidence`.
    pub fn new(arms: usize, goal: Statistic, looks: usize, confidence: f64) -> Self {
        Self { goal, confidence, looks: looks.max(1), arms: vec![Arm::default(); arms] }
    }

    /// The settings that need more turns.
    pub fn open(&self) -> Vec<usize> {
        let open = |(_, arm): &(usize, &Arm)| arm.state == ArmState::Open;
        self.arms.iter().enumerate().filter(open).map(|(number, _)| number).collect()
    }

    /// The fewest rounds after which the clearest effect is found, with these numbers of settings and looks.
    pub fn least_rounds(arms: usize, looks: usize, confidence: f64) -> usize {
        least_pairs(level(arms * NUMBERS.len() * looks.max(1), confidence))
    }

    /// Tests the open settings: `arm` gives the conditions of a setting, `base` those of the baseline; rounds before `from` do not count.
    pub fn look(&mut self, track: &Track, base: &[usize], from: u32, arm: impl Fn(usize) -> Vec<usize>) {
        self.look_at(|number, statistic| {
            let pieces = |conditions: &[usize]| {
                let mut pieces = track.pieces(conditions);
                pieces.retain(|piece| piece.round >= from);
                pieces
            };
            let (base, new) = (pieces(base), pieces(&arm(number)));
            let units = sampling_unit::pairs(statistic, &base, &new).ok()?;
            Some((units, covered(&base).min(covered(&new))))
        });
    }

    /// A look with units from any source.
    fn look_at(&mut self, units: impl Fn(usize, Statistic) -> Option<(SamplingUnits, Span)>) {
        for number in self.open() {
            let tested = |statistic: &Statistic| {
                let (units, covered) = units(number, *statistic)?;
                Tested::pairs(*statistic, &units, covered)
            };
            self.arms[number].tested = NUMBERS.iter().filter_map(tested).collect();
        }
        self.judge();
    }

    /// Judges the open settings, with all statistics of all settings taken into account.
    fn judge(&mut self) {
        let ps: Vec<f64> =
            self.arms.iter().flat_map(|arm| arm.tested.iter().map(|tested| tested.p)).collect();
        let criteria = Criteria { confidence: self.confidence, margin: None };
        // Each look has an equal share of the error.
        let mut corrected = holm(&ps, criteria.alpha() / self.looks as f64).into_iter();
        for arm in &mut self.arms {
            let is_open = arm.state == ArmState::Open;
            for (result, corrected_p) in arm.tested.iter_mut().zip(corrected.by_ref()) {
                if is_open {
                    result.judge(CorrectedP { p: share(corrected_p.p, self.looks), ..corrected_p }, criteria);
                }
            }
            if is_open {
                arm.state = arm.judge(self.goal, criteria.alpha());
            }
        }
    }
}

/// The statistics of a turn that are compared.
const NUMBERS: [Statistic; 3] = [Statistic::P50, Statistic::P99, Statistic::Max];

fn share(p: f64, looks: usize) -> f64 {
    (p * looks as f64).min(1.0)
}

fn level(comparisons: usize, confidence: f64) -> f64 {
    (1.0 - confidence) / comparisons.max(1) as f64
}

/// What a number of turns is, with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Level")]
pub struct StatisticLevel {
    /// The centre of all turns (Hodges–Lehmann), in nanoseconds.
    pub ns: f64,
    /// Its interval; absent where there are too few turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "(f64, f64)")]
    pub interval_ns: Option<(f64, f64)>,
}

impl StatisticLevel {
    /// The level over the turns of `conditions` from round `from` on; `None` if these are too short for the statistic.
    pub fn from_turns(
        track: &Track,
        conditions: &[usize],
        from: u32,
        statistic: Statistic,
        confidence: f64,
    ) -> Option<Self> {
        let mut pieces = track.pieces(conditions);
        pieces.retain(|piece| piece.round >= from);
        let turns = sampling_unit::pairs(statistic, &pieces, &pieces).ok()?.base;
        let ns = hodges_lehmann::centre(&turns)?;
        Some(Self { ns, interval_ns: SignedRank::from_differences(&turns).interval(1.0 - confidence) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Turns of a machine that drifts, with outliers among them: settings have `effects` on each statistic.
    struct SimulatedMachine {
        base: Vec<f64>,
        arms: Vec<Vec<f64>>,
    }

    impl SimulatedMachine {
        fn new(rounds: usize, effects: &[f64], seed: u64) -> Self {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut level = 0.0;
            let mut machine = Self { base: Vec::new(), arms: vec![Vec::new(); effects.len()] };
            for _ in 0..rounds {
                level = 0.8 * level + 3_000.0 * (random.f64() - 0.5);
                let mut turn = |effect: f64| {
                    let wild = if random.u8(..20) == 0 { 80_000.0 * random.f64() } else { 0.0 };
                    60_000.0 + level + effect + 4_000.0 * (random.f64() + random.f64()) + wild
                };
                machine.base.push(turn(0.0));
                for (arm, effect) in machine.arms.iter_mut().zip(effects) {
                    arm.push(turn(*effect));
                }
            }
            machine
        }

        fn units(&self, arm: usize, rounds: usize) -> SamplingUnits {
            SamplingUnits::of_pairs(self.base[..rounds].to_vec(), self.arms[arm][..rounds].to_vec())
        }

        /// The trial of its settings by one statistic, after all looks.
        fn run_trial(&self, first: usize, looks: usize) -> Trial {
            let mut trial = Trial::new(self.arms.len(), Statistic::P50, looks, 0.95);
            for look in 0..looks {
                let rounds = first << look;
                trial.look_at(|arm, statistic| {
                    (statistic == Statistic::P50).then(|| (self.units(arm, rounds), Span::from_secs(1)))
                });
            }
            trial
        }
    }

    /// 500 runs of 20 settings that do nothing: any that seems to is a false alarm of its run.
    #[test]
    fn settings_that_do_nothing_are_found_to_in_at_most_one_run_of_twenty() {
        let alarms = (0..500).filter(|seed| {
            let trial = SimulatedMachine::new(32, &[0.0; 20], *seed).run_trial(16, 2);
            trial.arms.iter().any(|arm| arm.state == ArmState::Decided)
        });
        let alarms = alarms.count();
        assert!(alarms <= 25, "{alarms} of 500");
    }

    /// A setting that does nothing has five chances to seem to, on turns that are partly the same.
    #[test]
    fn looking_again_and_again_finds_no_more_than_looking_once() {
        // So noisy that an improvement worth having is never excluded, and all looks are taken.
        let found = |seed: &u64| {
            let mut random = fastrand::Rng::with_seed(*seed);
            let mut turns = || (0..160).map(|_| 60_000.0 + 60_000.0 * random.f64()).collect::<Vec<_>>();
            let (base, new) = (turns(), turns());
            let mut trial = Trial::new(1, Statistic::P50, 5, 0.95);
            for rounds in (0..5).map(|look| 10 << look) {
                let units = || SamplingUnits::of_pairs(base[..rounds].to_vec(), new[..rounds].to_vec());
                let select = |_, statistic: Statistic| {
                    (statistic == Statistic::P50).then(|| (units(), Span::from_secs(1)))
                };
                trial.look_at(select);
            }
            trial.arms[0].state == ArmState::Decided
        };
        let alarms = (0..300).filter(found);
        let alarms = alarms.count();
        assert!(alarms <= 15, "{alarms} of 300");
    }

    #[test]
    fn what_helps_is_found_and_nothing_else_is_and_the_obvious_takes_one_look() {
        let mut effects = [0.0; 12];
        (effects[2], effects[7]) = (-40_000.0, 60_000.0);
        for seed in 0..10 {
            let machine = SimulatedMachine::new(64, &effects, seed);
            let trial = machine.run_trial(16, 3);
            let decided: Vec<usize> =
                (0..12).filter(|arm| trial.arms[*arm].state == ArmState::Decided).collect();
            assert_eq!(decided, [2, 7], "{seed}");
            let verdicts = [2, 7].map(|arm: usize| trial.arms[arm].verdict(Statistic::P50));
            assert_eq!(verdicts, [Verdict::Better, Verdict::Worse]);
            assert_eq!(trial.arms[2].number(Statistic::P50).unwrap().units, (16, 16));
        }
    }

    #[test]
    fn what_cannot_help_any_more_is_closed() {
        let hopeless = |noise: f64| {
            let base: Vec<f64> = (0..24).map(|round| 60_000.0 + f64::from(round)).collect();
            let new: Vec<f64> =
                base.iter().zip(0..).map(|(value, round)| value + noise * f64::from(round % 5 - 2)).collect();
            let mut trial = Trial::new(1, Statistic::P50, 3, 0.95);
            trial.look_at(|_, _| Some((SamplingUnits::of_pairs(base.clone(), new.clone()), Span::ZERO)));
            trial.arms[0].state
        };
        assert_eq!(hopeless(100.0), ArmState::Hopeless);
        assert_eq!(hopeless(40_000.0), ArmState::Open, "an improvement of 3 us is not excluded");
    }

    #[test]
    fn each_look_and_each_number_costs_rounds() {
        assert_eq!(Trial::least_rounds(1, 1, 0.95), 7);
        assert!(Trial::least_rounds(20, 4, 0.95) >= 13);
    }
}
