//! Periodic lateness: a period in which the wake-ups with the largest latencies come, and their cause.
//!
//! The times at which late wake-ups ran are tested against a grid of periods and against known periods of Linux. Turns and bursts
//! have some rhythm by themselves; that is subtracted, and the rest is tested against chance, corrected for every period that was
//! tried.

mod known_periods;
mod late_marks;
mod measured_time;
mod rayleigh;
mod scan;
mod spectrum;

use howlate_model::{Latency, MonotonicTime, Span, System};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Outcome;
pub use known_periods::{KnownPeriod, Periodic};
pub(crate) use late_marks::LateMarks;
pub use late_marks::RecurringCause;
use measured_time::MeasuredTime;
use scan::{FoundRhythm, Search, find_rhythm};

/// How many of the largest latencies are searched, each number by itself.
const LEVELS: [usize; 3] = [30, 200, 1_500];
/// The shortest period searched, in periods of the loop: shorter ones are aliases of others.
const OWN_PERIODS: u64 = 2;
/// At most one in this many wake-ups counts as late: the rhythm of all of them is the thread's own.
const ONE_IN: u64 = 10;
/// A late wake-up is twice as late as the median, and at least this many nanoseconds later.
const LEAST_EXCESS: i64 = 5_000;
/// Probability of a false alarm: for wake-ups, in each of many conditions, and for incidents with a name, all of which are of one
/// kind.
const FALSE_ALARMS_OF_WAKEUPS: f64 = 0.001;
const FALSE_ALARMS_OF_INCIDENTS: f64 = 0.01;
/// Shortest period searched: no known activity recurs faster.
const SHORTEST: Span = Span::from_millis(1);

/// Late wake-ups of a condition that come back.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Recurrence {
    /// The condition, by index in the recording's header.
    pub condition: u32,
    /// In which rhythm.
    #[serde(flatten)]
    pub rhythm: PeriodicTimes,
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

/// Periodic lateness in conditions of this machine, each with its index, the most certain first.
pub(crate) fn recurrences<'a>(
    conditions: impl Iterator<Item = (u32, &'a Outcome)>,
    system: &System,
) -> Vec<Recurrence> {
    let known = known_periods::periods_of(system);
    let mut all: Vec<Recurrence> =
        conditions.filter_map(|(index, outcome)| find_recurrence(outcome, index, &known)).collect();
    all.sort_by(|left, right| left.rhythm.p.total_cmp(&right.rhythm.p));
    all
}

fn find_recurrence(outcome: &Outcome, condition: u32, known: &[KnownPeriod]) -> Option<Recurrence> {
    let marks = outcome.late_marks();
    let (mut marks_by_latency, measured) =
        (marks.largest_first(), MeasuredTime::new(marks.intervals().into_iter())?);
    marks_by_latency.truncate(usize::try_from(outcome.count() / ONE_IN).unwrap_or(usize::MAX));
    marks_by_latency.retain(|mark| mark.late >= least_late(outcome));
    let shortest = SHORTEST.as_nanos().max(own_period(outcome, &measured).saturating_mul(OWN_PERIODS));
    let shortest = shortest as f64;
    let periods: Vec<f64> = known.iter().map(|period| period.period.as_nanos() as f64).collect();
    // With fewer marks than a level, all of them: left-out ones might tell a period from its fractions.
    let mut levels: Vec<usize> = LEVELS.iter().map(|level| (*level).min(marks_by_latency.len())).collect();
    levels.dedup();
    let search_level = |level: usize| {
        let times =
            measured.distinct_times(marks_by_latency.iter().take(level).map(|mark| mark.ran), shortest);
        let search = Search {
            shortest,
            known: &periods,
            tries: levels.len() as f64,
            false_alarms: FALSE_ALARMS_OF_WAKEUPS,
        };
        let found = find_rhythm(&times, &measured, search)?;
        Some((found, times))
    };
    let all = levels.iter().filter_map(|level| search_level(*level));
    let (found, times) = all.min_by(|left, right| left.0.p.total_cmp(&right.0.p))?;
    let culprit = late_marks::recurring_cause(&marks_by_latency, marks, |mark| {
        found.is_member(measured.since_begin(mark.ran))
    });
    Some(Recurrence {
        condition,
        rhythm: PeriodicTimes::new(&found, &times, &measured),
        phase: span((measured.begin() + found.phase).rem_euclid(found.period)),
        may_be_shorter: outcome.condition.work.period().is_some() && !outcome.condition.dithered,
        candidates: if culprit.is_some() {
            Vec::new()
        } else {
            known_periods::near(known, found.period, outcome.policy_in_force())
        },
        culprit,
        seen: relative_times(&times, &found),
    })
}

/// Times that come back.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Rhythmic")]
pub struct PeriodicTimes {
    /// How long it takes until they come again.
    #[serde(rename = "period_ns")]
    pub period: Span,
    /// How far off that may be: twice its standard error.
    #[serde(rename = "period_error_ns")]
    pub error: Span,
    /// Whether it might as well be a multiple: too few are in the rhythm, beside the others, to tell.
    pub may_be_multiple: bool,
    /// How probable it is that chance alone has such a rhythm, corrected for all that were tried.
    pub p: f64,
    /// How many of them are at most a tenth of the period from when one is due.
    pub members: usize,
    /// Of how many; such that follow each other closely count once.
    pub of: usize,
}

/// The rhythm of `times`, which can only have been seen in `intervals`, with a period of at least `shortest`; `tries` is the number of
/// such searches. `known` periods need less evidence.
pub(crate) fn periodic_times(
    times: Vec<i64>,
    intervals: &[(MonotonicTime, MonotonicTime)],
    (shortest, known): (Span, &[Span]),
    tries: f64,
) -> Option<PeriodicTimes> {
    let intervals = intervals.iter().map(|(from, until)| (from.as_nanos(), until.as_nanos()));
    let (measured, shortest) = (MeasuredTime::new(intervals)?, shortest.as_nanos() as f64);
    let known: Vec<f64> = known.iter().map(|period| period.as_nanos() as f64).collect();
    let times = measured.distinct_times(times.into_iter(), shortest);
    let search = Search { shortest, known: &known, tries, false_alarms: FALSE_ALARMS_OF_INCIDENTS };
    let found = find_rhythm(&times, &measured, search)?;
    Some(PeriodicTimes::new(&found, &times, &measured))
}

impl PeriodicTimes {
    fn new(found: &FoundRhythm, times: &[f64], measured: &MeasuredTime) -> Self {
        let members = times.iter().filter(|time| found.is_member(**time)).count();
        let (period, error) = (span(found.period), span(2.0 * found.error));
        let may_be_multiple = found.may_be_multiple(times, measured);
        Self { period, error, may_be_multiple, p: three_digits(found.p), members, of: times.len() }
    }
}

/// Rounds a probability to three digits: further ones depend on the processor's sine function.
fn three_digits(p: f64) -> f64 {
    format!("{p:.2e}").parse().unwrap_or(p)
}

/// The least latency of a late wake-up: if all are alike, some are the latest by chance, and their rhythm does not matter.
fn least_late(outcome: &Outcome) -> i64 {
    let usual = outcome.latency().median().map_or(0, Latency::as_nanos);
    usual.saturating_add(usual.max(LEAST_EXCESS))
}

/// From one wake-up to the next, in nanoseconds: the requested period or the mean one, whichever is longer.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be positive")]
fn own_period(outcome: &Outcome, measured: &MeasuredTime) -> u64 {
    let mean_period = (measured.total / outcome.count().max(1) as f64).max(0.0) as u64;
    outcome.condition.work.length().as_nanos().max(mean_period)
}

fn relative_times(times: &[f64], found: &FoundRhythm) -> Vec<(f64, bool)> {
    times.iter().map(|time| ((time - found.phase) / found.period, found.is_member(*time))).collect()
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

    /// A second in which all wake-ups that are due at multiples of `EVERY` are late; others by a microsecond.
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

    /// The block of a traced turn, in which `hog` had the CPU.
    fn traced(number: i64) -> Line {
        let Line::Block(block) = block(number) else { unreachable!() };
        let mut ledger = Ledger::default();
        for wakeup in block.worst.iter().filter(|wakeup| wakeup.latency.as_nanos() > 1_000) {
            let cause = Cause::new(Part::Waiting, CauseKind::Thread, "hog".to_owned());
            let length = Span::from_nanos(wakeup.latency.as_nanos().unsigned_abs());
            let part = Segment::new(cause, Some(7), wakeup.at.minus(length), length);
            ledger.add(&WakeupBreakdown {
                at: wakeup.at,
                latency: wakeup.latency,
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
        let [recurrence] = all.as_slice() else { panic!("{all:?}") };
        assert!(
            (recurrence.rhythm.period.as_nanos() as f64 / EVERY as f64 - 1.0).abs() < 1e-4,
            "{recurrence:?}"
        );
        assert!(
            recurrence.rhythm.p < 1e-20 && recurrence.rhythm.members >= 200 && recurrence.may_be_shorter,
            "{recurrence:?}"
        );
        let culprit = recurrence.culprit.as_ref().unwrap();
        assert!(
            culprit.cause.name == "hog" && culprit.took == culprit.known && culprit.known >= 60,
            "{culprit:?}"
        );
        assert!(recurrence.candidates.is_empty());
    }

    /// All wake-ups of a thread have its own rhythm, and nothing makes some of them late in it.
    #[test]
    fn the_threads_own_rhythm_is_not_told() {
        let few = |line: Line| match line {
            Line::Block(mut block) => {
                block.latency = Distribution::default();
                block.worst.iter().for_each(|wakeup| block.latency.record(wakeup.latency));
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
                    .for_each(|wakeup| wakeup.latency = wakeup.latency.min(Latency::from_nanos(5_900)));
                Line::Block(block)
            }
            other => other,
        };
        assert!(found((0..30).map(block).map(hardly)).is_empty());
    }

    #[test]
    fn without_traces_nobody_is_named() {
        let all = found((0..30).map(block));
        assert_eq!(all.iter().map(|recurrence| recurrence.culprit.as_ref()).collect::<Vec<_>>(), [None]);
        assert!(found(std::iter::empty()).is_empty());
    }
}
