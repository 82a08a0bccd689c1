//! What was kept because somebody asked for it: when, why, which program, and the file.

use howlate_model::Snapshot;

use super::Incidents;
use super::text::{listed, more};
use crate::detail::Detail;
use crate::prose::wrapped;
use crate::style::{DIM, HEADING, paint};
use crate::untrusted_text::legible;

/// In place of the file's name.
pub const NO_SNAP_FILE: &str = "what all CPUs had done is not there any more";

impl Incidents {
    /// The last ones, in the order in which they were asked for.
    pub(super) fn snaps(&self, detail: Detail, width: usize) -> String {
        let all = &self.kept.snaps;
        if all.is_empty() {
            return String::new();
        }
        let first = all.len().saturating_sub(listed(detail).snaps);
        let rows: String = all.iter().skip(first).map(|one| self.snap(one, width)).collect();
        format!(
            "{}\n{rows}{}",
            paint(HEADING, "What was asked for"),
            more(first, "that were earlier", detail)
        )
    }

    fn snap(&self, one: &Snapshot, width: usize) -> String {
        let row = format!("{}  {}", self.moment(&one.at, "%m-%d %H:%M:%S.%3f"), asked_for(one));
        let file = one
            .timeline
            .as_deref()
            .map_or_else(|| paint(DIM, NO_SNAP_FILE), |name| legible(name).into_owned());
        format!("  {}\n    {file}\n", wrapped(&row, width, 4))
    }
}

/// `frame dropped: player (4711)`
fn asked_for(one: &Snapshot) -> String {
    let by = asked_by(one);
    let reason = one.reason.as_ref().map(|reason| legible(reason));
    reason.map_or_else(|| format!("asked for by {by}"), |reason| format!("{reason}: {by}"))
}

/// `player (4711)`
pub fn asked_by(one: &Snapshot) -> String {
    one.program.as_ref().map_or_else(
        || "howlate snap, or a signal".to_owned(),
        |program| format!("{} ({})", legible(&program.process), program.pid),
    )
}

#[cfg(test)]
mod tests {
    use howlate_model::{MonotonicTime, SnapProgram};

    use super::*;

    #[test]
    fn it_says_why_and_who() {
        let program = SnapProgram { process: "player\u{1b}".into(), pid: 7, uid: 5 };
        let snap = |reason: Option<&str>, program: Option<SnapProgram>| Snapshot {
            at: "2026-11-25T03:12:07.123456Z".into(),
            at_ns: MonotonicTime::default(),
            reason: reason.map(str::to_owned),
            program,
            timeline: None,
        };
        let told = asked_for(&snap(Some("frame dropped"), Some(program)));
        assert!(told.starts_with("frame dropped: player") && told.ends_with("(7)"), "{told}");
        assert!(!told.contains('\u{1b}'), "{told}");
        assert_eq!(asked_for(&snap(None, None)), "asked for by howlate snap, or a signal");
    }
}
