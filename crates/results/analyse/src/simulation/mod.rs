//! Simulated machines, and what is said of them: every statement that is made with a confidence is held against
//! what is known to be so.

mod compared;
mod equivalence;
mod gates;
mod ranked;
mod recorded;
mod rhythms;
mod series;
mod settings;
mod single;
mod tally;
mod until;

pub use compared::{Measured, comparisons};
pub use equivalence::equivalence;
pub use gates::gates;
pub use ranked::ranking;
pub use rhythms::{Planted, rhythms};
pub use series::Series;
pub use settings::{itself, settings, sweeps};
pub use single::single;
pub use tally::Tally;
pub use until::{blocks_of_a_run, precision, rate};

#[cfg(test)]
mod tests {
    use super::*;

    /// Fewer in the everyday loop.
    fn seeds() -> std::ops::Range<u64> {
        if std::env::var_os("HOWLATE_FAST").is_some() { 0..10 } else { 0..60 }
    }

    #[track_caller]
    fn hold(series: Series, tallies: &[Tally]) {
        for tally in tallies {
            assert!(tally.holds(), "{series}: {tally:?}");
        }
    }

    #[test]
    fn what_is_said_of_turns_holds() {
        for series in Series::ALL {
            hold(series, &comparisons(series, Measured::InTurns(20, 200), seeds()));
        }
    }

    #[test]
    fn what_is_said_of_two_recordings_holds() {
        for series in Series::ALL {
            hold(series, &comparisons(series, Measured::Apart(4_000), seeds()));
        }
    }

    /// Four seconds each are not too little to say anything.
    #[test]
    fn two_short_recordings_say_something() {
        let tallies = comparisons(Series::Autoregressive, Measured::Apart(4_000), seeds());
        let says =
            tallies.iter().find(|one| one.statement.ends_with("says something of the median")).unwrap();
        assert!(says.share() > 0.2, "{says:?}");
    }

    #[test]
    fn what_is_said_of_one_condition_holds() {
        for series in Series::ALL {
            hold(series, &single(series, 10_000, seeds()));
        }
    }

    /// Most such runs tell nothing of their percentiles, as one should; what is told holds.
    #[test]
    fn what_is_said_of_a_machine_with_two_states_holds() {
        for wakeups in [10_000, 60_000] {
            hold(Series::TwoStates(2), &single(Series::TwoStates(2), wakeups, seeds()));
        }
    }

    #[test]
    fn what_differs_by_the_margin_is_not_equivalent() {
        hold(Series::Independent, &equivalence(Series::Independent, 12, 0..seeds().end / 2));
    }

    #[test]
    fn the_share_of_runs_that_exceed_a_limit_lies_in_its_range() {
        hold(Series::Independent, &gates(Series::Independent, 10_000, seeds()));
    }

    #[test]
    fn what_does_nothing_is_not_found_to() {
        for series in [Series::Autoregressive, Series::TwoStates(2)] {
            hold(series, &settings(series, 6, 0..seeds().end / 2));
            hold(series, &sweeps(series, 12, 10, seeds()));
            hold(series, &itself(series, 80, seeds()));
        }
    }

    #[test]
    fn what_is_said_to_come_back_does() {
        for planted in Planted::all() {
            for tally in rhythms(planted, 0..seeds().end / 5) {
                assert!(tally.holds(), "{tally:?}");
            }
        }
    }

    #[test]
    fn equal_mechanisms_are_not_ranked() {
        for series in Series::ALL {
            hold(series, &ranking(series, 5, 10, seeds()));
        }
    }

    #[test]
    fn what_is_said_of_runs_until_something_is_known_holds() {
        for series in Series::ALL {
            hold(series, &precision(series, 0.5, 0.1, 120, seeds()));
            hold(series, &precision(series, 0.99, 0.1, 120, seeds()));
            hold(series, &rate(series, 0.999_9, 4.0, seeds()));
        }
    }

    /// What the same comparison says when single wake-ups are taken to be independent.
    #[test]
    fn a_test_of_single_wake_ups_would_raise_alarms_all_the_time() {
        let alarm = |seed: u64| {
            let mut machine = series::Simulated::new(Series::Autoregressive, seed);
            let mut second = || (0..100).map(|_| machine.latency()).collect::<Vec<_>>();
            let (base, new) = (second(), second());
            crate::compare::MannWhitney::from_samples(&base, &new).p() <= 0.05
        };
        let alarms = (0..30).filter(|seed| alarm(*seed)).count();
        assert!(alarms > 10, "{alarms} of 30");
    }
}
