//! Sentences, and how they are broken into lines.

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// Text narrower than this is harder to read than text that the terminal breaks.
const NARROWEST: usize = 40;

/// Text wider than this is hard to read, however wide the terminal.
pub(crate) const WIDEST: usize = 120;

/// `text` broken at `width`, further lines indented by `indent`.
pub fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let room = width.min(WIDEST).saturating_sub(indent).max(NARROWEST);
    lines(text, room).join(&format!("\n{:indent$}", ""))
}

/// `text` broken between words, into lines of at most `width` columns where words allow.
pub(crate) fn lines(text: &str, width: usize) -> Vec<String> {
    let options = Options::new(width)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    let text = held_together(text, width);
    textwrap::wrap(&text, options).into_iter().map(|line| line.replace(HELD, " ")).collect()
}

/// A blank at which lines are not broken.
const HELD: char = '\u{a0}';

/// What follows a number and is not to stand on another line.
const UNITS: [&str; 10] = ["ns", "µs", "ms", "s", "min", "h", "%", "KiB", "MB/s", "CPUs"];

/// `text`, in which numbers keep their thousands and units, CPUs and `×` their numbers and what comes before a `·` that, and commands
/// between `` ` `` that fit a line are whole.
/// What is in the text as such a blank already is one from then on.
fn held_together(text: &str, width: usize) -> String {
    let quoted = |(number, part): (usize, &str)| match number % 2 {
        1 if text_width(part) + 3 <= width => part.replace(' ', "\u{a0}"),
        1 => part.to_owned(),
        _ => with_units(part),
    };
    text.split('`').enumerate().map(quoted).collect::<Vec<_>>().join("`")
}

fn with_units(text: &str) -> String {
    let mut words = text.split(' ');
    let mut held = words.next().unwrap_or_default().to_owned();
    for word in words {
        let is_unit = UNITS.contains(&word.trim_end_matches([',', '.', ';', ':', ')', '%']))
            || word.starts_with('%')
            || is_thousands(word);
        let ends_in_number = held.ends_with(|letter: char| letter.is_ascii_digit());
        let is_of_cpu = held.ends_with("CPU") && word.starts_with(|letter: char| letter.is_ascii_digit());
        let is_held = is_unit && ends_in_number || is_of_cpu || word == "·" || held.ends_with('×');
        held.push(if is_held { HELD } else { ' ' });
        held.push_str(word);
    }
    held
}

/// Three digits and nothing but punctuation: what follows a blank within a large number.
fn is_thousands(word: &str) -> bool {
    let digits = word.trim_end_matches(|letter: char| letter.is_ascii_punctuation());
    digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The columns that `text` takes up in a terminal, its styles not counted.
pub(crate) fn text_width(text: &str) -> usize {
    textwrap::core::display_width(text)
}

/// With its first letter large.
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words_by_what_is_seen() {
        assert_eq!(lines("a step: 50 µs", 8), ["a step:", "50 µs"]);
        assert_eq!(
            lines("a step of 50 µs, 1 000 000 times", 11),
            ["a step of", "50 µs,", "1 000 000", "times"]
        );
        assert_eq!(lines("try `ulimit -r 80` here", 17), ["try", "`ulimit -r 80`", "here"]);
        assert_eq!(lines("try `ulimit -r 80` here", 10), ["try", "`ulimit -r", "80` here"]);
        assert_eq!(lines("no-break-here-at-all", 8), ["no-break-here-at-all"]);
        assert_eq!(lines("other · idle · CPU 10", 6), ["other ·", "idle ·", "CPU 10"]);
        assert_eq!(lines("higher (× 1 810)", 10), ["higher", "(× 1 810)"]);
        let bold = crate::style::paint(crate::style::BOLD, "10 µs");
        assert_eq!((text_width(&bold), text_width("µ → –")), (5, 5));
        assert_eq!(wrapped("one two", 3, 2), "one two");
    }
}
