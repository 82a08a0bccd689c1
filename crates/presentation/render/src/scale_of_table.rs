//! The unit in which the times of a table stand.

use std::fmt;

use howlate_model::Latency;

use crate::numbers::{grouped, micros, with_minus};

/// From a second on, microseconds have more digits than anybody reads.
const LONG: i64 = 1_000_000_000;

/// A unit for a whole table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Unit {
    #[default]
    Micros,
    Millis,
}

impl Unit {
    /// The one in which the largest of these is short.
    pub(crate) fn of(all: impl Iterator<Item = Latency>) -> Self {
        let is_long = all.map(Latency::as_nanos).max().is_some_and(|most| most >= LONG);
        if is_long { Self::Millis } else { Self::Micros }
    }

    /// A time with three significant digits.
    pub(crate) fn show(self, nanos: i64) -> String {
        if self == Self::Micros {
            return micros(nanos);
        }
        let millis = nanos as f64 / 1e6;
        match millis.abs() {
            size if size < 0.9995 => with_minus(&format!("{millis:.3}")),
            size if size < 9.995 => with_minus(&format!("{millis:.2}")),
            size if size < 99.95 => with_minus(&format!("{millis:.1}")),
            _ => grouped(nanos.saturating_add(nanos.signum() * 500_000) / 1_000_000),
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Micros => "µs",
            Self::Millis => "ms",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_with_a_second_in_it_has_milliseconds() {
        let of = |all: &[i64]| Unit::of(all.iter().copied().map(Latency::from_nanos));
        assert_eq!((of(&[66_000, 999_999_999]), of(&[])), (Unit::Micros, Unit::Micros));
        let unit = of(&[66_000, 1_390_000_000]);
        assert_eq!(unit, Unit::Millis);
        let shown = [66_000, 7_570_000, 23_500_000, 1_390_400_000].map(|nanos| unit.show(nanos));
        assert_eq!(shown, ["0.066", "7.57", "23.5", "1 390"]);
        assert_eq!(Unit::Micros.show(66_000), "66.0");
    }
}
