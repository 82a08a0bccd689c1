//! Parses the escape sequences of a terminal's lines into styled text.
//!
//! Source of the sequences: ECMA-48, 8.3.117, SELECT GRAPHIC RENDITION.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TextStyle {
    pub(super) bold: bool,
    pub(super) dim: bool,
    pub(super) underlined: bool,
    pub(super) reversed: bool,
    /// One of the eight colours; `None`: the terminal's default.
    pub(super) colour: Option<u8>,
}

/// Text with one style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StyledText {
    pub(super) text: String,
    pub(super) style: TextStyle,
}

/// The lines of a screen; a style continues on the next line.
pub(super) fn lines(screen: &str) -> Vec<Vec<StyledText>> {
    let mut style = TextStyle::default();
    screen.lines().map(|line| runs(line, &mut style)).collect()
}

/// The parts of a line with its escape sequences.
fn runs(line: &str, style: &mut TextStyle) -> Vec<StyledText> {
    let mut runs: Vec<StyledText> = Vec::new();
    for (number, part) in line.split('\u{1b}').enumerate() {
        let text = match part.strip_prefix('[').and_then(|rest| rest.split_once('m')).filter(|_| number > 0) {
            Some((codes, text)) => {
                *style = change(*style, codes);
                text
            }
            // Other sequences, such as those for character sets, show nothing.
            None if number > 0 => part.get(2..).unwrap_or_default(),
            None => part,
        };
        if !text.is_empty() {
            runs.push(StyledText { text: text.to_owned(), style: *style });
        }
    }
    runs
}

/// A colour is one of the eight, or one of 256 of which the first are these: `36`, `38;5;6`.
fn change(mut style: TextStyle, codes: &str) -> TextStyle {
    let mut codes = codes.split(';').map(|code| code.parse::<u8>().unwrap_or(0));
    while let Some(code) = codes.next() {
        style = match code {
            0 => TextStyle::default(),
            1 => TextStyle { bold: true, ..style },
            2 => TextStyle { dim: true, ..style },
            4 => TextStyle { underlined: true, ..style },
            7 => TextStyle { reversed: true, ..style },
            22 => TextStyle { bold: false, dim: false, ..style },
            24 => TextStyle { underlined: false, ..style },
            27 => TextStyle { reversed: false, ..style },
            30..=37 => TextStyle { colour: Some(code - 30), ..style },
            38 => TextStyle { colour: codes.nth(1), ..style },
            39 => TextStyle { colour: None, ..style },
            _ => style,
        };
    }
    style
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_last_until_they_are_changed() {
        let found = lines("a \u{1b}[1;38;5;6mb\u{1b}[39mc\u{1b}[0m\u{1b}[2md\ne");
        let bold = TextStyle { bold: true, ..TextStyle::default() };
        let expected = [
            ("a ", TextStyle::default()),
            ("b", TextStyle { colour: Some(6), ..bold }),
            ("c", bold),
            ("d", TextStyle { dim: true, ..TextStyle::default() }),
            ("e", TextStyle { dim: true, ..TextStyle::default() }),
        ];
        let found: Vec<(&str, TextStyle)> =
            found.iter().flatten().map(|run| (run.text.as_str(), run.style)).collect();
        assert_eq!(found, expected);
    }
}
