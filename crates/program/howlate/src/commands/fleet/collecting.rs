//! Results of the nodes of a fleet.

use std::path::{Path, PathBuf};

use howlate_analyse::Analysis;
use howlate_fleet::{Fleet, FleetDocument, FleetMember, NodeStatus, NodeTask, Scheduler};
use howlate_model::shell_path;
use howlate_render as render;

use super::super::record_folders;
use super::reading::{self, TextMode};
use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::terminal;
use howlate_cli::TimeRangeArgs;

/// Prints one line per node, or JSON; returns the resulting status.
pub(super) fn print_states(fleet: &Fleet, states: &[NodeStatus], is_json: bool) -> Result<ExitStatus, Error> {
    let text = if is_json { FleetDocument::new(fleet, states, None).json()? } else { lines(fleet, states) };
    terminal::print_or_json(&text, is_json)?;
    Ok(status(states))
}

fn lines(fleet: &Fleet, states: &[NodeStatus]) -> String {
    let width = fleet.members.iter().map(|member| member.name().len()).max().unwrap_or(0);
    let line = |(member, state): (&FleetMember, &NodeStatus)| format!("{:width$}  {state}\n", member.name());
    fleet.members.iter().zip(states).map(line).collect()
}

fn status(states: &[NodeStatus]) -> ExitStatus {
    let has_status = |expected: u8| move |state: &NodeStatus| *state == NodeStatus::Done { status: expected };
    match () {
        () if states.iter().all(has_status(0)) => ExitStatus::Done,
        () if states.iter().all(|state| has_status(0)(state) || has_status(1)(state)) => ExitStatus::Exceeded,
        () => ExitStatus::NotTrustworthy,
    }
}

/// Fetches the available results and shows them with the states of the nodes.
pub(super) fn collect(
    fleet: &mut Fleet,
    scheduler: &dyn Scheduler,
    folder: &Path,
    is_json: bool,
) -> Result<ExitStatus, Error> {
    let mut states = fleet.states(scheduler)?;
    fleet.fetch(scheduler, &mut states)?;
    let paths = (0..fleet.members.len()).map(|node| fleet.recording(node));
    let available: Vec<PathBuf> = paths.filter(|path| path.exists()).collect();
    if available.is_empty() {
        print_states(fleet, &states, is_json)?;
        return Ok(ExitStatus::NotTrustworthy);
    }
    let status = match fleet.task {
        NodeTask::Plan => print_measured(fleet, &states, is_json)?,
        NodeTask::Record => print_recorded(fleet, &states, &available, is_json)?,
    };
    let result_path = if let ([recording], NodeTask::Record) = (available.as_slice(), fleet.task) {
        &folder.join(recording.file_name().unwrap_or_default())
    } else {
        folder
    };
    terminal::eprint(&format!("Show it again with: howlate show {}\n", shell_path(result_path)));
    Ok(status)
}

/// Incidents of all nodes, merged by time.
fn print_recorded(
    fleet: &Fleet,
    states: &[NodeStatus],
    folders: &[PathBuf],
    is_json: bool,
) -> Result<ExitStatus, Error> {
    let (incidents, read_status) = record_folders::read(folders, &TimeRangeArgs::default(), None)?;
    let text = if is_json {
        FleetDocument::new(fleet, states, Some(incidents.json_value()?)).json()?
    } else {
        format!("{}\n{}", lines(fleet, states), incidents.text(terminal::width()))
    };
    terminal::print_or_json(&text, is_json)?;
    Ok(status(states).max(read_status))
}

/// Combined results of the measuring nodes.
fn print_measured(fleet: &Fleet, states: &[NodeStatus], is_json: bool) -> Result<ExitStatus, Error> {
    let texts = if is_json { TextMode::AsRecorded } else { TextMode::Legible };
    let analysis = reading::analysis(&fleet.folder, texts)?;
    let text = if is_json { json(fleet, states, &analysis)? } else { report_text(fleet, states, &analysis) };
    terminal::print_or_json(&text, is_json)?;
    Ok(if reading::is_mixed(&analysis) { ExitStatus::NotTrustworthy } else { status(states) })
}

fn report_text(fleet: &Fleet, states: &[NodeStatus], analysis: &Analysis) -> String {
    let report = render::report_titled(analysis, "howlate fleet", render::Detail::Brief, terminal::width());
    format!("{}\n{report}", lines(fleet, states))
}

fn json(fleet: &Fleet, states: &[NodeStatus], analysis: &Analysis) -> Result<String, serde_json::Error> {
    FleetDocument::new(fleet, states, Some(render::json_value(analysis)?)).json()
}
