//! Parts of wake-ups: the median ones as a waterfall, the worst ones whole.

use howlate_analyse::cause::{Why, WhyPart};
use howlate_model::{CauseKind as Cause, Latency, Part as TimeRange, Segment, WakeupBreakdown};
use howlate_render::numbers::{count, micros};
use howlate_render::scale::Scale;
use howlate_render::{part_in_words, segment_in_words};

use super::{Chart, ChartPanel, Picture, formats};
use crate::chart::{Axis, Drawing, Gantt, GanttBar, GanttLane, Hue, LegendEntry, LegendSymbol};
use crate::condition_names::{name, varying};
use crate::entry::Entry;
use crate::table::ReportTable;

/// Maximum conditions, and worst wake-ups of each.
const DRAWN: usize = 6;
const WORST: usize = 5;

/// Causes with one colour, because their remedies are alike.
const GROUPS: [(Hue, &str); 7] = [
    (Hue::Series(0), "the kernel's own path"),
    (Hue::Series(1), "other threads"),
    (Hue::Series(2), "interrupts, softirqs, other timers"),
    (Hue::Series(3), "stopped, out of quota or runtime"),
    (Hue::Series(4), "asked for: slack, own work and calls, page faults"),
    (Hue::Series(5), "leaving idle, the hypervisor, the machine"),
    (Hue::Rest, "undetermined, unexplained"),
];

pub(super) const fn hue(kind: Cause) -> Hue {
    match kind {
        Cause::Kernel | Cause::Migration => Hue::Series(0),
        Cause::Thread => Hue::Series(1),
        Cause::Interrupt | Cause::Softirq | Cause::OtherTimers => Hue::Series(2),
        Cause::Stopped | Cause::Throttled | Cause::RtThrottled | Cause::DeadlineBudget | Cause::Scheduler => {
            Hue::Series(3)
        }
        Cause::TimerSlack
        | Cause::LateArming
        | Cause::LongWork
        | Cause::Lock
        | Cause::SystemCall
        | Cause::PageFault => Hue::Series(4),
        Cause::IdleExit | Cause::Hypervisor | Cause::Machine => Hue::Series(5),
        Cause::Others | Cause::Undetermined | Cause::Unexplained => Hue::Rest,
    }
}

/// Legend of the colours of these causes.
pub(super) fn legend_of(kinds: impl Iterator<Item = Cause>) -> Vec<LegendEntry> {
    let hues: Vec<Hue> = kinds.map(hue).collect();
    let named = |(hue, text): &(Hue, &str)| LegendEntry {
        hue: *hue,
        text: (*text).to_owned(),
        symbol: LegendSymbol::Bars,
    };
    GROUPS.iter().filter(|(hue, _)| hues.contains(hue)).map(named).collect()
}

/// Colour of the usual cause of a part. Parts charged to the occupant of the CPU get the colour of threads.
const fn usual_hue(part: TimeRange) -> Hue {
    match part {
        TimeRange::Arming | TimeRange::TimerSlack | TimeRange::PageFault => Hue::Series(4),
        TimeRange::Blocked => Hue::Series(3),
        TimeRange::OtherTimers | TimeRange::TimerSoftirq => Hue::Series(2),
        TimeRange::Waiting | TimeRange::LostAgain => Hue::Series(1),
        TimeRange::NotSeen => Hue::Rest,
        _ => Hue::Series(0),
    }
}

/// Traced conditions, the worst first.
pub(super) fn traced<'a>(entries: &[Entry<'a>]) -> Vec<(Entry<'a>, Why)> {
    let mut all: Vec<_> =
        entries.iter().filter_map(|entry| Some((*entry, entry.outcome.why_late(None)?))).collect();
    all.sort_by_key(|(_, why)| std::cmp::Reverse(why.worst.first().map(|wakeup| wakeup.latency)));
    all
}

/// The median of each part, one after the other.
pub(super) fn usual(entries: &[Entry<'_>]) -> Option<Picture> {
    let all = traced(entries);
    let decomposed_conditions: Vec<&(Entry<'_>, Why)> =
        all.iter().filter(|(_, why)| why.decomposed > 0).collect();
    let first = decomposed_conditions.first()?;
    let total = |why: &Why| why.parts.iter().map(|part| part.p50_ns).sum::<u64>();
    let most = decomposed_conditions.iter().take(DRAWN).map(|(_, why)| total(why)).max().unwrap_or(1).max(1);
    let largest = first.1.parts.iter().max_by_key(|part| part.p50_ns)?;
    Some(Picture {
        kind: Chart::Usual,
        title: usual_title(largest, decomposed_conditions.len() > 1, &heading(&first.0, entries)),
        about: "The median of each part of the traced wake-ups, one after the other. Medians do not add up to the median of the whole, but \
                almost do where wake-ups are alike."
            .to_owned(),
        left_out: super::series::left_out(decomposed_conditions.len().saturating_sub(DRAWN)),
        panels: decomposed_conditions.iter().take(DRAWN).map(|(entry, why)| waterfall(&heading(entry, entries), why, most)).collect(),
        numbers: Some(medians(&decomposed_conditions, entries)),
    })
}

fn usual_title(largest: &WhyPart, several: bool, condition: &str) -> String {
    let about = if several { format!(" ({condition})") } else { String::new() };
    format!(
        "Of a usual wake-up, {} takes the most: {}{about}",
        part_in_words(largest.part),
        latency(largest.p50_ns)
    )
}

fn heading(entry: &Entry<'_>, all: &[Entry<'_>]) -> String {
    let parts = varying(all);
    if parts.is_empty() { String::new() } else { name(entry, &parts) }
}

fn waterfall(heading: &str, why: &Why, most: u64) -> ChartPanel {
    let mut at = 0;
    let lane = |part: &WhyPart| {
        let (from, until) = (at, at + part.p50_ns);
        at = until;
        let label = format!("{}: {}", part_in_words(part.part), latency(part.p50_ns));
        let bar = GanttBar {
            from: from as f64,
            until: until as f64,
            hue: usual_hue(part.part),
            label: String::new(),
            tooltip: label.clone(),
        };
        GanttLane { name: label, bars: vec![bar] }
    };
    let lanes: Vec<GanttLane> = why.parts.iter().filter(|part| part.p50_ns > 0).map(lane).collect();
    let rows = why.parts.iter().map(|part| {
        vec![
            part.part.name().to_owned(),
            part.mean_ns.to_string(),
            part.p50_ns.to_string(),
            part.p99_ns.to_string(),
            part.max_ns.to_string(),
        ]
    });
    let headings = ["part", "mean_ns", "p50_ns", "p99_ns", "max_ns"].map(str::to_owned);
    ChartPanel {
        heading: heading.to_owned(),
        drawing: Drawing::Gantt(Gantt { axis: axis(most), lanes }),
        legend: Vec::new(),
        data: formats::csv(&headings, rows),
    }
}

fn axis(most: u64) -> Axis {
    Axis::new(Scale::linear(0.0, most as f64), "after the time asked for", formats::time)
}

fn latency(nanos: u64) -> Latency {
    Latency::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
}

fn medians(seen: &[&(Entry<'_>, Why)], all: &[Entry<'_>]) -> ReportTable {
    let parts = varying(all);
    let there =
        |part: &TimeRange| seen.iter().any(|(_, why)| why.parts.iter().any(|seen| seen.part == *part));
    let columns: Vec<TimeRange> = TimeRange::ALL.into_iter().filter(there).collect();
    let median = |why: &Why, part: TimeRange| {
        let found = why.parts.iter().find(|seen| seen.part == part);
        found.map_or_else(|| "–".to_owned(), |part| micros(i64::try_from(part.p50_ns).unwrap_or(i64::MAX)))
    };
    let row = |(entry, why): &&(Entry<'_>, Why)| {
        std::iter::once(name(entry, &parts)).chain(columns.iter().map(|part| median(why, *part))).collect()
    };
    let headings: Vec<&str> =
        std::iter::once("condition").chain(columns.iter().map(|part| part_in_words(*part))).collect();
    ReportTable::plain("Median of each part, in µs", &headings, 1, seen.iter().map(row).collect())
}

pub(super) fn worst(entries: &[Entry<'_>]) -> Option<Picture> {
    let mut all = traced(entries);
    all.retain(|(_, why)| !why.worst.is_empty());
    let (first, why) = all.first()?;
    Some(Picture {
        kind: Chart::Worst,
        title: title(&why.worst[0], all.len() > 1, &heading(first, entries)),
        about: "From the time asked for to the time when it ran, on that CPU. Parts that are too narrow for their names have them under the pointer and in \
                the table."
            .to_owned(),
        left_out: super::series::left_out(all.len().saturating_sub(DRAWN)),
        panels: all.iter().take(DRAWN).map(|(entry, why)| lanes(&heading(entry, entries), why)).collect(),
        numbers: Some(numbers(&all, entries)),
    })
}

fn title(worst: &WakeupBreakdown, several: bool, condition: &str) -> String {
    let about = if several { format!(" ({condition})") } else { String::new() };
    let most = worst.by_cause().into_iter().map(|(part, _)| part).max_by_key(|part| part.ns);
    let most = most.map_or_else(String::new, |most| {
        format!(", {} of it {}", latency(most.ns.as_nanos()), segment_in_words(&most))
    });
    format!("The worst traced wake-up came {} late{most}{about}", worst.latency)
}

fn lanes(heading: &str, why: &Why) -> ChartPanel {
    let wakeups: Vec<&WakeupBreakdown> = why.worst.iter().take(WORST).collect();
    let most =
        wakeups.iter().map(|wakeup| wakeup.latency.as_nanos().max(1).unsigned_abs()).max().unwrap_or(1);
    ChartPanel {
        heading: heading.to_owned(),
        drawing: Drawing::Gantt(Gantt {
            axis: axis(most),
            lanes: wakeups.iter().map(|wakeup| lane(wakeup)).collect(),
        }),
        legend: legend_of(wakeups.iter().flat_map(|wakeup| &wakeup.parts).map(|part| part.cause.kind)),
        data: table_of(why),
    }
}

fn lane(wakeup: &WakeupBreakdown) -> GanttLane {
    let cpu = wakeup.cpu.map_or_else(String::new, |cpu| format!(" on CPU {cpu}"));
    let late = wakeup.latency.as_nanos().max(0).unsigned_abs();
    let due = wakeup.at.as_nanos().saturating_sub_unsigned(late);
    GanttLane {
        name: format!("{} late{cpu}", wakeup.latency),
        bars: wakeup.parts.iter().map(|part| bar(part, due)).collect(),
    }
}

fn bar(part: &Segment, due: i64) -> GanttBar {
    let from = part.from.as_nanos().saturating_sub(due) as f64;
    let culprit = if part.cause.name.is_empty() { part_in_words(part.cause.part) } else { &part.cause.name };
    GanttBar {
        from,
        until: from + part.ns.as_nanos() as f64,
        hue: hue(part.cause.kind),
        label: culprit.to_owned(),
        tooltip: format!("{}: {}", segment_in_words(part), latency(part.ns.as_nanos())),
    }
}

fn table_of(why: &Why) -> String {
    let headings = ["at_ns", "latency_ns", "cpu", "part", "kind", "name", "pid", "from_ns", "ns", "merged"]
        .map(str::to_owned);
    let row = |wakeup: &WakeupBreakdown, part: &Segment| {
        vec![
            wakeup.at.as_nanos().to_string(),
            wakeup.latency.as_nanos().to_string(),
            wakeup.cpu.map_or_else(String::new, |cpu| cpu.to_string()),
            part.cause.part.name().to_owned(),
            part.cause.kind.name().to_owned(),
            part.cause.name.clone(),
            part.pid.map_or_else(String::new, |pid| pid.to_string()),
            part.from.as_nanos().to_string(),
            part.ns.as_nanos().to_string(),
            part.merged.to_string(),
        ]
    };
    let rows: Vec<Vec<String>> =
        why.worst.iter().flat_map(|wakeup| wakeup.parts.iter().map(move |part| row(wakeup, part))).collect();
    formats::csv(&headings, rows)
}

/// The three longest parts of the three worst wake-ups of each condition.
fn numbers(all: &[(Entry<'_>, Why)], entries: &[Entry<'_>]) -> ReportTable {
    let parts = varying(entries);
    let longest = |wakeup: &WakeupBreakdown| {
        let mut parts: Vec<Segment> = wakeup.by_cause().into_iter().map(|(part, _)| part).collect();
        parts.sort_by_key(|part| std::cmp::Reverse(part.ns));
        let longest_parts = parts
            .iter()
            .take(3)
            .map(|part| format!("{} {}", latency(part.ns.as_nanos()), segment_in_words(part)));
        format!("{}: {}", wakeup.latency, longest_parts.collect::<Vec<_>>().join(", "))
    };
    let row = |(entry, why): &(Entry<'_>, Why)| {
        let worst = |number: usize| why.worst.get(number).map_or_else(|| "–".to_owned(), longest);
        vec![name(entry, &parts), count(why.decomposed), worst(0), worst(1), worst(2)]
    };
    let headings = ["condition", "seen whole", "worst", "second", "third"];
    let rows = all.iter().map(row).collect();
    let table =
        ReportTable::plain("The worst traced wake-ups, and the longest parts of each", &headings, 1, rows);
    ReportTable { is_text: true, ..table }
}
