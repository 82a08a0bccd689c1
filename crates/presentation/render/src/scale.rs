//! Axes of plots: positions of values, and round values for ticks.

/// A range of numbers, linear or logarithmic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    from: f64,
    to: f64,
    logarithmic: bool,
}

/// Round numbers within a decade.
const ROUND: [f64; 3] = [1.0, 2.0, 5.0];

impl Scale {
    /// A linear scale that contains both numbers, widened to multiples of a round step.
    pub fn linear(from: f64, to: f64) -> Self {
        let step = round_step((to - from).max(f64::MIN_POSITIVE) / 5.0);
        let (from, to) = ((from / step).floor() * step, (to / step).ceil() * step);
        Self { from, to: if to > from { to } else { from + step }, logarithmic: false }
    }

    /// A linear scale with these ends.
    pub const fn exactly(from: f64, to: f64) -> Self {
        Self { from, to, logarithmic: false }
    }

    /// A logarithmic scale with these ends, both above 0.
    pub const fn between(from: f64, to: f64) -> Self {
        Self { from, to, logarithmic: true }
    }

    /// A logarithmic scale that contains both numbers, widened to 1, 2 or 5 times a power of ten. Numbers up to 0 count as tiny.
    pub fn logarithmic(from: f64, to: f64) -> Self {
        let from = round_below(from.max(1e-12));
        let to = round_above(to.max(from));
        Self { from, to: if to > from { to } else { from * 10.0 }, logarithmic: true }
    }

    pub const fn from(self) -> f64 {
        self.from
    }

    pub const fn to(self) -> f64 {
        self.to
    }

    /// Whether the scale is logarithmic.
    pub const fn is_logarithmic(self) -> bool {
        self.logarithmic
    }

    /// Position of `value`: 0 at the lower end, 1 at the upper, clamped.
    pub fn place(self, value: f64) -> f64 {
        let place = if self.logarithmic {
            (value.max(1e-12) / self.from).log10() / (self.to / self.from).log10()
        } else {
            (value - self.from) / (self.to - self.from)
        };
        place.clamp(0.0, 1.0)
    }

    /// The value at a position.
    pub fn value(self, place: f64) -> f64 {
        if self.logarithmic {
            self.from * (self.to / self.from).powf(place)
        } else {
            self.from + place * (self.to - self.from)
        }
    }

    /// At most `most` (at least 2) round numbers, ascending.
    pub fn ticks(self, most: usize) -> Vec<f64> {
        if self.logarithmic { self.decades(most) } else { self.multiples(most) }
    }

    fn multiples(self, most: usize) -> Vec<f64> {
        let mut step = round_step((self.to - self.from) / most as f64);
        loop {
            let ticks = multiples_of(step, self.from, self.to);
            match ticks.len() {
                0 | 1 => return vec![self.from, self.to],
                few if few <= most.max(2) => return ticks,
                _ => {}
            }
            step = round_step(step * 1.01);
        }
    }

    /// Powers of ten, or every second, third, …; also 2 and 5 times them if there is room.
    fn decades(self, most: usize) -> Vec<f64> {
        let within = |value: &f64| *value >= self.from * 0.999 && *value <= self.to * 1.001;
        let (low, high) = (self.from.log10().floor(), self.to.log10().ceil());
        let power = |number: i32| 10_f64.powi(number);
        #[allow(clippy::cast_possible_truncation, reason = "at most a few dozen decades")]
        let (low, high) = (low as i32, high as i32);
        let fine = |parts: &[f64]| -> Vec<f64> {
            let all = (low..=high).flat_map(|decade| parts.iter().map(move |part| part * power(decade)));
            all.filter(within).collect()
        };
        let by_parts = [&ROUND[..], &[1.0, 3.0][..], &ROUND[..1]].into_iter().map(fine);
        if let Some(ticks) = by_parts.into_iter().find(|ticks| (2..=most.max(2)).contains(&ticks.len())) {
            return ticks;
        }
        let every = |stride: i32| -> Vec<f64> {
            (low..=high).filter(|decade| decade.rem_euclid(stride) == 0).map(power).filter(within).collect()
        };
        let sparse = (2..=high - low + 1).map(every).find(|ticks| (2..=most.max(2)).contains(&ticks.len()));
        sparse.unwrap_or_else(|| vec![self.from, self.to])
    }
}

fn multiples_of(step: f64, from: f64, to: f64) -> Vec<f64> {
    let first = (from / step - 1e-9).ceil();
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative")]
    let count = (((to / step + 1e-9).floor() - first).max(0.0) as u32).min(10_000);
    (0..=count).map(|number| (first + f64::from(number)) * step).collect()
}

/// The next 1, 2 or 5 times a power of ten.
fn round_step(least: f64) -> f64 {
    round_above(least)
}

fn round_above(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let fits = |part: &f64| part * power >= value * (1.0 - 1e-9);
    ROUND.iter().copied().chain([10.0]).find(fits).unwrap_or(10.0) * power
}

fn round_below(value: f64) -> f64 {
    let power = 10_f64.powf((value.log10() + 1e-12).floor());
    let fits = |part: &f64| part * power <= value * (1.0 + 1e-9);
    ROUND.iter().copied().rev().find(fits).unwrap_or(1.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(scale: Scale, most: usize) {
        let ticks = scale.ticks(most);
        assert!(!ticks.is_empty() && ticks.len() <= most.max(2), "{scale:?}: {ticks:?}");
        assert!(ticks.windows(2).all(|pair| pair[0] < pair[1]), "{scale:?}: {ticks:?}");
        let slack = (scale.to() - scale.from()) * 1e-6;
        assert!(ticks.iter().all(|tick| *tick >= scale.from() - slack && *tick <= scale.to() + slack));
    }

    proptest! {
        #[test]
        fn a_logarithmic_scale_holds_its_numbers(low in 0.1_f64..1e9, times in 1.0_f64..1e9, most in 2_usize..12) {
            let scale = Scale::logarithmic(low, low * times);
            prop_assert!(scale.from() <= low * 1.000_001 && scale.to() >= low * times * 0.999_999);
            check(scale, most);
        }

        #[test]
        fn a_linear_scale_holds_its_numbers(low in -1e6_f64..1e6, width in 0.0_f64..1e9, most in 2_usize..12) {
            let scale = Scale::linear(low, low + width);
            prop_assert!(scale.from() <= low + 1e-6 && scale.to() >= low + width - 1e-6);
            check(scale, most);
            let ticks = scale.ticks(most);
            let reach = ticks[ticks.len() - 1] - ticks[0];
            prop_assert!(reach >= (scale.to() - scale.from()) * 0.3, "{scale:?}: {ticks:?}");
        }

        #[test]
        fn places_and_values_undo_each_other(place in 0.0_f64..1.0) {
            for scale in [Scale::linear(-3.0, 40.0), Scale::logarithmic(3.0, 70_000.0)] {
                prop_assert!((scale.place(scale.value(place)) - place).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn ticks_are_what_one_would_write() {
        assert_eq!(Scale::linear(0.0, 24.0).ticks(6), [0.0, 5.0, 10.0, 15.0, 20.0, 25.0]);
        assert_eq!(Scale::logarithmic(1.2e3, 9e6).ticks(5), [1e3, 1e4, 1e5, 1e6, 1e7]);
        assert_eq!(Scale::logarithmic(1.2e3, 9e3).ticks(5), [1e3, 2e3, 5e3, 1e4]);
    }
}
