//! The page of what `howlate record` kept: when, who held up others, the longest wait as a timeline, all of them as a list.

mod calendar;
mod first_screen;
mod lanes;
mod tables;
mod timeline;

use howlate_model::{CpuTimeline, Incident};
use howlate_render::Incidents;
use maud::{Markup, html};

use crate::document::document;

const STYLE: &str = concat!(
    include_str!("../chart/colours.css"),
    include_str!("../page/style.css"),
    include_str!("../chart/chart.css"),
    include_str!("incidents.css")
);
const SCRIPT: &str = concat!(include_str!("../page/script.js"), include_str!("timeline.js"));

/// One page on all of it. `drawn` is the incident that is drawn, with what all CPUs did around it where that was kept.
pub fn incidents_page(kept: &Incidents, drawn: Option<(&Incident, &[CpuTimeline])>) -> String {
    let calendar = calendar::calendar(kept);
    let timeline = drawn.map(|(one, cpus)| timeline::timeline(kept, one, cpus));
    let main = html! {
        (first_screen::first_screen(kept))
        (contents(kept, calendar.is_some(), timeline.is_some()))
        @if let Some(calendar) = &calendar { section id="when" { h2 { "When" } (calendar) } }
        @if let Some(timeline) = &timeline { section id="worst" { h2 { (heading(kept, drawn.map(|(one, _)| one))) } (timeline) } }
        @if !kept.kept.incidents.is_empty() {
            section id="culprits" { h2 { "Who held up others" } (tables::culprits(kept)) }
            section id="incidents" { h2 { "Incidents, the longest first" } (tables::incidents(kept)) }
        }
        @if !kept.kept.snaps.is_empty() {
            section id="snaps" { h2 { "What was asked for" } (tables::snaps(kept)) }
        }
        @if !kept.kept.minutes.is_empty() {
            section id="waits" { h2 { "How late all threads ran" } (tables::groups(kept)) }
        }
    };
    document(&format!("{} · howlate", kept.title()), (STYLE, SCRIPT), &main)
}

/// What is drawn, where no timeline of the longest was kept.
fn heading(kept: &Incidents, drawn: Option<&Incident>) -> &'static str {
    let longest = kept.kept.incidents.iter().map(|one| one.latency).max();
    match drawn.map(|one| one.latency) == longest {
        true => "The longest wait",
        false => "The longest wait with a timeline",
    }
}

/// Links to what is on the page.
fn contents(kept: &Incidents, has_calendar: bool, has_timeline: bool) -> Markup {
    let has_incidents = !kept.kept.incidents.is_empty();
    let places = [
        ("when", "when", has_calendar),
        ("worst", "the longest wait", has_timeline),
        ("culprits", "culprits", has_incidents),
        ("incidents", "incidents", has_incidents),
        ("snaps", "asked for", !kept.kept.snaps.is_empty()),
        ("waits", "all waits", !kept.kept.minutes.is_empty()),
    ];
    html! {
        nav aria-label="Contents" {
            ul { @for (id, name, is_there) in places { @if is_there { li { a href={ "#" (id) } { (name) } } } } }
        }
    }
}

#[cfg(test)]
mod tests;
