//! Choices with the current one marked: `always [madvise] never`, `none (full)`.

/// The marked choice.
pub fn chosen(text: &str) -> Option<&str> {
    text.split_whitespace().find_map(inside).filter(|word| !word.is_empty())
}

fn inside(word: &str) -> Option<&str> {
    let between = |open, close| word.strip_prefix(open)?.strip_suffix(close);
    between('[', ']').or_else(|| between('(', ')'))
}

#[cfg(test)]
mod tests {
    use super::chosen;

    #[test]
    fn the_marked_word_is_chosen() {
        assert_eq!(chosen("always [madvise] never"), Some("madvise"));
        assert_eq!(chosen("none voluntary (full) lazy"), Some("full"));
        for none in ["none", "", "[", "[]", "[madvise", "[madvise]\u{fffd}"] {
            assert_eq!(chosen(none), None, "{none:?}");
        }
    }
}
