//! Who made the late wake-ups late, and what can be done about it, for Markdown.

use howlate_analyse::cause::{Why, WhyCause, WhyRemedy};
use howlate_model::{FindingId, Latency};
use howlate_render::numbers::count;
use howlate_render::{cause_in_words, late_in_words, markdown_text, percent};

use crate::entry::Entry;
use crate::names::{name, varying};
use crate::prose::{self, folded};
use crate::table::Table;

/// Conditions and causes that are shown; the recording has all.
const CONDITIONS: usize = 12;
const CAUSES: usize = 8;
/// Conditions that are open at first: the worst.
const OPEN: usize = 2;

/// Empty where nothing was traced.
pub(crate) fn markdown(entries: &[Entry<'_>]) -> String {
    let parts = varying(entries);
    let traced = entries.iter().filter_map(|entry| Some((entry, why(entry)?)));
    let mut traced: Vec<(&Entry<'_>, Why)> = traced.collect();
    traced.sort_by_cached_key(|(entry, _)| std::cmp::Reverse(entry.rank()));
    let of_one = |(number, (entry, why)): (usize, &(&Entry<'_>, Why))| {
        let title = if parts.is_empty() { "Why".to_owned() } else { format!("Why: {}", name(entry, &parts)) };
        let text = of_one(why);
        if number < OPEN {
            format!("**{}**\n\n{text}", markdown_text(&title))
        } else {
            folded(&title, &format!("{text}\n"))
        }
    };
    traced.iter().take(CONDITIONS).enumerate().map(of_one).collect()
}

fn why(entry: &Entry<'_>) -> Option<Why> {
    Some(entry.outcome.why_late(None)?.with_remedies(&entry.recording.analysis.header.findings))
}

fn of_one(why: &Why) -> String {
    let sentence = prose::markdown(&late_in_words(why));
    let shown = &why.causes[..why.causes.len().min(CAUSES)];
    let rows = shown.iter().map(row).collect();
    let table = Table::plain("", &["cause", "share", "wake-ups", "largest"], 1, rows).markdown();
    let todo = remedies(shown);
    let gap = if todo.is_empty() { "" } else { "\n" };
    format!("{sentence}\n\n{table}\n{todo}{gap}")
}

fn row(cause: &WhyCause) -> Vec<String> {
    let largest = Latency::from_span(cause.max_ns).to_string();
    vec![cause_in_words(cause), percent(cause.share), count(cause.wakeups), largest]
}

/// Each remedy once, at the first cause that it bears on.
fn remedies(causes: &[WhyCause]) -> String {
    let mut told: Vec<&FindingId> = Vec::new();
    let mut text = String::new();
    for (cause, remedy) in causes.iter().filter_map(|cause| Some((cause, cause.remedy.as_ref()?))) {
        if !told.contains(&&remedy.finding) {
            told.push(&remedy.finding);
            text.push_str(&what_to_do(cause, remedy));
        }
    }
    text
}

fn what_to_do(cause: &WhyCause, remedy: &WhyRemedy) -> String {
    let steps: Vec<String> = remedy.apply.iter().map(|text| step(text)).collect();
    let (cause, found) = (markdown_text(&cause_in_words(cause)), prose::markdown(&remedy.found));
    format!("- {cause}: {found}. What to do: {}\n", steps.join("; "))
}

/// A command; or a sentence, in which commands stand between backquotes.
fn step(text: &str) -> String {
    if text.contains('`') { prose::markdown(text) } else { format!("`{text}`") }
}

#[cfg(test)]
mod tests {
    use howlate_model::{
        Cause, Explained, Finding, Kind, Ledger, Line, MonotonicTime, Part, Remedy, Segment, Span, Verdict,
        WhyBlock,
    };

    use super::*;
    use crate::Recording;
    use crate::testing::{add, analysis, cyclic};

    fn waited(name: &str) -> Explained {
        let cause = Cause { part: Part::Waiting, kind: Kind::Thread, name: name.into() };
        let (from_ns, ns) = (MonotonicTime::default(), Span::from_micros(400));
        let parts = vec![Segment { cause, pid: Some(7), from_ns, ns }];
        Explained { at_ns: from_ns, latency_ns: Latency::from_span(ns), cpu: Some(0), parts }
    }

    #[test]
    fn causes_have_their_remedies_below_them() {
        let mut known = analysis(vec![cyclic("fifo:80", 0)]);
        add(&mut known, 0, 10, 5_000);
        known.header.findings = vec![Finding {
            id: FindingId::RealtimePermission,
            verdict: Verdict::Blocks,
            found: "no real-time policy may be used".into(),
            evidence: Vec::new(),
            why: String::new(),
            cost: None,
            remedy: Some(Remedy { apply: vec!["ulimit -r 80".into()], undo: Vec::new() }),
        }];
        let at = MonotonicTime::default();
        let mut ledger = Ledger::default();
        ["hog", "a|b"].map(waited).iter().for_each(|one| ledger.add(one));
        let (from_ns, until_ns, tracer) = (at, at, "bpf".to_owned());
        let block = WhyBlock { condition: 0, round: 1, beside: 0, from_ns, until_ns, tracer, ledger };
        let untraced = [Recording::of("a", &known.clone())].map(|one| markdown(&Entry::all(&[one])));
        assert_eq!(untraced, [""]);
        known.add(&Line::Why(Box::new(block)));
        let text = markdown(&Entry::all(&[Recording::of("a", &known)])).replace('\u{a0}', " ");
        assert!(text.contains("| hog, pid 7 | 50 % | 1 | 400 µs |"), "{text}");
        assert!(text.contains("| a\\|b, pid 7 |"), "{text}");
        assert_eq!(text.matches("What to do: `ulimit -r 80`").count(), 1, "{text}");
    }
}
