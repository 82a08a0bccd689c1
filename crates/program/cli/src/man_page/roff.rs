//! Tidies roff source until `mandoc -T lint` has no complaints.

/// Longest line of the source, in columns; mandoc warns about longer ones.
const WIDTH: usize = 80;

/// Trims trailing blanks, wraps long lines (except between `.nf` and `.fi`), and turns a break on either side of an empty line into
/// one `.sp`.
pub(crate) fn tidy(page: &str) -> String {
    let page = page.replace(".br\n\n.br\n", ".sp\n");
    let mut tidied = String::with_capacity(page.len());
    let mut preformatted = false;
    for line in page.lines().map(str::trim_end) {
        match (line, preformatted) {
            (".fi", _) => preformatted = false,
            (".nf", _) => preformatted = true,
            _ => {}
        }
        match preformatted {
            true => tidied.extend([line, "\n"]),
            false => push_wrapped(&mut tidied, line),
        }
    }
    tidied
}

/// Breaks text at blanks. Requests stay on one line, however long.
fn push_wrapped(page: &mut String, line: &str) {
    let mut rest = line;
    while width(rest) > WIDTH && !line.starts_with(['.', '\'']) {
        let Some(at) = break_before(rest) else { break };
        page.push_str(rest[..at].trim_end());
        page.push('\n');
        rest = rest[at..].trim_start();
    }
    page.push_str(rest);
    page.push('\n');
}

/// Columns as `mandoc` counts them: it first writes non-ASCII characters as `\[u2026]`.
fn width(text: &str) -> usize {
    text.chars().map(|letter| if letter.is_ascii() { 1 } else { 8 }).sum()
}

/// Position of the last blank within the width, or else of the first one. Blanks before a word that would start a request do not count.
fn break_before(line: &str) -> Option<usize> {
    let is_text = |at: &usize| !line[*at..].trim_start().starts_with(['.', '\'']);
    let blanks = || line.match_indices(' ').map(|(at, _)| at).filter(|at| *at > 0);
    blanks()
        .take_while(|at| width(&line[..*at]) <= WIDTH)
        .filter(is_text)
        .last()
        .or_else(|| blanks().find(is_text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_broken_and_requests_are_not() {
        let word = "abcdefghi ".repeat(17);
        let page = tidy(&format!(".SH {word}\n{word}\nshort  \n.br\n\n.br\n"));
        let lines: Vec<&str> = page.lines().collect();
        assert_eq!((lines[0].len(), lines[1].len(), lines[2].len()), (173, 79, 79));
        assert_eq!(lines[3..], ["abcdefghi", "short", ".sp"]);
    }

    #[test]
    fn what_is_not_ascii_takes_more_room() {
        let text = format!("{} … and on", "x".repeat(72));
        assert_eq!(tidy(&text), format!("{}\n… and on\n", "x".repeat(72)));
    }

    #[test]
    fn examples_keep_their_lines() {
        let long = format!(".nf\n{0}\n.fi\n", "howlate ".repeat(20).trim_end());
        assert_eq!(tidy(&long), long);
    }

    #[test]
    fn no_break_makes_a_request_of_a_word() {
        let text = format!("{} .profile is read", "x".repeat(76));
        assert_eq!(tidy(&text), format!("{} .profile\nis read\n", "x".repeat(76)));
    }
}
