//! The unit of the times of a table.

use std::fmt;

use howlate_model::Latency;

use crate::numbers::{grouped, micros, with_minus};

/// From one second on, microseconds have too many digits.
const LONG: i64 = 1_000_000_000;

/// Unit of a whole table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TableUnit {
    #[default]
    Micros,
    Millis,
}

impl TableUnit {
    /// The unit in which the largest of these latencies is short.
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

impl fmt::Display for TableUnit {
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
        let unit_for = |all: &[i64]| TableUnit::of(all.iter().copied().map(Latency::from_nanos));
        assert_eq!((unit_for(&[66_000, 999_999_999]), unit_for(&[])), (TableUnit::Micros, TableUnit::Micros));
        let unit = unit_for(&[66_000, 1_390_000_000]);
        assert_eq!(unit, TableUnit::Millis);
        let shown = [66_000, 7_570_000, 23_500_000, 1_390_400_000].map(|nanos| unit.show(nanos));
        assert_eq!(shown, ["0.066", "7.57", "23.5", "1 390"]);
        assert_eq!(TableUnit::Micros.show(66_000), "66.0");
    }
}
