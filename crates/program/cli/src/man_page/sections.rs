//! Manual page sections from the text below a command's options (clap's after-help).

use roff::{Inline, Roff, roman};

/// Headings of paragraphs that become sections of their own.
const EXAMPLES: &str = "Examples:";
const STATUS: &str = "Exit status:";

/// The sections NOTES, EXAMPLES and EXIT STATUS; `default_exit_status` is used if `text` has no exit status.
pub(crate) fn after_help(text: &str, default_exit_status: &str) -> String {
    let (examples, rest) = split(text, EXAMPLES);
    let (status, notes) = split(&rest, STATUS);
    let mut page = Roff::new();
    if !notes.trim().is_empty() {
        preformatted_section(&mut page, "NOTES", notes.trim());
    }
    if !examples.is_empty() {
        preformatted_section(&mut page, "EXAMPLES", &examples);
    }
    page.control("SH", ["EXIT STATUS"]);
    let status = if status.is_empty() { default_exit_status.replacen(STATUS, "", 1) } else { status };
    page.text([roman(status.trim())]);
    page.to_roff()
}

/// The paragraph that starts with `heading`, without the heading, and the remaining text. Indented paragraphs that follow belong to it.
fn split(text: &str, heading: &str) -> (String, String) {
    let (mut found, mut rest) = (String::new(), String::new());
    let mut inside = false;
    for paragraph in text.split("\n\n") {
        inside = paragraph.starts_with(heading) || (inside && paragraph.starts_with(' '));
        let (to, part) = match inside {
            true => (&mut found, paragraph.strip_prefix(heading).unwrap_or(paragraph).trim_matches('\n')),
            false => (&mut rest, paragraph),
        };
        to.push_str(if to.is_empty() { "" } else { "\n\n" });
        to.push_str(part);
    }
    (found, rest)
}

fn preformatted_section(page: &mut Roff, heading: &str, text: &str) {
    page.control("SH", [heading]);
    page.control("nf", []);
    let lines: Vec<Inline> =
        text.lines().map(|line| roman(line.strip_prefix("  ").unwrap_or(line))).collect();
    for line in lines {
        page.text([line]);
    }
    page.control("fi", []);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_and_status_are_sections_and_the_rest_is_noted() {
        let page = after_help(
            "Exit status: 0 all, 2 none.\n\nExamples:\n  howlate a\n  howlate b\n\n  [c]\n\nMore.",
            "",
        );
        let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} in {page}"));
        let order = [
            ".SH NOTES",
            "More.",
            ".SH EXAMPLES",
            "howlate a",
            "howlate b",
            "[c]",
            ".SH \"EXIT STATUS\"",
            "0 all",
        ];
        assert!(order.map(at).is_sorted(), "{page}");
        assert!(after_help("", "Exit status: 0 within limits").contains("0 within limits"));
    }
}
