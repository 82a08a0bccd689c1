//! One condition of a run that goes on until something is known, block by block.

use howlate_model::{Block, Margin, Span, StopRule};

use super::decisive;
use super::exceedances::{Exceedances, spell};
use super::found::{Between, Decision, Found, Unit};
use super::looks::Looks;
use super::rate::{Counted, TO_HOLD, TO_REFUTE, time_to_hold};
use crate::BlockNumbers;

const HOUR: f64 = 3.6e12;

/// One condition of such a run.
#[derive(Clone, Debug)]
pub(crate) struct Tracked {
    figure: StopRule,
    covered: Span,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Percentile(Looks),
    Rate(Box<Rate>),
}

impl Tracked {
    /// A condition of as many; `None` where it is not about single conditions.
    pub(crate) fn begin(figure: StopRule, conditions: usize) -> Option<Self> {
        let what = match figure {
            StopRule::Known { percent, within } => What::Percentile(Looks::until(percent / 100.0, within)),
            StopRule::Rare { limit, .. } => {
                What::Rate(Box::new(Rate::begin(limit, figure.interval()?, conditions)))
            }
            StopRule::Compared => return None,
        };
        Some(Self { figure, covered: Span::ZERO, what })
    }

    /// Takes in the next block; `numbers` are those of all wake-ups that were planned, this block's included, which are
    /// `wakeups`.
    pub(crate) fn block<'a>(
        &mut self,
        block: &Block,
        wakeups: u64,
        numbers: impl FnOnce() -> BlockNumbers<'a>,
    ) {
        self.covered = self.covered.plus(block.until.since(block.from));
        match &mut self.what {
            What::Percentile(looks) => looks.look(wakeups, numbers),
            What::Rate(rate) => rate.block(block),
        }
    }

    /// For how long it was measured.
    pub(crate) const fn covered(&self) -> Span {
        self.covered
    }

    /// Takes in what else was measured in the same time.
    pub(crate) fn join(&mut self, other: &Self) {
        self.covered = self.covered.max(other.covered);
        if let (What::Rate(rate), What::Rate(other)) = (&mut self.what, &other.what) {
            rate.join(other);
        }
    }

    /// What is known by now.
    pub(crate) fn found(&self) -> Found {
        let begun = Found { covered: self.covered, ..Found::nothing(self.figure) };
        match &self.what {
            What::Percentile(looks) => percentile(looks, begun),
            What::Rate(rate) => rate.found(begun),
        }
    }
}

fn percentile(looks: &Looks, begun: Found) -> Found {
    let reached = looks.reached();
    let interval = looks.interval.map(|interval| Between {
        low: interval.low.as_nanos() as f64,
        high: Some(interval.high.as_nanos() as f64),
        unit: Unit::Ns,
    });
    // Intervals become narrower as the square root of time.
    let times = looks.share_of_wanted().map(|share| (share * share).max(1.5));
    Found {
        decision: if reached { Decision::Reached } else { Decision::Undecided },
        interval,
        looked: looks.taken,
        needs_about: times.filter(|_| !reached).map(|times| stretched(begun.covered, times)),
        ..begun
    }
}

/// How often a limit is exceeded.
#[derive(Clone, Debug)]
struct Rate {
    late: Exceedances,
    /// The time in which one event is allowed.
    interval: Span,
    looked: u64,
    decision: Decision,
    /// From which evidence on the limit is broken: any of the conditions may break it by chance.
    breaks: f64,
}

impl Rate {
    fn begin(limit: Span, interval: Span, conditions: usize) -> Self {
        Self {
            late: Exceedances::later_than(limit, spell(interval)),
            interval,
            looked: 0,
            decision: Decision::Undecided,
            breaks: decisive() + (conditions.max(1) as f64).ln(),
        }
    }

    /// Time is counted in the time in which one event is allowed.
    fn counted(&self, events: u64) -> Counted {
        Counted { events, time: self.late.covered.as_nanos() as f64 / self.interval.as_nanos() as f64 }
    }

    /// What may have been.
    const fn most(&self) -> u64 {
        self.late.seen.saturating_add(self.late.hidden)
    }

    fn block(&mut self, block: &Block) {
        if self.decision != Decision::Undecided {
            return;
        }
        self.late.add(block);
        self.looked += 1;
        self.decide();
    }

    /// What both were late of, in the longer of their times. A limit that one of them breaks is broken; both in one spell do not
    /// break it sooner.
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
        // What was not seen may have been late.
        self.counted(self.most()).evidence_below_one(TO_HOLD) >= decisive()
    }

    fn decide(&mut self) {
        // What was not seen may not have been late.
        if self.holds() {
            self.decision = Decision::Holds;
        } else if self.counted(self.late.seen).evidence_above_one(TO_REFUTE) >= self.breaks {
            self.decision = Decision::Refuted;
        }
    }

    fn found(&self, begun: Found) -> Found {
        let per_hour = |rate: f64| rate * HOUR / self.interval.as_nanos() as f64;
        let interval = self.ends().map(|(low, high)| Between {
            low: per_hour(low),
            high: high.map(per_hour),
            unit: Unit::PerHour,
        });
        let needs_about = (self.decision == Decision::Undecided).then(|| self.needs_about()).flatten();
        Found {
            decision: self.decision,
            interval,
            looked: self.looked,
            covered: self.late.covered,
            events: Some(self.late.seen),
            spell: Some(spell(self.interval)),
            needs_about: needs_about.map(|units| stretched(self.interval, units)),
            ..begun
        }
    }

    /// Between which rates it is: what was decided says so of one of them.
    fn ends(&self) -> Option<(f64, Option<f64>)> {
        let (seen, most) = (self.counted(self.late.seen), self.counted(self.most()));
        match self.decision {
            Decision::Holds => Some((0.0, Some(most.at_most(TO_HOLD, decisive())))),
            Decision::Refuted => Some((seen.at_least(TO_REFUTE, self.breaks), None)),
            Decision::Reached | Decision::Undecided => {
                let (low, _) = seen.interval(TO_HOLD, decisive())?;
                let (_, high) = most.interval(TO_HOLD, decisive())?;
                Some((low, Some(high)))
            }
        }
    }

    /// How long it may take in all if events go on to come as they did, in the time in which one is allowed.
    fn needs_about(&self) -> Option<f64> {
        /// Nobody waits for longer.
        const MOST: f64 = 10_000.0;
        let so_far = self.counted(self.most());
        if so_far.events == 0 {
            return Some(time_to_hold(0, TO_HOLD, decisive()));
        }
        let rate = so_far.events as f64 / so_far.time;
        let steps = std::iter::successors(Some(so_far.time.max(0.1)), |time| Some(time * 1.05));
        steps.take_while(|time| *time < MOST).find(|time| {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative")]
            let then = Counted { events: (rate * time).round() as u64, time: *time };
            let holds = then.evidence_below_one(TO_HOLD) >= decisive();
            holds || then.evidence_above_one(TO_REFUTE) >= self.breaks
        })
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative")]
fn stretched(span: Span, times: f64) -> Span {
    Span::from_nanos((span.as_nanos() as f64 * times) as u64)
}

/// Why a run cannot go on until something is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unreachable {
    /// Events cannot be told apart that may come this close.
    TooOften {
        /// The shortest time in which one may be allowed.
        least: Span,
    },
    /// Latencies are told apart only so well.
    TooFine {
        /// The smallest margin.
        least: f64,
    },
}

/// Histograms tell latencies apart to 1 %, and both ends of an interval are told by them.
const LEAST_MARGIN: f64 = 0.02;

/// The time that one condition takes at least until it is known, where a wake-up takes `length`.
///
/// # Errors
///
/// Where no time is enough.
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

/// The time after which a limit holds that was exceeded so often; nothing where it is not about a limit.
pub(crate) fn time_that_holds(figure: StopRule, events: u64) -> Span {
    figure
        .interval()
        .map_or(Span::ZERO, |interval| stretched(interval, time_to_hold(events, TO_HOLD, decisive())))
}

/// The time within which so many events refute a limit; `None` where they never do.
pub(crate) fn time_that_refutes(figure: StopRule, events: u64) -> Option<Span> {
    let times = super::rate::time_to_refute(events, TO_REFUTE, decisive())?;
    figure.interval().map(|interval| stretched(interval, times))
}

#[cfg(test)]
mod tests {
    use super::*;
    use howlate_model::{Latency, MonotonicTime, WorstWakeup};

    const HOURLY: &str = "max<100us: 1 per hour";

    fn figure(text: &str) -> StopRule {
        text.parse().unwrap()
    }

    /// So many minutes, in blocks of one, with one late wake-up at the beginning of those that are named.
    fn minutes(tracked: &mut Tracked, of: std::ops::Range<i64>, late: &[i64]) {
        for minute in of {
            let from = MonotonicTime::from_nanos(minute * 60_000_000_000);
            let is_late = late.contains(&minute);
            let worst = is_late.then_some(WorstWakeup { at: from, latency: Latency::from_nanos(100_001) });
            let until = from.plus(Span::from_secs(60));
            let block = Block { from, until, worst: worst.into_iter().collect(), ..Block::default() };
            tracked.block(&block, 0, || unreachable!("no percentile was asked for"));
        }
    }

    fn hourly(conditions: usize) -> Tracked {
        Tracked::begin(figure(HOURLY), conditions).unwrap()
    }

    #[test]
    fn a_limit_holds_after_as_long_as_was_said_beforehand() {
        let mut quiet = hourly(1);
        minutes(&mut quiet, 0..215, &[]);
        let found = quiet.found();
        assert_eq!((found.decision, found.looked), (Decision::Undecided, 215));
        let needs = found.needs_about.unwrap();
        assert_eq!(needs, time_that_holds(figure(HOURLY), 0));
        assert_eq!(needs.as_nanos() / 60_000_000_000, 215);
        minutes(&mut quiet, 215..216, &[]);
        let found = quiet.found();
        assert_eq!((found.decision, found.events, found.needs_about), (Decision::Holds, Some(0), None));
        let high = found.interval.unwrap().high.unwrap();
        assert!(found.interval.unwrap().low.abs() < 1e-12 && (0.9..=1.0).contains(&high), "{high}");
        // What comes later changes nothing any more.
        minutes(&mut quiet, 216..300, &[220, 230, 240, 250]);
        assert_eq!(quiet.found(), Found { covered: found.covered, ..found });
    }

    /// What is known after so many seconds, in blocks of one, where one may be late per minute and those that are named were.
    fn minutely(seconds: i64, is_late: impl Fn(i64) -> bool) -> Found {
        let mut tracked = Tracked::begin(figure("max<100us: 1 per minute"), 1).unwrap();
        for second in 0..seconds {
            let from = MonotonicTime::from_nanos(second * 1_000_000_000);
            let worst =
                is_late(second).then_some(WorstWakeup { at: from, latency: Latency::from_nanos(100_001) });
            let until = from.plus(Span::from_secs(1));
            let block = Block { from, until, worst: worst.into_iter().collect(), ..Block::default() };
            tracked.block(&block, 0, || unreachable!("no percentile was asked for"));
        }
        tracked.found()
    }

    /// Spells of 7.5 s; four within 37.8 s refute. Those of 3 s would be four within 10 s.
    #[test]
    fn who_wanders_for_some_seconds_is_not_refuted_and_who_is_always_late_soon_is() {
        let wandered = minutely(60, |second| [0, 3, 6, 9, 12].contains(&second));
        assert_eq!((wandered.decision, wandered.events), (Decision::Undecided, Some(2)));
        let always = minutely(60, |_| true);
        assert_eq!((always.decision, always.events), (Decision::Refuted, Some(4)));
        assert_eq!(always.covered, Span::from_secs(25));
    }

    #[test]
    fn a_limit_is_refuted_as_soon_as_was_said_beforehand() {
        let within = |events| {
            let time = time_that_refutes(figure(HOURLY), events).unwrap().as_nanos() / 60_000_000_000;
            i64::try_from(time).unwrap()
        };
        // Two after one another may be chance, three so far apart too; the fourth is not.
        let (end, late) = (within(4), [0, within(3) + 1, within(3) + 3, within(4) - 1]);
        let mut busy = hourly(1);
        minutes(&mut busy, 0..end, &late);
        let found = busy.found();
        assert_eq!((found.decision, found.events), (Decision::Refuted, Some(4)));
        let Between { low, high, .. } = found.interval.unwrap();
        assert!(low >= 1.0 && high.is_none(), "{low}");
        // One of many conditions may be that late by chance.
        let mut one_of_many = hourly(50);
        minutes(&mut one_of_many, 0..end, &late);
        assert_eq!(one_of_many.found().decision, Decision::Undecided);
    }

    #[test]
    fn near_the_limit_it_says_how_long_it_may_take() {
        let mut near = hourly(1);
        minutes(&mut near, 0..240, &[10, 200]);
        let found = near.found();
        assert_eq!(found.decision, Decision::Undecided);
        let hours = found.needs_about.unwrap().as_secs_f64() / 3_600.0;
        assert!((8.0..40.0).contains(&hours), "{hours}");
        let interval = found.interval.unwrap();
        assert!(interval.low < 0.5 && 0.5 < interval.high.unwrap() && interval.unit == Unit::PerHour);
    }

    #[test]
    fn what_was_lost_may_have_been_late() {
        let mut lossy = hourly(1);
        let from = MonotonicTime::default();
        let block = Block { from, until: from.plus(Span::from_secs(1)), lost: 1, ..Block::default() };
        lossy.block(&block, 0, || unreachable!());
        minutes(&mut lossy, 1..300, &[]);
        assert_eq!((lossy.found().decision, lossy.found().events), (Decision::Undecided, Some(0)));
        minutes(&mut lossy, 300..400, &[]);
        assert_eq!(lossy.found().decision, Decision::Holds);
    }

    #[test]
    fn what_no_time_is_enough_for_is_refused() {
        let milli = Span::from_millis(1);
        assert_eq!(least_time(figure("p99.9 ±5%"), milli).unwrap().as_nanos(), 75_001_000_000);
        assert_eq!(least_time(figure("p99.9 ±1%"), milli), Err(Unreachable::TooFine { least: LEAST_MARGIN }));
        let often = least_time(figure("max<1ms: 10 per minute"), milli);
        assert_eq!(often, Err(Unreachable::TooOften { least: Span::from_secs(20) }));
        let seconds = least_time(figure(HOURLY), milli).unwrap().as_secs_f64();
        assert!((seconds / 3_600.0 - 3.5889).abs() < 1e-4, "{seconds}");
    }
}
