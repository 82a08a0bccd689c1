//! The content of one file, or why it could not be read.

use std::io;

use howlate_model::Evidence;

/// Longer evidence is cut, in characters.
const LONGEST_EVIDENCE: usize = 200;

/// Why a file could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// There is no such file: the kernel lacks the feature, or it is not mounted.
    #[error("no such file")]
    Missing,
    /// This process is not permitted to open it.
    #[error("permission denied")]
    Permission,
    /// The kernel refused for another reason.
    #[error("not readable: {0}")]
    Other(io::ErrorKind),
}

impl From<io::Error> for Unreadable {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Missing,
            io::ErrorKind::PermissionDenied => Self::Permission,
            kind => Self::Other(kind),
        }
    }
}

/// A path with its content, or the reason why it could not be read.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Absolute path on the examined system.
    pub path: String,
    /// The content, trimmed.
    pub content: Result<String, Unreadable>,
}

impl Reading {
    pub fn text(&self) -> Option<&str> {
        self.content.as_deref().ok()
    }

    pub fn number<N: std::str::FromStr>(&self) -> Option<N> {
        self.text()?.parse().ok()
    }

    pub fn is_missing(&self) -> bool {
        self.content == Err(Unreadable::Missing)
    }

    /// The whole content as evidence.
    pub fn evidence(&self) -> Evidence {
        let value = match &self.content {
            Ok(text) => shortened(text),
            Err(reason) => reason.to_string(),
        };
        Evidence { path: self.path.clone(), value }
    }

    /// Keeps only the lines that `predicate` accepts, as evidence from long files.
    pub fn lines(&self, predicate: impl Fn(&str) -> bool) -> Self {
        let select =
            |text: &String| text.lines().filter(|line| predicate(line)).collect::<Vec<_>>().join("\n");
        Self { path: self.path.clone(), content: self.content.as_ref().map(select).map_err(|reason| *reason) }
    }
}

/// On one line: runs of white space become single spaces, and a cut is marked by an ellipsis.
fn shortened(text: &str) -> String {
    let lines: Vec<String> =
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let whole = lines.join("; ");
    match whole.char_indices().nth(LONGEST_EVIDENCE) {
        Some((end, _)) => format!("{}…", &whole[..end]),
        None => whole,
    }
}

/// The choice in brackets: `always [madvise] never`, `none (full)`.
pub fn bracketed_choice(text: &str) -> Option<&str> {
    text.split_whitespace().find_map(strip_brackets).filter(|word| !word.is_empty())
}

fn strip_brackets(word: &str) -> Option<&str> {
    let strip = |open, close| word.strip_prefix(open)?.strip_suffix(close);
    strip('[', ']').or_else(|| strip('(', ')'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(text: &str) -> Reading {
        Reading { path: "/proc/x".into(), content: Ok(text.into()) }
    }

    #[test]
    fn evidence_is_one_line_of_bounded_length() {
        assert_eq!(reading("a\t 1\nb 2").evidence().value, "a 1; b 2");
        let long = reading(&"µ".repeat(500)).evidence().value;
        assert_eq!(long.chars().count(), LONGEST_EVIDENCE + 1);
    }

    #[test]
    fn a_failure_is_evidence_too() {
        let denied = Reading { path: "/p".into(), content: Err(Unreadable::Permission) };
        assert_eq!(denied.evidence().value, "permission denied");
        assert_eq!(denied.text(), None);
    }

    #[test]
    fn lines_keeps_what_the_predicate_accepts() {
        assert_eq!(reading("x 1\ny 2").lines(|line| line.starts_with('y')).text(), Some("y 2"));
    }

    #[test]
    fn the_word_in_brackets_is_the_choice() {
        assert_eq!(bracketed_choice("always [madvise] never"), Some("madvise"));
        assert_eq!(bracketed_choice("none voluntary (full) lazy"), Some("full"));
        for unmarked in ["none", "", "[", "[]", "[madvise", "[madvise]\u{fffd}"] {
            assert_eq!(bracketed_choice(unmarked), None, "{unmarked:?}");
        }
    }
}
