//! What comes back: a period in which the latest wake-ups come, and who takes the time then.
//!
//! The times at which late wake-ups ran are tested against a grid of periods and against those that machines are known for. What is
//! seen in turns only, or comes in bursts, has some rhythm by itself; that is taken off, and what is left is held against chance,
//! corrected for every period that was tried.

mod culprit;
mod known_periods;
mod late_marks;
mod rayleigh;
mod scan;
mod spectrum;
mod watched;

use howlate_model::{Latency, MonotonicTime, Span, System};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Outcome;
pub use culprit::RecurringCause;
pub use known_periods::{KnownPeriod, Periodic};
pub(crate) use late_marks::LateMarks;
use scan::{Question, Rhythm, rhythm};
use watched::Watched;

/// So many of the latest are looked at, each time for itself.
const LEVELS: [usize; 3] = [30, 200, 1_500];
/// The shortest period of a loop is so many times its own: shorter ones look like others.
const OWN_PERIODS: u64 = 2;
/// Of so many wake-ups one may be among the latest: the rhythm of all of them is the thread's own.
const ONE_IN: u64 = 10;
/// A late wake-up is twice as late as the median, and so many nanoseconds later at least.
const MATTERS: i64 = 5_000;
/// How often chance alone may be taken for a rhythm: of wake-ups in general, in each of many conditions, and of what has a name,
/// where each time is one of it.
const OF_WAKE_UPS: f64 = 0.001;
const OF_THE_NAMED: f64 = 0.01;
/// Nothing comes back faster, as far as anybody knows.
const SHORTEST: Span = Span::from_millis(1);

/// Late wake-ups of a condition that come back.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Recurrence {
    /// The condition, by index in the recording's header.
    pub condition: u32,
    /// In which rhythm.
    #[serde(flatten)]
    pub rhythm: Rhythmic,
    /// When one is due, on `CLOCK_MONOTONIC`, after a whole number of periods.
    #[serde(rename = "phase_ns")]
    pub phase: Span,
    /// Whether it might as well be a shorter period, because a loop whose own period is always the same sees both alike.
    pub may_be_shorter: bool,
    /// What took most of those of which that is known; null where nothing was traced, or it differs.
    pub culprit: Option<RecurringCause>,
    /// What is known to come with this period; empty where something took the time that is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<KnownPeriod>,
    /// When the latest ran, in periods since the first one was due, and whether each is of the rhythm; for a picture.
    #[serde(skip)]
    pub seen: Vec<(f64, bool)>,
}

/// What comes back in conditions of this machine, each with its index, the most certain first.
pub(crate) fn recurrences<'a>(
    conditions: impl Iterator<Item = (u32, &'a Outcome)>,
    system: &System,
) -> Vec<Recurrence> {
    let known = known_periods::of_machine(system);
    let mut all: Vec<Recurrence> =
        conditions.filter_map(|(index, outcome)| of_outcome(outcome, index, &known)).collect();
    all.sort_by(|one, other| one.rhythm.p.total_cmp(&other.rhythm.p));
    all
}

fn of_outcome(outcome: &Outcome, condition: u32, known: &[KnownPeriod]) -> Option<Recurrence> {
    let marks = outcome.late_marks();
    let (mut latest, watched) = (marks.latest(), Watched::new(marks.stretches().into_iter())?);
    latest.truncate(usize::try_from(outcome.count() / ONE_IN).unwrap_or(usize::MAX));
    latest.retain(|mark| mark.late >= much_later_than_usual(outcome));
    let shortest = SHORTEST.as_nanos().max(own_period(outcome, &watched).saturating_mul(OWN_PERIODS));
    let shortest = shortest as f64;
    let periods: Vec<f64> = known.iter().map(|one| one.period.as_nanos() as f64).collect();
    // Where there are fewer than a level, all of them: what is left out might tell a period from its fractions.
    let mut levels: Vec<usize> = LEVELS.iter().map(|level| (*level).min(latest.len())).collect();
    levels.dedup();
    let of_level = |level: usize| {
        let times = watched.apart(latest.iter().take(level).map(|mark| mark.ran), shortest);
        let asked = Question { shortest, known: &periods, tries: levels.len(), false_alarms: OF_WAKE_UPS };
        let found = rhythm(&times, &watched, asked)?;
        Some((found, times))
    };
    let all = levels.iter().filter_map(|level| of_level(*level));
    let (found, times) = all.min_by(|one, other| one.0.p.total_cmp(&other.0.p))?;
    let culprit = culprit::of(&latest, marks, |mark| found.has(watched.since_begin(mark.ran)));
    Some(Recurrence {
        condition,
        rhythm: Rhythmic::new(&found, &times),
        phase: span((watched.began() + found.phase).rem_euclid(found.period)),
        may_be_shorter: outcome.condition.work.period().is_some() && !outcome.condition.dithered,
        candidates: if culprit.is_some() {
            Vec::new()
        } else {
            known_periods::near(known, found.period, outcome.policy_in_force())
        },
        culprit,
        seen: seen(&times, &found),
    })
}

/// Times that come back.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Rhythmic {
    /// How long it takes until they come again.
    #[serde(rename = "period_ns")]
    pub period: Span,
    /// How probable it is that chance alone has such a rhythm, corrected for all that were tried.
    pub p: f64,
    /// How many of them are at most a tenth of the period from when one is due.
    pub members: usize,
    /// Of how many; such that follow each other closely count once.
    pub of: usize,
}

/// The rhythm of `times`, which were looked for in `stretches`, where its period is at least the shortest; `tries`: how many such
/// questions are asked. `known` periods take less to be seen.
pub(crate) fn rhythmic(
    times: Vec<i64>,
    stretches: &[(MonotonicTime, MonotonicTime)],
    (shortest, known): (Span, &[Span]),
    tries: usize,
) -> Option<Rhythmic> {
    let stretches = stretches.iter().map(|(from, until)| (from.as_nanos(), until.as_nanos()));
    let (watched, shortest) = (Watched::new(stretches)?, shortest.as_nanos() as f64);
    let known: Vec<f64> = known.iter().map(|one| one.as_nanos() as f64).collect();
    let times = watched.apart(times.into_iter(), shortest);
    let asked = Question { shortest, known: &known, tries, false_alarms: OF_THE_NAMED };
    let found = rhythm(&times, &watched, asked)?;
    Some(Rhythmic::new(&found, &times))
}

impl Rhythmic {
    fn new(found: &Rhythm, times: &[f64]) -> Self {
        let members = times.iter().filter(|time| found.has(**time)).count();
        Self { period: span(found.period), p: three_digits(found.p), members, of: times.len() }
    }
}

/// More of a probability than that is of the processor's sines.
fn three_digits(p: f64) -> f64 {
    format!("{p:.2e}").parse().unwrap_or(p)
}

/// Of wake-ups that are all alike some are the latest, and nobody needs to know in which rhythm.
fn much_later_than_usual(outcome: &Outcome) -> i64 {
    let usual = outcome.latency().median().map_or(0, Latency::as_nanos);
    usual.saturating_add(usual.max(MATTERS))
}

/// From one wake-up to the next, in nanoseconds: as asked for, or as they come.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be positive")]
fn own_period(outcome: &Outcome, watched: &Watched) -> u64 {
    let come = (watched.watched / outcome.count().max(1) as f64).max(0.0) as u64;
    outcome.condition.work.length().as_nanos().max(come)
}

fn seen(times: &[f64], found: &Rhythm) -> Vec<(f64, bool)> {
    times.iter().map(|time| ((time - found.phase) / found.period, found.has(*time))).collect()
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be positive")]
const fn span(nanos: f64) -> Span {
    Span::from_nanos(nanos.max(0.0).round() as u64)
}

#[cfg(test)]
mod tests {
    use howlate_model::{
        Block, Cause, CauseBlock, CauseKind, Distribution, Ledger, Line, Part, Segment, Wait,
        WakeupBreakdown, Work, WorstWakeup,
    };

    use super::*;
    use crate::testing::analysis_of;

    const CYCLIC: Work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };
    const SECOND: i64 = 1_000_000_000;
    /// From one late wake-up to the next.
    const EVERY: i64 = 142_857_143;

    /// A second in which everything is late that is due; the others are by a microsecond.
    fn block(number: i64) -> Line {
        let (from, until) = (number * SECOND, (number + 1) * SECOND);
        let mut latency = Distribution::default();
        (0..1_000).for_each(|_| latency.record(Latency::from_nanos(1_000)));
        let due = (1..).map(|cycle| cycle * EVERY).skip_while(|at| *at < from).take_while(|at| *at < until);
        let late = |(ran, late)| WorstWakeup {
            at: MonotonicTime::from_nanos(ran),
            latency: Latency::from_nanos(late),
        };
        let usual = (0..3).map(|place| (from + place * 310_000_017 + 5, 1_000));
        let worst = due.map(|at| (at, 3_000_000)).chain(usual).map(late).collect();
        let at = MonotonicTime::from_nanos;
        Line::Block(Box::new(Block { from: at(from), until: at(until), latency, worst, ..Block::default() }))
    }

    /// The same of a traced turn, in which `hog` had the CPU.
    fn traced(number: i64) -> Line {
        let Line::Block(block) = block(number) else { unreachable!() };
        let mut ledger = Ledger::default();
        for one in block.worst.iter().filter(|one| one.latency.as_nanos() > 1_000) {
            let cause = Cause::new(Part::Waiting, CauseKind::Thread, "hog".to_owned());
            let length = Span::from_nanos(one.latency.as_nanos().unsigned_abs());
            let part = Segment::new(cause, Some(7), one.at.minus(length), length);
            ledger.add(&WakeupBreakdown {
                at: one.at,
                latency: one.latency,
                cpu: Some(1),
                parts: vec![part],
            });
        }
        let (condition, round, beside, tracer) = (0, 1, 0, "bpf".to_owned());
        Line::Why(Box::new(CauseBlock {
            condition,
            round,
            beside,
            from: block.from,
            until: block.until,
            tracer,
            ledger,
        }))
    }

    fn found(lines: impl Iterator<Item = Line>) -> Vec<Recurrence> {
        let mut analysis = analysis_of(&[CYCLIC]);
        lines.for_each(|line| analysis.add(&line));
        analysis.recurrences().to_vec()
    }

    #[test]
    fn what_was_looked_for_is_looked_for_again_only_after_another_line() {
        let mut analysis = analysis_of(&[CYCLIC]);
        (0..30).for_each(|number| analysis.add(&block(number)));
        let before = analysis.recurrences().to_vec();
        assert!(std::ptr::eq(analysis.recurrences(), analysis.recurrences()) && before.len() == 1);
        (30..90).for_each(|number| analysis.add(&block(number)));
        assert!(analysis.recurrences()[0].rhythm.members > before[0].rhythm.members);
    }

    #[test]
    fn what_comes_back_is_found_with_who_took_the_time() {
        let all = found((0..30).map(|number| if number % 3 == 2 { traced(number) } else { block(number) }));
        let [one] = all.as_slice() else { panic!("{all:?}") };
        assert!((one.rhythm.period.as_nanos() as f64 / EVERY as f64 - 1.0).abs() < 1e-4, "{one:?}");
        assert!(one.rhythm.p < 1e-20 && one.rhythm.members >= 200 && one.may_be_shorter, "{one:?}");
        let culprit = one.culprit.as_ref().unwrap();
        assert!(
            culprit.cause.name == "hog" && culprit.took == culprit.known && culprit.known >= 60,
            "{culprit:?}"
        );
        assert!(one.candidates.is_empty());
    }

    /// All wake-ups of a thread have its own rhythm, and nothing makes some of them late in it.
    #[test]
    fn the_threads_own_rhythm_is_not_told() {
        let few = |line: Line| match line {
            Line::Block(mut block) => {
                block.latency = Distribution::default();
                block.worst.iter().for_each(|one| block.latency.record(one.latency));
                Line::Block(block)
            }
            other => other,
        };
        assert!(found((0..30).map(block).map(few)).is_empty());
    }

    /// The latest of many that are alike come in a rhythm too: the clock's, or the tick's.
    #[test]
    fn what_is_hardly_later_than_usual_is_not_told() {
        let hardly = |line: Line| match line {
            Line::Block(mut block) => {
                block
                    .worst
                    .iter_mut()
                    .for_each(|one| one.latency = one.latency.min(Latency::from_nanos(5_900)));
                Line::Block(block)
            }
            other => other,
        };
        assert!(found((0..30).map(block).map(hardly)).is_empty());
    }

    #[test]
    fn without_traces_nobody_is_named() {
        let all = found((0..30).map(block));
        assert_eq!(all.iter().map(|one| one.culprit.as_ref()).collect::<Vec<_>>(), [None]);
        assert!(found(std::iter::empty()).is_empty());
    }
}
