//! Incidents, culprits and groups as tables.

use howlate_analyse::incidents::{Culprit, GroupWaits, culprits as all_culprits, groups as all_groups};
use howlate_analyse::percentile;
use howlate_model::{Incident, Latency, Snapped};
use howlate_render::numbers::count;
use howlate_render::{
    HOW_CULPRITS_ARE_ADDED, Incidents, NO_SNAP_FILE, asked_by, bucketed, culprit_name, held_up_by, victim,
};
use maud::{Markup, html};

use crate::prose;
use crate::table::{Cell, Table};

/// Rows of each.
const INCIDENTS: usize = 200;
const CULPRITS: usize = 30;
const GROUPS: usize = 40;
const SNAPS: usize = 40;

/// The longest first.
pub(super) fn incidents(kept: &Incidents) -> Markup {
    let mut all: Vec<&Incident> = kept.kept.incidents.iter().collect();
    all.sort_by_key(|one| std::cmp::Reverse(one.latency));
    let rows = all.iter().take(INCIDENTS).map(|one| incident(kept, one)).collect();
    let left_out = all.len().saturating_sub(INCIDENTS) as u64 + kept.kept.shorter;
    let headings = ["at", "waited", "thread", "how", "held up by"].map(str::to_owned).to_vec();
    let table =
        Table { caption: "Each wait that was late".to_owned(), headings, names: 1, rows, is_text: true };
    html! {
        (table.html())
        @if left_out > 0 { p class="quiet" { (count(left_out)) " more were shorter." } }
        @if kept.not_kept() > 0 {
            p class="quiet" { "About " (count(kept.not_kept())) " more were only counted, and may have been longer." }
        }
    }
}

fn incident(kept: &Incidents, one: &Incident) -> Vec<Cell> {
    let timeline = one.timeline.clone().unwrap_or_default();
    let below = if timeline.is_empty() { timeline } else { format!("timeline: {timeline}") };
    let policy = one.thread.policy.map(|policy| policy.to_string()).unwrap_or_default();
    let policy = if policy == "other" { String::new() } else { policy };
    vec![
        Cell::new(kept.time(one, "%m-%d %H:%M:%S.%3f")),
        Cell::new(Latency::from_span(one.latency).to_string()),
        Cell { below: policy, ..Cell::new(victim(one)) },
        Cell::new(format!("{}, CPU {}", one.kind.name(), one.cpu)),
        Cell { below, ..Cell::new(held_up_by(one)) },
    ]
}

/// The last first.
pub(super) fn snaps(kept: &Incidents) -> Markup {
    let all = &kept.kept.snaps;
    let rows = all.iter().rev().take(SNAPS).map(|one| snap(kept, one)).collect();
    let left_out = all.len().saturating_sub(SNAPS) as u64;
    let headings = ["at", "why", "asked by"].map(str::to_owned).to_vec();
    let caption = "Each moment of which somebody asked what all CPUs had done".to_owned();
    html! {
        (Table { caption, headings, names: 1, rows, is_text: true }.html())
        @if left_out > 0 { p class="quiet" { (count(left_out)) " more were earlier." } }
    }
}

fn snap(kept: &Incidents, one: &Snapped) -> Vec<Cell> {
    let file =
        one.timeline.as_ref().map_or_else(|| NO_SNAP_FILE.to_owned(), |name| format!("timeline: {name}"));
    vec![
        Cell::new(kept.moment(&one.at, "%m-%d %H:%M:%S.%3f")),
        Cell::new(one.reason.clone().unwrap_or_default()),
        Cell { below: file, ..Cell::new(asked_by(one)) },
    ]
}

/// Whoever took most first.
pub(super) fn culprits(kept: &Incidents) -> Markup {
    let all = all_culprits(kept.kept.incidents.iter());
    let headings = ["culprit", "own time", "others' waits", "incidents", "longest", "mainly delayed"];
    let rows = all.iter().take(CULPRITS).map(culprit).collect();
    let left_out = all.len().saturating_sub(CULPRITS) as u64;
    html! {
        (Table::plain("Whoever had the CPU that others waited for", &headings, 1, rows).html())
        p class="quiet" {
            (prose::plain(HOW_CULPRITS_ARE_ADDED))
            @if left_out > 0 { " " (count(left_out)) " more took less." }
        }
    }
}

fn culprit(one: &Culprit) -> Vec<String> {
    let [own, took, longest] =
        [one.own, one.took, one.longest].map(|span| Latency::from_span(span).to_string());
    let whom = format!("{} {}", one.victim.0, Latency::from_span(one.victim.1));
    vec![culprit_name(one), own, took, count(one.incidents), longest, whom]
}

/// All waits, late or not.
pub(super) fn groups(kept: &Incidents) -> Markup {
    let all = all_groups(kept.kept.minutes.iter().flat_map(|minute| &minute.groups), kept.by, &kept.users);
    let headings = [kept.by.name(), "waits", "late waits", "p50", "p99", "p99.9", "max"];
    let rows = all.iter().take(GROUPS).map(|one| group(kept, one)).collect();
    let left_out = all.len().saturating_sub(GROUPS) as u64;
    html! {
        (Table::plain("How late threads ran, since their timer was due or they were ready", &headings, 1, rows).html())
        p class="quiet" {
            "Waits are counted in buckets: percentiles may be 12 % off, the longest is exact."
            @if left_out > 0 { " " (count(left_out)) " more with fewer late waits." }
        }
    }
}

fn group(kept: &Incidents, one: &GroupWaits) -> Vec<String> {
    let shown = |at: Option<String>| at.unwrap_or_else(|| "–".to_owned());
    let at = |quantile| shown(percentile(&one.waits, quantile).map(bucketed));
    vec![
        kept.shown(&one.name),
        count(one.waits.count()),
        count(one.late),
        at(0.5),
        at(0.99),
        at(0.999),
        shown(one.waits.max().map(|max| max.to_string())),
    ]
}
