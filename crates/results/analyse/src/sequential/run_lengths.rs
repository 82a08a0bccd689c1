//! How long a run must be, computed beforehand.

use howlate_model::{Span, StopRule};

use super::comparison::least_pairs;
use super::tracker::{Unreachable, least_time, time_that_holds, time_that_refutes};

/// Most events for which a time is listed.
const MOST_EVENTS: u64 = 5;

/// How long a run must be until something is known.
#[derive(Clone, Debug, PartialEq)]
pub struct RunLengths {
    pub figure: StopRule,
    /// The least time per condition.
    pub least: Span,
    /// The least number of wake-ups, where these count.
    pub wakeups: Option<u64>,
    /// The time after which a limit holds, by how often it was exceeded.
    pub holds: Vec<(u64, Span)>,
    /// The time within which this many events refute it.
    pub refuted: Vec<(u64, Span)>,
    /// The least number of pairs of turns.
    pub pairs: Option<u64>,
}

/// The lengths for a condition that wakes once per `period`.
///
/// # Errors
///
/// If no time is enough.
pub fn run_lengths(figure: StopRule, period: Span) -> Result<RunLengths, Unreachable> {
    let least = least_time(figure, period)?;
    let is_rate = figure.interval().is_some();
    let all = |first: u64| (first..=MOST_EVENTS).filter(move |_| is_rate);
    Ok(RunLengths {
        figure,
        least,
        wakeups: match figure {
            StopRule::Known { .. } => Some(least.as_nanos() / period.as_nanos().max(1)),
            StopRule::Rare { .. } | StopRule::Compared => None,
        },
        holds: all(0).map(|events| (events, time_that_holds(figure, events))).collect(),
        refuted: all(1).filter_map(|events| Some((events, time_that_refutes(figure, events)?))).collect(),
        pairs: (figure == StopRule::Compared).then(least_pairs),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_beforehand() {
        let lengths = |figure: &str| run_lengths(figure.parse().unwrap(), Span::from_millis(1)).unwrap();
        let hourly = lengths("max<100us: 1 per hour");
        let minutes = |(events, time): &(u64, Span)| (*events, time.as_nanos() / 60_000_000_000);
        // 3.5889, 6.5522, 8.8264, … hours.
        assert_eq!(hourly.holds.iter().map(minutes).collect::<Vec<_>>()[..3], [(0, 215), (1, 393), (2, 529)]);
        assert_eq!(hourly.least, hourly.holds[0].1);
        assert!(
            hourly.refuted.iter().all(|(events, _)| *events > 1)
                && hourly.refuted.is_sorted_by_key(|row| row.1)
        );
        assert_eq!(lengths("p99.9 ±5%").wakeups, Some(75_001));
        assert_eq!(lengths("compare decided").pairs, Some(8));
    }
}
