//! Sections of the page: caveats, machine, requested and effective settings, how to repeat.

use std::collections::hash_map::Entry::{Occupied, Vacant};
use std::collections::{HashMap, HashSet};

use howlate_analyse::Analysis;
use howlate_model::{Caveat, Condition, EffectiveSettings, Setting, System};
use howlate_render::numbers::length;
use howlate_render::{
    ending_after_title, is_foreign, larger_ones, load_lines, machine, marked, sentences, to_repeat,
};
use maud::{Markup, html};

use super::findings;
use crate::condition_names::{name, varying};
use crate::entry::Entry;
use crate::table::ReportTable;
use crate::{NamedRecording, prose};

/// One line per recording, below the answer.
pub(crate) fn line(recordings: &[NamedRecording<'_>]) -> Markup {
    html! {
        @for recording in recordings {
            p class="quiet" {
                @if recordings.len() > 1 { strong { (recording.name) } ": " }
                @for (number, part) in where_and_when(recording.analysis).into_iter().enumerate() {
                    @if number > 0 { "\u{a0}· " }
                    @if part.contains(' ') { (prose::plain(&part)) } @else { (prose::unbroken_name(&part)) }
                }
                (ending_after_title(recording.analysis))
            }
        }
    }
}

/// Machine and start time. Merged recordings have no machine in common, so that it is left out.
pub(crate) fn where_it_was(analysis: &Analysis) -> String {
    where_and_when(analysis).join(" · ")
}

fn where_and_when(analysis: &Analysis) -> Vec<String> {
    let mut parts = vec![machine(&analysis.header.system), analysis.header.started.clone()];
    parts.retain(|part| !part.is_empty());
    parts.extend(marked(analysis));
    parts
}

/// Everything that a reader needs to judge the results.
pub(crate) fn sections(recordings: &[NamedRecording<'_>], entries: &[Entry<'_>]) -> Markup {
    html! {
        section id="caveats" {
            h2 { "What to know" }
            (caveats(entries, recordings))
            @if let Some(text) = larger_ones(entries.iter().map(|entry| entry.outcome)) {
                p { (prose::plain(&text)) }
            }
        }
        section id="machine" {
            h2 { "The machine" }
            (machines(recordings).html())
            h3 { "Requested and effective settings" }
            (in_force(entries).html())
            @if let Some(table) = settings_of_the_machine(recordings) { (table.html()) }
            (loads(recordings))
            (findings::findings(recordings))
        }
        @if can_be_repeated(recordings) {
            section id="repeat" {
                h2 { "To repeat the measurement" }
                @for recording in recordings.iter().filter(|recording| !is_foreign(recording.analysis)) {
                    pre tabindex="0" { code { (to_repeat(recording.analysis)) } }
                    p class="quiet" {
                        "howlate " (recording.analysis.header.howlate) ", order drawn with seed " (recording.analysis.header.seed)
                        ", recording " (recording.name) ". " (prose::plain(&instrument(recording.analysis)))
                    }
                }
            }
        }
    }
}

/// Whether howlate made any of them: files of other programs need not contain their command.
pub(super) fn can_be_repeated(recordings: &[NamedRecording<'_>]) -> bool {
    recordings.iter().any(|recording| !is_foreign(recording.analysis))
}

/// What the background loads achieved.
fn loads(recordings: &[NamedRecording<'_>]) -> Markup {
    let several = recordings.len() > 1;
    let of = |recording: &NamedRecording<'_>| -> Vec<String> {
        let name = if several { format!("{}: ", recording.name) } else { String::new() };
        load_lines(recording.analysis).into_iter().map(|line| format!("{name}{line}")).collect()
    };
    let lines: Vec<String> = recordings.iter().flat_map(of).collect();
    html! {
        @if !lines.is_empty() {
            h3 { "What the loads did" }
            ul { @for line in &lines { li { (prose::html(line)) } } }
        }
    }
}

/// Each caveat once, with how many conditions it is about.
pub(crate) fn caveat_lines(entries: &[Entry<'_>], recordings: &[NamedRecording<'_>]) -> Vec<String> {
    let mut lines: Vec<(String, usize)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut add = |text: String, conditions: usize| match places.entry(text) {
        Occupied(place) => lines[*place.get()].1 += conditions,
        Vacant(place) => {
            lines.push((place.key().clone(), conditions));
            place.insert(lines.len() - 1);
        }
    };
    general_caveats(recordings).into_iter().for_each(|text| add(text, 0));
    let condition_caveats: Vec<Caveat> = entries.iter().flat_map(|entry| entry.outcome.caveats()).collect();
    sentences(&condition_caveats).into_iter().for_each(|(text, conditions)| add(text, conditions));
    let all = entries.len();
    let line = |(text, conditions): (String, usize)| match conditions {
        0 => text,
        some if some == all => text,
        some => format!("{text} ({some} of {all} conditions)"),
    };
    lines.into_iter().map(line).collect()
}

/// Caveats of whole recordings, prefixed with the recording's name unless they concern all or contain it.
fn general_caveats(recordings: &[NamedRecording<'_>]) -> Vec<String> {
    let texts: Vec<Vec<String>> = recordings.iter().map(recording_caveats).collect();
    let mut occurrences: HashMap<&str, usize> = HashMap::new();
    let distinct = texts.iter().flat_map(|texts| texts.iter().collect::<HashSet<_>>());
    distinct.for_each(|text| *occurrences.entry(text).or_default() += 1);
    let line = |name: &str, text: &String| {
        let is_named = occurrences.get(text.as_str()) == Some(&recordings.len()) || text.contains(name);
        if is_named { text.clone() } else { format!("{name}: {text}") }
    };
    let lines = |(recording, texts): (&NamedRecording<'_>, &Vec<String>)| -> Vec<String> {
        texts.iter().map(|text| line(recording.name, text)).collect()
    };
    recordings.iter().zip(&texts).flat_map(lines).collect()
}

/// Caveats of a recording without duplicates.
fn recording_caveats(recording: &NamedRecording<'_>) -> Vec<String> {
    sentences(&recording.analysis.caveats).into_iter().map(|(text, _)| text).collect()
}

fn caveats(entries: &[Entry<'_>], recordings: &[NamedRecording<'_>]) -> Markup {
    let lines = caveat_lines(entries, recordings);
    html! {
        @if lines.is_empty() {
            p { "Nothing was refused, changed or lost." }
        } @else {
            ul class="caveats" { @for line in &lines { li { (prose::html(line)) } } }
        }
    }
}

/// Name of a property and its accessor.
type Property = (&'static str, fn(&System) -> Option<String>);

const PROPERTIES: [Property; 16] = [
    ("processor", |system| Some(system.processor.clone())),
    ("CPUs online", |system| Some(system.online.to_string())),
    ("allowed CPUs", |system| Some(system.allowed.to_string())),
    ("kernel", |system| Some(system.kernel.clone())),
    ("build", |system| Some(system.kernel_build.clone())),
    ("preemption", |system| system.preemption.clone()),
    ("scheduler of BPF", |system| system.scheduler.clone()),
    ("ticks per second", |system| system.tick_hz.map(|hz| hz.to_string())),
    ("clock source", |system| Some(system.clocksource.clone())),
    ("idle states", idle_states),
    ("frequency governor", |system| system.cpus.first().and_then(|cpu| cpu.governor.clone())),
    ("memory", |system| {
        (system.memory_bytes > 0).then(|| format!("{:.1} GiB", gibibytes(system.memory_bytes)))
    }),
    ("hypervisor", |system| system.hypervisor.clone()),
    ("container", |system| system.container.clone()),
    ("distribution", |system| system.distribution.clone()),
    ("kernel command line", |system| Some(system.command_line.clone())),
];

fn gibibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 30)
}

fn idle_states(system: &System) -> Option<String> {
    let states = &system.cpus.first()?.idle_states;
    let state = |state: &howlate_model::IdleState| {
        let off = if state.disabled { ", off" } else { "" };
        format!(
            "{} ({} µs to leave, from {} µs on{off})",
            state.name, state.exit_latency_us, state.residency_us
        )
    };
    (!states.is_empty()).then(|| states.iter().map(state).collect::<Vec<_>>().join(", "))
}

/// Machines by name: that of each recording, and its guests.
fn systems<'a>(recordings: &[NamedRecording<'a>]) -> Vec<(String, &'a System)> {
    let mut systems: Vec<(String, &System)> = Vec::new();
    for recording in recordings {
        let analysis = recording.analysis;
        let host = if analysis.boots.is_empty() { "" } else { " (host)" };
        systems.push((format!("{}{host}", recording.name), &analysis.header.system));
        for boot in &analysis.boots {
            let name = format!("guest {} ({})", boot.kernel, boot.accelerator);
            if !systems.iter().any(|(previous, _)| *previous == name) {
                systems.push((name, &boot.system));
            }
        }
    }
    systems
}

/// One column per machine; properties that no machine has are left out.
fn machines(recordings: &[NamedRecording<'_>]) -> ReportTable {
    let systems = systems(recordings);
    let headings: Vec<&str> =
        std::iter::once("property").chain(systems.iter().map(|(name, _)| name.as_str())).collect();
    let row = |(name, of): &Property| {
        let values = systems.iter().map(|(_, system)| of(system));
        let values: Vec<Option<String>> = values.map(|value| value.filter(|text| !text.is_empty())).collect();
        let is_known = values.iter().any(Option::is_some);
        let cells = values.into_iter().map(|value| value.unwrap_or_else(|| "–".to_owned()));
        is_known.then(|| std::iter::once((*name).to_owned()).chain(cells).collect())
    };
    let rows = PROPERTIES.iter().filter_map(row).collect();
    let mut table = ReportTable::plain("As the recording describes it", &headings, 1, rows);
    table.is_text = true;
    table
}

/// Requested and effective settings; conditions with equal settings share a row.
fn in_force(entries: &[Entry<'_>]) -> ReportTable {
    let parts = varying(entries);
    let mut rows: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    for entry in entries {
        let settings = settings(&entry.outcome.condition, entry.outcome.in_force.as_ref());
        let name = name(entry, &parts);
        match rows.iter_mut().find(|(_, row_settings)| *row_settings == settings) {
            Some((names, _)) => names.push(name),
            None => rows.push((vec![name], settings)),
        }
    }
    let named = |(names, settings): (Vec<String>, Vec<String>)| {
        let name = match names.as_slice() {
            [only] => only.clone(),
            [first, .., last] => format!("{} conditions, {first} … {last}", names.len()),
            [] => String::new(),
        };
        std::iter::once(name).chain(settings).collect()
    };
    let headings =
        ["condition", "policy asked", "policy in force", "timer slack", "CPUs", "memory", "idle limit"];
    let rows = rows.into_iter().map(named).collect();
    let mut table =
        ReportTable::plain("Settings asked for, and as read back from the kernel", &headings, 1, rows);
    table.is_text = true;
    table
}

/// Settings of the machine that were changed for the run and restored; `None` if there are none.
fn settings_of_the_machine(recordings: &[NamedRecording<'_>]) -> Option<ReportTable> {
    let row = |recording: &NamedRecording<'_>, setting: &Setting| {
        vec![
            setting.path.clone(),
            recording.name.to_owned(),
            setting.before.clone(),
            setting.in_force.clone(),
        ]
    };
    let of = |recording: &NamedRecording<'_>| -> Vec<Vec<String>> {
        recording.analysis.header.settings.iter().map(|setting| row(recording, setting)).collect()
    };
    let rows: Vec<Vec<String>> = recordings.iter().flat_map(of).collect();
    let headings = ["file", "recording", "before", "in force"];
    let mut table =
        ReportTable::plain("Settings of the machine, changed for the run and put back", &headings, 1, rows);
    table.is_text = true;
    (!table.rows.is_empty()).then_some(table)
}

fn settings(condition: &Condition, in_force: Option<&EffectiveSettings>) -> Vec<String> {
    let unknown = || "never started".to_owned();
    let read = |of: fn(&EffectiveSettings) -> String| in_force.map_or_else(unknown, of);
    vec![
        howlate_model::Property::Policy.text(condition),
        read(|in_force| in_force.policy.to_string()),
        read(|in_force| length(in_force.slack)),
        read(|in_force| in_force.cpus.to_string()),
        read(|in_force| if in_force.memory_locked { "locked" } else { "not locked" }.to_owned()),
        read(|in_force| {
            in_force.dma_latency_us.map_or_else(|| "none".to_owned(), |limit| format!("{limit} µs"))
        }),
    ]
}

fn instrument(analysis: &Analysis) -> String {
    let instrument = analysis.header.instrument;
    format!(
        "Included in the numbers: {} per clock reading (resolution {}), {} of loop overhead.",
        length(instrument.clock_read),
        length(instrument.clock_precision),
        length(instrument.loop_cost)
    )
}
