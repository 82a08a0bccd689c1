//! Top of the page: number of incidents, the longest, doubts.

use howlate_analyse::incidents::{Culprit, culprits};
use howlate_model::{Incident, Latency};
use howlate_render::numbers::count;
use howlate_render::{IncidentReport, culprit_name, held_up, late_above, machine, victim, was_late};
use maud::{Markup, html};

use crate::prose;

pub(super) fn first_screen(incidents: &IncidentReport) -> Markup {
    html! {
        header {
            h1 { "Threads that ran late" }
            p class="number-one" { strong { (incidents.counted()) } " " span class="quiet" { (prose::plain(&about(incidents))) } }
            p class="answer" { (prose::plain(&answer(incidents))) }
            (doubts(incidents))
            @if let Some((node, system)) = &incidents.machine {
                p class="quiet" {
                    @if let Some(name) = &node.name { (name) " · " }
                    (machine(system))
                }
            }
            (how_to_read(incidents))
        }
    }
}

/// Threshold and time range of the incidents.
fn about(incidents: &IncidentReport) -> String {
    let above = incidents
        .late_above
        .map_or_else(String::new, |above| format!("waits of more than {}", late_above(above)));
    let from = incidents.from.or(incidents.oldest).map(|at| format!("since {}", incidents.local(at)));
    let last = incidents.written.last.filter(|_| incidents.from.is_none() && !incidents.written.is_recording);
    let until = incidents.until.or(last).map(|at| format!("until {}", incidents.local(at)));
    let parts = [Some(above).filter(|above| !above.is_empty()), from, until];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn answer(incidents: &IncidentReport) -> String {
    let Some(longest) = incidents.recording.incidents.iter().max_by_key(|incident| incident.latency) else {
        return incidents.nothing().to_owned();
    };
    let all = culprits(incidents.recording.incidents.iter());
    let top_culprit =
        all.iter().find(|culprit| culprit.kind.is_named()).map_or_else(String::new, top_culprit);
    format!("{}{top_culprit}", longest_incident(incidents, longest))
}

fn longest_incident(incidents: &IncidentReport, incident: &Incident) -> String {
    let (late, at) = (Latency::from_span(incident.latency), incidents.time(incident, "%m-%d %H:%M:%S"));
    let (victim, verb, by) = (victim(incident), was_late(incident.kind), held_up(incident));
    format!("The longest: {victim} {verb} {late} at {at}, {by}.")
}

fn top_culprit(culprit: &Culprit) -> String {
    let incidents = if culprit.incidents == 1 {
        "1 incident".to_owned()
    } else {
        format!("{} incidents", count(culprit.incidents))
    };
    let own = Latency::from_span(culprit.own);
    format!(" Most of the time in all: {}, in {incidents}, {own} of its own time.", culprit_name(culprit))
}

fn doubts(incidents: &IncidentReport) -> Markup {
    let lines = incidents.doubts();
    html! {
        @if !lines.is_empty() {
            ul class="caveats doubts" { @for line in &lines { li { (prose::html(line)) } } }
        }
    }
}

fn how_to_read(incidents: &IncidentReport) -> Markup {
    let above = incidents.late_above.map_or_else(|| "the limit".to_owned(), late_above);
    html! {
        details class="how" {
            summary { "How to read this page" }
            p {
                "A thread that is ready to run has to wait while its CPU does something else. Each wait of more than " (above)
                " is an incident: it was recorded with whoever had the CPU meanwhile. All shorter waits are counted, not recorded one by one."
            }
            p {
                "A thread that sleeps, or waits for a lock, a disk or another process, is not late in this sense."
            }
        }
    }
}
