//! Rankings of equal notification mechanisms.

use std::ops::Range;

use howlate_model::{Notifier, Peers, ReceiverCpu, Span, Work};

use super::recording::{SimulatedRun, track_of};
use super::series::{LatencyGenerator, Series};
use super::tally::{Observation, StatementTally, run_trials};
use crate::rankings;

fn work(mechanism: Notifier) -> Work {
    Work::Notify {
        mechanism,
        after_ns: Span::from_millis(1),
        between: Peers::Processes,
        sender_cpu: Some(0),
        placement: None,
        receiver: ReceiverCpu::AsLeft,
        round_trip: false,
    }
}

/// Tests the ranking of `rivals` equal mechanisms, after `rounds` rounds of a hundred notifications.
pub fn ranking(series: Series, rivals: usize, rounds: u32, seeds: Range<u64>) -> Vec<StatementTally> {
    let works: Vec<Work> = Notifier::ALL
        .iter()
        .filter(|mechanism| !mechanism.burns_cpu())
        .cycle()
        .take(rivals)
        .map(|mechanism| work(*mechanism))
        .collect();
    run_trials(seeds, |seed| {
        let mut machine = SimulatedRun::new(LatencyGenerator::new(series, seed));
        let mut track = track_of(&works);
        let mut order: Vec<u32> = (0..).take(rivals).collect();
        for round in 0..rounds {
            machine.latencies.random.shuffle(&mut order);
            for condition in &order {
                machine.turn(*condition, round, 100, 0.0).iter().for_each(|line| track.add(line));
            }
        }
        let Some(ranking) = rankings(&track.analysis).into_iter().next() else { return Vec::new() };
        let name = format!("ranking of {rivals} equal ones");
        let is_distinguished = ranking.places.iter().any(crate::RankedMechanism::is_distinguishable);
        let observations: [Observation; 2] = [
            (format!("{name}: none told apart from the first"), Some(0.95), !is_distinguished),
            (format!("{name}: none beaten"), Some(0.95), ranking.best.len() == rivals),
        ];
        observations.into()
    })
}
