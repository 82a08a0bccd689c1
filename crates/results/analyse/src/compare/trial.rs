//! Several settings, each against the same baseline, looked at several times.
//!
//! All turns of a round are neighbours in random order, so a setting and the baseline are compared by the sign-flip test of their
//! differences, round by round. Two things would make chance look like an effect. There are many settings and several numbers of
//! each: Holm's correction goes over all of them. And there are several looks, so that the hopeless and the obvious cost little time:
//! each look may use up only its share of the error, an equal one. A number whose test was decided at one look keeps its p, and hands
//! its share on to the others, as Holm's correction does.
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
use super::sampling_unit::{self, Units};
use super::signed_rank::SignedRank;
use super::statistic::Statistic;
use super::test_result::{Tested, covered};
use super::verdict::Verdict;
use super::{Corrected, Criteria, hodges_lehmann, holm, least_pairs};

/// Settings against a baseline.
#[derive(Clone, Debug)]
pub struct Trial {
    goal: Statistic,
    confidence: f64,
    /// How often it is looked at, at most.
    looks: usize,
    /// Each setting, in the order in which they were given.
    pub arms: Vec<Arm>,
}

/// One setting of a trial.
#[derive(Clone, Debug, Default)]
pub struct Arm {
    /// What was found at the look after which it was closed, or at the latest.
    pub tested: Vec<Tested>,
    /// How it stands.
    pub course: Course,
}

/// How a setting stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Course {
    /// More turns may still show something.
    #[default]
    Open,
    /// The number that matters is better, or worse.
    Decided,
    /// An improvement worth having is excluded.
    Hopeless,
}

/// What of the baseline an improvement has to be, at least, to be worth more turns.
const WORTH: f64 = 0.05;

/// And at least so much, in nanoseconds: less is what reading a clock takes.
const WORTH_NS: f64 = 200.0;

impl Arm {
    /// What was found of one number; `None` where turns are too short for it.
    pub fn number(&self, statistic: Statistic) -> Option<&Tested> {
        self.tested.iter().find(|tested| tested.statistic == statistic)
    }

    /// The verdict on the number that matters.
    pub fn verdict(&self, goal: Statistic) -> Verdict {
        self.number(goal).map_or(Verdict::Inconclusive, |tested| tested.verdict)
    }

    /// Whether it makes the number that matters smaller, or another while none becomes larger.
    pub fn helps(&self, goal: Statistic) -> bool {
        let any = |verdict: Verdict| self.tested.iter().any(|one| one.verdict == verdict);
        self.verdict(goal) == Verdict::Better || (any(Verdict::Better) && !any(Verdict::Worse))
    }

    /// What it changes of the number that matters, as a share of the baseline: the less, the better. Where only other
    /// numbers gained, next to nothing.
    pub fn gain(&self, goal: Statistic) -> f64 {
        let share = |one: &Tested| {
            if one.base_ns > 0.0 { one.difference_ns / one.base_ns } else { one.difference_ns }
        };
        self.number(goal).filter(|one| one.verdict == Verdict::Better).map_or(0.0, share)
    }

    fn judge(&self, goal: Statistic, alpha: f64) -> Course {
        match self.number(goal) {
            Some(tested) if matches!(tested.verdict, Verdict::Better | Verdict::Worse) => Course::Decided,
            Some(tested) if is_hopeless(tested, alpha) => Course::Hopeless,
            _ => Course::Open,
        }
    }
}

/// Whether all improvements that the turns leave possible are too small to be worth having. Nothing is claimed by it but
/// that more turns are not worth their time, so that this setting alone counts.
fn is_hopeless(tested: &Tested, alpha: f64) -> bool {
    let worth = (tested.base_ns.abs() * WORTH).max(WORTH_NS);
    let is_less = |(low, _): (f64, f64)| low > -worth;
    tested.verdict == Verdict::NotDistinguishable && tested.interval_alone(alpha).is_some_and(is_less)
}

impl Trial {
    /// So many settings, to be judged by `goal`, looked at up to `looks` times; all statements together hold with `confidence`.
    pub fn new(arms: usize, goal: Statistic, looks: usize, confidence: f64) -> Self {
        Self { goal, confidence, looks: looks.max(1), arms: vec![Arm::default(); arms] }
    }

    /// The settings that need more turns.
    pub fn open(&self) -> Vec<usize> {
        let open = |(_, arm): &(usize, &Arm)| arm.course == Course::Open;
        self.arms.iter().enumerate().filter(open).map(|(number, _)| number).collect()
    }

    /// The fewest rounds after which the clearest effect is found, with so many settings and looks.
    pub fn least_rounds(arms: usize, looks: usize, confidence: f64) -> usize {
        least_pairs(level(arms * NUMBERS.len() * looks.max(1), confidence))
    }

    /// Looks at what the turns say of the settings that are open: `rounds_of` gives the conditions of a setting, `base` those of the
    /// baseline; rounds before `from` are no part of it.
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

    /// The same with units from anywhere.
    fn look_at(&mut self, units: impl Fn(usize, Statistic) -> Option<(Units, Span)>) {
        for number in self.open() {
            let tested = |statistic: &Statistic| {
                let (units, covered) = units(number, *statistic)?;
                Tested::pairs(*statistic, &units, covered)
            };
            self.arms[number].tested = NUMBERS.iter().filter_map(tested).collect();
        }
        self.judge();
    }

    /// Judges the open settings, all numbers of all settings considered.
    fn judge(&mut self) {
        let ps: Vec<f64> = self.arms.iter().flat_map(|arm| arm.tested.iter().map(|one| one.p)).collect();
        let asked = Criteria { confidence: self.confidence, margin: None };
        // Each look has an equal share of the error.
        let mut corrected = holm(&ps, asked.alpha() / self.looks as f64).into_iter();
        for arm in &mut self.arms {
            let is_open = arm.course == Course::Open;
            for (tested, one) in arm.tested.iter_mut().zip(corrected.by_ref()) {
                if is_open {
                    tested.judge(Corrected { p: share(one.p, self.looks), ..one }, asked);
                }
            }
            if is_open {
                arm.course = arm.judge(self.goal, asked.alpha());
            }
        }
    }
}

/// The numbers of a turn that are compared.
const NUMBERS: [Statistic; 3] = [Statistic::P50, Statistic::P99, Statistic::Max];

fn share(p: f64, looks: usize) -> f64 {
    (p * looks as f64).min(1.0)
}

fn level(comparisons: usize, confidence: f64) -> f64 {
    (1.0 - confidence) / comparisons.max(1) as f64
}

/// What a number of turns is, with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Level {
    /// The centre of all turns (Hodges–Lehmann), in nanoseconds.
    pub ns: f64,
    /// Its interval; absent where there are too few turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "(f64, f64)")]
    pub interval_ns: Option<(f64, f64)>,
}

impl Level {
    /// Of the turns of `conditions` from round `from` on; `None` where these are too short for the number.
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

    /// Turns of a machine that drifts, with wild ones among them: settings have `effects` on each number.
    struct Machine {
        base: Vec<f64>,
        arms: Vec<Vec<f64>>,
    }

    impl Machine {
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

        fn units(&self, arm: usize, rounds: usize) -> Units {
            Units::of_pairs(self.base[..rounds].to_vec(), self.arms[arm][..rounds].to_vec())
        }

        /// The trial of its settings by one number, after all looks.
        fn tried(&self, first: usize, looks: usize) -> Trial {
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
            let trial = Machine::new(32, &[0.0; 20], *seed).tried(16, 2);
            trial.arms.iter().any(|arm| arm.course == Course::Decided)
        });
        let alarms = alarms.count();
        assert!(alarms <= 25, "{alarms} of 500");
    }

    /// A setting that does nothing has five chances to seem to, on turns that are the same in part.
    #[test]
    fn looking_again_and_again_finds_no_more_than_looking_once() {
        // So noisy that an improvement worth having is never excluded, and every look is had.
        let found = |seed: &u64| {
            let mut random = fastrand::Rng::with_seed(*seed);
            let mut turns = || (0..160).map(|_| 60_000.0 + 60_000.0 * random.f64()).collect::<Vec<_>>();
            let (base, new) = (turns(), turns());
            let mut trial = Trial::new(1, Statistic::P50, 5, 0.95);
            for rounds in (0..5).map(|look| 10 << look) {
                let units = || Units::of_pairs(base[..rounds].to_vec(), new[..rounds].to_vec());
                let of = |_, one: Statistic| (one == Statistic::P50).then(|| (units(), Span::from_secs(1)));
                trial.look_at(of);
            }
            trial.arms[0].course == Course::Decided
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
            let machine = Machine::new(64, &effects, seed);
            let trial = machine.tried(16, 3);
            let decided: Vec<usize> =
                (0..12).filter(|arm| trial.arms[*arm].course == Course::Decided).collect();
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
                base.iter().zip(0..).map(|(one, round)| one + noise * f64::from(round % 5 - 2)).collect();
            let mut trial = Trial::new(1, Statistic::P50, 3, 0.95);
            trial.look_at(|_, _| Some((Units::of_pairs(base.clone(), new.clone()), Span::ZERO)));
            trial.arms[0].course
        };
        assert_eq!(hopeless(100.0), Course::Hopeless);
        assert_eq!(hopeless(40_000.0), Course::Open, "an improvement of 3 us is not excluded");
    }

    #[test]
    fn each_look_and_each_number_costs_rounds() {
        assert_eq!(Trial::least_rounds(1, 1, 0.95), 7);
        assert!(Trial::least_rounds(20, 4, 0.95) >= 13);
    }
}
