//! Sentences, and how they are broken into lines.

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// Text narrower than this is harder to read than text that the terminal breaks.
const NARROWEST: usize = 40;

/// `text` broken at `width`, further lines indented by `indent`.
pub fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let room = width.saturating_sub(indent).max(NARROWEST);
    lines(text, room).join(&format!("\n{:indent$}", ""))
}

/// `text` broken between words, into lines of at most `width` columns where words allow.
pub(crate) fn lines(text: &str, width: usize) -> Vec<String> {
    let options = Options::new(width)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::wrap(text, options).into_iter().map(Into::into).collect()
}

/// The columns that `text` takes up in a terminal, its styles not counted.
pub(crate) fn text_width(text: &str) -> usize {
    textwrap::core::display_width(text)
}

/// With its first letter large.
pub(crate) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words_by_what_is_seen() {
        assert_eq!(lines("a step: 50 µs", 8), ["a step:", "50 µs"]);
        assert_eq!(lines("no-break-here-at-all", 8), ["no-break-here-at-all"]);
        let bold = crate::style::paint(crate::style::BOLD, "10 µs");
        assert_eq!((text_width(&bold), text_width("µ → –")), (5, 5));
        assert_eq!(wrapped("one two", 3, 2), "one two");
    }
}
