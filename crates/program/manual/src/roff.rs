//! Manual pages as `mandoc -T lint` wants them.

/// Longer lines of the source are hard to review.
const WIDTH: usize = 80;

/// Source lines without blanks at their ends, not too long but between `.nf` and `.fi`, where a line is a line, and one empty line where a break stood on either side of it.
pub(crate) fn tidy(page: &str) -> String {
    let page = page.replace(".br\n\n.br\n", ".sp\n");
    let mut tidied = String::with_capacity(page.len());
    let mut as_it_is = false;
    for line in page.lines().map(str::trim_end) {
        match (line, as_it_is) {
            (".fi", _) => as_it_is = false,
            (".nf", _) => as_it_is = true,
            _ => {}
        }
        match as_it_is {
            true => tidied.extend([line, "\n"]),
            false => put(&mut tidied, line),
        }
    }
    tidied
}

/// Text is broken at blanks; a request is a line, however long.
fn put(page: &mut String, line: &str) {
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

/// Its length as `mandoc` counts it, which first writes what is not ASCII as `\[u2026]`.
fn width(text: &str) -> usize {
    text.chars().map(|letter| if letter.is_ascii() { 1 } else { 8 }).sum()
}

/// The last blank within the width, or the first one; not before what would begin a request.
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
