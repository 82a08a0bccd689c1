//! The percentile curve, with confidence intervals of its points.

use howlate_model::Latency;

use crate::{Interval, Outcome};

/// Points per tenfold smaller tail.
const PER_DECADE: u32 = 6;

/// One point of the curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// The share of wake-ups that are later: 0.1 at the 90th percentile.
    pub tail: f64,
    /// The quantile at that share.
    pub latency: Latency,
    /// Its 95 % interval; `None` if the run is too short for one, or for how slowly the machine changes.
    pub interval: Option<Interval>,
}

/// The curve from every planned wake-up down to one of them; intervals take longer to compute.
pub fn curve(outcome: &Outcome, with_intervals: bool) -> Vec<CurvePoint> {
    let (all, blocks) = (outcome.planned(), outcome.planned_blocks());
    let point = |tail: f64| {
        let latency = all.quantile(1.0 - tail)?;
        let interval = if with_intervals { blocks.interval(1.0 - tail) } else { None };
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
        // Oracle: of 10 000, the 99th percentile is between ranks 9 880 and 9 920 (Conover), here a bucket of 1 % wide.
        let point = at(&curve_of(|_, number| 100_000 + number * 100), 0.01);
        let interval = point.interval.unwrap();
        assert!((195_000..=198_800).contains(&interval.low.as_nanos()), "{interval:?}");
        assert!((199_200..=201_500).contains(&interval.high.as_nanos()), "{interval:?}");
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
    fn a_machine_that_changes_as_slowly_as_the_run_lasts_has_no_band() {
        let states = |slice: i64, number: i64| if slice < 5 { 1_000 + number } else { 3_000 + number };
        let curve = curve_of(states);
        assert!(curve.iter().all(|point| point.interval.is_none()), "{:?}", at(&curve, 0.1));
    }

    #[test]
    fn the_last_wake_up_has_no_upper_limit() {
        assert_eq!(curve_of(|_, number| 1_000 + number).last().unwrap().interval, None);
    }
}
