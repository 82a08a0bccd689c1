//! The measurement that would settle an inconclusive comparison.

use howlate_model::Span;
use schemars::JsonSchema;
use serde::Serialize;

use super::detectable::{POWER, pairs_to_see};
use super::median;

/// Turns that both sides would have to take, in turn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Settling {
    /// How many of each side.
    pub pairs: usize,
    /// How long each.
    #[serde(rename = "turn_ns")]
    pub turn: Span,
}

impl Settling {
    /// Least number of turns suggested.
    const LEAST: usize = 20;
    /// Most turns suggested.
    const MOST: usize = 1_000;
    /// Shortest turn suggested: starting and joining threads makes shorter ones take longer in all.
    const SHORTEST: Span = Span::from_millis(100);

    /// Turns of at least the length of a unit, as many as detect `effect` if pairs of them differ by `deviation`.
    pub(crate) fn new(deviation: f64, effect: f64, unit: Span, level: f64) -> Self {
        let pairs = if effect > 0.0 { pairs_to_see(effect, deviation, level, POWER) } else { Self::MOST };
        Self { pairs: pairs.clamp(Self::LEAST, Self::MOST), turn: unit.max(Self::SHORTEST) }
    }

    /// The measured time of each side.
    pub fn duration(self) -> Span {
        self.turn.times(self.pairs as u64)
    }
}

/// Standard deviation of the differences of neighbours in these series, as an estimate for turns that follow one another.
pub(crate) fn neighbours_differ(series: &[&[f64]]) -> f64 {
    let size = |pair: &[f64]| (pair[1] - pair[0]).abs();
    let sizes: Vec<f64> = series.iter().flat_map(|values| values.windows(2).map(size)).collect();
    // The median of absolute normal values is this share of their standard deviation.
    median(&sizes).unwrap_or(0.0) / 0.6745
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_noise_says_how_many_turns_it_takes() {
        let settling =
            |deviation: f64, effect: f64| Settling::new(deviation, effect, Span::from_millis(7), 0.05);
        assert_eq!(settling(1.0, 5.0).pairs, Settling::LEAST);
        // (1.96 + 1.036)² · (15 / 5)² = 80.8
        assert_eq!(settling(15.0, 5.0).pairs, 81);
        assert_eq!(settling(15.0, 0.0).pairs, Settling::MOST);
        assert_eq!(settling(1.0, 5.0).duration(), Span::from_secs(2));
        let alternating: Vec<f64> = (0..20).map(|number| f64::from(number % 2)).collect();
        assert!((neighbours_differ(&[&alternating]) - 1.0 / 0.6745).abs() < 1e-12);
    }
}
