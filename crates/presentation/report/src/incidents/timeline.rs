//! One wait as a timeline: as a picture, and as data that the page's script draws at any scale.

use howlate_model::{CpuTimeline, Incident, Latency};
use howlate_render::scale::Scale;
use howlate_render::{Incidents, held_up_by, how_late, incident_cause, victim, was_late};
use maud::{Markup, PreEscaped, html};
use serde_json::{Value, json};

use super::lanes::{Stretch, TimeLane, culprits, lanes};
use crate::chart::{Axis, Hue, Lane, Lanes, Marks, Named, Piece, Room, legend};
use crate::pictures::time_in_words;
use crate::prose;

/// Lanes of the picture, and stretches of one: without the script there is no more.
const LANES: usize = 12;
const STRETCHES: usize = 300;
/// Of the picture's width, how much a stretch must have where there are more.
const WORTH: f64 = 1.0 / 900.0;
/// How far the picture goes beyond the wait.
const BEYOND: f64 = 1.05;

pub(super) fn timeline(kept: &Incidents, one: &Incident, cpus: &[CpuTimeline]) -> Markup {
    let lanes = lanes(one, &kept.kept.incidents, cpus);
    let name = format!("{} {} {}", victim(one), was_late(one.kind), Latency::from_span(one.latency));
    let drawing = drawing(one, &lanes);
    html! {
        figure id="timeline" {
            figcaption {
                h3 { (prose::plain(&name)) }
                p class="quiet" { (prose::plain(&about(kept, one, cpus.is_empty()))) }
            }
            div class="panels" { div class="panel" {
                p class="tip" role="status" {}
                (drawing.svg(Room::Wide, &name))
                (drawing.svg(Room::Narrow, &name))
                (legend(&named(one)))
            } }
            script type="application/json" { (PreEscaped(data(one, &lanes))) }
        }
    }
}

fn about(kept: &Incidents, one: &Incident, is_alone: bool) -> String {
    let cpus = match (&one.timeline, is_alone) {
        (Some(name), false) => {
            format!("Below it, what each CPU did; all of it is in {name}, for ui.perfetto.dev.")
        }
        _ => "What all CPUs did then was not kept (`--at-most` of `howlate record`).".replace('`', ""),
    };
    format!(
        "At {}, it {}; held up by {}. {cpus}",
        kept.time(one, "%Y-%m-%d %H:%M:%S.%3f %Z"),
        how_late(one),
        held_up_by(one)
    )
}

/// Who has which colour.
fn named(one: &Incident) -> Vec<Named> {
    let named = |hue, text| Named { hue, text, marks: Marks::Bars };
    let waits = named(Hue::nth(0), victim(one));
    let by =
        culprits(one).enumerate().map(|(number, cause)| named(Hue::nth(number + 1), incident_cause(cause)));
    std::iter::once(waits).chain(by).chain([named(Hue::Rest, "others".to_owned())]).collect()
}

/// The wait itself: what stands there where no script runs, and on paper.
fn drawing(one: &Incident, lanes: &[TimeLane]) -> Lanes {
    let until = one.latency.as_nanos() as f64 * BEYOND;
    let axis = Axis::new(Scale::exactly(0.0, until), "after the wait began", time_in_words);
    Lanes { axis, lanes: lanes.iter().take(LANES).map(|lane| drawn(lane, until)).collect() }
}

fn drawn(lane: &TimeLane, until: f64) -> Lane {
    let within = || lane.stretches.iter().filter(|one| (one.from as f64) < until && end(one) > 0.0);
    let least = if within().count() > STRETCHES { until * WORTH } else { 0.0 };
    let pieces = within().filter(|one| one.ns as f64 >= least).map(|one| piece(one, until)).collect();
    Lane { name: lane.name.clone(), pieces }
}

fn end(one: &Stretch) -> f64 {
    one.from as f64 + one.ns as f64
}

fn piece(one: &Stretch, until: f64) -> Piece {
    Piece {
        from: (one.from as f64).max(0.0),
        until: end(one).min(until),
        hue: one.hue,
        label: one.name.clone(),
        words: format!("{}: {}", one.name, time_in_words(one.ns as f64)),
    }
}

/// The lanes for the script: names and colours once, each stretch as when it begins, how long it takes, and who.
fn data(one: &Incident, lanes: &[TimeLane]) -> String {
    let mut who: Vec<(String, &str)> = Vec::new();
    let mut known = std::collections::BTreeMap::new();
    let mut lane = |lane: &TimeLane| -> Value {
        let mut stretch = |one: &Stretch| {
            let key = (one.name.clone(), one.hue.class());
            let number = *known.entry(key.clone()).or_insert_with(|| {
                who.push(key);
                who.len() - 1
            });
            json!([one.from, one.ns, number])
        };
        let stretches: Vec<Value> = lane.stretches.iter().map(&mut stretch).collect();
        json!({"name": lane.name, "stretches": stretches})
    };
    let lanes: Vec<Value> = lanes.iter().map(&mut lane).collect();
    let document = json!({"latency": one.latency.as_nanos(), "lanes": lanes, "who": who});
    // Nothing in it can end the element that it stands in.
    document.to_string().replace('<', "\\u003c")
}
