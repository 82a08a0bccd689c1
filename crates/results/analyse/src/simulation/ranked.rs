//! Rankings of ways to notify that are equal.

use std::ops::Range;

use howlate_model::{Notifier, Peers, ReceiverCpu, Span, Work};

use super::recorded::{Clocked, track_of};
use super::series::{Series, Simulated};
use super::tally::{Observation, Tally, tallied};
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

/// What is said of `rivals` mechanisms that are equal, after so many rounds of a hundred notifications.
pub fn ranking(series: Series, rivals: usize, rounds: u32, seeds: Range<u64>) -> Vec<Tally> {
    let works: Vec<Work> = Notifier::ALL
        .iter()
        .filter(|one| !one.burns_cpu())
        .cycle()
        .take(rivals)
        .map(|one| work(*one))
        .collect();
    tallied(seeds, |seed| {
        let mut machine = Clocked::new(Simulated::new(series, seed));
        let mut track = track_of(&works);
        let mut order: Vec<u32> = (0..).take(rivals).collect();
        for round in 0..rounds {
            machine.machine.random.shuffle(&mut order);
            for condition in &order {
                machine.turn(*condition, round, 100, 0.0).iter().for_each(|line| track.add(line));
            }
        }
        let Some(ranking) = rankings(&track.analysis).into_iter().next() else { return Vec::new() };
        let how = format!("ranking of {rivals} equal ones");
        let told_apart = ranking.places.iter().any(crate::RankedMechanism::is_distinguishable);
        let said: [Observation; 2] = [
            (format!("{how}: none told apart from the first"), Some(0.95), !told_apart),
            (format!("{how}: none beaten"), Some(0.95), ranking.best.len() == rivals),
        ];
        said.into()
    })
}
