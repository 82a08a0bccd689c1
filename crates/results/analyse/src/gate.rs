//! How often a limit fails a run by chance, and how long a run must be so that it hardly ever does.

use howlate_model::{Limit, LimitStatistic, Span};
use schemars::JsonSchema;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal};

use crate::exceedance::rate_at_most;
use crate::{Outcome, least_wakeups};

/// A gate that fails more often by chance is not trusted.
const TRUSTED: f64 = 0.05;
/// Confidence of bounds and ranges.
const CONFIDENCE: f64 = 0.95;
/// Fewer events do not show their rate.
const LEAST_EVENTS: usize = 5;
/// Smaller shares are not reported: no run knows its own tail well enough.
pub const LEAST_SHARE: f64 = 0.01;
/// Longest run suggested, seconds: one year.
const LONGEST_SECONDS: f64 = 365.0 * 24.0 * 3_600.0;

/// What a limit is worth as a gate: what becomes of runs like this one as long as the machine does what it did.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GateTrust {
    /// How long such a run is.
    #[serde(rename = "run_ns")]
    pub run: Span,
    /// The share of such runs that exceed the limit, by chance alone; absent where this run does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exceeds: Option<f64>,
    /// The range in which that share lies, with 95 % confidence for what changes within a hundredth of the run; absent where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "(f64, f64)")]
    pub exceeds_between: Option<(f64, f64)>,
    /// How long a run must be so that no more than `trusted` of such runs exceed it: for a maximum, without one wake-up
    /// beyond it. Absent where no length is enough, or it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "trusted_after_ns")]
    pub trusted_after: Option<Span>,
    /// That share.
    pub trusted: f64,
    /// Why the share is not told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<UnknownShare>,
}

/// Why a run does not tell how often runs like it exceed a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnknownShare {
    /// Too few wake-ups were beyond the limit to tell how often that happens.
    TooFewEvents,
    /// The run is too short, or its stretches are too alike, to tell how far runs lie apart.
    TooShort,
}

/// The trust in `limit` for this condition; `None` if nothing was measured, or the limit is not about wake-ups.
pub fn gate_trust(outcome: &Outcome, limit: Limit) -> Option<GateTrust> {
    let (blocks, lasted) = outcome.planned_blocks().extent();
    let run = lasted.times(blocks);
    if outcome.count() == 0 || run.is_zero() {
        return None;
    }
    match limit.statistic {
        LimitStatistic::Max => Some(trust_in_maximum(outcome, limit, run)),
        LimitStatistic::Percentile(percent) => {
            Some(trust_in_percentile(outcome, limit, percent / 100.0, run))
        }
        LimitStatistic::Mean | LimitStatistic::Missed | LimitStatistic::Loop => None,
    }
}

fn unknown(run: Span, unknown: UnknownShare) -> GateTrust {
    let (exceeds, exceeds_between, trusted_after) = (None, None, None);
    GateTrust { run, exceeds, exceeds_between, trusted_after, trusted: TRUSTED, unknown: Some(unknown) }
}

/// For a maximum: one wake-up is enough to exceed it; those that come together count once.
fn trust_in_maximum(outcome: &Outcome, limit: Limit, run: Span) -> GateTrust {
    let clusters = clusters(outcome, limit.above);
    if clusters >= LEAST_EVENTS {
        let exceeds = Some(-(-(clusters as f64)).exp_m1());
        return GateTrust { exceeds, unknown: None, ..unknown(run, UnknownShare::TooFewEvents) };
    }
    let inflation = outcome.bound().map(|bound| bound.inflation);
    let trusted_after = inflation.filter(|_| clusters == 0).and_then(|inflation| {
        // The rate is at most this, and a run of this length is without an event as often as trusted.
        let times = rate_at_most(0, 1.0, CONFIDENCE)? * inflation / -(1.0 - TRUSTED).ln();
        times_run(run, times)
    });
    GateTrust { trusted_after, ..unknown(run, UnknownShare::TooFewEvents) }
}

/// Number of clusters of slices with a wake-up beyond `above`.
fn clusters(outcome: &Outcome, above: u64) -> usize {
    let slices = outcome.timeline().slices().iter();
    let is_beyond: Vec<bool> =
        slices.map(|slice| u64::try_from(slice.max).is_ok_and(|max| max > above)).collect();
    let begins = |(place, beyond): (usize, &bool)| *beyond && (place == 0 || !is_beyond[place - 1]);
    is_beyond.iter().enumerate().filter(|slice| begins(*slice)).count()
}

/// For a percentile: a run exceeds the limit if too large a share of its wake-ups is later. The spread of that share between runs
/// follows from the run's batches; its mean is known no better than that, so the result has a range beside the most plausible
/// value. Late wake-ups are skewed, and runs with more of them differ more, so that logarithms are compared.
fn trust_in_percentile(outcome: &Outcome, limit: Limit, quantile: f64, run: Span) -> GateTrust {
    let numbers = outcome.planned_blocks();
    let count = outcome.planned().count();
    let Some((share, error)) = numbers.share_up_to(limit.above).filter(|_| count >= least_wakeups(quantile))
    else {
        return unknown(run, UnknownShare::TooShort);
    };
    let one_wakeup = 1.0 / count as f64;
    let beyond = (1.0 - share).max(one_wakeup);
    let distance = ((1.0 - quantile) / beyond).ln() * beyond / error.standard.max(one_wakeup);
    // Uncertainty of the mean, and of the spread between runs.
    let uncertainty = error.t * (1.0 + distance * distance / (2.0 * error.freedom)).sqrt();
    let normal = Normal::standard();
    let exceeds = |distance: f64| normal.cdf(-distance);
    let needed = normal.inverse_cdf(1.0 - TRUSTED);
    let least = least_wakeups(quantile) as f64 / count.max(1) as f64;
    let times = (needed / distance).powi(2).max(least);
    let trusted_after = (distance > 0.0).then(|| times_run(run, times)).flatten();
    GateTrust {
        exceeds: Some(exceeds(distance)),
        exceeds_between: Some((exceeds(distance + uncertainty), exceeds(distance - uncertainty))),
        trusted_after,
        unknown: None,
        ..unknown(run, UnknownShare::TooShort)
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative, and not a year")]
fn times_run(run: Span, times: f64) -> Option<Span> {
    let seconds = run.as_secs_f64() * times;
    (seconds < LONGEST_SECONDS).then(|| Span::from_nanos((seconds * 1e9) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::value;
    use crate::testing::analysis_of;
    use howlate_model::{Block, Line, MonotonicTime, Wait, Wakeup, Work};

    /// `seconds` seconds with a wake-up each millisecond, whose latencies are `late(second, number)`.
    fn outcome(seconds: i64, mut late: impl FnMut(i64, u64) -> u64) -> Outcome {
        let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: Span::from_millis(1) };
        let mut analysis = analysis_of(&[work]);
        for second in 0..seconds {
            let from = MonotonicTime::from_nanos(second * 1_000_000_000);
            let mut block = Block { from, until: from.plus(Span::from_secs(1)), ..Block::default() };
            for number in 0..1_000 {
                let expected = from.plus(Span::from_millis(number));
                let late = Span::from_nanos(late(second, number));
                block.record(Wakeup { expected, ran: expected.plus(late) }, None);
            }
            analysis.add(&Line::Block(Box::new(block)));
        }
        analysis.outcomes()[0].clone()
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some microseconds")]
    fn noise(seed: u64) -> impl FnMut(i64, u64) -> u64 {
        let mut random = fastrand::Rng::with_seed(seed);
        move |_, _| 5_000 + (-20_000.0 * random.f64().max(1e-12).ln()) as u64
    }

    fn trust(outcome: &Outcome, limit: &str) -> GateTrust {
        gate_trust(outcome, limit.parse().unwrap()).unwrap()
    }

    #[test]
    fn a_maximum_that_was_not_exceeded_tells_nothing_but_how_long_it_would_take() {
        let calm = trust(&outcome(60, noise(1)), "max>10ms");
        assert_eq!((calm.exceeds, calm.unknown), (None, Some(UnknownShare::TooFewEvents)));
        // 2.9957 / −ln 0.95 = 58.4 times as long, where every second counts.
        let after = calm.trusted_after.unwrap().as_secs_f64();
        assert!((58.0 * 60.0..2.0 * 58.4 * 60.0).contains(&after), "{after}");
    }

    #[test]
    fn a_maximum_that_is_exceeded_again_and_again_fails_every_run() {
        let mut plain = noise(2);
        let spikes =
            outcome(
                60,
                |second, number| {
                    if second % 6 == 0 && number == 9 { 9_000_000 } else { plain(second, number) }
                },
            );
        let found = trust(&spikes, "max>5ms");
        assert!(found.exceeds.unwrap() > 0.99 && found.trusted_after.is_none(), "{found:?}");
        let mut plain = noise(2);
        let once = outcome(
            60,
            |second, number| if second == 6 && number == 9 { 9_000_000 } else { plain(second, number) },
        );
        assert_eq!(trust(&once, "max>5ms").exceeds, None);
    }

    /// Oracle: how often other runs of the same machine exceed the limit.
    #[test]
    fn the_share_of_a_percentile_is_that_of_other_runs() {
        let p99 = |seed: u64| {
            value(
                &outcome(20, noise(seed)),
                &outcome(20, noise(seed)).planned(),
                LimitStatistic::Percentile(99.0),
            )
        };
        let other_runs: Vec<u64> = (100..160).filter_map(p99).collect();
        let mut sorted = other_runs.clone();
        sorted.sort_unstable();
        // Exceeded by one run in two, in four and in ten.
        for (place, low, high) in [(30, 0.2, 0.8), (45, 0.05, 0.6), (54, 0.01, 0.4)] {
            let limit = format!("p99>{}ns", sorted[place]);
            let shares: Vec<f64> =
                (0..8).filter_map(|seed| trust(&outcome(20, noise(seed)), &limit).exceeds).collect();
            let truth = (59 - place) as f64 / 60.0;
            let range = |seed: u64| trust(&outcome(20, noise(seed)), &limit).exceeds_between;
            let ranges: Vec<(f64, f64)> = (0..12).filter_map(range).collect();
            let covered = ranges.iter().filter(|(from, to)| *from <= truth && truth <= *to).count();
            assert!(covered >= ranges.len() - 2 && covered > 5, "{limit}: {truth} in {ranges:?}");
            let mean = shares.iter().sum::<f64>() / shares.len() as f64;
            assert!((low..high).contains(&mean), "{limit}: {shares:?}");
        }
        let far = (0..8).map(|seed| trust(&outcome(20, noise(seed)), "p99>1ms"));
        let far = far.into_iter().find(|trust| trust.exceeds.is_some()).unwrap();
        assert!(far.exceeds.unwrap() < LEAST_SHARE && far.trusted_after.unwrap() <= far.run, "{far:?}");
    }

    #[test]
    fn too_short_a_run_tells_nothing_of_its_percentiles() {
        let short = trust(&outcome(3, noise(4)), "p99>200us");
        assert_eq!((short.exceeds, short.unknown), (None, Some(UnknownShare::TooShort)));
        assert!(gate_trust(&outcome(3, noise(4)), "missed>0".parse().unwrap()).is_none());
    }
}
