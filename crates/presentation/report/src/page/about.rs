//! What machine, what was asked, what was in force, what to know, how to repeat it.

use std::collections::hash_map::Entry::{Occupied, Vacant};
use std::collections::{HashMap, HashSet};

use howlate_analyse::Analysis;
use howlate_model::{Caveat, Condition, InForce, Setting, System};
use howlate_render::numbers::length;
use howlate_render::{
    ending_after_title, is_foreign, larger_ones, load_lines, machine, marked, sentences, to_repeat,
};
use maud::{Markup, html};

use super::findings;
use crate::condition_names::{name, varying};
use crate::entry::Entry;
use crate::table::Table;
use crate::{Recording, prose};

/// One line on each recording, below the answer.
pub(crate) fn line(recordings: &[Recording<'_>]) -> Markup {
    html! {
        @for recording in recordings {
            p class="quiet" {
                @if recordings.len() > 1 { strong { (recording.name) } ": " }
                @for (number, part) in where_and_when(recording.analysis).into_iter().enumerate() {
                    @if number > 0 { "\u{a0}· " }
                    @if part.contains(' ') { (prose::plain(&part)) } @else { (prose::whole(&part)) }
                }
                (ending_after_title(recording.analysis))
            }
        }
    }
}

/// The machine and when it began, without what is not known: merged recordings have no machine in common.
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
pub(crate) fn sections(recordings: &[Recording<'_>], entries: &[Entry<'_>]) -> Markup {
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
                @for recording in recordings.iter().filter(|one| !is_foreign(one.analysis)) {
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

/// Whether howlate measured any: what other programs were asked, their files need not say.
pub(super) fn can_be_repeated(recordings: &[Recording<'_>]) -> bool {
    recordings.iter().any(|one| !is_foreign(one.analysis))
}

/// What the background loads really did.
fn loads(recordings: &[Recording<'_>]) -> Markup {
    let several = recordings.len() > 1;
    let of = |recording: &Recording<'_>| -> Vec<String> {
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
pub(crate) fn caveat_lines(entries: &[Entry<'_>], recordings: &[Recording<'_>]) -> Vec<String> {
    let mut lines: Vec<(String, usize)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut add = |text: String, conditions: usize| match places.entry(text) {
        Occupied(place) => lines[*place.get()].1 += conditions,
        Vacant(place) => {
            lines.push((place.key().clone(), conditions));
            place.insert(lines.len() - 1);
        }
    };
    general(recordings).into_iter().for_each(|one| add(one, 0));
    let of_conditions: Vec<Caveat> = entries.iter().flat_map(|entry| entry.outcome.caveats()).collect();
    sentences(&of_conditions).into_iter().for_each(|(text, conditions)| add(text, conditions));
    let all = entries.len();
    let line = |(text, conditions): (String, usize)| match conditions {
        0 => text,
        some if some == all => text,
        some => format!("{text} ({some} of {all} conditions)"),
    };
    lines.into_iter().map(line).collect()
}

/// What is said of recordings as a whole; what is not said of all of them has the name of its own before it, unless it names
/// it itself.
fn general(recordings: &[Recording<'_>]) -> Vec<String> {
    let said: Vec<Vec<String>> = recordings.iter().map(said_of).collect();
    let mut by: HashMap<&str, usize> = HashMap::new();
    let of_each = said.iter().flat_map(|texts| texts.iter().collect::<HashSet<_>>());
    of_each.for_each(|text| *by.entry(text).or_default() += 1);
    let line = |name: &str, text: &String| {
        let is_named = by.get(text.as_str()) == Some(&recordings.len()) || text.contains(name);
        if is_named { text.clone() } else { format!("{name}: {text}") }
    };
    let lines = |(one, said): (&Recording<'_>, &Vec<String>)| -> Vec<String> {
        said.iter().map(|text| line(one.name, text)).collect()
    };
    recordings.iter().zip(&said).flat_map(lines).collect()
}

/// Each sentence once.
fn said_of(recording: &Recording<'_>) -> Vec<String> {
    sentences(&recording.analysis.caveats).into_iter().map(|(text, _)| text).collect()
}

fn caveats(entries: &[Entry<'_>], recordings: &[Recording<'_>]) -> Markup {
    let lines = caveat_lines(entries, recordings);
    html! {
        @if lines.is_empty() {
            p { "Nothing was refused, changed or lost." }
        } @else {
            ul class="caveats" { @for line in &lines { li { (prose::html(line)) } } }
        }
    }
}

/// A property of machines, and where it is.
type Property = (&'static str, fn(&System) -> Option<String>);

const PROPERTIES: [Property; 15] = [
    ("processor", |system| Some(system.processor.clone())),
    ("CPUs online", |system| Some(system.online.to_string())),
    ("allowed CPUs", |system| Some(system.allowed.to_string())),
    ("kernel", |system| Some(system.kernel.clone())),
    ("build", |system| Some(system.kernel_build.clone())),
    ("preemption", |system| system.preemption.clone()),
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

/// The machines by name: that of each recording, and the guests on it.
fn systems<'a>(recordings: &[Recording<'a>]) -> Vec<(String, &'a System)> {
    let mut systems: Vec<(String, &System)> = Vec::new();
    for recording in recordings {
        let analysis = recording.analysis;
        let host = if analysis.boots.is_empty() { "" } else { " (host)" };
        systems.push((format!("{}{host}", recording.name), &analysis.header.system));
        for boot in &analysis.boots {
            let name = format!("guest {} ({})", boot.kernel, boot.accelerator);
            if !systems.iter().any(|(known, _)| *known == name) {
                systems.push((name, &boot.system));
            }
        }
    }
    systems
}

/// One column per machine; what applies to none is left out.
fn machines(recordings: &[Recording<'_>]) -> Table {
    let systems = systems(recordings);
    let headings: Vec<&str> =
        std::iter::once("property").chain(systems.iter().map(|(name, _)| name.as_str())).collect();
    let row = |(name, of): &Property| {
        let values = systems.iter().map(|(_, system)| of(system));
        let values: Vec<Option<String>> = values.map(|value| value.filter(|text| !text.is_empty())).collect();
        let known = values.iter().any(Option::is_some);
        let cells = values.into_iter().map(|value| value.unwrap_or_else(|| "–".to_owned()));
        known.then(|| std::iter::once((*name).to_owned()).chain(cells).collect())
    };
    let rows = PROPERTIES.iter().filter_map(row).collect();
    let mut table = Table::plain("As the recording describes it", &headings, 1, rows);
    table.is_text = true;
    table
}

/// Rows of conditions that had the same settings are joined.
fn in_force(entries: &[Entry<'_>]) -> Table {
    let parts = varying(entries);
    let mut rows: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    for entry in entries {
        let settings = settings(&entry.outcome.condition, entry.outcome.in_force.as_ref());
        let name = name(entry, &parts);
        match rows.iter_mut().find(|(_, known)| *known == settings) {
            Some((names, _)) => names.push(name),
            None => rows.push((vec![name], settings)),
        }
    }
    let named = |(names, settings): (Vec<String>, Vec<String>)| {
        let name = match names.as_slice() {
            [one] => one.clone(),
            [first, .., last] => format!("{} conditions, {first} … {last}", names.len()),
            [] => String::new(),
        };
        std::iter::once(name).chain(settings).collect()
    };
    let headings =
        ["condition", "policy asked", "policy in force", "timer slack", "CPUs", "memory", "idle limit"];
    let rows = rows.into_iter().map(named).collect();
    let mut table = Table::plain("Settings asked for, and as read back from the kernel", &headings, 1, rows);
    table.is_text = true;
    table
}

/// What was changed on the machine for the run and put back; `None` when nothing was.
fn settings_of_the_machine(recordings: &[Recording<'_>]) -> Option<Table> {
    let row = |recording: &Recording<'_>, setting: &Setting| {
        vec![
            setting.path.clone(),
            recording.name.to_owned(),
            setting.before.clone(),
            setting.in_force.clone(),
        ]
    };
    let of = |recording: &Recording<'_>| -> Vec<Vec<String>> {
        recording.analysis.header.settings.iter().map(|setting| row(recording, setting)).collect()
    };
    let rows: Vec<Vec<String>> = recordings.iter().flat_map(of).collect();
    let headings = ["file", "recording", "before", "in force"];
    let mut table =
        Table::plain("Settings of the machine, changed for the run and put back", &headings, 1, rows);
    table.is_text = true;
    (!table.rows.is_empty()).then_some(table)
}

fn settings(condition: &Condition, in_force: Option<&InForce>) -> Vec<String> {
    let unknown = || "never started".to_owned();
    let read = |of: fn(&InForce) -> String| in_force.map_or_else(unknown, of);
    vec![
        howlate_model::Property::Policy.typed(condition),
        read(|one| one.policy.to_string()),
        read(|one| length(one.slack)),
        read(|one| one.cpus.to_string()),
        read(|one| if one.memory_locked { "locked" } else { "not locked" }.to_owned()),
        read(|one| one.dma_latency_us.map_or_else(|| "none".to_owned(), |limit| format!("{limit} µs"))),
    ]
}

fn instrument(analysis: &Analysis) -> String {
    let one = analysis.header.instrument;
    format!(
        "Included in the numbers: {} per clock reading (resolution {}), {} of loop overhead.",
        length(one.clock_read),
        length(one.clock_precision),
        length(one.loop_cost)
    )
}
