//! What is known of all conditions of a run together.

use std::cmp::Ordering;

use howlate_model::{Span, StopRule};

use super::found::{Decision, Found, Unit};

/// It goes on until each of its conditions is known; a limit that one of them breaks is broken. The condition of which least is
/// known stands for all.
pub(crate) fn of_all(figure: StopRule, of_each: impl Iterator<Item = Found>) -> Found {
    let all: Vec<Found> = of_each.collect();
    let refuted = all.iter().find(|one| one.decision == Decision::Refuted);
    refuted.or(all.iter().max_by(by_doubt)).cloned().unwrap_or_else(|| Found::nothing(figure))
}

/// By how much there is still to know, and then by how high or how wide the interval is.
fn by_doubt(one: &&Found, other: &&Found) -> Ordering {
    let wait = |found: &Found| match found.decision {
        Decision::Undecided => found.needs_about.map_or(u64::MAX, Span::as_nanos),
        _ => 0,
    };
    let extent = |found: &Found| {
        let ends = found.interval.and_then(|interval| Some((interval.low, interval.high?, interval.unit)));
        ends.map_or(f64::INFINITY, |(low, high, unit)| match unit {
            Unit::PerHour => high,
            Unit::Ns => (high - low) / high.max(1.0),
        })
    };
    wait(one).cmp(&wait(other)).then(extent(one).total_cmp(&extent(other)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sequential::Between;

    fn one(decision: Decision, high: f64, needs: Option<u64>) -> Found {
        let interval = Some(Between { low: 0.0, high: Some(high), unit: Unit::PerHour });
        let figure: StopRule = "max<1ms: 1 per hour".parse().unwrap();
        Found { decision, interval, needs_about: needs.map(Span::from_secs), ..Found::nothing(figure) }
    }

    #[test]
    fn the_one_that_is_known_least_stands_for_all() {
        let (holds, wide) = (one(Decision::Holds, 0.5, None), one(Decision::Holds, 0.9, None));
        let (soon, late) = (one(Decision::Undecided, 2.0, Some(60)), one(Decision::Undecided, 1.5, Some(90)));
        let (never, refuted) = (one(Decision::Undecided, 1.0, None), one(Decision::Refuted, 9.0, None));
        let told = |all: &[&Found]| of_all(holds.figure, all.iter().copied().cloned());
        assert_eq!(told(&[&holds, &wide]), wide);
        assert_eq!(told(&[&soon, &late, &wide]), late);
        assert_eq!(told(&[&never, &late]), never);
        assert_eq!(told(&[&never, &refuted, &holds]), refuted);
        assert_eq!(told(&[]), Found::nothing(holds.figure));
    }
}
