//! Section of the page: causes of late wake-ups and their remedies.

use howlate_model::Finding;
use howlate_render::{CauseRow, CauseTable, percent, timeline_files};
use maud::{Markup, html};

use super::figure;
use super::findings::step;
use crate::causes::{CONDITIONS, OPEN, traced};
use crate::condition_names::{name, varying};
use crate::pictures::{Chart, PictureSource, picture};
use crate::{NamedRecording, prose};

/// Empty where nothing was traced.
pub(super) fn causes(source: PictureSource<'_>) -> Markup {
    let entries = source.entries;
    let traced = traced(entries);
    let parts = varying(entries);
    html! {
        @if !traced.is_empty() {
            section id="why" {
                h2 { "Why" }
                @if let Some(picture) = picture(Chart::Causes, source) { (figure::figure(&picture)) }
                @for (number, (entry, causes)) in traced.iter().take(CONDITIONS).enumerate() {
                    @if parts.is_empty() {
                        (causes_table(causes))
                    } @else {
                        details open[number < OPEN] {
                            summary { h3 { (prose::plain(&name(entry, &parts))) } @if let Some(first) = causes.rows.first() { ": " (prose::plain(&first_in_words(first))) } }
                            (causes_table(causes))
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

/// Perfetto files next to the recordings, with the timelines of all CPUs around late wake-ups.
pub(super) fn timelines(recordings: &[NamedRecording<'_>]) -> Markup {
    let condition = |recording: &NamedRecording<'_>| timeline_files(recording.analysis);
    let files: Vec<(String, String)> = recordings.iter().flat_map(condition).collect();
    html! {
        @if !files.is_empty() {
            section id="timelines" {
                h2 { "Timelines" }
                p { "What all CPUs did around late wake-ups, in files beside the recording, for ui.perfetto.dev:" }
                ul { @for (condition, file) in &files { li { (prose::plain(condition)) ": " code { (prose::plain(file)) } } } }
            }
        }
    }
}

/// Share of the largest cause, for the collapsed heading.
fn first_in_words(row: &CauseRow<'_>) -> String {
    format!("{} of it {}", percent(row.share), row.cause)
}

fn causes_table(causes: &CauseTable<'_>) -> Markup {
    let [name, numbers @ ..] = CauseTable::HEADINGS;
    html! {
        p { (prose::html(&causes.sentence)) }
        @if !causes.rows.is_empty() {
            div class="scroll" role="region" tabindex="0" aria-label=(causes.sentence) {
                table class="causes" {
                    thead { tr {
                        th scope="col" { (name) }
                        @for heading in numbers { th scope="col" class="number" { (heading) } }
                        th scope="col" class="text" { "what to do" }
                    } }
                    tbody { @for row in &causes.rows { (cause_row(row)) } }
                }
            }
        }
    }
}

fn cause_row(row: &CauseRow<'_>) -> Markup {
    let [cause, numbers @ ..] = row.cells();
    html! {
        tr {
            th scope="row" { (prose::plain(&cause)) }
            @for number in numbers { td class="number" { (number) } }
            td class="text" {
                @match row.finding {
                    None => span class="none" { "–" },
                    Some(_) if row.is_repeated => { span class="quiet" { "as above" } }
                    Some(finding) => (what_to_do(row, finding)),
                }
            }
        }
    }
}

fn what_to_do(row: &CauseRow<'_>, finding: &Finding) -> Markup {
    html! {
        (prose::html(&row.found(finding)))
        @if let Some(remedy) = &finding.remedy { @for text in &remedy.apply { br; (step(text)) } }
    }
}
