//! Who made the late wake-ups late, and what can be done about it.

use howlate_analyse::cause::{Why, WhyCause, remedy};
use howlate_model::Finding;
use howlate_render::{cause_in_words, late_in_words, percent};
use maud::{Markup, html};

use super::findings::step;
use crate::entry::Entry;
use crate::names::{name, varying};
use crate::prose;

/// Conditions and causes that are shown; the recording has all.
const CONDITIONS: usize = 12;
const CAUSES: usize = 8;
/// Conditions that are open at first: the worst.
const OPEN: usize = 2;

/// Nothing where nothing was traced.
pub(super) fn causes(entries: &[Entry<'_>]) -> Markup {
    let mut traced: Vec<(Entry<'_>, Why)> =
        entries.iter().filter_map(|entry| Some((*entry, entry.outcome.why_late(None)?))).collect();
    traced.sort_by_cached_key(|(entry, _)| std::cmp::Reverse(entry.rank()));
    let parts = varying(entries);
    html! {
        @if !traced.is_empty() {
            section id="why" {
                h2 { "Why" }
                @for (number, (entry, why)) in traced.iter().take(CONDITIONS).enumerate() {
                    @if parts.is_empty() {
                        (of_one(entry, why))
                    } @else {
                        details open[number < OPEN] {
                            summary { h3 { (prose::plain(&name(entry, &parts))) } @if let Some(first) = why.causes.first() { ": " (prose::plain(&first_in_words(first))) } }
                            (of_one(entry, why))
                        }
                    }
                }
                @if traced.len() > CONDITIONS {
                    p class="quiet" { (traced.len() - CONDITIONS) " more conditions: " code { "howlate why" } " prints them." }
                }
            }
        }
    }
}

/// The cause that cost the most.
fn first_in_words(cause: &WhyCause) -> String {
    format!("{} of it {}", percent(cause.share), cause_in_words(cause))
}

fn of_one(entry: &Entry<'_>, why: &Why) -> Markup {
    let findings = &entry.recording.analysis.header.findings;
    let sentence = late_in_words(why);
    let shown = &why.causes[..why.causes.len().min(CAUSES)];
    html! {
        p { (prose::html(&sentence)) }
        @if !why.causes.is_empty() {
            div class="scroll" role="region" tabindex="0" aria-label=(sentence) {
                table class="causes" {
                    thead { tr {
                        th scope="col" { "cause" }
                        th scope="col" class="number" { "share" }
                        th scope="col" class="number" { "wake-ups" }
                        th scope="col" class="number" { "largest" }
                        th scope="col" class="text" { "what to do" }
                    } }
                    tbody {
                        @for (number, cause) in shown.iter().enumerate() { (row(cause, todo(&shown[..number], cause, findings))) }
                    }
                }
            }
        }
    }
}

/// What stands in the last column.
enum Todo<'a> {
    Nothing,
    /// It stands in a row above.
    AsAbove,
    First(&'a Finding),
}

fn todo<'a>(above: &[WhyCause], cause: &WhyCause, findings: &'a [Finding]) -> Todo<'a> {
    let Some(finding) = remedy(cause.kind, findings) else { return Todo::Nothing };
    let known = above.iter().filter_map(|one| remedy(one.kind, findings)).any(|one| one.id == finding.id);
    if known { Todo::AsAbove } else { Todo::First(finding) }
}

fn row(cause: &WhyCause, todo: Todo<'_>) -> Markup {
    html! {
        tr {
            th scope="row" { (prose::plain(&cause_in_words(cause))) }
            td class="number" { (percent(cause.share)) }
            td class="number" { (howlate_render::numbers::count(cause.wakeups)) }
            td class="number" { (howlate_model::Latency::from_span(cause.max_ns)) }
            td class="text" {
                @match todo {
                    Todo::Nothing => "–",
                    Todo::AsAbove => { span class="quiet" { "as above" } }
                    Todo::First(finding) => (what_to_do(finding)),
                }
            }
        }
    }
}

fn what_to_do(finding: &Finding) -> Markup {
    html! {
        (prose::html(&finding.found))
        @if let Some(remedy) = &finding.remedy { @for text in &remedy.apply { br; (step(text)) } }
    }
}
