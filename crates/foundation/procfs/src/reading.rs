//! One file, and what came of reading it.

use std::io;

use howlate_model::Evidence;

/// Evidence longer than this says no more to a reader, in characters.
const LONGEST_EVIDENCE: usize = 200;

/// Why a file gave nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// There is no such file: the kernel lacks the feature, or it is not mounted.
    #[error("no such file")]
    Missing,
    /// This process may not open it.
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

/// A path with its content, or with the reason why there is none.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Where, as on the examined system.
    pub path: String,
    /// What it holds, trimmed, or why that is not known.
    pub content: Result<String, Unreadable>,
}

impl Reading {
    /// The content, where there is one.
    pub fn text(&self) -> Option<&str> {
        self.content.as_deref().ok()
    }

    /// The content as a number.
    pub fn number<N: std::str::FromStr>(&self) -> Option<N> {
        self.text()?.parse().ok()
    }

    /// Whether there is no such file.
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

    /// Only the lines that `wanted` accepts as evidence; for long files.
    pub fn lines(&self, wanted: impl Fn(&str) -> bool) -> Self {
        let kept = |text: &String| text.lines().filter(|line| wanted(line)).collect::<Vec<_>>().join("\n");
        Self { path: self.path.clone(), content: self.content.as_ref().map(kept).map_err(|reason| *reason) }
    }
}

/// Tabs and line ends become single spaces; a cut is marked.
fn shortened(text: &str) -> String {
    let lines: Vec<String> =
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let whole = lines.join("; ");
    match whole.char_indices().nth(LONGEST_EVIDENCE) {
        Some((end, _)) => format!("{}…", &whole[..end]),
        None => whole,
    }
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
    fn lines_keeps_what_is_asked_for() {
        assert_eq!(reading("x 1\ny 2").lines(|line| line.starts_with('y')).text(), Some("y 2"));
    }
}
