//! Options stay in their line: browsers end one after each hyphen otherwise, `-` above and `-by` below.

/// What begins code within a sentence; blocks of code have a `pre` around it, and scroll.
const BEGIN: &str = "<code>";
const END: &str = "</code>";

/// Marks the options of a page as words that are not broken.
pub(super) fn whole(html: &str) -> String {
    let mut parts = html.split(BEGIN);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_block = text.ends_with("<pre>");
        text.push_str(BEGIN);
        match part.split_once(END) {
            Some((code, rest)) if !is_block => text.push_str(&format!("{}{END}{rest}", marked(code))),
            _ => text.push_str(part),
        }
    }
    text
}

fn marked(code: &str) -> String {
    let word = |word: &str| match word.starts_with('-') {
        true => format!("<span class=\"whole\">{word}</span>"),
        false => word.to_owned(),
    };
    code.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_within_a_sentence_are_marked() {
        assert_eq!(
            whole("<p>a <code>show --by x</code> --no"),
            "<p>a <code>show <span class=\"whole\">--by</span> x</code> --no"
        );
        let block = "<pre><code>a --by</code></pre><code class=\"language-sh\">b --by</code>";
        assert_eq!(whole(block), block);
    }
}
