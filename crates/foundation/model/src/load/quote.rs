//! Quoting as in shells: `'…'` is literal, and `\` escapes the next character.

/// Characters that end a word.
const SEPARATORS: [char; 3] = [',', '+', ':'];

/// `text`, quoted if needed to be read back as one word.
pub(super) fn quoted(text: &str) -> String {
    let special =
        |letter: char| SEPARATORS.contains(&letter) || "'\\".contains(letter) || letter.is_whitespace();
    if text.is_empty() || text.contains(special) { always_quoted(text) } else { text.to_owned() }
}

pub(super) fn always_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Splits off one word, without its quotes; `None` if a quote is unclosed.
pub(super) fn take_word(rest: &mut &str) -> Option<String> {
    let (mut word, mut letters) = (String::new(), rest.chars());
    loop {
        let at_letter = letters.as_str();
        match letters.next() {
            Some('\'') => word.push_str(until_quote(&mut letters)?),
            Some('\\') => word.push(letters.next()?),
            Some(letter) if !SEPARATORS.contains(&letter) => word.push(letter),
            _ => {
                *rest = at_letter;
                return Some(word);
            }
        }
    }
}

fn until_quote<'a>(letters: &mut std::str::Chars<'a>) -> Option<&'a str> {
    let (inside, rest) = letters.as_str().split_once('\'')?;
    *letters = rest.chars();
    Some(inside)
}
