//! Estimates of a shift that are robust against outliers.
//!
//! Source: Hodges & Lehmann, Annals of Mathematical Statistics 34 (1963).

use crate::compare::median;

/// The centre of values: the median of the means of all pairs, each value also with itself.
pub(crate) fn centre(values: &[f64]) -> Option<f64> {
    median(&averages(values))
}

/// The means of all pairs of values, each value also with itself (Walsh averages).
pub(crate) fn averages(values: &[f64]) -> Vec<f64> {
    let with_later = |(place, first): (usize, &f64)| {
        let first = *first;
        values[place..].iter().map(move |second| f64::midpoint(first, *second))
    };
    values.iter().enumerate().flat_map(with_later).collect()
}

/// The shift from `base` to `new`: the median of all differences between them.
pub(crate) fn between(base: &[f64], new: &[f64]) -> Option<f64> {
    median(&new.iter().flat_map(|new| base.iter().map(move |base| new - base)).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_value() {
        assert_eq!(centre(&[-3.0, 2.0, -4.0, -1.0, -5.0, -2.0, 1.0, -6.0]), Some(-2.25));
        assert_eq!(centre(&[]), None);
    }

    #[test]
    fn a_wild_value_hardly_moves_a_shift() {
        assert_eq!(between(&[1.0, 2.0, 3.0], &[11.0, 12.0, 13.0]), Some(10.0));
        assert_eq!(between(&[1.0, 2.0, 3.0], &[11.0, 12.0, 9_000.0]), Some(10.0));
    }
}
