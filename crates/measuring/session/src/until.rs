//! Runs with a stop rule: the plan of their turns, and when they end.

use howlate_analyse::sequential::{Decision, Unreachable, least_pairs, least_time, progress_of, run_lengths};
use howlate_analyse::{Analysis, per_loop};
use howlate_model::{Header, Span, StopRule, Turn};
use howlate_plan::Plan;

/// A stop rule and a maximum duration.
#[derive(Clone, Copy, Debug)]
pub struct Goal {
    /// The stop rule.
    pub figure: StopRule,
    /// The run ends after this time in any case.
    pub at_most: Span,
}

/// Share of each condition in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConditionShare {
    /// Total time of each condition.
    pub duration: Span,
    /// Number of turns of each condition.
    pub rounds: u32,
}

/// Duration of a turn with several conditions: long compared to its start, but short enough to end soon after the rule is satisfied.
const TURN: Span = Span::from_secs(10);
/// Duration of a turn of two compared conditions, for which the number of turns counts.
const COMPARED_TURN: Span = Span::from_secs(1);

/// Why a stop rule cannot be satisfied.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GoalError {
    /// It takes longer than the maximum.
    #[error("`{figure}` takes at least {}, and the run may take {}", howlate_render::numbers::rough(*.needs), howlate_render::numbers::rough(*.at_most))]
    TooLong {
        /// The stop rule.
        figure: StopRule,
        /// The minimum duration.
        needs: Span,
        /// The maximum duration.
        at_most: Span,
    },
    /// Events that are this frequent cannot be distinguished.
    #[error("`{figure}` cannot be counted: late wake-ups that come together count once, and one in {} is the most that can be told apart", howlate_render::numbers::rough(*.least))]
    TooOften {
        /// The stop rule.
        figure: StopRule,
        /// The shortest time between events that can be distinguished.
        least: Span,
    },
    /// Latencies are not resolved finely enough.
    #[error("`{figure}` cannot be reached: latencies are told apart to 1 %, and their intervals to ±{} %", .least * 100.0)]
    TooFine {
        /// The stop rule.
        figure: StopRule,
        /// The smallest relative interval.
        least: f64,
    },
    /// A watched program has no second condition.
    #[error("`{}` is about two conditions, and a program is watched as it is", StopRule::Compared)]
    Watched,
    /// The run does not have two conditions.
    #[error("`{}` is about two conditions; this run has {found}", StopRule::Compared)]
    NotTwo {
        /// The number of conditions.
        found: usize,
    },
}

impl GoalError {
    /// What to do about the error.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::TooLong { .. } => {
                "let it take longer with `--at-most`, or ask for less: `howlate plan-length FIGURE` says what each takes"
            }
            Self::TooOften { .. } => {
                "bound a percentile instead: `--fail-above 'p99.9>100us'`, with `--until 'p99.9 ±5%'`"
            }
            Self::TooFine { .. } => "such as `--until 'p99.9 ±5%'`",
            Self::Watched => {
                "watch it twice, each with `--out FILE`, and then `howlate compare` the two files; or try settings on it: `howlate tune program PID` (10 min)"
            }
            Self::NotTwo { .. } => {
                "give two values to one option, such as `--policy other,fifo:80`; `howlate tune` tries more (10 min)"
            }
        }
    }

    /// The error for a rule that no duration satisfies.
    pub const fn unreachable(figure: StopRule, reason: Unreachable) -> Self {
        match reason {
            Unreachable::TooOften { least } => Self::TooOften { figure, least },
            Unreachable::TooFine { least } => Self::TooFine { figure, least },
        }
    }
}

impl Goal {
    /// Makes a plan with `make`, from a share for each condition: a single turn for a single condition, otherwise several
    /// turns.
    ///
    /// # Errors
    ///
    /// When the rule cannot be satisfied in the maximum duration, and the errors of `make`.
    pub fn plan<E: From<GoalError>>(
        self,
        in_turns: bool,
        make: impl Fn(ConditionShare) -> Result<Plan, E>,
    ) -> Result<Plan, E> {
        let whole = make(ConditionShare { duration: self.at_most, rounds: 1 })?;
        self.check(&whole)?;
        let groups = whole.turns.len() as u64;
        if groups == 1 && !in_turns {
            return Ok(whole);
        }
        let duration = Span::from_nanos(self.at_most.as_nanos() / groups.max(1));
        let rounds = u32::try_from(duration.as_nanos() / self.turn().as_nanos()).unwrap_or(u32::MAX).max(1);
        make(ConditionShare { duration, rounds })
    }

    /// Minimum duration of watching a program, and the necessary number of wake-ups of each thread if the rule counts them.
    ///
    /// # Errors
    ///
    /// When no duration is enough, or more than the maximum is needed.
    pub fn of_watched(self) -> Result<(Span, Option<u64>), GoalError> {
        let Self { figure, at_most } = self;
        if figure == StopRule::Compared {
            return Err(GoalError::Watched);
        }
        // How often its threads wake is not known yet.
        let lengths = run_lengths(figure, Span::from_nanos(1));
        let lengths = lengths.map_err(|reason| GoalError::unreachable(figure, reason))?;
        match lengths.least > at_most && figure.interval().is_none() {
            true => Err(GoalError::TooLong { figure, needs: lengths.least, at_most }),
            false => Ok((lengths.least, lengths.wakeups)),
        }
    }

    const fn turn(self) -> Span {
        match self.figure {
            StopRule::Compared => COMPARED_TURN,
            StopRule::Known { .. } | StopRule::Rare { .. } => TURN,
        }
    }

    /// Minimum duration of a run; `plan` has one turn of each condition.
    ///
    /// # Errors
    ///
    /// When no duration is enough.
    pub fn least(self, plan: &Plan) -> Result<Span, GoalError> {
        let figure = self.figure;
        if figure == StopRule::Compared {
            let analysis = Analysis::new(Header::for_conditions(plan.conditions.clone()));
            let found = per_loop(&analysis).len();
            let of_both = COMPARED_TURN.times(2 * least_pairs());
            return if found == 2 { Ok(of_both) } else { Err(GoalError::NotTwo { found }) };
        }
        let longest =
            |turn: &Turn| turn.tasks.iter().map(|task| task.work.length()).max().unwrap_or_default();
        let of_turn = |turn: &Turn| {
            least_time(figure, longest(turn)).map_err(|reason| GoalError::unreachable(figure, reason))
        };
        let times: Result<Vec<Span>, GoalError> = plan.turns.iter().map(of_turn).collect();
        Ok(times?.into_iter().fold(Span::ZERO, Span::plus))
    }

    fn check(self, plan: &Plan) -> Result<(), GoalError> {
        let Self { figure, at_most } = self;
        let needs = self.least(plan)?;
        // A limit can be refuted long before it could hold.
        if needs > at_most && figure.interval().is_none() {
            Err(GoalError::TooLong { figure, needs, at_most })
        } else {
            Ok(())
        }
    }
}

/// Whether the stop rule is satisfied.
pub fn is_known(analysis: &Analysis) -> bool {
    progress_of(analysis).is_some_and(|found| found.decision != Decision::Undecided)
}

/// Whether the stop rule is satisfied during a turn. A comparison is only evaluated between turns.
pub(crate) fn is_known_within_a_turn(analysis: &Analysis) -> bool {
    analysis.header.until != Some(StopRule::Compared) && is_known(analysis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use howlate_model::{Condition, Load, Task, Wait, Work};

    /// Plans one turn of each of `conditions`, which differ in their period.
    fn made(conditions: u64) -> impl Fn(ConditionShare) -> Result<Plan, GoalError> {
        move |share| {
            let work = |millis: u64| Work::Cyclic {
                mechanism: Wait::ClockNanosleep,
                period_ns: Span::from_millis(millis),
            };
            let turn = |number: u64| Turn {
                tasks: vec![Task::new(work(1 + number))],
                load: Load::IDLE,
                duration: Some(share.duration),
                cut_after: None,
                estimate: share.duration,
            };
            Ok(Plan {
                conditions: (0..conditions).map(|number| Condition::new(work(1 + number), "6.1.0")).collect(),
                turns: (0..conditions * u64::from(share.rounds))
                    .map(|turn_number| turn(turn_number % conditions))
                    .collect(),
                left_out: Vec::new(),
            })
        }
    }

    fn goal(figure: &str, hours: u64) -> Goal {
        Goal { figure: figure.parse().unwrap(), at_most: Span::from_secs(3_600 * hours) }
    }

    #[test]
    fn one_condition_has_one_long_turn_and_several_take_turns() {
        let hourly = goal("max<100us: 1 per hour", 8);
        assert_eq!(hourly.plan(false, made(1)).unwrap().turns.len(), 1);
        assert_eq!(hourly.plan(true, made(1)).unwrap().turns.len(), 2_880);
        // Four hours of each, ten seconds at a time.
        assert_eq!(hourly.plan(false, made(2)).unwrap().turns.len(), 2 * 1_440);
        let compared = goal("compare decided", 1);
        assert_eq!(compared.plan(false, made(2)).unwrap().turns.len(), 2 * 1_800);
    }

    #[test]
    fn what_is_asked_of_a_watched_program() {
        let hourly = goal("max<1ms: 1 per hour", 8).of_watched().unwrap();
        assert_eq!((hourly.0.as_nanos() / 60_000_000_000, hourly.1), (215, None));
        assert_eq!(goal("p99.9 ±5%", 1).of_watched().unwrap().1, Some(75_001));
        let refused = |figure: &str| goal(figure, 1).of_watched().unwrap_err().to_string();
        assert!(refused("compare decided").contains("watched as it is"));
        assert!(refused("p50 ±1%").contains("±2 %"));
    }

    #[test]
    fn what_cannot_be_known_is_refused_with_what_it_takes() {
        let refused = |figure: &str, hours: u64, conditions: u64| {
            goal(figure, hours).plan(false, made(conditions)).unwrap_err().to_string()
        };
        let hourly = "max<100us: 1 per hour";
        let rare = "p99.999 ±5%";
        assert!(refused(rare, 1, 1).contains("at least 2 h 05 min, and the run may take 1 h 00 min"));
        assert!(refused(rare, 6, 2).contains("at least 6 h 15 min"));
        assert!(goal(hourly, 3).plan(false, made(1)).is_ok(), "it may be refuted");
        assert!(refused("max<100us: 10 per second", 8, 1).contains("one in 20.0 s"));
        assert!(refused("p50 ±1%", 8, 1).contains("±2 %"));
        assert!(refused("compare decided", 8, 3).contains("this run has 3"));
        // 75 001 wake-ups of a millisecond, and of two.
        assert!(
            goal("p99.9 ±5%", 1)
                .least(&made(2)(ConditionShare { duration: Span::ZERO, rounds: 1 }).unwrap())
                .unwrap()
                == Span::from_millis(225_003)
        );
    }
}
