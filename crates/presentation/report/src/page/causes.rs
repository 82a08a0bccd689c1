//! Who made the late wake-ups late, and what can be done about it.

use howlate_model::Finding;
use howlate_render::{CauseRow, CauseTable, percent, timeline_files};
use maud::{Markup, html};

use super::figure;
use super::findings::step;
use crate::causes::{CONDITIONS, OPEN, traced};
use crate::condition_names::{name, varying};
use crate::pictures::{Chart, Source, picture};
use crate::{Recording, prose};

/// Nothing where nothing was traced.
pub(super) fn causes(source: Source<'_>) -> Markup {
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
                        (of_one(causes))
                    } @else {
                        details open[number < OPEN] {
                            summary { h3 { (prose::plain(&name(entry, &parts))) } @if let Some(first) = causes.rows.first() { ": " (prose::plain(&first_in_words(first))) } }
                            (of_one(causes))
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

/// Files beside a recording that say what all CPUs did around late wake-ups.
pub(super) fn timelines(recordings: &[Recording<'_>]) -> Markup {
    let of = |one: &Recording<'_>| timeline_files(one.analysis);
    let files: Vec<(String, String)> = recordings.iter().flat_map(of).collect();
    html! {
        @if !files.is_empty() {
            section id="timelines" {
                h2 { "Timelines" }
                p { "What all CPUs did around late wake-ups, in files beside the recording, for ui.perfetto.dev:" }
                ul { @for (of, file) in &files { li { (prose::plain(of)) ": " code { (prose::plain(file)) } } } }
            }
        }
    }
}

/// The cause that cost the most.
fn first_in_words(row: &CauseRow<'_>) -> String {
    format!("{} of it {}", percent(row.share), row.cause)
}

fn of_one(causes: &CauseTable<'_>) -> Markup {
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
                    tbody { @for row in &causes.rows { (painted(row)) } }
                }
            }
        }
    }
}

fn painted(row: &CauseRow<'_>) -> Markup {
    let [cause, numbers @ ..] = row.cells();
    html! {
        tr {
            th scope="row" { (prose::plain(&cause)) }
            @for number in numbers { td class="number" { (number) } }
            td class="text" {
                @match row.finding {
                    None => "–",
                    Some(_) if row.is_told_above => { span class="quiet" { "as above" } }
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
