//! A line of a terminal, by what it looks like.
//!
//! Source of the sequences: ECMA-48, 8.3.117, SELECT GRAPHIC RENDITION.

/// How letters look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) bold: bool,
    pub(super) dim: bool,
    pub(super) underlined: bool,
    pub(super) reversed: bool,
    /// One of the eight colours; the terminal's own where there is none.
    pub(super) colour: Option<u8>,
}

/// Letters that look the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) text: String,
    pub(super) look: Look,
}

/// The parts of a line with its escape sequences.
pub(super) fn runs(line: &str) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut look = Look::default();
    for (number, part) in line.split('\u{1b}').enumerate() {
        let text = match part.strip_prefix('[').and_then(|rest| rest.split_once('m')).filter(|_| number > 0) {
            Some((codes, text)) => {
                look = changed(look, codes);
                text
            }
            // What a terminal shows of other sequences, such as those for other letters, is nothing.
            None if number > 0 => part.get(2..).unwrap_or_default(),
            None => part,
        };
        if !text.is_empty() {
            runs.push(Run { text: text.to_owned(), look });
        }
    }
    runs
}

fn changed(look: Look, codes: &str) -> Look {
    codes.split(';').fold(look, |look, code| match code.parse::<u8>().unwrap_or(0) {
        0 => Look::default(),
        1 => Look { bold: true, ..look },
        2 => Look { dim: true, ..look },
        4 => Look { underlined: true, ..look },
        7 => Look { reversed: true, ..look },
        22 => Look { bold: false, dim: false, ..look },
        24 => Look { underlined: false, ..look },
        27 => Look { reversed: false, ..look },
        code @ 30..=37 => Look { colour: Some(code - 30), ..look },
        39 => Look { colour: None, ..look },
        _ => look,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_last_until_they_are_changed() {
        let found = runs("a \u{1b}[1;36mb\u{1b}[39mc\u{1b}[0m\u{1b}[2md");
        let bold = Look { bold: true, ..Look::default() };
        let expected = [
            ("a ", Look::default()),
            ("b", Look { colour: Some(6), ..bold }),
            ("c", bold),
            ("d", Look { dim: true, ..Look::default() }),
        ];
        let found: Vec<(&str, Look)> = found.iter().map(|run| (run.text.as_str(), run.look)).collect();
        assert_eq!(found, expected);
    }
}
