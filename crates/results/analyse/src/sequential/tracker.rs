//! Tracks the progress of one condition of a run with a stop rule, block by block.

use howlate_model::{Block, Margin, Span, StopRule};

use super::decisive;
use super::exceedances::{Exceedances, spell};
use super::looks::Looks;
use super::progress::{Decision, DecisionInterval, IntervalUnit, Progress};
use super::rate::{EventCount, TO_HOLD, TO_REFUTE, time_to_hold};
use crate::BlockNumbers;

const HOUR_NS: f64 = 3.6e12;

/// The tracker of one condition.
#[derive(Clone, Debug)]
pub(crate) struct Tracker {
    figure: StopRule,
    covered: Span,
    figure_tracker: FigureTracker,
}

#[derive(Clone, Debug)]
enum FigureTracker {
    Percentile(Looks),
    Rate(Box<RateTracker>),
}

impl Tracker {
    /// `conditions` is the number of conditions that share the probability of a wrong decision. `None` if the stop rule is
    /// about comparisons.
    pub(crate) fn begin(figure: StopRule, conditions: usize) -> Option<Self> {
        let figure_tracker = match figure {
            StopRule::Known { percent, within } => {
                FigureTracker::Percentile(Looks::until(percent / 100.0, within))
            }
            StopRule::Rare { limit, .. } => {
                FigureTracker::Rate(Box::new(RateTracker::begin(limit, figure.interval()?, conditions)))
            }
            StopRule::Compared => return None,
        };
        Some(Self { figure, covered: Span::ZERO, figure_tracker })
    }

    /// Adds the next block. `wakeups` is the number of planned wake-ups so far, with this block's; `numbers` are their
    /// statistics.
    pub(crate) fn add_block<'a>(
        &mut self,
        block: &Block,
        wakeups: u64,
        numbers: impl FnOnce() -> BlockNumbers<'a>,
    ) {
        self.covered = self.covered.plus(block.until.since(block.from));
        match &mut self.figure_tracker {
            FigureTracker::Percentile(looks) => looks.look(wakeups, numbers),
            FigureTracker::Rate(rate) => rate.add_block(block),
        }
    }

    /// The measured time.
    pub(crate) const fn covered(&self) -> Span {
        self.covered
    }

    /// Adds the progress of another tracker for the same time.
    pub(crate) fn join(&mut self, other: &Self) {
        self.covered = self.covered.max(other.covered);
        if let (FigureTracker::Rate(rate), FigureTracker::Rate(other)) =
            (&mut self.figure_tracker, &other.figure_tracker)
        {
            rate.join(other);
        }
    }

    /// The progress so far.
    pub(crate) fn progress(&self) -> Progress {
        let start = Progress { covered: self.covered, ..Progress::none(self.figure) };
        match &self.figure_tracker {
            FigureTracker::Percentile(looks) => percentile_progress(looks, start),
            FigureTracker::Rate(rate) => rate.progress(start),
        }
    }
}

fn percentile_progress(looks: &Looks, start: Progress) -> Progress {
    let reached = looks.reached();
    let interval = looks.interval.map(|interval| DecisionInterval {
        low: interval.low.as_nanos() as f64,
        high: Some(interval.high.as_nanos() as f64),
        unit: IntervalUnit::Ns,
    });
    // Intervals become narrower as the square root of time.
    let factor = looks.relative_width().map(|share| (share * share).max(1.5));
    Progress {
        decision: if reached { Decision::Reached } else { Decision::Undecided },
        interval,
        looked: looks.taken,
        needs_about: factor.filter(|_| !reached).map(|factor| times_span(start.covered, factor)),
        ..start
    }
}

/// Tracks how often a limit is exceeded.
#[derive(Clone, Debug)]
struct RateTracker {
    late: Exceedances,
    /// The time in which one event is allowed.
    interval: Span,
    looked: u64,
    decision: Decision,
    /// The evidence from which on the limit is broken: higher with more conditions, any of which may break it by chance.
    breaks_at: f64,
}

impl RateTracker {
    fn begin(limit: Span, interval: Span, conditions: usize) -> Self {
        Self {
            late: Exceedances::later_than(limit, spell(interval)),
            interval,
            looked: 0,
            decision: Decision::Undecided,
            breaks_at: decisive() + (conditions.max(1) as f64).ln(),
        }
    }

    /// `events` in the measured time, in units of the time in which one event is allowed.
    fn count(&self, events: u64) -> EventCount {
        EventCount { events, time: self.late.covered.as_nanos() as f64 / self.interval.as_nanos() as f64 }
    }

    /// The most events that may have occurred: those seen, and those hidden.
    const fn most_events(&self) -> u64 {
        self.late.seen.saturating_add(self.late.hidden)
    }

    fn add_block(&mut self, block: &Block) {
        if self.decision != Decision::Undecided {
            return;
        }
        self.late.add(block);
        self.looked += 1;
        self.decide();
    }

    /// Adds the events of another tracker, in the longer of their times. A limit that one of them refutes is refuted;
    /// events of both in one spell do not refute it sooner.
    fn join(&mut self, other: &Self) {
        if self.decision == Decision::Refuted {
            return;
        }
        if other.decision == Decision::Refuted {
            *self = other.clone();
            return;
        }
        self.late.seen = self.late.seen.saturating_add(other.late.seen);
        self.late.hidden = self.late.hidden.saturating_add(other.late.hidden);
        self.late.covered = self.late.covered.max(other.late.covered);
        self.looked = self.looked.max(other.looked);
        self.decision = if self.holds() { Decision::Holds } else { Decision::Undecided };
    }

    fn holds(&self) -> bool {
        // Unseen wake-ups count as late.
        self.count(self.most_events()).evidence_below_one(TO_HOLD) >= decisive()
    }

    fn decide(&mut self) {
        // Unseen wake-ups do not count as late.
        if self.holds() {
            self.decision = Decision::Holds;
        } else if self.count(self.late.seen).evidence_above_one(TO_REFUTE) >= self.breaks_at {
            self.decision = Decision::Refuted;
        }
    }

    fn progress(&self, start: Progress) -> Progress {
        let per_hour = |rate: f64| rate * HOUR_NS / self.interval.as_nanos() as f64;
        let interval = self.bounds().map(|(low, high)| DecisionInterval {
            low: per_hour(low),
            high: high.map(per_hour),
            unit: IntervalUnit::PerHour,
        });
        let needs_about = (self.decision == Decision::Undecided).then(|| self.needs_about()).flatten();
        Progress {
            decision: self.decision,
            interval,
            looked: self.looked,
            covered: self.late.covered,
            events: Some(self.late.seen),
            spell: Some(spell(self.interval)),
            needs_about: needs_about.map(|units| times_span(self.interval, units)),
            ..start
        }
    }

    /// Lower and upper bound of the rate; a decision is about one of them.
    fn bounds(&self) -> Option<(f64, Option<f64>)> {
        let (seen, most) = (self.count(self.late.seen), self.count(self.most_events()));
        match self.decision {
            Decision::Holds => Some((0.0, Some(most.at_most(TO_HOLD, decisive())))),
            Decision::Refuted => Some((seen.at_least(TO_REFUTE, self.breaks_at), None)),
            Decision::Reached | Decision::Undecided => {
                let (low, _) = seen.interval(TO_HOLD, decisive())?;
                let (_, high) = most.interval(TO_HOLD, decisive())?;
                Some((low, Some(high)))
            }
        }
    }

    /// The time it may take in all if events continue at this rate, in units of the time in which one is allowed.
    fn needs_about(&self) -> Option<f64> {
        /// Longer times are not reported.
        const MOST: f64 = 10_000.0;
        let so_far = self.count(self.most_events());
        if so_far.events == 0 {
            return Some(time_to_hold(0, TO_HOLD, decisive()));
        }
        let rate = so_far.events as f64 / so_far.time;
        let steps = std::iter::successors(Some(so_far.time.max(0.1)), |time| Some(time * 1.05));
        steps.take_while(|time| *time < MOST).find(|time| {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative")]
            let expected = EventCount { events: (rate * time).round() as u64, time: *time };
            let holds = expected.evidence_below_one(TO_HOLD) >= decisive();
            holds || expected.evidence_above_one(TO_REFUTE) >= self.breaks_at
        })
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative")]
fn times_span(span: Span, times: f64) -> Span {
    Span::from_nanos((span.as_nanos() as f64 * times) as u64)
}

/// Why a stop rule cannot be reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unreachable {
    /// Events this close together cannot be distinguished.
    TooOften {
        /// The shortest time in which one may be allowed.
        least: Span,
    },
    /// Latencies are not resolved that precisely.
    TooFine { least: f64 },
}

/// Histograms resolve latencies to 1 %, at both ends of an interval.
const LEAST_MARGIN: f64 = 0.02;

/// The least time that one condition needs, if a wake-up takes `length`.
///
/// # Errors
///
/// If no time is enough.
pub fn least_time(figure: StopRule, length: Span) -> Result<Span, Unreachable> {
    match figure {
        StopRule::Known { within: Margin::Share(share), .. } if share < LEAST_MARGIN => {
            Err(Unreachable::TooFine { least: LEAST_MARGIN })
        }
        StopRule::Known { percent, .. } => {
            Ok(length.times(super::looks::least_wakeups_until(percent / 100.0)))
        }
        StopRule::Rare { .. } => {
            let interval = figure.interval().unwrap_or_default();
            if interval < super::exceedances::LEAST_INTERVAL {
                return Err(Unreachable::TooOften { least: super::exceedances::LEAST_INTERVAL });
            }
            Ok(time_that_holds(figure, 0))
        }
        StopRule::Compared => Ok(Span::ZERO),
    }
}

/// The time after which a limit holds that was exceeded `events` times; zero if the figure is no limit.
pub(crate) fn time_that_holds(figure: StopRule, events: u64) -> Span {
    figure
        .interval()
        .map_or(Span::ZERO, |interval| times_span(interval, time_to_hold(events, TO_HOLD, decisive())))
}

/// The time within which this many events refute a limit; `None` if they never do.
pub(crate) fn time_that_refutes(figure: StopRule, events: u64) -> Option<Span> {
    let times = super::rate::time_to_refute(events, TO_REFUTE, decisive())?;
    figure.interval().map(|interval| times_span(interval, times))
}

#[cfg(test)]
mod tests {
    use super::*;
    use howlate_model::{Latency, MonotonicTime, WorstWakeup};

    const HOURLY: &str = "max<100us: 1 per hour";

    fn figure(text: &str) -> StopRule {
        text.parse().unwrap()
    }

    /// Adds blocks of a minute, with one late wake-up at the beginning of the minutes `late`.
    fn minutes(tracker: &mut Tracker, range: std::ops::Range<i64>, late: &[i64]) {
        for minute in range {
            let from = MonotonicTime::from_nanos(minute * 60_000_000_000);
            let is_late = late.contains(&minute);
            let worst = is_late.then_some(WorstWakeup { at: from, latency: Latency::from_nanos(100_001) });
            let until = from.plus(Span::from_secs(60));
            let block = Block { from, until, worst: worst.into_iter().collect(), ..Block::default() };
            tracker.add_block(&block, 0, || unreachable!("no percentile was asked for"));
        }
    }

    fn hourly(conditions: usize) -> Tracker {
        Tracker::begin(figure(HOURLY), conditions).unwrap()
    }

    #[test]
    fn a_limit_holds_after_the_predicted_time() {
        let mut quiet = hourly(1);
        minutes(&mut quiet, 0..215, &[]);
        let found = quiet.progress();
        assert_eq!((found.decision, found.looked), (Decision::Undecided, 215));
        let needs = found.needs_about.unwrap();
        assert_eq!(needs, time_that_holds(figure(HOURLY), 0));
        assert_eq!(needs.as_nanos() / 60_000_000_000, 215);
        minutes(&mut quiet, 215..216, &[]);
        let found = quiet.progress();
        assert_eq!((found.decision, found.events, found.needs_about), (Decision::Holds, Some(0), None));
        let high = found.interval.unwrap().high.unwrap();
        assert!(found.interval.unwrap().low.abs() < 1e-12 && (0.9..=1.0).contains(&high), "{high}");
        // A decision is final.
        minutes(&mut quiet, 216..300, &[220, 230, 240, 250]);
        assert_eq!(quiet.progress(), Progress { covered: found.covered, ..found });
    }

    /// Progress after `seconds` blocks of a second, where one event is allowed per minute.
    fn minutely(seconds: i64, is_late: impl Fn(i64) -> bool) -> Progress {
        let mut tracker = Tracker::begin(figure("max<100us: 1 per minute"), 1).unwrap();
        for second in 0..seconds {
            let from = MonotonicTime::from_nanos(second * 1_000_000_000);
            let worst =
                is_late(second).then_some(WorstWakeup { at: from, latency: Latency::from_nanos(100_001) });
            let until = from.plus(Span::from_secs(1));
            let block = Block { from, until, worst: worst.into_iter().collect(), ..Block::default() };
            tracker.add_block(&block, 0, || unreachable!("no percentile was asked for"));
        }
        tracker.progress()
    }

    /// Spells of 7.5 s; four within 37.8 s refute. Spells of 3 s would be four within 10 s.
    #[test]
    fn late_wakeups_of_some_seconds_do_not_refute_a_limit_and_constant_lateness_does() {
        let wandered = minutely(60, |second| [0, 3, 6, 9, 12].contains(&second));
        assert_eq!((wandered.decision, wandered.events), (Decision::Undecided, Some(2)));
        let always = minutely(60, |_| true);
        assert_eq!((always.decision, always.events), (Decision::Refuted, Some(4)));
        assert_eq!(always.covered, Span::from_secs(25));
    }

    #[test]
    fn a_limit_is_refuted_after_the_predicted_time() {
        let within = |events| {
            let time = time_that_refutes(figure(HOURLY), events).unwrap().as_nanos() / 60_000_000_000;
            i64::try_from(time).unwrap()
        };
        // Two in a row, or three so far apart, may be chance; four are not.
        let (end, late) = (within(4), [0, within(3) + 1, within(3) + 3, within(4) - 1]);
        let mut busy = hourly(1);
        minutes(&mut busy, 0..end, &late);
        let found = busy.progress();
        assert_eq!((found.decision, found.events), (Decision::Refuted, Some(4)));
        let DecisionInterval { low, high, .. } = found.interval.unwrap();
        assert!(low >= 1.0 && high.is_none(), "{low}");
        // With many conditions, one of them may be that late by chance.
        let mut one_of_many = hourly(50);
        minutes(&mut one_of_many, 0..end, &late);
        assert_eq!(one_of_many.progress().decision, Decision::Undecided);
    }

    #[test]
    fn near_the_limit_progress_has_the_time_it_may_take() {
        let mut near = hourly(1);
        minutes(&mut near, 0..240, &[10, 200]);
        let found = near.progress();
        assert_eq!(found.decision, Decision::Undecided);
        let hours = found.needs_about.unwrap().as_secs_f64() / 3_600.0;
        assert!((8.0..40.0).contains(&hours), "{hours}");
        let interval = found.interval.unwrap();
        assert!(interval.low < 0.5 && 0.5 < interval.high.unwrap() && interval.unit == IntervalUnit::PerHour);
    }

    #[test]
    fn lost_wakeups_may_have_been_late() {
        let mut lossy = hourly(1);
        let from = MonotonicTime::default();
        let block = Block { from, until: from.plus(Span::from_secs(1)), lost: 1, ..Block::default() };
        lossy.add_block(&block, 0, || unreachable!());
        minutes(&mut lossy, 1..300, &[]);
        assert_eq!((lossy.progress().decision, lossy.progress().events), (Decision::Undecided, Some(0)));
        minutes(&mut lossy, 300..400, &[]);
        assert_eq!(lossy.progress().decision, Decision::Holds);
    }

    #[test]
    fn unreachable_stop_rules_are_refused() {
        let milli = Span::from_millis(1);
        assert_eq!(least_time(figure("p99.9 ±5%"), milli).unwrap().as_nanos(), 75_001_000_000);
        assert_eq!(least_time(figure("p99.9 ±1%"), milli), Err(Unreachable::TooFine { least: LEAST_MARGIN }));
        let often = least_time(figure("max<1ms: 10 per minute"), milli);
        assert_eq!(often, Err(Unreachable::TooOften { least: Span::from_secs(20) }));
        let seconds = least_time(figure(HOURLY), milli).unwrap().as_secs_f64();
        assert!((seconds / 3_600.0 - 3.5889).abs() < 1e-4, "{seconds}");
    }
}
