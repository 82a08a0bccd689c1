//! Table of sleep errors: circumstances down, lengths of sleep across.

use howlate_model::{Property, Span};
use howlate_render::numbers::{length, micros, micros_of};
use howlate_render::scale::Scale;

use crate::chart::shade_on;
use crate::condition_names::{NamePart, name, varying};
use crate::entry::Entry;
use crate::table::{ReportTable, TableCell};

struct SleepCell<'a> {
    circumstances: String,
    entry: Entry<'a>,
}

/// Mean error of each length in each set of circumstances, the maximum below it. `None` where
/// there is nothing to compare.
pub(crate) fn errors(entries: &[Entry<'_>]) -> Option<ReportTable> {
    let sleeps = sleeps(entries);
    let mut lengths: Vec<Span> = sleeps.iter().map(|sleep| sleep.entry.work().length()).collect();
    lengths.sort_unstable();
    lengths.dedup();
    let mut names: Vec<&str> = Vec::new();
    for sleep in &sleeps {
        if !names.contains(&sleep.circumstances.as_str()) {
            names.push(&sleep.circumstances);
        }
    }
    let scale = scale(&sleeps);
    let row = |name: &&str| {
        let cells = lengths.iter().map(|length| cell(&sleeps, name, *length, scale));
        std::iter::once(TableCell::new(*name)).chain(cells).collect()
    };
    let headings =
        std::iter::once("asked for".to_owned()).chain(lengths.iter().map(|asked_for| length(*asked_for)));
    (names.len() > 1).then(|| ReportTable {
        caption: "Mean error in µs: how much later than asked sleeps return; the largest below it."
            .to_owned(),
        headings: headings.collect(),
        names: 1,
        rows: names.iter().map(row).collect(),
        is_text: false,
    })
}

fn sleeps<'a>(entries: &[Entry<'a>]) -> Vec<SleepCell<'a>> {
    let sleeps: Vec<Entry<'a>> = entries.iter().copied().filter(|entry| entry.is_sleep()).collect();
    let parts: Vec<_> =
        varying(&sleeps).into_iter().filter(|part| *part != NamePart::Of(Property::Length)).collect();
    sleeps.into_iter().map(|entry| SleepCell { circumstances: name(&entry, &parts), entry }).collect()
}

/// From the smallest mean to the largest.
fn scale(sleeps: &[SleepCell<'_>]) -> Scale {
    let means = || sleeps.iter().filter_map(|sleep| sleep.entry.outcome.latency().mean_nanos());
    Scale::logarithmic(means().fold(f64::INFINITY, f64::min).max(1.0), means().fold(1.0, f64::max))
}

fn cell(sleeps: &[SleepCell<'_>], circumstances: &str, length: Span, scale: Scale) -> TableCell {
    let is_it = |sleep: &&SleepCell<'_>| {
        sleep.entry.work().length() == length && sleep.circumstances == circumstances
    };
    let summary = sleeps.iter().find(is_it).and_then(|sleep| sleep.entry.outcome.summary());
    summary.map_or_else(
        || TableCell::new("–"),
        |summary| TableCell {
            text: micros_of(summary.mean),
            below: format!("max {}", micros(summary.max)),
            is_worst: false,
            shade: Some(shade_on(scale, summary.mean)),
        },
    )
}
