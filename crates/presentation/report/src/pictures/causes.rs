//! Who took the time of the slowest wake-ups: a bar for each condition, shared out among the causes.

use howlate_analyse::cause::{Family, Why, families};
use howlate_render::scale::Scale;
use howlate_render::{cause_in_words, percent};

use super::why::{hue, legend_of, traced};
use super::{Chart, Panel, Picture, data};
use crate::chart::{Axis, Drawing, Lane, Lanes, Piece};
use crate::condition_names::{name, varying};
use crate::entry::Entry;

/// Conditions that are drawn, those whose slowest wake-ups were latest.
const DRAWN: usize = 16;
/// A cause of less than this is one of the others.
const LEAST: f64 = 0.02;

/// The picture; `None` where nothing was traced or late.
pub(super) fn picture(entries: &[Entry<'_>]) -> Option<Picture> {
    let mut all = traced(entries);
    all.retain(|(_, why)| why.late.count > 0);
    let parts = varying(entries);
    let of = |entry: &Entry<'_>| if parts.is_empty() { "all".to_owned() } else { name(entry, &parts) };
    let drawn: Vec<(String, Vec<Family>)> =
        all.iter().take(DRAWN).map(|(entry, why)| (of(entry), families(why))).collect();
    let (first, most) = drawn.first().and_then(|(name, causes)| Some((name, causes.first()?)))?;
    let about = if drawn.len() > 1 { format!(" ({first})") } else { String::new() };
    let shown = drawn.iter().flat_map(|(_, causes)| causes).filter(|family| family.cause.share >= LEAST);
    let kinds = shown.map(|family| family.cause.kind);
    Some(Picture {
        kind: Chart::Causes,
        title: format!(
            "{} of the lateness of the slowest wake-ups is {}{about}",
            percent(most.cause.share),
            in_words(most)
        ),
        about: "Each bar is the lateness of a condition's slowest traced wake-ups, divided among their causes. The worst condition comes first."
            .to_owned(),
        left_out: super::series::left_out(all.len() - drawn.len()),
        panels: vec![Panel {
            heading: String::new(),
            drawing: Drawing::Lanes(Lanes {
                axis: Axis::new(Scale::linear(0.0, 100.0), "share of their lateness", in_percent),
                lanes: drawn.iter().map(|(name, causes)| lane(name, causes)).collect(),
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

/// One name is enough on a picture; which process it was is in the table.
fn in_words(family: &Family) -> String {
    let cause = howlate_analyse::cause::WhyCause { pid: None, ..family.cause.clone() };
    cause_in_words(&cause)
}

/// The causes one after the other, the most first; what is small together at the end.
fn lane(name: &str, causes: &[Family]) -> Lane {
    let mut at = 0.0;
    let mut pieces = Vec::new();
    let large = causes.iter().filter(|family| family.cause.share >= LEAST);
    for family in large {
        let (words, until) = (in_words(family), (at + 100.0 * family.cause.share).min(100.0));
        pieces.push(Piece {
            from: at,
            until,
            hue: hue(family.cause.kind),
            label: words.clone(),
            words: format!("{words}: {}", percent(family.cause.share)),
        });
        at = until;
    }
    Lane { name: name.to_owned(), pieces }
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
    data::csv(&headings, rows)
}
