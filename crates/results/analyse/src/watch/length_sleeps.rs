//! Loops that sleep for a length instead of until a time, found by how their steps depend on their delays.

use std::time::Duration;

use howlate_model::{Drift, Span};
use schemars::JsonSchema;
use serde::Serialize;

/// Fewer pairs of lateness and step do not show what a step depends on.
const LEAST_PAIRS: u64 = 50;
/// If lateness moves the next time, each microsecond of it moves that by about one.
const SLOPE: std::ops::RangeInclusive<f64> = 0.8..=1.2;
/// The slope must exceed `LEAST_SLOPE` by this many standard errors.
const ERRORS: f64 = 3.0;
const LEAST_SLOPE: f64 = 0.5;
/// Share of the step by which a loop must run too slowly to be reported.
const LEAST_DELAY: f64 = 0.005;
/// A loop whose mean sleep is shorter than this share of its mean delay is behind its time,
const LEAST_SLEEP: f64 = 0.5;
/// as is one that sleeps in fewer than this share of its iterations.
const LEAST_SLEPT: f64 = 0.5;
/// Sleeps for a length are equally long: their standard deviation is below this share of their mean,
const SLEEP_DEVIATION: f64 = 0.01;
/// and at least this many times smaller than that of the steps, which vary with the work.
const STEP_TO_SLEEP_DEVIATION: f64 = 3.0;

/// A loop that sleeps for a length instead of until a time: each delay moves all later iterations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LengthSleeps {
    /// The mean time from one activation to the next,
    #[serde(rename = "step_ns")]
    pub step: Span,
    /// and what it would be if no delay were added.
    #[serde(rename = "without_delay_ns")]
    pub without_delay: Span,
}

impl LengthSleeps {
    /// Found by equally long sleeps between unequal steps, or by lateness that moves the steps; `None` if the loop shows neither.
    pub(super) fn of(drift: &Drift) -> Option<Self> {
        let pairs = drift.pairs as f64;
        let (mean, delay) = (drift.step_us / pairs, drift.late_us / pairs);
        let span = |micros: f64| {
            let length = Duration::try_from_secs_f64(micros / 1e6).unwrap_or_default();
            Span::from_nanos(u64::try_from(length.as_nanos()).unwrap_or(u64::MAX))
        };
        (drift.pairs >= LEAST_PAIRS
            && !is_out_of_time(drift, delay)
            && (has_equal_sleeps(drift) || is_moved_by_lateness(drift))
            && delay >= LEAST_DELAY * (mean - delay))
            .then(|| Self { step: span(mean), without_delay: span(mean - delay) })
    }
}

/// Whether it often has hardly time to sleep: then its work moves its steps, however it asks. False where nobody recorded its sleeps.
fn is_out_of_time(drift: &Drift, delay_us: f64) -> bool {
    let sleeps = drift.sleeps as f64;
    let mean = drift.slept_us / sleeps;
    // Of sleeps that are either of one length or of none, the share of the former.
    let share = mean * mean / (drift.slept_squared_us2 / sleeps);
    drift.sleeps > 0 && (mean < LEAST_SLEEP * delay_us || share < LEAST_SLEPT)
}

fn has_equal_sleeps(drift: &Drift) -> bool {
    let mean_and_deviation = |count: u64, sum: f64, squares: f64| {
        let mean = sum / count as f64;
        (mean, (squares / count as f64 - mean * mean).max(0.0).sqrt())
    };
    let (length, sleep_deviation) = mean_and_deviation(drift.sleeps, drift.slept_us, drift.slept_squared_us2);
    let (_, step_deviation) = mean_and_deviation(drift.pairs, drift.step_us, drift.step_squared_us2);
    drift.sleeps >= LEAST_PAIRS
        && sleep_deviation < SLEEP_DEVIATION * length
        && STEP_TO_SLEEP_DEVIATION * sleep_deviation < step_deviation
}

/// Least squares of the step over the lateness before it.
fn is_moved_by_lateness(drift: &Drift) -> bool {
    let pairs = drift.pairs as f64;
    let covariance =
        |product: f64, sum: f64, other_sum: f64| product / pairs - sum / pairs * (other_sum / pairs);
    let late = covariance(drift.late_squared_us2, drift.late_us, drift.late_us);
    let step = covariance(drift.step_squared_us2, drift.step_us, drift.step_us);
    let both = covariance(drift.late_step_us2, drift.late_us, drift.step_us);
    let slope = both / late;
    let error = ((step - slope * both).max(0.0) / (pairs - 2.0) / late).sqrt();
    SLOPE.contains(&slope) && slope - ERRORS * error > LEAST_SLOPE
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A loop of 1 ms that is late by up to 200 µs, a little differently each time.
    fn drifting(moved_by: impl Fn(i64) -> i64) -> Option<LengthSleeps> {
        let mut drift = Drift::default();
        for number in 0..200 {
            let late = 20_000 + number * 7_919 % 180_000;
            let step = 1_000_000 + moved_by(late) + number * 31 % 2_000;
            drift.add(Span::from_nanos(late.unsigned_abs()), Span::from_nanos(step.unsigned_abs()));
        }
        LengthSleeps::of(&drift)
    }

    #[test]
    fn whose_delays_move_all_later_times_sleeps_for_a_length() {
        let found = drifting(|late| late).unwrap();
        assert_eq!(found.without_delay.as_nanos() / 10_000, 100);
        assert!((1_100_000..1_120_000).contains(&found.step.as_nanos()), "{found:?}");
        assert_eq!(drifting(|_| 0), None, "until a time");
        assert_eq!(drifting(|late| late * 77_777 % 900_000), None, "work moves it");
        assert_eq!(drifting(|late| late / 3), None);
    }

    /// A loop of 10 ms that is late by 100 µs, a little differently each time, and works for 1 ms or so; whose sleeps end at a time, or
    /// after a length.
    fn working(until_a_time: bool) -> Option<LengthSleeps> {
        let (mut drift, mut due) = (Drift::default(), 0_i64);
        for number in 0..200 {
            let (late, work) = (100_000 + number * 7_919 % 40_000, 900_000 + number * 60_013 % 300_000);
            let asleep = due + late + work + 3_000 + number * 977 % 2_000;
            let next = if until_a_time { due + 10_000_000 } else { asleep - 4_000 + 10_000_000 };
            let nanos = |length: i64| Span::from_nanos(length.unsigned_abs());
            drift.add(nanos(late), nanos(next - due));
            drift.record_sleep(nanos(next - asleep));
            due = next;
        }
        LengthSleeps::of(&drift)
    }

    #[test]
    fn whose_sleeps_are_all_as_long_sleeps_for_a_length_whatever_its_work_takes() {
        let found = working(false).unwrap();
        assert!((11_000_000..11_300_000).contains(&found.step.as_nanos()), "{found:?}");
        assert_eq!(working(true), None);
    }

    /// Each of its times is past when it asks.
    #[test]
    fn who_has_no_time_to_sleep_is_moved_by_its_work() {
        let found = |slept: u64, each: u64| {
            let mut drift = Drift::default();
            for number in 0..200 {
                let late = 70_000 + number * 7_919 % 40_000;
                drift.add(Span::from_nanos(late), Span::from_nanos(5_150_000 + late));
                let sleeps = number % each == 0;
                drift.record_sleep(if sleeps { Span::from_nanos(slept) } else { Span::ZERO });
            }
            LengthSleeps::of(&drift)
        };
        assert_eq!((found(0, 1), found(20_000, 1), found(3_000_000, 3)), (None, None, None));
        assert!(found(100_000, 1).is_some(), "short, and as long as it asks for");
    }
}
