//! Section of the page: findings of `howlate doctor` at the start of the recording.

use howlate_model::{Finding, Verdict};
use maud::{Markup, html};

use crate::{NamedRecording, prose};

const GROUPS: [(Verdict, &str, &str); 5] = [
    (Verdict::Blocks, "Blocks real-time work", "✗"),
    (Verdict::Costs, "Costs punctuality", "!"),
    (Verdict::Unknown, "Could not be read", "?"),
    (Verdict::Note, "Worth knowing", "·"),
    (Verdict::Good, "As it should be", "✓"),
];

pub(crate) fn findings(recordings: &[NamedRecording<'_>]) -> Markup {
    let machines = machines(recordings);
    html! {
        @for (name, findings) in machines.iter().filter(|(_, findings)| !findings.is_empty()) {
            h3 {
                "What howlate doctor found"
                @if machines.len() > 1 { ": " (name) }
            }
            @for group in &GROUPS { (group_of(*group, findings)) }
        }
    }
}

/// Findings for the machine of each recording and for its guests.
fn machines<'a>(recordings: &[NamedRecording<'a>]) -> Vec<(String, &'a [Finding])> {
    let mut machines: Vec<(String, &[Finding])> = Vec::new();
    for recording in recordings {
        machines.push((recording.name.to_owned(), &recording.analysis.header.findings));
        for boot in &recording.analysis.boots {
            let name = format!("guest {}", boot.kernel);
            if !machines.iter().any(|(previous, _)| *previous == name) {
                machines.push((name, &boot.findings));
            }
        }
    }
    machines
}

fn group_of((verdict, heading, mark): (Verdict, &str, &str), findings: &[Finding]) -> Markup {
    let members: Vec<&Finding> = findings.iter().filter(|finding| finding.verdict == verdict).collect();
    html! {
        @if !members.is_empty() {
            details open[verdict <= Verdict::Costs] {
                summary { (mark) " " (heading) " (" (members.len()) ")" }
                ul class="findings" {
                    @for finding in members { li { (finding_in_words(finding)) } }
                }
            }
        }
    }
}

fn finding_in_words(finding: &Finding) -> Markup {
    html! {
        strong { (prose::html(&finding.found)) "." } " " (prose::html(&finding.why))
        @if let Some(cost) = &finding.cost { " Typically " (prose::plain(&cost.typical)) " (" (prose::plain(&cost.source)) ")." }
        @if let Some(remedy) = &finding.remedy {
            @for text in &remedy.apply { br; (step(text)) }
            @if !remedy.undo.is_empty() {
                br; "Undo: "
                @for (number, text) in remedy.undo.iter().enumerate() { @if number > 0 { "; " } (step(text)) }
            }
        }
    }
}

/// A single command, or a sentence with commands between backquotes.
pub(super) fn step(text: &str) -> Markup {
    html! { @if text.contains('`') { (prose::html(text)) } @else { (prose::code(text)) } }
}
