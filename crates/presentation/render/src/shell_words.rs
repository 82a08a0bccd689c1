//! A command as a shell takes it apart.

/// What tells a shell that its line goes on.
pub(crate) const CONTINUES: &str = " \\";

/// What blanks outside quotes separate, as a shell reads it: a backslash takes the letter after it for itself, but for within `'…'`.
pub(crate) fn words(command: &str) -> Vec<&str> {
    let (mut words, mut quote, mut begin, mut before) = (Vec::new(), None, 0, ' ');
    for (place, letter) in command.char_indices() {
        let escaped = before == '\\';
        match (quote, letter) {
            _ if escaped => {}
            (None, '\'' | '"') => quote = Some(Quote { letter, escapes: letter == '"' || before == '$' }),
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

/// An open quote.
#[derive(Clone, Copy)]
struct Quote {
    letter: char,
    /// Whether a backslash is one within it: in `"…"` and `$'…'`.
    escapes: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_end_at_blanks_outside_quotes() {
        assert_eq!(words("echo 'a b' c"), ["echo", "'a b'", "c"]);
        assert_eq!(words("a\\ b \"c \\\" d\" e"), ["a\\ b", "\"c \\\" d\"", "e"]);
        assert_eq!(words("'it'\\''s mine' x"), ["'it'\\''s mine'", "x"]);
        assert_eq!(words("'ends in \\' $'a\\' b' c"), ["'ends in \\'", "$'a\\' b'", "c"]);
    }
}
