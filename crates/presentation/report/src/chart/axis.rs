//! An axis: its scale, what is said along it.

use howlate_render::scale::Scale;

/// What an axis shows, and what is said along it.
pub(crate) struct Axis {
    pub(crate) scale: Scale,
    /// What it shows, with the unit where the values do not carry theirs.
    pub(crate) title: String,
    /// A value in words.
    pub(crate) label: fn(f64) -> String,
    /// Values to name, where they are not round numbers of the scale.
    pub(crate) named: Vec<(f64, String)>,
}

impl Axis {
    /// An axis that names round numbers.
    pub(crate) fn new(scale: Scale, title: impl Into<String>, label: fn(f64) -> String) -> Self {
        Self { scale, title: title.into(), label, named: Vec::new() }
    }

    /// At most `most` values with their words.
    pub(crate) fn ticks(&self, most: usize) -> Vec<(f64, String)> {
        if !self.named.is_empty() {
            let every = self.named.len().div_ceil(most);
            return self.named.iter().step_by(every).cloned().collect();
        }
        let ticks = |most: usize| -> Vec<(f64, String)> {
            self.scale.ticks(most).into_iter().map(|value| (value, (self.label)(value))).collect()
        };
        // Values so close that their words are the same are too many.
        let differ = |ticks: &Vec<(f64, String)>| ticks.windows(2).all(|two| two[0].1 != two[1].1);
        (2..=most).rev().map(ticks).find(differ).unwrap_or_else(|| ticks(most))
    }

    /// Room that the words need to the left of the picture.
    pub(crate) fn width(&self, most: usize) -> f64 {
        let longest = self.ticks(most).iter().map(|(_, text)| text.chars().count()).max().unwrap_or(0);
        let letters = longest as f64;
        letters * 7.0 + 10.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_values_have_the_same_words() {
        let tenths = |value: f64| format!("{value:.1}");
        let words = |until: f64| -> Vec<String> {
            let axis = Axis::new(Scale::exactly(10.0, until), "took", tenths);
            axis.ticks(6).into_iter().map(|(_, text)| text).collect()
        };
        assert_eq!(words(10.2), ["10.0", "10.1", "10.2"]);
        assert_eq!(words(11.0).len(), 6, "{:?}", words(11.0));
    }
}
