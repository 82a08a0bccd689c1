//! Causes of the slowest wake-ups: a bar per condition, divided among the causes.

use howlate_analyse::cause::{Family, Why, families};
use howlate_render::scale::Scale;
use howlate_render::{cause_in_words, percent};

use super::why::{hue, legend_of, traced};
use super::{Chart, ChartPanel, Picture, formats};
use crate::chart::{Axis, Drawing, Gantt, GanttBar, GanttLane};
use crate::condition_names::{name, varying};
use crate::entry::Entry;

/// Maximum conditions, those with the latest wake-ups.
const DRAWN: usize = 16;
/// Share below which a cause is one of the others.
const LEAST: f64 = 0.02;

/// `None` where nothing was traced or late.
pub(super) fn picture(entries: &[Entry<'_>]) -> Option<Picture> {
    let mut all = traced(entries);
    all.retain(|(_, why)| why.late.count > 0);
    let parts = varying(entries);
    let condition_name =
        |entry: &Entry<'_>| if parts.is_empty() { "all".to_owned() } else { name(entry, &parts) };
    let selected: Vec<(String, Vec<Family>)> =
        all.iter().take(DRAWN).map(|(entry, why)| (condition_name(entry), families(why))).collect();
    let (first, most) = selected.first().and_then(|(name, causes)| Some((name, causes.first()?)))?;
    let about = if selected.len() > 1 { format!(" ({first})") } else { String::new() };
    let shown = selected.iter().flat_map(|(_, causes)| causes).filter(|family| family.cause.share >= LEAST);
    let kinds = shown.map(|family| family.cause.kind);
    Some(Picture {
        kind: Chart::Causes,
        title: format!(
            "{} of the lateness of the slowest wake-ups is {}{about}",
            percent(most.cause.share),
            short_cause(most)
        ),
        about: "Each bar is the lateness of a condition's slowest traced wake-ups, divided among their causes. The worst condition comes first."
            .to_owned(),
        left_out: super::series::left_out(all.len() - selected.len()),
        panels: vec![ChartPanel {
            heading: String::new(),
            drawing: Drawing::Gantt(Gantt {
                axis: Axis::new(Scale::linear(0.0, 100.0), "share of their lateness", in_percent),
                lanes: selected.iter().map(|(name, causes)| lane(name, causes)).collect(),
            }),
            legend: legend_of(kinds),
            data: table_of(&all, entries),
        }],
        numbers: None,
    })
}

fn in_percent(value: f64) -> String {
    format!("{value:.0} %")
}

/// Without the process id, which is in the table.
fn short_cause(family: &Family) -> String {
    let cause = howlate_analyse::cause::WhyCause { pid: None, ..family.cause.clone() };
    cause_in_words(&cause)
}

/// Bars of a condition's causes, the largest first.
fn lane(name: &str, causes: &[Family]) -> GanttLane {
    let mut at = 0.0;
    let mut bars = Vec::new();
    let large = causes.iter().filter(|family| family.cause.share >= LEAST);
    for family in large {
        let (label, until) = (short_cause(family), (at + 100.0 * family.cause.share).min(100.0));
        bars.push(GanttBar {
            from: at,
            until,
            hue: hue(family.cause.kind),
            label: label.clone(),
            tooltip: format!("{label}: {}", percent(family.cause.share)),
        });
        at = until;
    }
    GanttLane { name: name.to_owned(), bars }
}

fn table_of(all: &[(Entry<'_>, Why)], entries: &[Entry<'_>]) -> String {
    let parts = varying(entries);
    let rows = all.iter().flat_map(|(entry, why)| {
        let name = name(entry, &parts);
        families(why).into_iter().map(move |family| {
            let cause = family.cause;
            vec![
                name.clone(),
                cause.kind.name().to_owned(),
                cause.name.unwrap_or_default(),
                format!("{:.4}", cause.share),
                cause.wakeups.to_string(),
            ]
        })
    });
    let headings = ["condition", "kind", "name", "share", "wakeups"].map(str::to_owned);
    formats::csv(&headings, rows)
}
