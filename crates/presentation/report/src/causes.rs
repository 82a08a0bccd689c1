//! Causes of late wake-ups and their remedies, as Markdown.

use std::cmp::Reverse;

use howlate_model::{Command, Finding};
use howlate_render::{CauseRow, CauseTable, markdown_text};

use crate::condition_names::{name, varying};
use crate::entry::Entry;
use crate::prose::{self, collapsed};
use crate::table::ReportTable;

/// Conditions with a table; `howlate why` prints all.
pub(crate) const CONDITIONS: usize = 12;
/// Conditions whose tables are not collapsed: the worst.
pub(crate) const OPEN: usize = 2;

/// Causes of each traced condition, the worst condition first.
pub(crate) fn traced<'a>(entries: &[Entry<'a>]) -> Vec<(Entry<'a>, CauseTable<'a>)> {
    let table = |entry: &Entry<'a>| {
        let analysis = &entry.recording.analysis;
        // Doctor's findings are about howlate's own rights and limits, not about a watched program's.
        let is_watched = analysis.header.command == Command::Watch;
        let findings: &[Finding] = if is_watched { &[] } else { &analysis.header.findings };
        let policy = entry.outcome.policy_in_force();
        Some((
            *entry,
            CauseTable::new(
                &entry.outcome.why_late(None)?,
                policy,
                entry.outcome.relevant_findings(findings),
            ),
        ))
    };
    let mut traced: Vec<_> = entries.iter().filter_map(table).collect();
    traced.sort_by_cached_key(|(entry, _)| Reverse(entry.rank()));
    traced
}

/// The causes of each condition; empty where nothing was traced.
pub(crate) fn markdown(entries: &[Entry<'_>]) -> String {
    let parts = varying(entries);
    let section = |(number, (entry, causes)): (usize, &(Entry<'_>, CauseTable<'_>))| {
        let title = if parts.is_empty() { "Why".to_owned() } else { format!("Why: {}", name(entry, &parts)) };
        let text = causes_in_markdown(causes);
        if number < OPEN {
            format!("**{}**\n\n{text}", markdown_text(&title))
        } else {
            collapsed(&title, &format!("{text}\n"))
        }
    };
    traced(entries).iter().take(CONDITIONS).enumerate().map(section).collect()
}

fn causes_in_markdown(causes: &CauseTable<'_>) -> String {
    let sentence = prose::markdown(&causes.sentence);
    let rows = causes.rows.iter().map(|row| row.cells().into()).collect();
    let table = ReportTable::plain("", &CauseTable::HEADINGS, 1, rows).markdown();
    // Each remedy once, at the first cause that it helps.
    let todo = causes.rows.iter().filter_map(|row| Some(what_to_do(row, row.first_finding()?)));
    let todo: String = todo.collect();
    let gap = if todo.is_empty() { "" } else { "\n" };
    format!("{sentence}\n\n{table}\n{todo}{gap}")
}

fn what_to_do(row: &CauseRow<'_>, finding: &Finding) -> String {
    let steps = finding.remedy.iter().flat_map(|remedy| &remedy.apply).map(|text| step(text));
    let (cause, found) = (markdown_text(&row.cause), prose::markdown(&row.found(finding)));
    format!("- {cause}: {found}. What to do: {}\n", steps.collect::<Vec<_>>().join("; "))
}

/// A single command, or a sentence with commands between backquotes.
fn step(text: &str) -> String {
    if text.contains('`') { prose::markdown(text) } else { format!("`{text}`") }
}

#[cfg(test)]
mod tests {
    use howlate_model::{
        Cause, CauseBlock, CauseKind, Finding, FindingId, Latency, Ledger, Line, MonotonicTime, Part, Remedy,
        Segment, Span, Verdict, WakeupBreakdown,
    };

    use super::*;
    use crate::NamedRecording;
    use crate::testing::{add, analysis, cyclic};

    fn waited(name: &str) -> WakeupBreakdown {
        let cause = Cause::new(Part::Waiting, CauseKind::Thread, name.into());
        let (from, ns) = (MonotonicTime::default(), Span::from_micros(400));
        let parts = vec![Segment::new(cause, Some(7), from, ns)];
        WakeupBreakdown { at: from, latency: Latency::from_span(ns), cpu: Some(0), parts }
    }

    #[test]
    fn causes_have_their_remedies_below_them() {
        let mut analysis = analysis(vec![cyclic("other", 0)]);
        add(&mut analysis, 0, 10, 5_000);
        analysis.header.findings = vec![Finding {
            id: FindingId::RealtimePermission,
            verdict: Verdict::Blocks,
            found: "no real-time policy may be used".into(),
            evidence: Vec::new(),
            why: String::new(),
            cost: None,
            remedy: Some(Remedy {
                apply: vec!["ulimit -r 80".into()],
                undo: Vec::new(),
                ..Remedy::default()
            }),
        }];
        let at = MonotonicTime::default();
        let mut ledger = Ledger::default();
        ["hog", "hog", "hog", "a|b", "a|b", "a|b"]
            .map(waited)
            .iter()
            .for_each(|explained| ledger.add(explained));
        let (from, until, tracer) = (at, at, "bpf".to_owned());
        let block = CauseBlock { condition: 0, round: 1, beside: 0, from, until, tracer, ledger };
        let untraced = [NamedRecording::new("a", &analysis.clone())]
            .map(|recording| markdown(&Entry::all(&[recording])));
        assert_eq!(untraced, [""]);
        analysis.add(&Line::Why(Box::new(block)));
        let text = markdown(&Entry::all(&[NamedRecording::new("a", &analysis)])).replace('\u{a0}', " ");
        assert!(text.contains("| hog, pid 7 | 50 % | 3 | 400 µs |"), "{text}");
        assert!(text.contains("| a\\|b, pid 7 |"), "{text}");
        assert_eq!(text.matches("What to do: `ulimit -r 80`").count(), 1, "{text}");
    }
}
