//! Ratios as sentences, in one place.

use howlate_analyse::Ratio;

/// `; per pair of turns, 3.1 to 4.2 times as much (95 %, 10 pairs)`, or `times less`. It is not the quotient of the two numbers before it,
/// which one bad turn may dominate. Without a significant ratio, the command that would settle it.
pub fn times_as_much(ratio: Ratio, settled_by: &str) -> String {
    match ratio {
        Ratio::Settled { low, high, pairs } => {
            let (low, high, much) =
                if low > 1.0 { (low, high, "as much") } else { (1.0 / high, 1.0 / low, "less") };
            let [low, high] = [low, high].map(two_digits);
            let range = if low == high { low } else { format!("{low} to {high}") };
            format!("; per pair of turns, {range} times {much} (95 % interval, {pairs} pairs).")
        }
        Ratio::Open { pairs } => {
            let turns = match pairs {
                0 => "such short turns do".to_owned(),
                1 => "1 pair of turns does".to_owned(),
                _ => format!("{pairs} pairs of turns do"),
            };
            format!("; {turns} not show by how much. To find out: `{settled_by}`.")
        }
    }
}

/// A ratio with two digits: `3.1`, `42`.
pub(crate) fn two_digits(ratio: f64) -> String {
    if ratio < 9.95 { format!("{ratio:.1}") } else { format!("{ratio:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_factor_stands_without_its_interval() {
        let text = |low, high| times_as_much(Ratio::Settled { low, high, pairs: 8 }, "more");
        assert_eq!(
            text(3.06, 12.4),
            "; per pair of turns, 3.1 to 12 times as much (95 % interval, 8 pairs)."
        );
        assert_eq!(text(0.25, 0.5), "; per pair of turns, 2.0 to 4.0 times less (95 % interval, 8 pairs).");
        assert_eq!(
            times_as_much(Ratio::Open { pairs: 3 }, "howlate cyclic"),
            "; 3 pairs of turns do not show by how much. To find out: `howlate cyclic`."
        );
        assert!(times_as_much(Ratio::Open { pairs: 0 }, "").starts_with("; such short turns do not show"));
    }
}
