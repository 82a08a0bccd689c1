//! Text for a terminal: escaped, wrapped, and replaced in place.

use crate::prose::wrapped;
use crate::untrusted_text::legible_lines;

/// Sentences wrapped to `columns`.
pub fn broken(text: &str, columns: usize) -> String {
    let line = |line: &str| {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        format!("{:indent$}{}\n", "", wrapped(text, columns, indent + 2))
    };
    text.lines().map(line).collect()
}

/// Escapes all control sequences except styles.
pub fn shown(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let mut out = legible_lines(parts.next().unwrap_or_default()).into_owned();
    for part in parts {
        let style = style_of(part);
        out.push_str(if style.is_empty() { "\\u{1b}" } else { "\x1b" });
        out.push_str(style);
        out.push_str(&legible_lines(&part[style.len()..]));
    }
    out
}

/// The style at the start of `text`, after an escape character: `[1;31m`; empty for anything else.
fn style_of(text: &str) -> &str {
    let is_style = |end: &usize| {
        let inside = text[..*end].strip_prefix('[');
        inside.is_some_and(|inside| inside.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'))
    };
    text.find('m').filter(is_style).map_or("", |end| &text[..=end])
}

/// The sequence that replaces the last `lines` by `text`, line by line, without wrapping, and clears the rest. The screen is not cleared at once,
/// because some terminals then keep each state in their history.
pub fn replacement(text: &str, lines: usize) -> String {
    let up = if lines > 0 { format!("\x1b[{lines}A") } else { String::new() };
    let text = text.replace('\n', "\n\x1b[K");
    format!("{up}\r\x1b[?7l\x1b[K{text}\n\x1b[J\x1b[?7h")
}

#[cfg(test)]
mod tests {
    use anstyle::AnsiColor;

    use super::*;
    use crate::style::paint;

    #[test]
    fn what_is_replaced_is_never_cleared_from_its_first_line_on() {
        assert_eq!(replacement("a\nb", 0), "\r\x1b[?7l\x1b[Ka\n\x1b[Kb\n\x1b[J\x1b[?7h");
        assert_eq!(replacement("a", 2), "\x1b[2A\r\x1b[?7l\x1b[Ka\n\x1b[J\x1b[?7h");
        // The last line is cleared too, where nothing takes its place.
        assert_eq!(replacement("", 1), "\x1b[1A\r\x1b[?7l\x1b[K\n\x1b[J\x1b[?7h");
    }

    #[test]
    fn a_terminal_gets_styles_and_nothing_else_that_it_understands() {
        let styled = paint(AnsiColor::Red.on_default(), "error:");
        assert_eq!(shown(&styled), styled);
        for (text, expected) in [
            ("\x1b[2J", "\\u{1b}[2J"),
            ("a\x1b]0;title\x07\x1b[0m", "a\\u{1b}]0;title\\u{7}\x1b[0m"),
            ("\x1b\x1b[1m", "\\u{1b}\x1b[1m"),
            ("\x1b[1;31", "\\u{1b}[1;31"),
            ("\x1b[?25lm", "\\u{1b}[?25lm"),
            ("\u{9b}2J\r\u{202e}\u{7f}", "\\u{9b}2J\\r\\u{202e}\\u{7f}"),
            ("one\n\ttwo µ", "one\n\ttwo µ"),
        ] {
            assert_eq!(shown(text), expected);
        }
    }
}
