//! Timelines kept on request (`howlate snap`): when, why, by which program, and the file.

use howlate_model::Snapshot;

use super::IncidentReport;
use super::text::{list_limits, more};
use crate::detail::Detail;
use crate::prose::wrapped;
use crate::style::{DIM, HEADING, paint};
use crate::untrusted_text::legible;

/// Shown in place of the file name.
pub const NO_SNAP_FILE: &str = "what all CPUs had done is not there any more";

impl IncidentReport {
    /// The last requests, in order of time.
    pub(super) fn snaps(&self, detail: Detail, width: usize) -> String {
        let all = &self.recording.snaps;
        if all.is_empty() {
            return String::new();
        }
        let first = all.len().saturating_sub(list_limits(detail).snaps);
        let rows: String = all.iter().skip(first).map(|snap| self.snap(snap, width)).collect();
        format!(
            "{}\n{rows}{}",
            paint(HEADING, "What was asked for"),
            more(first, "that were earlier", detail)
        )
    }

    fn snap(&self, snap: &Snapshot, width: usize) -> String {
        let row = format!("{}  {}", self.moment(&snap.at, "%m-%d %H:%M:%S.%3f"), snap_text(snap));
        let file = snap
            .timeline
            .as_deref()
            .map_or_else(|| paint(DIM, NO_SNAP_FILE), |name| legible(name).into_owned());
        format!("  {}\n    {file}\n", wrapped(&row, width, 4))
    }
}

/// `frame dropped: player (4711)`
fn snap_text(snap: &Snapshot) -> String {
    let origin = snap_origin(snap);
    let reason = snap.reason.as_ref().map(|reason| legible(reason));
    reason.map_or_else(|| format!("asked for by {origin}"), |reason| format!("{reason}: {origin}"))
}

/// `player (4711)`
pub fn snap_origin(snap: &Snapshot) -> String {
    snap.program.as_ref().map_or_else(
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
        let text = snap_text(&snap(Some("frame dropped"), Some(program)));
        assert!(text.starts_with("frame dropped: player") && text.ends_with("(7)"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
        assert_eq!(snap_text(&snap(None, None)), "asked for by howlate snap, or a signal");
    }
}
