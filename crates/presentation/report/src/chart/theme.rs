//! Style of standalone pictures.

use std::fmt::Write as _;
use std::str::FromStr;

use super::{COLOURS, STYLE};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChartTheme {
    Light,
    Dark,
}

impl ChartTheme {
    pub const ALL: [Self; 2] = [Self::Light, Self::Dark];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

impl FromStr for ChartTheme {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::ALL.into_iter().find(|theme| theme.name() == text);
        named.ok_or_else(|| format!("choose from {}", Self::ALL.map(Self::name).join(", ")))
    }
}

/// CSS for a theme; without one, for the viewer's colour scheme. Custom properties are replaced by their colours:
/// librsvg 2.54 and resvg do not support them.
pub(crate) fn style(theme: Option<ChartTheme>) -> String {
    match theme {
        Some(theme) => in_colours(STYLE, theme),
        None => {
            let coloured: String = STYLE.split_inclusive('}').filter(|rule| rule.contains("var(")).collect();
            let dark = in_colours(&coloured, ChartTheme::Dark);
            let mut style = in_colours(STYLE, ChartTheme::Light);
            let _ = write!(style, "@media screen and (prefers-color-scheme: dark) {{{dark}}}");
            style
        }
    }
}

fn in_colours(style: &str, theme: ChartTheme) -> String {
    let name_of = |(name, value): (&str, &str)| (format!("var({})", name.trim()), value.to_owned());
    let block = COLOURS.split(":root {").nth(theme as usize + 1).and_then(|block| block.split('}').next());
    let declarations = block.unwrap_or_default().split(';');
    let colours = declarations.filter_map(|declaration| declaration.split_once(": ")).map(name_of);
    colours.fold(style.to_owned(), |style, (name, colour)| style.replace(&name, &colour))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_colour_stands_for_itself() {
        for theme in [None, Some(ChartTheme::Light), Some(ChartTheme::Dark)] {
            let style = style(theme);
            assert!(!style.contains("var(") && !style.contains("--"), "{theme:?}: {style}");
        }
        let [light, dark] = ChartTheme::ALL.map(|theme| style(Some(theme)));
        assert!(light.contains(".paper { fill: #ffffff; }") && dark.contains(".paper { fill: #14181c; }"));
        let (both, dark) = (style(None), ".paper { fill: #14181c; }");
        assert!(both.starts_with(&light) && both.split("@media").nth(1).unwrap().contains(dark));
    }
}
