//! What is known of that which a run was to go on until.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use howlate_model::{Command, StopRule};

use super::compared::compared;
use super::found::Found;
use super::of_all::of_all;
use super::tracked::Tracked;
use crate::Analysis;

/// Over all conditions; `None` where it was to go on until nothing.
pub fn known(analysis: &Analysis) -> Option<Found> {
    let figure = analysis.header.until?;
    match figure {
        StopRule::Compared => Some(compared(analysis).unwrap_or_else(|| Found::nothing(figure))),
        StopRule::Rare { .. } if analysis.header.command == Command::Watch => {
            Some(of_all(figure, of_each_thread(analysis)))
        }
        StopRule::Known { .. } | StopRule::Rare { .. } => {
            let numbered = (0..).zip(analysis.outcomes());
            let of_each =
                numbered.filter_map(|(index, one)| Some(Found { condition: Some(index), ..one.until()? }));
            Some(of_all(figure, of_each))
        }
    }
}

/// How often each thread of a watched program is late, whatever it waits for and is called: while it waits for one thing, nothing else
/// can wake it late, so that its whole time counts for each.
fn of_each_thread(analysis: &Analysis) -> impl Iterator<Item = Found> {
    let mut threads: BTreeMap<Option<u32>, (u32, Tracked)> = BTreeMap::new();
    for (index, outcome) in (0..).zip(analysis.outcomes()) {
        let Some(tracked) = outcome.tracked() else { continue };
        match threads.entry(outcome.in_force.as_ref().map(|in_force| in_force.tid)) {
            Entry::Vacant(thread) => drop(thread.insert((index, tracked.clone()))),
            Entry::Occupied(mut thread) => {
                let (stands_for, joined) = thread.get_mut();
                if tracked.covered() > joined.covered() {
                    *stands_for = index;
                }
                joined.join(tracked);
            }
        }
    }
    threads.into_values().map(|(index, tracked)| Found { condition: Some(index), ..tracked.found() })
}

#[cfg(test)]
mod tests {
    use howlate_model::{Activation, Block, Header, Latency, Line, MonotonicTime, Span, Work, WorstWakeup};

    use super::*;
    use crate::sequential::Decision;
    use crate::testing::{analysis_of, started};

    const SECOND: i64 = 1_000_000_000;

    /// A program whose only thread begins with something else for a second, and then wakes by timers for as long as this. In each second
    /// one wake-up is so late.
    fn watched(seconds: i64, late: Latency) -> Analysis {
        let work = |mechanism| Work::Watch { mechanism };
        let of_both = analysis_of(&[work(Activation::Event), work(Activation::Timer)]).header;
        let until = Some("max<1ms: 3 per minute".parse().unwrap());
        let mut analysis = Analysis::new(Header { command: Command::Watch, until, ..of_both });
        (0..2).for_each(|condition| analysis.add(&started(condition, Vec::new())));
        let block = |condition, second: i64| {
            let from = MonotonicTime::from_nanos(second * SECOND);
            let worst = vec![WorstWakeup { at: from, latency: late }];
            Line::Block(Box::new(Block {
                condition,
                from,
                until: from.plus(Span::from_secs(1)),
                worst,
                ..Block::default()
            }))
        };
        analysis.add(&block(0, 0));
        (0..seconds).for_each(|second| analysis.add(&block(1, second)));
        analysis
    }

    #[test]
    fn a_thread_is_known_by_all_of_its_time_whatever_it_waited_for() {
        let decided = |seconds, late| {
            let found = known(&watched(seconds, Latency::from_nanos(late))).unwrap();
            (found.decision, found.condition)
        };
        assert_eq!(decided(20, 10_000), (Decision::Undecided, Some(1)));
        assert_eq!(decided(200, 10_000), (Decision::Holds, Some(1)));
        assert_eq!(decided(200, 2_000_000), (Decision::Refuted, Some(1)));
    }
}
