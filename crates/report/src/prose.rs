//! Sentences, in which what is typed stands between backquotes.

use howlate_render::markdown_text;
use maud::{Markup, html};

/// A sentence for the page.
pub(crate) fn html(text: &str) -> Markup {
    html! {
        @for (number, part) in text.split('`').enumerate() {
            @if number % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// A sentence for Markdown.
pub(crate) fn markdown(text: &str) -> String {
    let part = |(number, part): (usize, &str)| {
        if number % 2 == 1 { format!("`{part}`") } else { markdown_text(part) }
    };
    text.split('`').enumerate().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_stays_as_it_is() {
        assert_eq!(markdown("a_b: `x_y | z`."), r"a\_b: `x_y | z`.");
        assert_eq!(html("<b> `a<b`").into_string(), "&lt;b&gt; <code>a&lt;b</code>");
    }
}
