//! Wraps sentences into lines.

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

use crate::shell_words::{CONTINUES, split_words};

/// Text narrower than this is harder to read than text that the terminal breaks.
const NARROWEST: usize = 40;

/// Text wider than this is hard to read, however wide the terminal.
pub(crate) const WIDEST: usize = 120;

/// `text` wrapped at `width`, further lines indented by `indent`.
pub fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let room = width.min(WIDEST).saturating_sub(indent).max(NARROWEST);
    lines(text, room).join(&format!("\n{:indent$}", ""))
}

/// `text` broken between words, into lines of at most `width` columns where possible. A command in backticks that is wider
/// ends each line with a backslash and is not broken within quotes, so that it can be copied to a shell.
pub(crate) fn lines(text: &str, width: usize) -> Vec<String> {
    let quoted: Vec<&str> = text.split('`').skip(1).step_by(2).collect();
    let is_closed = text.matches('`').count().is_multiple_of(2);
    let breaks = is_closed && quoted.iter().any(|part| part.contains(' ') && !is_whole(part, width));
    if !breaks {
        return wrap(&held_together(text, width), width);
    }
    let room = width.saturating_sub(CONTINUES.len()).max(1);
    let mut inside = false;
    let continued = |line: String| {
        inside ^= line.matches('`').count() % 2 == 1;
        if inside { line + CONTINUES } else { line }
    };
    wrap(&held_together(text, room), room).into_iter().map(continued).collect()
}

/// Wraps a text in which blanks that must not break are [`HELD`].
fn wrap(text: &str, width: usize) -> Vec<String> {
    let options = Options::new(width)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::wrap(text, options).into_iter().map(|line| line.replace(HELD, " ")).collect()
}

/// No-break space.
const HELD: char = '\u{a0}';

/// Units that stay on the line of their number.
const UNITS: [&str; 9] = ["ns", "µs", "ms", "s", "min", "h", "KiB", "MB/s", "CPUs"];

/// `text` with no-break spaces: commands in backticks that fit a line are kept whole, of longer ones their quotes, and for the rest see
/// [`unbroken`]. A no-break space in the input counts as one.
fn held_together(text: &str, width: usize) -> String {
    let quoted = |(number, part): (usize, &str)| match number % 2 {
        1 if is_whole(part, width) => part.replace(' ', "\u{a0}"),
        1 => split_words(part).iter().map(|word| word.replace(' ', "\u{a0}")).collect::<Vec<_>>().join(" "),
        _ => unbroken(part),
    };
    text.split('`').enumerate().map(quoted).collect::<Vec<_>>().join("`")
}

/// Whether a command fits a line, with its backticks and punctuation.
fn is_whole(command: &str, width: usize) -> bool {
    text_width(command) + 3 <= width
}

/// `text` with no-break spaces according to `is_held`; used for terminals, HTML and Markdown.
pub fn unbroken(text: &str) -> String {
    let held = |(place, letter): (usize, char)| match letter {
        ' ' if is_held(&text[..place], &text[place + 1..]) => HELD,
        other => other,
    };
    text.char_indices().map(held).collect()
}

/// Whether a line must not break at the blank between `before` and `after`: within numbers, before units, after `CPU` and `×`, and before `·`.
fn is_held(before: &str, after: &str) -> bool {
    let is_number = before.ends_with(|letter: char| letter.is_ascii_digit());
    let has_number = after.starts_with(|letter: char| letter.is_ascii_digit());
    is_number && (has_number || begins_with_unit(after))
        || before.ends_with("CPU") && has_number
        || before.ends_with('×')
        || after.starts_with('·')
}

fn begins_with_unit(text: &str) -> bool {
    let word = text.split([' ', HELD]).next().unwrap_or_default();
    word.starts_with('%') || UNITS.contains(&word.trim_end_matches([',', '.', ';', ':', ')']))
}

/// Width of `text` in a terminal, without its styles.
pub(crate) fn text_width(text: &str) -> usize {
    textwrap::core::display_width(text)
}

/// `text` with an upper-case first letter.
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WORDS: [&str; 14] =
        ["9", "970", "µs,", "50", "%", "CPU", "12", "·", "×", "MB/s)", "KiB.", "late", "min", "h"];

    proptest! {
        /// Only blanks change, and lines break where allowed, at any width.
        #[test]
        fn no_line_ends_where_it_must_not(
            sample in prop::collection::vec(prop::sample::select(&WORDS[..]), 1..20),
            width in 1..30_usize,
        ) {
            let text = sample.join(" ");
            prop_assert_eq!(unbroken(&text).replace(HELD, " "), text.clone());
            prop_assert_eq!(unbroken(&unbroken(&text)), unbroken(&text));
            let lines = lines(&text, width);
            prop_assert_eq!(lines.join(" "), text);
            for pair in lines.windows(2) {
                prop_assert!(!is_held(&pair[0], &pair[1]), "{pair:?}");
            }
        }
    }

    #[test]
    fn a_number_keeps_what_belongs_to_it() {
        let held = |text: &str| unbroken(text).replace(HELD, "_");
        assert_eq!(held("5 of 9 970, 3 µs"), "5 of 9_970, 3_µs");
        assert_eq!(held("4.00 ms. 2 sets, 95 %"), "4.00_ms. 2 sets, 95_%");
        assert_eq!(held("higher (× 1 810), so"), "higher (×_1_810), so");
        assert_eq!(held("64 KiB, 3 MB/s, 1.80 CPUs"), "64_KiB, 3_MB/s, 1.80_CPUs");
        assert_eq!(held("other · CPU 0"), "other_· CPU_0");
    }

    #[test]
    fn lines_are_broken_between_words_by_what_is_seen() {
        assert_eq!(lines("a step: 50 µs", 8), ["a step:", "50 µs"]);
        assert_eq!(
            lines("a step of 50 µs, 1 000 000 times", 11),
            ["a step of", "50 µs,", "1 000 000", "times"]
        );
        assert_eq!(lines("try `ulimit -r 80` here", 17), ["try", "`ulimit -r 80`", "here"]);
        assert_eq!(lines("try `ulimit -r 80` here", 10), ["try", "`ulimit \\", "-r 80`", "here"]);
        assert_eq!(lines("no-break-here-at-all", 8), ["no-break-here-at-all"]);
        assert_eq!(lines("other · idle · CPU 10", 6), ["other ·", "idle ·", "CPU 10"]);
        assert_eq!(lines("higher (× 1 810)", 10), ["higher", "(× 1 810)"]);
        let bold = crate::style::paint(crate::style::BOLD, "10 µs");
        assert_eq!((text_width(&bold), text_width("µ → –")), (5, 5));
        assert_eq!(wrapped("one two", 3, 2), "one two");
    }
}
