//! Simulated machines: every statement that is made with a confidence is checked against the known truth.

mod comparisons;
mod equivalence;
mod gates;
mod rankings;
mod recording;
mod rhythms;
mod series;
mod settings;
mod single;
mod staircases;
mod stop_rules;
mod tally;

pub use comparisons::{MeasurementPlan, comparisons};
pub use equivalence::equivalence;
pub use gates::gates;
pub use rankings::ranking;
pub use rhythms::{RhythmScenario, rhythms};
pub use series::Series;
pub use settings::{itself, settings, settings_that_help, sweeps};
pub use single::{merged, single};
pub use staircases::steps;
pub use stop_rules::{blocks_of_a_run, precision, rate};
pub use tally::StatementTally;

#[cfg(test)]
mod tests {
    use super::*;

    const SEEDS: std::ops::Range<u64> = 0..60;

    #[track_caller]
    fn assert_hold(series: Series, tallies: &[StatementTally]) {
        for tally in tallies {
            assert!(tally.holds(), "{series}: {tally:?}");
        }
    }

    #[test]
    fn statements_about_turns_hold() {
        for series in Series::ALL {
            assert_hold(series, &comparisons(series, MeasurementPlan::InTurns(20, 200), SEEDS));
        }
    }

    #[test]
    fn statements_about_two_recordings_hold() {
        for series in Series::ALL {
            assert_hold(series, &comparisons(series, MeasurementPlan::Apart(4_000), SEEDS));
        }
    }

    /// Recordings of four seconds each are long enough for a result.
    #[test]
    fn two_short_recordings_have_a_result() {
        let tallies = comparisons(Series::Autoregressive, MeasurementPlan::Apart(4_000), SEEDS);
        let conclusive =
            tallies.iter().find(|tally| tally.statement.ends_with("says something of the median")).unwrap();
        assert!(conclusive.share() > 0.2, "{conclusive:?}");
    }

    #[test]
    fn statements_about_one_condition_hold() {
        for series in Series::ALL {
            assert_hold(series, &single(series, 10_000, SEEDS));
        }
    }

    /// Most such runs rightly give no interval of their percentiles; those that are given hold.
    #[test]
    fn statements_about_a_machine_with_two_states_hold() {
        for wakeups in [10_000, 60_000] {
            assert_hold(Series::TwoStates(2), &single(Series::TwoStates(2), wakeups, SEEDS));
        }
    }

    #[test]
    fn conditions_that_differ_by_the_margin_are_not_equivalent() {
        assert_hold(Series::Independent, &equivalence(Series::Independent, 12, 0..SEEDS.end / 2));
    }

    #[test]
    fn the_share_of_runs_that_exceed_a_limit_lies_in_its_range() {
        assert_hold(Series::Independent, &gates(Series::Independent, 10_000, SEEDS));
    }

    #[test]
    fn settings_without_effect_are_not_decided() {
        for series in [Series::Autoregressive, Series::TwoStates(2)] {
            assert_hold(series, &settings(series, 6, 0..SEEDS.end / 2));
            assert_hold(series, &settings_that_help(series, 6, 0..SEEDS.end / 3));
            assert_hold(series, &sweeps(series, 12, 10, SEEDS));
            assert_hold(series, &itself(series, 80, SEEDS));
        }
    }

    #[test]
    fn statements_about_a_step_hold() {
        assert_hold(Series::Autoregressive, &steps(Series::Autoregressive, SEEDS));
    }

    /// Ten recordings of other times: what they say together holds, as little as that may be.
    #[test]
    fn statements_about_merged_recordings_hold() {
        for series in [Series::Independent, Series::Autoregressive] {
            assert_hold(series, &merged(series, 10, 6_000, 0..SEEDS.end / 2));
        }
    }

    #[test]
    fn reported_recurrences_exist() {
        for scenario in RhythmScenario::all() {
            for tally in rhythms(scenario, 0..SEEDS.end / 5) {
                assert!(tally.holds(), "{tally:?}");
            }
        }
    }

    #[test]
    fn equal_mechanisms_are_not_ranked() {
        for series in Series::ALL {
            assert_hold(series, &ranking(series, 5, 10, SEEDS));
        }
    }

    #[test]
    fn statements_about_runs_with_a_stop_rule_hold() {
        for series in Series::ALL {
            assert_hold(series, &precision(series, 0.5, 0.1, 120, SEEDS));
            assert_hold(series, &precision(series, 0.99, 0.1, 120, SEEDS));
            assert_hold(series, &rate(series, 0.999_9, 4.0, SEEDS));
        }
    }

    /// The comparison if single wake-ups were taken to be independent.
    #[test]
    fn a_test_of_single_wake_ups_would_raise_alarms_all_the_time() {
        let alarm = |seed: u64| {
            let mut generator = series::LatencyGenerator::new(Series::Autoregressive, seed);
            let mut sample = || (0..100).map(|_| generator.latency()).collect::<Vec<_>>();
            let (base, new) = (sample(), sample());
            crate::compare::MannWhitney::from_samples(&base, &new).p() <= 0.05
        };
        let alarms = (0..30).filter(|seed| alarm(*seed)).count();
        assert!(alarms > 10, "{alarms} of 30");
    }
}
