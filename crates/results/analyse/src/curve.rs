//! The percentile curve, with confidence intervals of its points.

use howlate_model::{Distribution, Latency};
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::interval::quantile_ranks;
use crate::{Interval, Outcome, TimeSlice};

/// Points per tenfold smaller tail.
const PER_DECADE: u32 = 6;

/// Fewer slices do not show how much they differ.
const LEAST_SLICES: usize = 6;

/// One point of the curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// The share of wake-ups that are later: 0.1 at the 90th percentile.
    pub tail: f64,
    /// The quantile at that share.
    pub latency: Latency,
    /// Its 95 % interval; `None` if the run is too short for one.
    pub interval: Option<Interval>,
}

/// The curve from every planned wake-up down to one of them; intervals take longer to compute.
pub fn curve(outcome: &Outcome, with_intervals: bool) -> Vec<CurvePoint> {
    let all = outcome.planned();
    let point = |tail: f64| {
        let latency = all.quantile(1.0 - tail)?;
        let slices = outcome.timeline().slices();
        let interval = if with_intervals { interval(&all, slices, tail, latency) } else { None };
        Some(CurvePoint { tail, latency, interval })
    };
    let mut points: Vec<CurvePoint> = tails(all.count()).into_iter().filter_map(point).collect();
    tighten(&mut points);
    points
}

/// A latency that at most a share of wake-ups exceeds is exceeded by at most any larger share too: upper ends hold for all points
/// before, lower ends for all after.
fn tighten(points: &mut [CurvePoint]) {
    let mut high = None;
    for interval in points.iter_mut().rev().filter_map(|point| point.interval.as_mut()) {
        interval.high = high.map_or(interval.high, |later: Latency| later.min(interval.high));
        high = Some(interval.high);
    }
    let mut low = None;
    for interval in points.iter_mut().filter_map(|point| point.interval.as_mut()) {
        interval.low = low.map_or(interval.low, |earlier: Latency| earlier.max(interval.low));
        low = Some(interval.low);
    }
}

/// Tails from 1 to 1/n, equally far apart as the curve's axis shows them.
fn tails(count: u64) -> Vec<f64> {
    if count == 0 {
        return Vec::new();
    }
    let least = 1.0 / count as f64;
    let step = |number: u32| 10_f64.powf(-f64::from(number) / f64::from(PER_DECADE));
    let mut tails: Vec<f64> = (0..).map(step).take_while(|tail| *tail > least * 1.001).collect();
    tails.push(least);
    tails
}

/// The 95 % interval of a quantile: that of the share of wake-ups below it, read off the curve.
///
/// Wake-ups of one run are not independent. The design effect comes from how much the share differs between slices of time,
/// as for a sample of clusters.
///
/// Source: Woodruff, Confidence intervals for medians and other position measures, JASA 47 (1952).
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn interval(all: &Distribution, slices: &[TimeSlice], tail: f64, latency: Latency) -> Option<Interval> {
    let design_effect = design_effect(slices, latency)?;
    let independent = (all.count() as f64 / design_effect).floor() as u64;
    let at = |rank: u64| all.quantile(rank as f64 / independent as f64);
    let (low, high) = quantile_ranks(independent, 1.0 - tail)?;
    Some(Interval { low: at(low)?.min(latency), high: at(high)?.max(latency) })
}

/// Design effect of counting wake-ups of at least `latency` in slices of time: how many wake-ups are worth one independent one,
/// at least 1.
fn design_effect(slices: &[TimeSlice], latency: Latency) -> Option<f64> {
    if slices.len() < LEAST_SLICES {
        return None;
    }
    let border = latency.as_nanos().max(0).unsigned_abs();
    let count = |slice: &TimeSlice| (slice.count() as f64, slice.reaching(border) as f64);
    let counts: Vec<(f64, f64)> = slices.iter().map(count).collect();
    let (all, late) = counts.iter().fold((0.0, 0.0), |sum, slice| (sum.0 + slice.0, sum.1 + slice.1));
    let share = late / all;
    if share >= 1.0 {
        return Some(1.0);
    }
    let slice_count = counts.len() as f64;
    let squares: f64 = counts.iter().map(|(size, late)| (late - share * size).powi(2)).sum();
    let variance = slice_count / (slice_count - 1.0) * squares / (all * all);
    Some((variance / (share * (1.0 - share) / all)).max(1.0) * few_slices_factor(slice_count))
}

/// Factor for a variance known from a few slices only: Student's t against the normal.
fn few_slices_factor(slices: f64) -> f64 {
    const NORMAL: f64 = 1.959_963_985;
    let t = StudentsT::new(0.0, 1.0, slices - 1.0).map_or(NORMAL, |t| t.inverse_cdf(0.975));
    (t / NORMAL).powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::analysis_of;
    use howlate_model::{Block, Line, Sleeper, Span, Wait, Work};

    const SLEEP: Work =
        Work::Sleep { mechanism: Sleeper::Wait(Wait::Nanosleep), target_ns: Span::from_millis(1) };

    /// Ten slices of 1 000 wake-ups; `late` gives the latency of each by slice and number.
    fn curve_of(late: impl Fn(i64, i64) -> i64) -> Vec<CurvePoint> {
        let mut analysis = analysis_of(&[SLEEP]);
        for slice in 0..10 {
            let mut block = Block::default();
            (0..1_000).for_each(|number| block.latency.record(Latency::from_nanos(late(slice, number))));
            analysis.add(&Line::Block(Box::new(block)));
        }
        curve(&analysis.outcomes()[0], true)
    }

    fn at(curve: &[CurvePoint], tail: f64) -> CurvePoint {
        *curve.iter().find(|point| (point.tail / tail - 1.0).abs() < 1e-9).unwrap()
    }

    #[test]
    fn the_curve_falls_from_all_to_one() {
        let curve = curve_of(|_, number| 1_000 + number);
        assert!(curve.windows(2).all(|pair| pair[0].tail > pair[1].tail));
        assert!(curve.windows(2).all(|pair| pair[0].latency <= pair[1].latency));
        let last = curve.last().unwrap();
        assert!((last.tail - 1e-4).abs() < 1e-9);
        assert_eq!(last.latency.as_nanos(), 1_999);
    }

    #[test]
    fn alike_stretches_give_the_interval_of_independent_wake_ups() {
        // Oracle: of 10 000, the 99th percentile is between ranks 9 880 and 9 920; with t of ten
        // slices instead of the normal, 2.262 / 1.960 as far apart.
        let point = at(&curve_of(|_, number| 100_000 + number * 100), 0.01);
        let close = |value: Option<Latency>, to: i64| {
            let value = value.unwrap().as_nanos();
            assert!((value - to).abs() < to / 100, "{value} instead of {to}");
        };
        close(point.interval.map(|interval| interval.low), 198_770);
        close(point.interval.map(|interval| interval.high), 199_230);
    }

    #[test]
    fn stretches_that_differ_widen_the_interval() {
        // Two of ten slices are late as a whole.
        let late = |slice: i64, number: i64| if slice < 2 { 1_000_000 } else { 1_000 + number };
        let point = at(&curve_of(late), 0.1);
        assert_eq!(point.latency.as_nanos(), 1_000_000);
        let alike = point.interval.is_none_or(|interval| interval.low.as_nanos() < 2_100);
        assert!(alike, "{point:?}");
    }

    #[test]
    fn the_last_wake_up_has_no_upper_limit() {
        assert_eq!(curve_of(|_, number| 1_000 + number).last().unwrap().interval, None);
    }
}
