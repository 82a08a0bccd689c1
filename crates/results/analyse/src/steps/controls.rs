//! The remainder of a step under a control.

use howlate_model::Latency;
use schemars::JsonSchema;
use serde::Serialize;

use super::fit::{ColumnRange, rises};
use super::sweep::{Medians, StepControl};
use crate::Interval;
use crate::compare::{SignedRank, centre};

/// What is left of a step under a control, round by round.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Controlled")]
pub struct ControlResult {
    /// Which.
    pub control: StepControl,
    /// How much later sleeps after the step return than those before it.
    #[serde(rename = "left_ns")]
    pub left: Latency,
    /// Its 95 % interval.
    #[serde(rename = "left_interval_ns")]
    pub interval: Interval,
    /// Whether that is less than half of the step.
    pub verdict: Remainder,
}

/// Whether a step is there under a control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Remainder {
    /// Less than half of it, with 95 % confidence.
    Gone,
    /// More than half of it, with 95 % confidence.
    Remains,
    /// The rounds do not tell.
    Unclear,
}

/// The centre of the rounds' values and its 95 % interval; `None` with too few rounds.
pub(crate) fn estimate(rounds: &[f64]) -> Option<(Latency, Interval)> {
    let (low, high) = SignedRank::from_differences(rounds).interval(0.05)?;
    Some((latency(centre(rounds)?), Interval { low: latency(low), high: latency(high) }))
}

#[allow(clippy::cast_possible_truncation, reason = "rounded first")]
const fn latency(nanos: f64) -> Latency {
    Latency::from_nanos(nanos.round() as i64)
}

/// The remainder of the step from `below` to `above` under `control`, from the rounds that both have.
pub(crate) fn control_result(
    control: StepControl,
    base: &Medians,
    without: &Medians,
    [below, above]: [ColumnRange; 2],
) -> Option<ControlResult> {
    let shared: Vec<u32> = base.keys().filter(|round| without.contains_key(round)).copied().collect();
    let rows =
        |medians: &Medians| shared.iter().filter_map(|round| medians.get(round).cloned()).collect::<Vec<_>>();
    let (steps, left) = (rises(&rows(base), below, above), rises(&rows(without), below, above));
    let (rise, _) = estimate(&steps)?;
    let sign = if rise.as_nanos() < 0 { -1.0 } else { 1.0 };
    let beyond_half: Vec<f64> =
        steps.iter().zip(&left).map(|(step, left)| sign * (left - step / 2.0)).collect();
    let (low, high) = SignedRank::from_differences(&beyond_half).interval(0.05)?;
    let verdict = match (low, high) {
        (_, high) if high < 0.0 => Remainder::Gone,
        (low, _) if low > 0.0 => Remainder::Remains,
        _ => Remainder::Unclear,
    };
    let (left, interval) = estimate(&left)?;
    Some(ControlResult { control, left, interval, verdict })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(step: f64) -> Medians {
        let row = |round: u32| vec![5_000.0 + f64::from(round * 7), 5_000.0 + f64::from(round * 13) + step];
        (0..8).map(|round| (round, row(round))).collect()
    }

    fn verdict(step: f64, left: f64) -> Remainder {
        let (base, without) = (rounds(step), rounds(left));
        control_result(StepControl::Awake, &base, &without, [(0, 1), (1, 2)]).unwrap().verdict
    }

    #[test]
    fn a_step_is_gone_where_less_than_half_is_left() {
        assert_eq!(verdict(7_000.0, 200.0), Remainder::Gone);
        assert_eq!(verdict(7_000.0, 6_800.0), Remainder::Remains);
        assert_eq!(verdict(7_000.0, 3_490.0), Remainder::Unclear);
        assert_eq!(verdict(-7_000.0, -200.0), Remainder::Gone);
        assert_eq!(verdict(-7_000.0, -6_900.0), Remainder::Remains);
    }

    #[test]
    fn too_few_rounds_tell_nothing() {
        let few: Medians = rounds(7_000.0).into_iter().take(5).collect();
        assert_eq!(control_result(StepControl::Slack, &few, &few, [(0, 1), (1, 2)]), None);
    }
}
