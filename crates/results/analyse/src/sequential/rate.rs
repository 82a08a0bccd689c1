//! Bounds for the rate of events, from their number so far: a gamma-Poisson mixture.
//!
//! Events come independently at a steady rate; the likelihood of each rate is weighed against that of a mixture of rates. The
//! ratio is a martingale at the true rate, so that the chance that it is ever large is small, whenever one looks.
//!
//! Sources: Robbins, Annals of Mathematical Statistics 41 (1970); Howard et al., Annals of Statistics 49 (2021).

use statrs::function::gamma::{gamma_lr, gamma_ur, ln_gamma};

/// A gamma distribution of rates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mixture {
    /// Its shape, a.
    pub(crate) shape: f64,
    /// Its rate, b: in the unit in which time is counted.
    pub(crate) time: f64,
}

impl Mixture {
    /// With `rate` as the unit of rates.
    fn scaled(self, rate: f64) -> Self {
        Self { time: self.time * rate, ..self }
    }
}

/// For intervals, and to show that a rate is low, where time is in units of the time in which the limit allows one event.
pub(crate) const TO_HOLD: Mixture = Mixture { shape: 0.5, time: 1.0 };
/// To show that a rate is high: soon, if it is very high.
pub(crate) const TO_REFUTE: Mixture = Mixture { shape: 1.0, time: 0.5 };

/// Number of events in a length of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct EventCount {
    pub(crate) events: u64,
    /// In any unit; rates are per this unit.
    pub(crate) time: f64,
}

impl EventCount {
    fn count(self) -> f64 {
        self.events as f64
    }

    /// ln of the likelihood of these events under the mixture, divided by that of a rate of 1 without its exponential.
    fn mixture_likelihood(self, Mixture { shape, time }: Mixture) -> f64 {
        let after = shape + self.count();
        shape * time.ln() - ln_gamma(shape) + ln_gamma(after) - after * (time + self.time).ln()
    }

    /// The lowest and highest rate that is not excluded: those against which the evidence is below `decisive`.
    pub(crate) fn interval(self, mixture: Mixture, decisive: f64) -> Option<(f64, f64)> {
        if self.time <= 0.0 {
            return None;
        }
        let mixed = self.mixture_likelihood(mixture);
        let evidence = |rate: f64| {
            let events_term = if self.events == 0 { 0.0 } else { self.count() * rate.ln() };
            mixed - events_term + rate * self.time - decisive
        };
        // The evidence is least at the observed rate, and rises to both sides.
        let observed = self.count() / self.time;
        let mut above = observed.max(1.0 / self.time);
        while evidence(above) < 0.0 {
            above *= 2.0;
        }
        let high = bisect(|rate| evidence(rate) >= 0.0, observed, above);
        let low = match self.events {
            0 => 0.0,
            _ => bisect(|rate| evidence(rate) < 0.0, 0.0, observed),
        };
        Some((low, high))
    }

    /// ln of the evidence that the rate is below 1, against every rate of 1 and more.
    pub(crate) fn evidence_below_one(self, mixture: Mixture) -> f64 {
        self.evidence(mixture, gamma_lr)
    }

    /// ln of the evidence that the rate is above 1, against every rate of 1 and less.
    pub(crate) fn evidence_above_one(self, mixture: Mixture) -> f64 {
        self.evidence(mixture, gamma_ur)
    }

    /// The lowest rate that the true one is certainly below, by evidence of at least `decisive`: [`Self::evidence_below_one`] for any
    /// rate instead of 1.
    pub(crate) fn at_most(self, mixture: Mixture, decisive: f64) -> f64 {
        let is_below = |rate: f64| self.scaled(rate).evidence_below_one(mixture.scaled(rate)) >= decisive;
        let mut high = (self.count() / self.time).max(1.0 / self.time);
        while !is_below(high) {
            high *= 2.0;
        }
        bisect(is_below, 0.0, high)
    }

    /// The highest rate that the true one is certainly above, likewise; 0 if there is none.
    pub(crate) fn at_least(self, mixture: Mixture, decisive: f64) -> f64 {
        let observed = self.count() / self.time;
        let is_open = |rate: f64| self.scaled(rate).evidence_above_one(mixture.scaled(rate)) < decisive;
        if self.events == 0 || is_open(observed * 1e-9) {
            0.0
        } else {
            bisect(is_open, observed * 1e-9, observed)
        }
    }

    /// With `rate` as the unit of rates.
    fn scaled(self, rate: f64) -> Self {
        Self { time: self.time * rate, ..self }
    }

    /// Evidence against a rate of 1, with the part of the mixture of which `share` is the incomplete gamma function.
    fn evidence(self, mixture: Mixture, share: fn(f64, f64) -> f64) -> f64 {
        let Mixture { shape, time } = mixture;
        let (before, after) = (share(shape, time), share(shape + self.count(), time + self.time));
        self.time + self.mixture_likelihood(mixture) - before.ln() + after.ln()
    }
}

/// The time after which `events` events, and no more, show that the rate is below 1.
pub(crate) fn time_to_hold(events: u64, mixture: Mixture, decisive: f64) -> f64 {
    let holds = |time: f64| EventCount { events, time }.evidence_below_one(mixture) >= decisive;
    let mut enough = (events as f64).max(1.0);
    while !holds(enough) {
        enough *= 2.0;
    }
    bisect(holds, 0.9 * events as f64, enough)
}

/// The longest time in which `events` events show that the rate is above 1; `None` if so few never do.
pub(crate) fn time_to_refute(events: u64, mixture: Mixture, decisive: f64) -> Option<f64> {
    let open = |time: f64| EventCount { events, time }.evidence_above_one(mixture) < decisive;
    let most = events as f64;
    (!open(1e-9) && open(most)).then(|| bisect(open, 1e-9, most))
}

/// Where `is_beyond` turns true, between `low`, at which it is false, and `high`, at which it is true.
fn bisect(is_beyond: impl Fn(f64) -> bool, mut low: f64, mut high: f64) -> f64 {
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if is_beyond(middle) { high = middle } else { low = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sequential::decisive;

    const HALF: Mixture = Mixture { shape: 0.5, time: 1.0 };

    #[track_caller]
    fn close(actual: f64, expected: f64) {
        assert!(
            (actual - expected).abs() <= 6e-7_f64.max(expected.abs() * 6e-7),
            "{actual} against {expected}"
        );
    }

    /// Computed with scipy, like all values below.
    #[test]
    fn intervals_of_a_rate() {
        for (events, time, low, high) in [
            (0, 1.0, 0.0, 3.342_306),
            (0, 3.0, 0.0, 1.229_626),
            (0, 24.0, 0.0, 0.191_882),
            (1, 1.0, 0.008_918, 6.618_463),
            (1, 24.0, 0.000_201, 0.305_470),
            (2, 3.0, 0.036_140, 2.976_992),
            (3, 24.0, 0.011_666, 0.474_993),
            (5, 1.0, 0.564_625, 17.825_837),
            (10, 24.0, 0.131_843, 0.958_339),
        ] {
            let (from, to) = EventCount { events, time }.interval(HALF, decisive()).unwrap();
            close(from, low);
            close(to, high);
        }
        assert_eq!(EventCount::default().interval(HALF, decisive()), None);
    }

    #[test]
    fn evidence_for_and_against_a_limit() {
        close(EventCount { events: 0, time: 3.0 }.evidence_below_one(HALF), 2.473_307);
        close(EventCount { events: 2, time: 10.0 }.evidence_below_one(HALF), 3.888_199);
        close(EventCount { events: 6, time: 1.0 }.evidence_above_one(HALF), 3.425_498);
        close(EventCount { events: 3, time: 0.1 }.evidence_above_one(HALF), 2.191_171);
    }

    #[track_caller]
    fn near(actual: f64, expected: f64) {
        assert!((actual - expected).abs() <= 6e-5, "{actual} against {expected}");
    }

    #[test]
    fn how_long_until_a_limit_is_kept() {
        for (time, hours) in [
            (1.0, [3.5889, 6.5522, 8.8264, 10.8506, 12.7337, 14.5230]),
            (3.0, [3.3572, 6.5028, 8.9143, 11.0537, 13.0382, 14.9190]),
        ] {
            for (events, expected) in (0..).zip(hours) {
                near(time_to_hold(events, Mixture { shape: 0.5, time }, decisive()), expected);
            }
        }
    }

    #[test]
    fn how_soon_a_limit_is_broken() {
        let soon = Mixture { shape: 1.0, time: 0.2 };
        for (mixture, events, expected) in [
            (soon, 2, 0.0996),
            (soon, 3, 0.3704),
            (soon, 4, 0.6994),
            (soon, 5, 1.0744),
            (soon, 6, 1.4866),
            (HALF, 4, 0.2357),
            (HALF, 5, 0.7022),
            (HALF, 6, 1.2026),
            (HALF, 7, 1.7306),
        ] {
            near(time_to_refute(events, mixture, decisive()).unwrap(), expected);
        }
        assert_eq!(time_to_refute(1, TO_REFUTE, decisive()), None);
        assert_eq!(time_to_refute(0, TO_REFUTE, decisive()), None);
    }

    /// A limit equal to the bound is decided at just that time.
    #[test]
    fn bounds_to_one_side_say_what_was_decided() {
        for (events, hours) in (0..).zip([3.5889, 6.5522, 8.8264, 10.8506]) {
            near(EventCount { events, time: hours }.at_most(TO_HOLD, decisive()), 1.0);
        }
        for events in 3..8 {
            let time = time_to_refute(events, TO_REFUTE, decisive()).unwrap();
            near(EventCount { events, time }.at_least(TO_REFUTE, decisive()), 1.0);
        }
        let none = EventCount { events: 0, time: 3.0 };
        assert!(none.at_least(TO_REFUTE, decisive()).abs() < 1e-12);
        assert!(none.at_most(TO_HOLD, decisive()) < none.interval(TO_HOLD, decisive()).unwrap().1);
    }

    #[test]
    fn a_great_many_events_are_no_trouble() {
        let many = EventCount { events: 1_000_000, time: 10.0 };
        assert!(many.evidence_above_one(TO_REFUTE) > 1e6);
        assert!(many.evidence_below_one(TO_HOLD) < 0.0);
        let none = EventCount { events: 0, time: 1e6 };
        assert!(none.evidence_below_one(TO_HOLD) > 1e5);
        assert!(none.evidence_above_one(TO_REFUTE) < 0.0);
    }

    /// How many of 2000 runs of at most 72 hours hold and are refuted when events come at this rate, tested without a break.
    fn decided_at(rate: f64) -> (u32, u32) {
        let (mut hold, mut refuted) = (0, 0);
        for seed in 0..2_000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let (mut time, mut events) = (0.0, 0);
            while time < 72.0 {
                // Time speaks for a limit and events against it: what can be decided is so just before an event or just after.
                time += -random.f64().max(1e-12).ln() / rate;
                if (EventCount { events, time: time.min(72.0) }).evidence_below_one(TO_HOLD) >= decisive() {
                    hold += 1;
                    break;
                }
                events += 1;
                if (EventCount { events, time }).evidence_above_one(TO_REFUTE) >= decisive() {
                    refuted += 1;
                    break;
                }
            }
        }
        (hold, refuted)
    }

    #[test]
    fn what_is_decided_is_right_however_often_one_looks() {
        // At the limit itself either is wrong: 5 in 100 at most.
        let (hold, refuted) = decided_at(1.0);
        assert!((20..=100).contains(&hold) && (20..=100).contains(&refuted), "{hold} {refuted}");
        // A rate far from it is decided, and rightly.
        assert_eq!(decided_at(0.1), (2_000, 0));
        let (hold, refuted) = decided_at(5.0);
        assert!(hold <= 2 && refuted >= 1_998, "{hold} {refuted}");
        let (hold, _) = decided_at(0.5);
        assert!((1_850..2_000).contains(&hold), "{hold}");
    }

    /// The fixed bound of 95 %, read every minute of a day, is below the truth at some time in 17 of 100 runs.
    #[test]
    fn a_fixed_bound_would_not_hold_for_every_look() {
        let is_ever_wrong = |seed: u64, bound: &dyn Fn(EventCount) -> f64| {
            let mut random = fastrand::Rng::with_seed(seed);
            let (mut time, mut events) = (0.0, 0);
            loop {
                time += -random.f64().max(1e-12).ln();
                if time > 24.0 {
                    return false;
                }
                if time > 1.0 / 60.0 && bound(EventCount { events, time }) < 1.0 {
                    return true;
                }
                events += 1;
            }
        };
        let wrong =
            |bound: &dyn Fn(EventCount) -> f64| (0..600).filter(|seed| is_ever_wrong(*seed, bound)).count();
        let fixed =
            |count: EventCount| crate::exceedance::rate_at_most(count.events, count.time, 0.95).unwrap();
        let mixture = |count: EventCount| count.interval(HALF, decisive()).unwrap().1;
        assert!(wrong(&fixed) > 60, "{}", wrong(&fixed));
        assert!(wrong(&mixture) <= 30, "{}", wrong(&mixture));
    }
}
