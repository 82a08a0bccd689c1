//! Makes untrusted text safe to show.
//!
//! Recordings, captured trees and probes may hold any text: escape sequences that move the cursor or rename the window,
//! characters that reverse the direction of writing, line breaks that imitate a line of our own. All of them are escaped here,
//! as `\u{1b}`.

use std::borrow::Cow;
use std::io::{self, Write};

use howlate_model::Line;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Whether a character is visible and affects nothing around it.
///
/// Source: Unicode's general categories Cc, Zl and Zp, the format characters of bidirectional text
/// (<https://www.unicode.org/reports/tr9/>), invisible letters, tags, and what XML forbids.
pub fn is_legible(letter: char) -> bool {
    !letter.is_control()
        && !matches!(letter,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}' | '\u{e0000}'..='\u{e007f}')
}

/// `text` as one legible line.
pub fn legible(text: &str) -> Cow<'_, str> {
    replaced(text, is_legible)
}

/// Every line of `text` legible, for whole documents.
pub fn legible_lines(text: &str) -> Cow<'_, str> {
    replaced(text, |letter| is_legible(letter) || matches!(letter, '\n' | '\t'))
}

fn replaced(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    if text.chars().all(&stays) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        if stays(letter) { out.push(letter) } else { out.extend(letter.escape_default()) }
    }
    Cow::Owned(out)
}

/// JSON with all illegible characters escaped; its value is the same.
pub fn legible_json(text: &str) -> Cow<'_, str> {
    let stays = |letter: char| is_legible(letter) || letter == '\n';
    if text.chars().all(stays) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match stays(letter) {
            true => out.push(letter),
            // Such a character can only occur in a string.
            false => letter
                .encode_utf16(&mut [0; 2])
                .iter()
                .for_each(|unit| out.push_str(&format!("\\u{unit:04x}"))),
        }
    }
    Cow::Owned(out)
}

/// `value` with all texts legible. Fails where an escaped text does not parse, such as the name of an enum variant.
pub fn legible_value<T: Serialize + DeserializeOwned>(value: T) -> Result<T, serde_json::Error> {
    if is_all_legible(&value)? {
        return Ok(value);
    }
    let mut tree = serde_json::to_value(&value)?;
    // Via text, because recordings are only ever parsed from text.
    if make_legible(&mut tree) { serde_json::from_str(&tree.to_string()) } else { Ok(value) }
}

/// Whether no text or name in a value needs escaping.
fn is_all_legible(value: &impl Serialize) -> Result<bool, serde_json::Error> {
    let mut seen = JsonScanner { is_legible: true };
    serde_json::to_writer(&mut seen, value)?;
    Ok(seen.is_legible)
}

/// Scans JSON while it is written, without storing it.
struct JsonScanner {
    is_legible: bool,
}

impl Write for JsonScanner {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.is_legible = self.is_legible && is_legible_piece(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Serde writes each escape as a piece of its own: for quotes, backslashes, and illegible characters.
fn is_legible_piece(piece: &[u8]) -> bool {
    if piece.first() == Some(&b'\\') {
        return matches!(piece, b"\\\"" | b"\\\\");
    }
    if piece.iter().all(|byte| matches!(byte, b' '..=b'~')) {
        return true;
    }
    std::str::from_utf8(piece).is_ok_and(|text| text.chars().all(is_legible))
}

/// A line of a recording with all texts legible. Blocks have no texts, and numbers that do not survive being parsed twice.
pub fn legible_line(line: Line) -> Result<Line, serde_json::Error> {
    match line {
        Line::Block(block) => Ok(Line::Block(block)),
        other => legible_value(other),
    }
}

/// Escapes all texts; true if any was changed.
fn make_legible(tree: &mut Value) -> bool {
    match tree {
        Value::String(text) => match legible(text) {
            Cow::Borrowed(_) => false,
            Cow::Owned(changed) => {
                *text = changed;
                true
            }
        },
        Value::Array(values) => values.iter_mut().fold(false, |any, value| make_legible(value) | any),
        Value::Object(map) => {
            let values = map.values_mut().fold(false, |any, value| make_legible(value) | any);
            values | make_names_legible(map)
        }
        _ => false,
    }
}

fn make_names_legible(map: &mut serde_json::Map<String, Value>) -> bool {
    if map.keys().all(|name| name.chars().all(is_legible)) {
        return false;
    }
    *map =
        std::mem::take(map).into_iter().map(|(name, value)| (legible(&name).into_owned(), value)).collect();
    true
}

/// `text` escaped for a line of GitHub-flavoured Markdown.
pub fn markdown_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for letter in legible(text).chars() {
        match letter {
            '|' | '*' | '_' | '`' | '[' | '\\' | '~' => out.extend(['\\', letter]),
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            _ => out.push(letter),
        }
    }
    out
}

/// `text` escaped for the description of a TAP test.
pub fn tap_text(text: &str) -> String {
    legible(text).replace('\\', "\\\\").replace('#', "\\#")
}

#[cfg(test)]
mod tests {
    use super::*;
    use howlate_model::Caveat;
    use proptest::prelude::*;

    #[test]
    fn what_would_do_something_is_written_as_what_it_is() {
        assert_eq!(legible("a\x1b]0;x\x07b"), "a\\u{1b}]0;x\\u{7}b");
        assert_eq!(legible("one\nok 2"), "one\\nok 2");
        assert_eq!(legible("\u{9b}31m\u{202e}"), "\\u{9b}31m\\u{202e}");
        assert_eq!(legible("µs → 日本"), "µs → 日本");
        assert_eq!(legible_lines("a\n\tb\r"), "a\n\tb\\r");
        assert_eq!(markdown_text("a|b <script> *_`[\\"), r"a\|b &lt;script> \*\_\`\[\\");
        assert_eq!(tap_text("a # SKIP\nok"), r"a \# SKIP\\nok");
    }

    #[test]
    fn values_keep_everything_else() {
        let caveat = |path: &str| Caveat::UnknownConditions { path: path.to_owned(), lines: u64::MAX };
        assert_eq!(legible_value(caveat("a\x1b")).unwrap(), caveat("a\\u{1b}"));
        assert_eq!(legible_value(caveat("plain")).unwrap(), caveat("plain"));
        assert_eq!(legible_value(caveat("\"µs\" \\ …")).unwrap(), caveat("\"µs\" \\ …"));
    }

    proptest! {
        #[test]
        fn nothing_illegible_is_left(text in any::<String>()) {
            prop_assert!(legible(&text).chars().all(is_legible));
            prop_assert!(legible_lines(&text).lines().all(|line| line.replace('\t', "").chars().all(is_legible)));
        }

        #[test]
        fn what_is_legible_is_seen_to_be(text in any::<String>()) {
            prop_assert_eq!(is_all_legible(&[&text]).unwrap(), text.chars().all(is_legible));
        }

        #[test]
        fn json_says_the_same(text in any::<String>()) {
            let json = serde_json::to_string(&text).unwrap();
            let shown = legible_json(&json);
            prop_assert!(shown.chars().all(is_legible));
            prop_assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
        }
    }
}
