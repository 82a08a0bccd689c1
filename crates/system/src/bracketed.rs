//! Choices with the current one marked: `always [madvise] never`, `none (full)`.

/// The marked choice.
pub(crate) fn chosen(text: &str) -> Option<&str> {
    let marked = |word: &'_ str| (word.starts_with('[') || word.starts_with('(')) && word.len() > 2;
    let word = text.split_whitespace().find(|word| marked(word))?;
    Some(&word[1..word.len() - 1])
}

#[cfg(test)]
mod tests {
    use super::chosen;

    #[test]
    fn the_marked_word_is_chosen() {
        assert_eq!(chosen("always [madvise] never"), Some("madvise"));
        assert_eq!(chosen("none voluntary (full) lazy"), Some("full"));
        assert_eq!(chosen("none"), None);
    }
}
