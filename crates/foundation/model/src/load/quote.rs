//! Quotes as shells have them: nothing in `'…'` is special, `\` takes the next letter as it is.

/// Letters that end a word.
const SEPARATORS: [char; 3] = [',', '+', ':'];

/// `text` so that it is read back as one word.
pub(super) fn quoted(text: &str) -> String {
    let special =
        |letter: char| SEPARATORS.contains(&letter) || "'\\".contains(letter) || letter.is_whitespace();
    if text.is_empty() || text.contains(special) { always_quoted(text) } else { text.to_owned() }
}

/// `text` in quotes.
pub(super) fn always_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Takes one word off the front of `rest`, without its quotes; `None` when a quote is left open.
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
