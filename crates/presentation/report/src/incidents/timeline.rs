//! Timeline of one incident: as SVG, and as JSON that the page's script draws at any scale.

use howlate_model::{CpuTimeline, Incident, Latency};
use howlate_render::scale::Scale;
use howlate_render::{IncidentReport, held_up, how_late, incident_cause, victim, was_late};
use maud::{Markup, PreEscaped, html};
use serde_json::{Value, json};

use super::lanes::{Stretch, TimeLane, culprits, lanes};
use crate::chart::{Axis, Gantt, GanttBar, GanttLane, Hue, LegendEntry, LegendSymbol, Room, legend};
use crate::pictures::time_in_words;
use crate::prose;

/// Maximum lanes of the SVG, and stretches per lane.
const LANES: usize = 12;
const STRETCHES: usize = 300;
/// Smallest stretch that is drawn if there are more than [`STRETCHES`], as a share of the picture's width.
const WORTH: f64 = 1.0 / 900.0;
/// End of the picture, as a multiple of the latency.
const BEYOND: f64 = 1.05;

pub(super) fn timeline(incidents: &IncidentReport, incident: &Incident, cpus: &[CpuTimeline]) -> Markup {
    let lanes = lanes(incident, &incidents.recording.incidents, cpus);
    let name =
        format!("{} {} {}", victim(incident), was_late(incident.kind), Latency::from_span(incident.latency));
    let drawing = drawing(incident, &lanes);
    html! {
        figure id="timeline" {
            figcaption {
                h3 { (prose::plain(&name)) }
                p class="quiet" { (prose::plain(&about(incidents, incident, cpus.is_empty()))) }
            }
            div class="panels" { div class="panel" {
                p class="tip" role="status" {}
                (drawing.svg(Room::Wide, &name))
                (drawing.svg(Room::Narrow, &name))
                (legend(&legend_entries(incident)))
            } }
            script type="application/json" { (PreEscaped(data(incident, &lanes))) }
        }
    }
}

fn about(incidents: &IncidentReport, incident: &Incident, is_alone: bool) -> String {
    let cpus = match (&incident.timeline, is_alone) {
        (Some(name), false) => {
            format!("Below it, what each CPU did; all of it is in {name}, for ui.perfetto.dev.")
        }
        _ => "What all CPUs did then was not kept (`--timelines` of `howlate record`).".replace('`', ""),
    };
    format!(
        "At {}, it {}; {}. {cpus}",
        incidents.time(incident, "%Y-%m-%d %H:%M:%S.%3f %Z"),
        how_late(incident),
        held_up(incident)
    )
}

/// Colours of the late thread and of the causes.
fn legend_entries(incident: &Incident) -> Vec<LegendEntry> {
    let entry = |hue, text| LegendEntry { hue, text, symbol: LegendSymbol::Bars };
    let waits = entry(Hue::nth(0), victim(incident));
    let by = culprits(incident)
        .enumerate()
        .map(|(number, cause)| entry(Hue::nth(number + 1), incident_cause(cause)));
    std::iter::once(waits).chain(by).chain([entry(Hue::Rest, "others".to_owned())]).collect()
}

/// The wait itself, for print and without the script.
fn drawing(incident: &Incident, lanes: &[TimeLane]) -> Gantt {
    let until = incident.latency.as_nanos() as f64 * BEYOND;
    let axis = Axis::new(Scale::exactly(0.0, until), "after the wait began", time_in_words);
    Gantt { axis, lanes: lanes.iter().take(LANES).map(|lane| visible_lane(lane, until)).collect() }
}

fn visible_lane(lane: &TimeLane, until: f64) -> GanttLane {
    let within =
        || lane.stretches.iter().filter(|stretch| (stretch.from as f64) < until && end(stretch) > 0.0);
    let least = if within().count() > STRETCHES { until * WORTH } else { 0.0 };
    let bars =
        within().filter(|stretch| stretch.ns as f64 >= least).map(|stretch| bar(stretch, until)).collect();
    GanttLane { name: lane.name.clone(), bars }
}

fn end(stretch: &Stretch) -> f64 {
    stretch.from as f64 + stretch.ns as f64
}

fn bar(stretch: &Stretch, until: f64) -> GanttBar {
    GanttBar {
        from: (stretch.from as f64).max(0.0),
        until: end(stretch).min(until),
        hue: stretch.hue,
        label: stretch.name.clone(),
        tooltip: format!("{}: {}", stretch.name, time_in_words(stretch.ns as f64)),
    }
}

/// The lanes as JSON: names and colours once, each stretch as start, duration and index into `who`.
fn data(incident: &Incident, lanes: &[TimeLane]) -> String {
    let mut who: Vec<(String, &str)> = Vec::new();
    let mut numbers = std::collections::BTreeMap::new();
    let mut lane = |lane: &TimeLane| -> Value {
        let mut stretch = |stretch: &Stretch| {
            let key = (stretch.name.clone(), stretch.hue.class());
            let number = *numbers.entry(key.clone()).or_insert_with(|| {
                who.push(key);
                who.len() - 1
            });
            json!([stretch.from, stretch.ns, number])
        };
        let stretches: Vec<Value> = lane.stretches.iter().map(&mut stretch).collect();
        json!({"name": lane.name, "stretches": stretches})
    };
    let lanes: Vec<Value> = lanes.iter().map(&mut lane).collect();
    let document = json!({"latency": incident.latency.as_nanos(), "lanes": lanes, "who": who});
    // `<` is escaped, so that no name can close the element.
    document.to_string().replace('<', "\\u003c")
}
