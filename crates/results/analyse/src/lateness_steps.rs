//! Steps in a sweep of sleep lengths: lengths from which on sleeps return clearly later.

use howlate_model::{Distribution, Latency, Span};

/// A step between two neighbouring lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SweepStep {
    pub(crate) below: Span,
    pub(crate) above: Span,
    pub(crate) median_below: Latency,
    pub(crate) median_above: Latency,
}

/// The median must rise by this factor,
const LEAST_RATIO: f64 = 1.4;
/// and by this many nanoseconds.
const LEAST_RISE: i64 = 3_000;
/// Fewer sleeps of a length are ignored.
const LEAST_SAMPLES: u64 = 20;

/// The steps between neighbours of `sweep`, which is in ascending order of length.
///
/// To count, the middle halves of the two distributions must not overlap, and the median must
/// rise clearly: single late wake-ups do not make a step.
pub(crate) fn between(sweep: &[(Span, &Distribution)]) -> Vec<SweepStep> {
    let enough = |(_, latency): &&(Span, &Distribution)| latency.count() >= LEAST_SAMPLES;
    let sweep: Vec<_> = sweep.iter().filter(enough).collect();
    sweep.windows(2).filter_map(|pair| step(pair[0], pair[1])).collect()
}

fn step(low: &(Span, &Distribution), high: &(Span, &Distribution)) -> Option<SweepStep> {
    let (median_below, median_above) = (low.1.quantile(0.5)?, high.1.quantile(0.5)?);
    let rise = median_above.as_nanos() - median_below.as_nanos();
    let ratio = median_above.as_nanos() as f64 / median_below.as_nanos().max(1) as f64;
    let apart = high.1.quantile(0.25)? > low.1.quantile(0.75)?;
    (apart && rise >= LEAST_RISE && ratio >= LEAST_RATIO).then_some(SweepStep {
        below: low.0,
        above: high.0,
        median_below,
        median_above,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(center: i64) -> Distribution {
        let mut all = Distribution::default();
        (-50..50).for_each(|offset| all.record(Latency::from_nanos(center + offset * 10)));
        all
    }

    #[test]
    fn the_halt_poll_step_is_found_and_noise_is_not() {
        // Medians as a KVM guest shows them: a step between 200 µs and 250 µs.
        let sweep: Vec<(Span, Distribution)> =
            [(50, 4_400), (100, 5_000), (200, 4_600), (250, 11_600), (300, 12_000)]
                .map(|(micros, late)| (Span::from_micros(micros), around(late)))
                .into();
        let sweep: Vec<_> = sweep.iter().map(|(length, all)| (*length, all)).collect();
        let found = between(&sweep);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].below, found[0].above), (Span::from_micros(200), Span::from_micros(250)));
    }
}
