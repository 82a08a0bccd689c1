//! Latency by pair of CPUs: a cell for each sender and receiver.

use howlate_model::{Latency, Property};
use howlate_render::scale::Scale;

use super::{Chart, ChartPanel, Picture, formats};
use crate::chart::{Drawing, Matrix, MatrixCell, MatrixRow, shade_on};
use crate::condition_names::{NamePart, name, varying};
use crate::entry::Entry;
use crate::table::ReportTable;

const MAX_PANELS: usize = 8;

/// `None` for a single pair.
pub(crate) fn picture(entries: &[Entry<'_>]) -> Option<Picture> {
    let bound: Vec<Entry<'_>> = entries.iter().copied().filter(|entry| pair(entry).is_some()).collect();
    let parts: Vec<NamePart> =
        varying(&bound).into_iter().filter(|part| *part != NamePart::Of(Property::Cpu)).collect();
    let mut groups: Vec<(String, Vec<Entry<'_>>)> = Vec::new();
    for entry in &bound {
        let name = if parts.is_empty() { String::new() } else { name(entry, &parts) };
        match groups.iter_mut().find(|(previous, _)| *previous == name) {
            Some((_, group)) => group.push(*entry),
            None => groups.push((name, vec![*entry])),
        }
    }
    groups.retain(|(_, group)| group.len() > 1);
    let not_drawn = groups.iter().skip(MAX_PANELS).map(|(_, group)| group.len()).sum();
    groups.truncate(MAX_PANELS);
    let (numbers, scale) = (numbers(&groups), scale(&groups));
    Some(Picture {
        kind: Chart::Pairs,
        title: title(&groups.first()?.1)?,
        about:
            "The median time from before the call that notifies until the receiver runs, by the CPU of each."
                .to_owned(),
        left_out: super::series::left_out(not_drawn),
        panels: groups.iter().map(|(name, group)| panel(name, group, scale)).collect(),
        numbers: Some(numbers),
    })
}

fn pair(entry: &Entry<'_>) -> Option<(u32, u32)> {
    Some((entry.work().sender_cpu()?, entry.outcome.condition.cpu?))
}

fn median(entry: &Entry<'_>) -> Option<Latency> {
    entry.outcome.latency().quantile(0.5)
}

fn title(group: &[Entry<'_>]) -> Option<String> {
    let (fast, slow) =
        (group.iter().min_by_key(|entry| median(entry))?, group.iter().max_by_key(|entry| median(entry))?);
    let route_and_median = |entry: &Entry<'_>| {
        let (from, to) = pair(entry)?;
        let route =
            if from == to { format!("within CPU {from}") } else { format!("from CPU {from} to {to}") };
        Some(format!("{route} {}", median(entry)?))
    };
    let mechanism = fast.work().mechanism();
    Some(format!("{mechanism} takes {}, {}", route_and_median(fast)?, route_and_median(slow)?))
}

fn scale(groups: &[(String, Vec<Entry<'_>>)]) -> Scale {
    let medians = || {
        groups.iter().flat_map(|(_, group)| group).filter_map(median).map(|median| median.as_nanos().max(1))
    };
    Scale::logarithmic(medians().min().unwrap_or(1) as f64, medians().max().unwrap_or(1) as f64)
}

fn panel(name: &str, group: &[Entry<'_>], scale: Scale) -> ChartPanel {
    let ascending = |of: fn((u32, u32)) -> u32| {
        let mut numbers: Vec<u32> = group.iter().filter_map(pair).map(of).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    };
    let (senders, receivers) = (ascending(|pair| pair.0), ascending(|pair| pair.1));
    let field = |from: u32, to: u32| {
        let entry = group.iter().find(|entry| pair(entry) == Some((from, to)))?;
        let nanos = median(entry)?.as_nanos() as f64;
        let (shade, label) = (shade_on(scale, nanos), formats::latency(nanos));
        Some(MatrixCell { shade, label, tooltip: String::new(), is_marked: false })
    };
    let cpu_name = |cpu: &u32| format!("CPU {cpu}");
    let row = |from: &u32| MatrixRow {
        name: cpu_name(from),
        cells: receivers.iter().map(|to| field(*from, *to)).collect(),
    };
    let matrix = Matrix {
        across: "receiver".to_owned(),
        down: "sender".to_owned(),
        columns: receivers.iter().map(cpu_name).collect(),
        rows: senders.iter().map(row).collect(),
        ..Matrix::default()
    };
    let headings = ["sender_cpu", "receiver_cpu", "p50_ns"].map(str::to_owned);
    let cells = group.iter().filter_map(|entry| {
        let (from, to) = pair(entry)?;
        Some(vec![from.to_string(), to.to_string(), median(entry)?.as_nanos().to_string()])
    });
    let data = formats::csv(&headings, cells);
    ChartPanel { heading: name.to_owned(), drawing: Drawing::Matrix(matrix), legend: Vec::new(), data }
}

fn numbers(groups: &[(String, Vec<Entry<'_>>)]) -> ReportTable {
    let row = |name: &str, entry: &Entry<'_>| {
        let (from, to) = pair(entry)?;
        let p99 = entry.outcome.percentile(0.99)?;
        let cells = [from.to_string(), to.to_string(), median(entry)?.to_string(), p99.to_string()];
        Some(std::iter::once(name.to_owned()).chain(cells).collect())
    };
    let rows = groups.iter().flat_map(|(name, group)| group.iter().filter_map(move |entry| row(name, entry)));
    ReportTable::plain(
        "How late by pair of CPUs",
        &["condition", "sender's CPU", "receiver's CPU", "median", "p99"],
        1,
        rows.collect(),
    )
}
