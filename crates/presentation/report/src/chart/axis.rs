//! Axes with their scale, title and tick labels; the area between them; the widths of pictures.

use howlate_render::scale::Scale;

pub(crate) struct Axis {
    pub(crate) scale: Scale,
    /// Title, with the unit where the labels have none.
    pub(crate) title: String,
    /// Text of a tick.
    pub(crate) label: fn(f64) -> String,
    /// Explicit ticks, instead of round numbers of the scale.
    pub(crate) explicit_ticks: Vec<(f64, String)>,
}

impl Axis {
    /// An axis with ticks at round numbers.
    pub(crate) fn new(scale: Scale, title: impl Into<String>, label: fn(f64) -> String) -> Self {
        Self { scale, title: title.into(), label, explicit_ticks: Vec::new() }
    }

    /// At most `most` ticks with their labels.
    pub(crate) fn ticks(&self, most: usize) -> Vec<(f64, String)> {
        if !self.explicit_ticks.is_empty() {
            let every = self.explicit_ticks.len().div_ceil(most);
            return self.explicit_ticks.iter().step_by(every).cloned().collect();
        }
        let ticks = |most: usize| -> Vec<(f64, String)> {
            self.scale.ticks(most).into_iter().map(|value| (value, (self.label)(value))).collect()
        };
        // Fewer ticks where neighbours would have equal labels.
        let differ = |ticks: &Vec<(f64, String)>| ticks.windows(2).all(|two| two[0].1 != two[1].1);
        (2..=most).rev().map(ticks).find(differ).unwrap_or_else(|| ticks(most))
    }

    /// Width of the longest label of a vertical axis.
    pub(crate) fn width(&self, most: usize) -> f64 {
        let longest = self.ticks(most).iter().map(|(_, text)| text.chars().count()).max().unwrap_or(0);
        let letters = longest as f64;
        letters * 7.0 + 10.0
    }
}

/// The area in SVG units, and its axes.
pub(crate) struct Area<'a> {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
    pub(crate) horizontal: &'a Axis,
    pub(crate) vertical: &'a Axis,
}

impl Area<'_> {
    /// SVG coordinate of a value.
    pub(crate) fn x(&self, value: f64) -> f64 {
        self.left + self.horizontal.scale.place(value) * (self.right - self.left)
    }

    /// SVG coordinate of a value.
    pub(crate) fn y(&self, value: f64) -> f64 {
        self.bottom - self.vertical.scale.place(value) * (self.bottom - self.top)
    }
}

/// Width of a picture. Each is drawn for wide and for narrow pages, because text that shrinks with
/// its picture cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// A screen or paper.
    Wide,
    /// A telephone, or half a page.
    Narrow,
}

impl Room {
    /// Width in SVG units, about a pixel each.
    pub(crate) const fn width(self) -> f64 {
        match self {
            Self::Wide => 900.0,
            Self::Narrow => 400.0,
        }
    }

    /// CSS class, shown where it fits.
    pub(crate) const fn class(self) -> &'static str {
        match self {
            Self::Wide => "wide",
            Self::Narrow => "narrow",
        }
    }

    /// Maximum number of tick labels along the horizontal axis.
    pub(crate) const fn ticks(self) -> usize {
        match self {
            Self::Wide => 10,
            Self::Narrow => 5,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_values_have_the_same_words() {
        let tenths = |value: f64| format!("{value:.1}");
        let labels = |until: f64| -> Vec<String> {
            let axis = Axis::new(Scale::exactly(10.0, until), "took", tenths);
            axis.ticks(6).into_iter().map(|(_, text)| text).collect()
        };
        assert_eq!(labels(10.2), ["10.0", "10.1", "10.2"]);
        assert_eq!(labels(11.0).len(), 6, "{:?}", labels(11.0));
    }
}
