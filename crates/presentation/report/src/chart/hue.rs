//! Colour and dashes of a series.

/// Colour and dashes by position. Colours are chosen for colour-blind readers; dashes
/// and legend work without colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hue {
    Series(usize),
    /// One of many grey series, drawn behind the others.
    Rest,
}

/// Number of series with a colour.
pub(crate) const HUES: usize = 6;

impl Hue {
    pub(crate) const fn nth(number: usize) -> Self {
        if number < HUES { Self::Series(number) } else { Self::Rest }
    }

    pub(crate) const fn class(self) -> &'static str {
        const CLASSES: [&str; HUES] = ["s0", "s1", "s2", "s3", "s4", "s5"];
        match self {
            Self::Series(number) => CLASSES[number % HUES],
            Self::Rest => "rest",
        }
    }

    /// SVG `stroke-dasharray`; `None` is a solid line.
    pub(crate) const fn dashes(self) -> Option<&'static str> {
        const DASHES: [Option<&str>; HUES] =
            [None, Some("7 3"), Some("2 2.5"), Some("9 3 2 3"), Some("14 4"), Some("4 2 1 2 1 2")];
        match self {
            Self::Series(number) => DASHES[number % HUES],
            Self::Rest => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::chart::COLOURS;

    /// Colours by custom property; theme 0 is light, 1 dark.
    fn colours(theme: usize) -> Vec<(String, String)> {
        let block = COLOURS.split(":root {").nth(theme + 1).unwrap().split('}').next().unwrap();
        let pair = |line: &str| {
            let (name, value) = line.split_once(": #")?;
            Some((name.trim().to_owned(), value.to_owned()))
        };
        block.split(';').filter_map(pair).collect()
    }

    fn colour(theme: usize, name: &str) -> [f64; 3] {
        let all = colours(theme);
        let text = &all.iter().find(|(property, _)| property == name).unwrap().1;
        let part = |at: usize| f64::from(u8::from_str_radix(&text[at..at + 2], 16).unwrap()) / 255.0;
        [part(0), part(2), part(4)]
    }

    /// Source: WCAG 2.2, relative luminance and contrast ratio.
    fn contrast(theme: usize, foreground: &str, background: &str) -> f64 {
        let luminance = |name| {
            let linear =
                |part: f64| if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) };
            let [red, green, blue] = colour(theme, name).map(linear);
            0.2126 * red + 0.7152 * green + 0.0722 * blue
        };
        let (foreground, background): (f64, f64) = (luminance(foreground), luminance(background));
        (foreground.max(background) + 0.05) / (foreground.min(background) + 0.05)
    }

    #[test]
    fn series_stand_out_and_text_can_be_read_in_both_themes() {
        for theme in [0, 1] {
            for series in ["--s0", "--s1", "--s2", "--s3", "--s4", "--s5", "--rest"] {
                let contrast = contrast(theme, series, "--page");
                assert!(contrast >= 3.0, "{series} in theme {theme}: {contrast:.2}");
            }
            for (text, ground) in
                [("--ink", "--page"), ("--quiet", "--page"), ("--link", "--page"), ("--ink", "--shade")]
            {
                let contrast = contrast(theme, text, ground);
                assert!(contrast >= 4.5, "{text} on {ground} in theme {theme}: {contrast:.2}");
            }
            for series in 0..6 {
                let contrast = contrast(theme, "--piece-ink", &format!("--s{series}"));
                assert!(contrast >= 4.5, "names on series {series} in theme {theme}: {contrast:.2}");
            }
            assert!(contrast(theme, "--rest-ink", "--rest") >= 4.5, "names on the rest in theme {theme}");
            for shade in 0..5 {
                let contrast = contrast(theme, &format!("--h{shade}-ink"), &format!("--h{shade}"));
                assert!(contrast >= 4.5, "shade {shade} in theme {theme}: {contrast:.2}");
            }
        }
    }
}
