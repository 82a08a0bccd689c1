//! Progress of the whole run, from that of its conditions.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use howlate_model::{Command, Span, StopRule};

use super::comparison::compare;
use super::progress::{Decision, IntervalUnit, Progress};
use super::tracker::Tracker;
use crate::Analysis;

/// Progress of the whole run; `None` if it does not go on until something is known.
pub fn progress_of(analysis: &Analysis) -> Option<Progress> {
    let figure = analysis.header.until?;
    match figure {
        StopRule::Compared => Some(compare(analysis).unwrap_or_else(|| Progress::none(figure))),
        StopRule::Rare { .. } if analysis.header.command == Command::Watch => {
            Some(least_progress(figure, progress_by_thread(analysis)))
        }
        StopRule::Known { .. } | StopRule::Rare { .. } => {
            let numbered = (0..).zip(analysis.outcomes()).filter(|(_, outcome)| !outcome.is_of_requests());
            let conditions = numbered
                .filter_map(|(index, outcome)| Some(Progress { condition: Some(index), ..outcome.until()? }));
            Some(least_progress(figure, conditions))
        }
    }
}

/// Progress of each thread of a watched program, whatever it waits for and whichever names it has: while it waits for one thing,
/// nothing else can wake it late, so that its whole time counts for each.
fn progress_by_thread(analysis: &Analysis) -> impl Iterator<Item = Progress> {
    let mut threads: BTreeMap<Option<u32>, (u32, Tracker)> = BTreeMap::new();
    for (index, outcome) in (0..).zip(analysis.outcomes()) {
        // The goal is about threads; each of those that answer requests has an outcome of its own.
        let Some(tracker) = outcome.tracker().filter(|_| !outcome.is_of_requests()) else { continue };
        match threads.entry(outcome.in_force.as_ref().map(|in_force| in_force.tid)) {
            Entry::Vacant(thread) => drop(thread.insert((index, tracker.clone()))),
            Entry::Occupied(mut thread) => {
                let (longest_index, sum) = thread.get_mut();
                if tracker.covered() > sum.covered() {
                    *longest_index = index;
                }
                sum.join(tracker);
            }
        }
    }
    threads.into_values().map(|(index, tracker)| Progress { condition: Some(index), ..tracker.progress() })
}

/// The progress of the condition that needs longest; a limit that one condition breaks is broken.
fn least_progress(figure: StopRule, conditions: impl Iterator<Item = Progress>) -> Progress {
    let all: Vec<Progress> = conditions.collect();
    let refuted = all.iter().find(|progress| progress.decision == Decision::Refuted);
    refuted.or(all.iter().max_by(by_doubt)).cloned().unwrap_or_else(|| Progress::none(figure))
}

/// Orders by the remaining time, and then by the upper end or the width of the interval.
fn by_doubt(left: &&Progress, right: &&Progress) -> Ordering {
    let remaining = |progress: &Progress| match progress.decision {
        Decision::Undecided => progress.needs_about.map_or(u64::MAX, Span::as_nanos),
        _ => 0,
    };
    let extent = |progress: &Progress| {
        let ends = progress.interval.and_then(|interval| Some((interval.low, interval.high?, interval.unit)));
        ends.map_or(f64::INFINITY, |(low, high, unit)| match unit {
            IntervalUnit::PerHour => high,
            IntervalUnit::Ns => (high - low) / high.max(1.0),
        })
    };
    remaining(left).cmp(&remaining(right)).then(extent(left).total_cmp(&extent(right)))
}

#[cfg(test)]
mod tests {
    use howlate_model::{Activation, Block, Header, Latency, Line, MonotonicTime, Span, Work, WorstWakeup};

    use super::*;
    use crate::sequential::{Decision, DecisionInterval};
    use crate::testing::{analysis_of, started};

    const SECOND: i64 = 1_000_000_000;

    /// A program whose only thread waits for an event for a second, and then wakes by timers for `seconds`. In each second one wake-up is
    /// late by `late`.
    fn watched(seconds: i64, late: Latency) -> Analysis {
        let work = |mechanism| Work::Watch { mechanism };
        let of_both = analysis_of(&[work(Activation::Event), work(Activation::Timer)]).header;
        let until = Some("max<1ms: 3 per minute".parse().unwrap());
        let mut analysis = Analysis::new(Header { command: Command::Watch, until, ..of_both });
        (0..2).for_each(|condition| analysis.add(&started(condition, Vec::new())));
        analysis.add(&block(0, 0, late));
        (0..seconds).for_each(|second| analysis.add(&block(1, second, late)));
        analysis
    }

    /// A second in which one wake-up of the condition is late by `late`.
    fn block(condition: u32, second: i64, late: Latency) -> Line {
        let from = MonotonicTime::from_nanos(second * SECOND);
        let (until, worst) = (from.plus(Span::from_secs(1)), vec![WorstWakeup { at: from, latency: late }]);
        Line::Block(Box::new(Block { condition, from, until, worst, ..Block::default() }))
    }

    /// Answered by the thread of the other condition.
    #[test]
    fn the_goal_is_not_about_requests() {
        let works = [Activation::Timer, Activation::Request].map(|mechanism| Work::Watch { mechanism });
        let until = Some("max<1ms: 3 per minute".parse().unwrap());
        let header = Header { command: Command::Watch, until, ..analysis_of(&works).header };
        let mut analysis = Analysis::new(header);
        (0..2).for_each(|condition| analysis.add(&started(condition, Vec::new())));
        for second in 0..200 {
            analysis.add(&block(0, second, Latency::from_nanos(10_000)));
            analysis.add(&block(1, second, Latency::from_nanos(2_000_000)));
        }
        assert_eq!(progress_of(&analysis).unwrap().decision, Decision::Holds);
    }

    #[test]
    fn a_thread_is_known_by_all_of_its_time_whatever_it_waited_for() {
        let decision_after = |seconds, late| {
            let found = progress_of(&watched(seconds, Latency::from_nanos(late))).unwrap();
            (found.decision, found.condition)
        };
        assert_eq!(decision_after(20, 10_000), (Decision::Undecided, Some(1)));
        assert_eq!(decision_after(200, 10_000), (Decision::Holds, Some(1)));
        assert_eq!(decision_after(200, 2_000_000), (Decision::Refuted, Some(1)));
    }

    fn progress(decision: Decision, high: f64, needs: Option<u64>) -> Progress {
        let interval = Some(DecisionInterval { low: 0.0, high: Some(high), unit: IntervalUnit::PerHour });
        let figure: StopRule = "max<1ms: 1 per hour".parse().unwrap();
        Progress { decision, interval, needs_about: needs.map(Span::from_secs), ..Progress::none(figure) }
    }

    #[test]
    fn the_one_that_is_known_least_stands_for_all() {
        let (holds, wide) = (progress(Decision::Holds, 0.5, None), progress(Decision::Holds, 0.9, None));
        let (soon, late) =
            (progress(Decision::Undecided, 2.0, Some(60)), progress(Decision::Undecided, 1.5, Some(90)));
        let (never, refuted) =
            (progress(Decision::Undecided, 1.0, None), progress(Decision::Refuted, 9.0, None));
        let joint = |all: &[&Progress]| least_progress(holds.figure, all.iter().copied().cloned());
        assert_eq!(joint(&[&holds, &wide]), wide);
        assert_eq!(joint(&[&soon, &late, &wide]), late);
        assert_eq!(joint(&[&never, &late]), never);
        assert_eq!(joint(&[&never, &refuted, &holds]), refuted);
        assert_eq!(joint(&[]), Progress::none(holds.figure));
    }
}
