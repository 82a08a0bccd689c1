//! The page of recorded incidents: calendar, timeline of the longest wait, culprits, list.

mod calendar;
mod first_screen;
mod lanes;
mod tables;
mod timeline;

use howlate_model::{CpuTimeline, Incident};
use howlate_render::IncidentReport;
use maud::{Markup, html};

use crate::document::document;

const STYLE: &str = concat!(
    include_str!("../chart/colours.css"),
    include_str!("../page/style.css"),
    include_str!("../chart/chart.css"),
    include_str!("incidents.css")
);
const SCRIPT: &str = concat!(include_str!("../page/script.js"), include_str!("timeline.js"));

/// One page about all incidents. `timeline_of` is the incident that is drawn, with the timelines of all CPUs around
/// it if they were kept.
pub fn incidents_page(
    incidents: &IncidentReport,
    timeline_of: Option<(&Incident, &[CpuTimeline])>,
) -> String {
    let calendar = calendar::calendar(incidents);
    let timeline = timeline_of.map(|(incident, cpus)| timeline::timeline(incidents, incident, cpus));
    let main = html! {
        (first_screen::first_screen(incidents))
        (contents(incidents, calendar.is_some(), timeline.is_some()))
        @if let Some(calendar) = &calendar { section id="when" { h2 { "When" } (calendar) } }
        @if let Some(timeline) = &timeline { section id="worst" { h2 { (heading(incidents, timeline_of.map(|(incident, _)| incident))) } (timeline) } }
        @if !incidents.recording.incidents.is_empty() {
            section id="culprits" { h2 { "Who held up others" } (tables::culprits(incidents)) }
            section id="incidents" { h2 { "Incidents, the longest first" } (tables::incidents(incidents)) }
        }
        @if !incidents.recording.snaps.is_empty() {
            section id="snaps" { h2 { "What was asked for" } (tables::snaps(incidents)) }
        }
        @if !incidents.recording.minutes.is_empty() {
            section id="waits" { h2 { "How late all threads ran" } (tables::groups(incidents)) }
            @if let Some(requests) = tables::requests(incidents) {
                section id="requests" { h2 { "How long requests took" } (requests) }
            }
        }
    };
    document(&format!("{} · howlate", incidents.title()), (STYLE, SCRIPT), &main)
}

/// Heading of the timeline: the longest incident may have none.
fn heading(incidents: &IncidentReport, timeline_of: Option<&Incident>) -> &'static str {
    let longest = incidents.recording.incidents.iter().map(|incident| incident.latency).max();
    match timeline_of.map(|incident| incident.latency) == longest {
        true => "The longest wait",
        false => "The longest wait with a timeline",
    }
}

/// Links to the sections.
fn contents(incidents: &IncidentReport, has_calendar: bool, has_timeline: bool) -> Markup {
    let has_incidents = !incidents.recording.incidents.is_empty();
    let places = [
        ("when", "when", has_calendar),
        ("worst", "the longest wait", has_timeline),
        ("culprits", "culprits", has_incidents),
        ("incidents", "incidents", has_incidents),
        ("snaps", "asked for", !incidents.recording.snaps.is_empty()),
        ("waits", "all waits", !incidents.recording.minutes.is_empty()),
    ];
    html! {
        nav aria-label="Contents" {
            ul { @for (id, name, is_there) in places { @if is_there { li { a href={ "#" (id) } { (name) } } } } }
        }
    }
}

#[cfg(test)]
mod tests;
