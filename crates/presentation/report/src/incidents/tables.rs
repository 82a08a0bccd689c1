//! Incidents, culprits and groups as tables.

use howlate_analyse::incidents::{
    Culprit, GroupWaits, culprits as all_culprits, requests_by_server, waits_by_group as all_groups,
};
use howlate_analyse::percentile;
use howlate_model::{Incident, Latency, Snapshot};
use howlate_render::numbers::count;
use howlate_render::{
    HOW_CULPRITS_ARE_ADDED, IncidentReport, NO_SNAP_FILE, bucketed, culprit_name, held_up_by, idle_meanwhile,
    legible, omitted_answers, snap_origin, victim,
};
use maud::{Markup, html};

use crate::prose;
use crate::table::{ReportTable, TableCell};

/// Maximum rows of each table.
const INCIDENTS: usize = 200;
const CULPRITS: usize = 30;
const GROUPS: usize = 40;
const SNAPS: usize = 40;

/// All incidents, the longest first.
pub(super) fn incidents(incidents: &IncidentReport) -> Markup {
    let mut all: Vec<&Incident> = incidents.recording.incidents.iter().collect();
    all.sort_by_key(|incident| std::cmp::Reverse(incident.latency));
    let rows = all.iter().take(INCIDENTS).map(|incident| incident_row(incidents, incident)).collect();
    let left_out = all.len().saturating_sub(INCIDENTS) as u64 + incidents.recording.shorter;
    let headings = ["at", "waited", "thread", "how", "held up by"].map(str::to_owned).to_vec();
    let table = ReportTable {
        caption: "Each wait that was late".to_owned(),
        headings,
        names: 1,
        rows,
        is_text: true,
    };
    html! {
        (table.html())
        @if left_out > 0 { p class="quiet" { (count(left_out)) " more were shorter." } }
        @if incidents.not_kept() > 0 {
            p class="quiet" { "About " (count(incidents.not_kept())) " more were only counted, and may have been longer." }
        }
    }
}

fn incident_row(incidents: &IncidentReport, incident: &Incident) -> Vec<TableCell> {
    let timeline = incident.timeline.as_ref().map(|name| format!("timeline: {name}"));
    let below = idle_meanwhile(incident).into_iter().chain(timeline).collect::<Vec<_>>().join(" ");
    let policy = incident.thread.policy.map(|policy| policy.to_string()).unwrap_or_default();
    let policy = if policy == "other" { String::new() } else { policy };
    vec![
        TableCell::new(incidents.time(incident, "%m-%d %H:%M:%S.%3f")),
        TableCell::new(Latency::from_span(incident.latency).to_string()),
        TableCell { below: policy, ..TableCell::new(victim(incident)) },
        TableCell::new(format!("{}, CPU {}", incident.kind.name(), incident.cpu)),
        TableCell { below, ..TableCell::new(held_up_by(incident)) },
    ]
}

/// Timelines requested by programs, the latest first.
pub(super) fn snaps(incidents: &IncidentReport) -> Markup {
    let all = &incidents.recording.snaps;
    let rows = all.iter().rev().take(SNAPS).map(|snap| snap_row(incidents, snap)).collect();
    let left_out = all.len().saturating_sub(SNAPS) as u64;
    let headings = ["at", "why", "asked by"].map(str::to_owned).to_vec();
    let caption = "Each moment of which somebody asked what all CPUs had done".to_owned();
    html! {
        (ReportTable { caption, headings, names: 1, rows, is_text: true }.html())
        @if left_out > 0 { p class="quiet" { (count(left_out)) " more were earlier." } }
    }
}

fn snap_row(incidents: &IncidentReport, snap: &Snapshot) -> Vec<TableCell> {
    let file =
        snap.timeline.as_ref().map_or_else(|| NO_SNAP_FILE.to_owned(), |name| format!("timeline: {name}"));
    vec![
        TableCell::new(incidents.moment(&snap.at, "%m-%d %H:%M:%S.%3f")),
        TableCell::new(snap.reason.clone().unwrap_or_default()),
        TableCell { below: file, ..TableCell::new(snap_origin(snap)) },
    ]
}

/// Causes of incidents, the largest sum of delays first.
pub(super) fn culprits(incidents: &IncidentReport) -> Markup {
    let all = all_culprits(incidents.recording.incidents.iter());
    let headings = ["culprit", "own time", "others' waits", "incidents", "longest", "mainly delayed"];
    let rows = all.iter().take(CULPRITS).map(culprit_row).collect();
    let left_out = all.len().saturating_sub(CULPRITS) as u64;
    html! {
        (ReportTable::plain("Whoever had the CPU that others waited for", &headings, 1, rows).html())
        p class="quiet" {
            (prose::plain(HOW_CULPRITS_ARE_ADDED))
            @if left_out > 0 { " " (count(left_out)) " more took less." }
        }
    }
}

fn culprit_row(culprit: &Culprit) -> Vec<String> {
    let [own, took, longest] =
        [culprit.own, culprit.took, culprit.longest].map(|span| Latency::from_span(span).to_string());
    let delayed = format!("{} {}", culprit.victim.0, Latency::from_span(culprit.victim.1));
    vec![culprit_name(culprit), own, took, count(culprit.incidents), longest, delayed]
}

/// Statistics of all waits, late or not, by group.
pub(super) fn groups(incidents: &IncidentReport) -> Markup {
    let all = all_groups(
        incidents.recording.minutes.iter().flat_map(|minute| &minute.groups),
        incidents.by,
        &incidents.users,
    );
    let headings = [incidents.by.name(), "waits", "late waits", "p50", "p99", "p99.9", "max"];
    let row = |group: &GroupWaits| group_row(incidents.display_name(&group.name), group);
    let rows = all.iter().take(GROUPS).map(row).collect();
    let left_out = all.len().saturating_sub(GROUPS) as u64;
    html! {
        (ReportTable::plain("How late threads ran, since their timer was due or they were ready", &headings, 1, rows).html())
        p class="quiet" {
            "Waits are counted in buckets: percentiles may be 12 % off, the longest is exact."
            @if left_out > 0 { " " (count(left_out)) " more with fewer late waits." }
        }
    }
}

/// Requests to servers; `None` where they were not measured.
pub(super) fn requests(incidents: &IncidentReport) -> Option<Markup> {
    let counts = incidents.recording.minutes.iter().flat_map(|minute| &minute.requests);
    let (all, omitted) = requests_by_server(counts);
    let headings = ["server", "requests", "late", "p50", "p99", "p99.9", "max"];
    let row = |group: &GroupWaits| group_row(legible(&group.name).into_owned(), group);
    let rows: Vec<_> = all.iter().take(GROUPS).map(row).collect();
    (!rows.is_empty()).then(|| {
        html! {
            (ReportTable::plain("How long requests took, from the arrival of their data to the answer", &headings, 1, rows).html())
            @if let Some(omitted) = omitted_answers(&omitted) { p class="quiet" { (omitted) } }
        }
    })
}

fn group_row(name: String, group: &GroupWaits) -> Vec<String> {
    let or_dash = |percentile_cell: Option<String>| percentile_cell.unwrap_or_else(|| "–".to_owned());
    let percentile_cell = |quantile| or_dash(percentile(&group.waits, quantile).map(bucketed));
    vec![
        name,
        count(group.waits.count()),
        count(group.late),
        percentile_cell(0.5),
        percentile_cell(0.99),
        percentile_cell(0.999),
        or_dash(group.waits.max().map(|max| max.to_string())),
    ]
}
