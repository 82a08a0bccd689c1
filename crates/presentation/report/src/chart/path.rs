//! The `d` attribute of an SVG path, in few characters.

use std::fmt::Write as _;

/// A coordinate with at most one decimal.
pub(crate) fn rounded(value: f64) -> String {
    let tenths = (value * 10.0).round();
    let text = format!("{:.1}", if tenths == 0.0 { 0.0 } else { tenths / 10.0 });
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
}

/// A path under construction.
#[derive(Default)]
pub(crate) struct SvgPath {
    text: String,
}

impl SvgPath {
    pub(crate) fn move_to(&mut self, x: f64, y: f64) {
        self.add(format_args!("M{} {}", rounded(x), rounded(y)));
    }

    pub(crate) fn line_to(&mut self, x: f64, y: f64) {
        self.add(format_args!("L{} {}", rounded(x), rounded(y)));
    }

    pub(crate) fn horizontal_to(&mut self, x: f64) {
        self.add(format_args!("H{}", rounded(x)));
    }

    pub(crate) fn vertical_to(&mut self, y: f64) {
        self.add(format_args!("V{}", rounded(y)));
    }

    pub(crate) fn close(&mut self) {
        self.text.push('Z');
    }

    fn add(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.text.write_fmt(text);
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

pub(crate) fn polyline(points: impl IntoIterator<Item = (f64, f64)>) -> SvgPath {
    let mut path = SvgPath::default();
    for (number, (x, y)) in points.into_iter().enumerate() {
        if number == 0 { path.move_to(x, y) } else { path.line_to(x, y) }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short() {
        assert_eq!([1.0, 1.25, -0.01, 100.04].map(rounded), ["1", "1.3", "0", "100"]);
        assert_eq!(polyline([(0.0, 1.0), (2.5, 3.0)]).into_text(), "M0 1L2.5 3");
    }
}
