//! Runs that go on until something is known: how their turns are planned, and when they end.

use howlate_analyse::sequential::{Decision, Unreachable, least_pairs, least_time, progress_of, run_lengths};
use howlate_analyse::{Analysis, per_loop};
use howlate_model::{Header, Span, StopRule, Turn};
use howlate_plan::Plan;

/// What a run goes on until, and for how long at most.
#[derive(Clone, Copy, Debug)]
pub struct Goal {
    /// What is to be known.
    pub figure: StopRule,
    /// When it ends otherwise.
    pub at_most: Span,
}

/// How much of each condition a plan is to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Time of each condition.
    pub duration: Span,
    /// Turns of each.
    pub rounds: u32,
}

/// A turn where conditions take turns: long enough to be undisturbed by its beginning, short enough to end soon after all is known.
const TURN: Span = Span::from_secs(10);
/// The same of two that are compared: what counts are the turns.
const COMPARED_TURN: Span = Span::from_secs(1);

/// Why a run cannot go on until what was asked for.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NotUntil {
    /// It takes longer than it may.
    #[error("`{figure}` takes at least {}, and the run may take {}", howlate_render::numbers::rough(*.needs), howlate_render::numbers::rough(*.at_most))]
    TooLong {
        /// What is to be known.
        figure: StopRule,
        /// How long that takes at least.
        needs: Span,
        /// How long the run may take.
        at_most: Span,
    },
    /// Events that may come this often are not told apart.
    #[error("`{figure}` cannot be counted: late wake-ups that come together count once, and one in {} is the most that can be told apart", howlate_render::numbers::rough(*.least))]
    TooOften {
        /// What is to be known.
        figure: StopRule,
        /// The shortest time in which one may be allowed.
        least: Span,
    },
    /// Latencies are not told apart as well as that.
    #[error("`{figure}` cannot be reached: latencies are told apart to 1 %, and their intervals to ±{} %", .least * 100.0)]
    TooFine {
        /// What is to be known.
        figure: StopRule,
        /// The smallest share.
        least: f64,
    },
    /// A program is watched as it is.
    #[error("`{}` is about two conditions, and a program is watched as it is", StopRule::Compared)]
    Watched,
    /// There are not two conditions.
    #[error("`{}` is about two conditions; this run has {found}", StopRule::Compared)]
    NotTwo {
        /// How many there are.
        found: usize,
    },
}

impl NotUntil {
    /// What to do.
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

    /// Where no time is enough.
    pub const fn unreachable(figure: StopRule, reason: Unreachable) -> Self {
        match reason {
            Unreachable::TooOften { least } => Self::TooOften { figure, least },
            Unreachable::TooFine { least } => Self::TooFine { figure, least },
        }
    }
}

impl Goal {
    /// The plan that `make` makes of a share of time for each condition: in one turn where there is one condition, and else in
    /// turns, as `in_turns` asks for.
    ///
    /// # Errors
    ///
    /// When it cannot be known, or not in that time; what `make` returns.
    pub fn plan<E: From<NotUntil>>(
        self,
        in_turns: bool,
        make: impl Fn(Share) -> Result<Plan, E>,
    ) -> Result<Plan, E> {
        let whole = make(Share { duration: self.at_most, rounds: 1 })?;
        self.check(&whole)?;
        let groups = whole.turns.len() as u64;
        if groups == 1 && !in_turns {
            return Ok(whole);
        }
        let duration = Span::from_nanos(self.at_most.as_nanos() / groups.max(1));
        let rounds = u32::try_from(duration.as_nanos() / self.turn().as_nanos()).unwrap_or(u32::MAX).max(1);
        make(Share { duration, rounds })
    }

    /// How long a program must be watched at least, and how many wake-ups of each thread that takes, where these count.
    ///
    /// # Errors
    ///
    /// When no time is enough, or more than there is.
    pub fn of_watched(self) -> Result<(Span, Option<u64>), NotUntil> {
        let Self { figure, at_most } = self;
        if figure == StopRule::Compared {
            return Err(NotUntil::Watched);
        }
        // How often its threads wake is not known yet.
        let lengths = run_lengths(figure, Span::from_nanos(1));
        let lengths = lengths.map_err(|reason| NotUntil::unreachable(figure, reason))?;
        match lengths.least > at_most && figure.interval().is_none() {
            true => Err(NotUntil::TooLong { figure, needs: lengths.least, at_most }),
            false => Ok((lengths.least, lengths.wakeups)),
        }
    }

    const fn turn(self) -> Span {
        match self.figure {
            StopRule::Compared => COMPARED_TURN,
            StopRule::Known { .. } | StopRule::Rare { .. } => TURN,
        }
    }

    /// How long a run whose conditions have one turn each in `plan` takes at least.
    ///
    /// # Errors
    ///
    /// When no time is enough.
    pub fn least(self, plan: &Plan) -> Result<Span, NotUntil> {
        let figure = self.figure;
        if figure == StopRule::Compared {
            let analysis = Analysis::new(Header::for_conditions(plan.conditions.clone()));
            let found = per_loop(&analysis).len();
            let of_both = COMPARED_TURN.times(2 * least_pairs());
            return if found == 2 { Ok(of_both) } else { Err(NotUntil::NotTwo { found }) };
        }
        let longest =
            |turn: &Turn| turn.tasks.iter().map(|task| task.work.length()).max().unwrap_or_default();
        let of_turn = |turn: &Turn| {
            least_time(figure, longest(turn)).map_err(|reason| NotUntil::unreachable(figure, reason))
        };
        let times: Result<Vec<Span>, NotUntil> = plan.turns.iter().map(of_turn).collect();
        Ok(times?.into_iter().fold(Span::ZERO, Span::plus))
    }

    fn check(self, plan: &Plan) -> Result<(), NotUntil> {
        let Self { figure, at_most } = self;
        let needs = self.least(plan)?;
        // A limit can be refuted long before it could hold.
        if needs > at_most && figure.interval().is_none() {
            Err(NotUntil::TooLong { figure, needs, at_most })
        } else {
            Ok(())
        }
    }
}

/// Whether all is known that the run goes on until.
pub fn is_known(analysis: &Analysis) -> bool {
    progress_of(analysis).is_some_and(|found| found.decision != Decision::Undecided)
}

/// The same while a turn goes on, which says nothing of two that are compared turn by turn.
pub(crate) fn is_known_within_a_turn(analysis: &Analysis) -> bool {
    analysis.header.until != Some(StopRule::Compared) && is_known(analysis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use howlate_model::{Condition, Load, Task, Wait, Work};

    /// One turn of each of so many conditions, which differ in their period.
    fn made(conditions: u64) -> impl Fn(Share) -> Result<Plan, NotUntil> {
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
            goal("p99.9 ±5%", 1).least(&made(2)(Share { duration: Span::ZERO, rounds: 1 }).unwrap()).unwrap()
                == Span::from_millis(225_003)
        );
    }
}
