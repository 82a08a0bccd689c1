//! Sentences with commands between backquotes, as HTML and as Markdown.

use howlate_render::{markdown_text, unbroken};
use maud::{Markup, html};

/// HTML of a sentence; text between backquotes becomes `<code>`.
pub(crate) fn html(text: &str) -> Markup {
    html! {
        @for (number, part) in text.split('`').enumerate() {
            @if number % 2 == 1 { (code(part)) } @else { (plain(part)) }
        }
    }
}

/// HTML of text without commands.
pub(crate) fn plain(text: &str) -> Markup {
    unbroken_names(&unbroken(text))
}

/// A command as HTML.
pub(crate) fn code(text: &str) -> Markup {
    html! { code { (unbroken_names(text)) } }
}

/// Words, with no line break within an option or a name: browsers break after each hyphen otherwise.
fn unbroken_names(text: &str) -> Markup {
    html! {
        @for (number, word) in text.split(' ').enumerate() {
            @if number > 0 { " " }
            @if is_name(word) { (unbroken_name(word)) } @else { (word) }
        }
    }
}

/// Characters; longer names might be wider than a phone.
const LONGEST: usize = 30;

/// `--by`, `6.1.0-56-amd64`; not `wake-up`, nor what has no hyphen.
fn is_name(word: &str) -> bool {
    let has = |of: fn(char) -> bool| word.contains(of);
    has(|letter| letter == '-')
        && (word.starts_with('-') || has(|letter| letter.is_ascii_digit()))
        && word.chars().count() <= LONGEST
}

/// A word without a line break.
pub(crate) fn unbroken_name(word: &str) -> Markup {
    html! { span class="whole" { (word) } }
}

/// Markdown of a sentence; text between backquotes stays code.
pub(crate) fn markdown(text: &str) -> String {
    if !is_in_pairs(text) {
        return markdown_plain(text);
    }
    let part = |(number, part): (usize, &str)| {
        if number % 2 == 1 { format!("`{part}`") } else { markdown_plain(part) }
    };
    text.split('`').enumerate().map(part).collect()
}

/// Markdown of text without commands.
pub(crate) fn markdown_plain(text: &str) -> String {
    markdown_text(&unbroken(text))
}

pub(crate) fn collapsed(summary: &str, text: &str) -> String {
    format!("<details><summary>{}</summary>\n\n{text}</details>\n\n", markdown_text(summary))
}

/// Whether the backquotes come in pairs around text. Otherwise they are part of a name, and Markdown would take what
/// stands between for code.
fn is_in_pairs(text: &str) -> bool {
    let parts = text.split('`').count();
    let mut inner = text.split('`').skip(1).take(parts.saturating_sub(2));
    parts % 2 == 1 && inner.all(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_stays_as_it_is() {
        assert_eq!(markdown("a_b: `x_y | z`."), r"a\_b: `x_y | z`.");
        assert_eq!(markdown("a `b` ``` <i> `"), r"a \`b\` \`\`\` &lt;i> \`");
        assert_eq!(html("<b> `a<b`").into_string(), "&lt;b&gt; <code>a&lt;b</code>");
        assert_eq!(html("`a --b c`").into_string(), "<code>a <span class=\"whole\">--b</span> c</code>");
    }

    #[test]
    fn a_name_stays_in_its_line() {
        let span = |word: &str| format!("<span class=\"whole\">{word}</span>");
        assert_eq!(
            html("6.1.0-56-amd64 --quiet").into_string(),
            span("6.1.0-56-amd64") + " " + &span("--quiet")
        );
        assert_eq!(html("a real-time wake-up").into_string(), "a real-time wake-up");
        assert_eq!(html("other · CPU 0").into_string(), "other\u{a0}· CPU\u{a0}0");
    }

    #[test]
    fn a_number_stays_in_its_line() {
        assert_eq!(html("1 2 `3 4`").into_string(), "1\u{a0}2 <code>3 4</code>");
    }
}
