//! Splits a command into words as a shell does.

/// Marks a shell line that continues on the next.
pub(crate) const CONTINUES: &str = " \\";

/// The words of a command, separated by blanks outside quotes. A backslash escapes the next letter, except within `'…'`.
pub(crate) fn split_words(command: &str) -> Vec<&str> {
    let (mut words, mut quote, mut begin, mut before) = (Vec::new(), None, 0, ' ');
    for (place, letter) in command.char_indices() {
        let escaped = before == '\\';
        match (quote, letter) {
            _ if escaped => {}
            (None, '\'' | '"') => quote = Some(OpenQuote { letter, escapes: letter == '"' || before == '$' }),
            (Some(open), _) if open.letter == letter => quote = None,
            (None, ' ') => {
                words.push(&command[begin..place]);
                begin = place + 1;
            }
            _ => {}
        }
        let escapes = letter == '\\' && !escaped && quote.is_none_or(|open| open.escapes);
        before = if letter == '\\' && !escapes { ' ' } else { letter };
    }
    words.push(&command[begin..]);
    words
}

#[derive(Clone, Copy)]
struct OpenQuote {
    letter: char,
    /// Whether a backslash escapes within it: in `"…"` and `$'…'`.
    escapes: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_end_at_blanks_outside_quotes() {
        assert_eq!(split_words("echo 'a b' c"), ["echo", "'a b'", "c"]);
        assert_eq!(split_words("a\\ b \"c \\\" d\" e"), ["a\\ b", "\"c \\\" d\"", "e"]);
        assert_eq!(split_words("'it'\\''s mine' x"), ["'it'\\''s mine'", "x"]);
        assert_eq!(split_words("'ends in \\' $'a\\' b' c"), ["'ends in \\'", "$'a\\' b'", "c"]);
    }
}
