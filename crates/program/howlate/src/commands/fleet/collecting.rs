//! What came of the nodes of a fleet.

use std::path::{Path, PathBuf};

use howlate_analyse::Analysis;
use howlate_fleet::{Fleet, FleetDocument, Member, Scheduler, State, Task};
use howlate_model::shell_path;
use howlate_render as render;

use super::super::recorded_nodes;
use super::reading::{self, Texts};
use crate::error::Error;
use crate::exit_status::Status;
use crate::terminal;
use howlate_cli::TimeRangeArgs;

/// One line a node, or JSON; how the command ends.
pub(super) fn print_states(fleet: &Fleet, states: &[State], is_json: bool) -> Result<Status, Error> {
    let text = if is_json { FleetDocument::new(fleet, states, None).json()? } else { lines(fleet, states) };
    terminal::print_or_json(&text, is_json)?;
    Ok(status(states))
}

fn lines(fleet: &Fleet, states: &[State]) -> String {
    let width = fleet.members.iter().map(|member| member.name().len()).max().unwrap_or(0);
    let line = |(member, state): (&Member, &State)| format!("{:width$}  {state}\n", member.name());
    fleet.members.iter().zip(states).map(line).collect()
}

fn status(states: &[State]) -> Status {
    let is = |wanted: u8| move |state: &State| *state == State::Done { status: wanted };
    match () {
        () if states.iter().all(is(0)) => Status::Done,
        () if states.iter().all(|state| is(0)(state) || is(1)(state)) => Status::Exceeded,
        () => Status::NotTrustworthy,
    }
}

/// Fetches what is there, tells of each node, and shows the whole.
pub(super) fn collect(
    fleet: &mut Fleet,
    scheduler: &dyn Scheduler,
    named: &Path,
    is_json: bool,
) -> Result<Status, Error> {
    let mut states = fleet.states(scheduler)?;
    fleet.fetch(scheduler, &mut states)?;
    let all = (0..fleet.members.len()).map(|node| fleet.recording(node));
    let here: Vec<PathBuf> = all.filter(|path| path.exists()).collect();
    if here.is_empty() {
        print_states(fleet, &states, is_json)?;
        return Ok(Status::NotTrustworthy);
    }
    let status = match fleet.task {
        Task::Plan => print_measured(fleet, &states, is_json)?,
        Task::Record => print_recorded(fleet, &states, &here, is_json)?,
    };
    let again = if let ([only], Task::Record) = (here.as_slice(), fleet.task) {
        &named.join(only.file_name().unwrap_or_default())
    } else {
        named
    };
    terminal::say(&format!("Show it again with: howlate show {}\n", shell_path(again)));
    Ok(status)
}

/// What the nodes have recorded, in the order of its times.
fn print_recorded(
    fleet: &Fleet,
    states: &[State],
    folders: &[PathBuf],
    is_json: bool,
) -> Result<Status, Error> {
    let (recorded, read) = recorded_nodes::read(folders, &TimeRangeArgs::default(), None)?;
    let text = if is_json {
        FleetDocument::new(fleet, states, Some(recorded.json_value()?)).json()?
    } else {
        format!("{}\n{}", lines(fleet, states), recorded.text(terminal::width()))
    };
    terminal::print_or_json(&text, is_json)?;
    Ok(status(states).max(read))
}

/// What the nodes have measured, together.
fn print_measured(fleet: &Fleet, states: &[State], is_json: bool) -> Result<Status, Error> {
    let texts = if is_json { Texts::AsRecorded } else { Texts::Legible };
    let analysis = reading::analysis(&fleet.folder, texts)?;
    let text = if is_json { json(fleet, states, &analysis)? } else { words(fleet, states, &analysis) };
    terminal::print_or_json(&text, is_json)?;
    Ok(if reading::is_mixed(&analysis) { Status::NotTrustworthy } else { status(states) })
}

fn words(fleet: &Fleet, states: &[State], analysis: &Analysis) -> String {
    let report = render::report_titled(analysis, "howlate fleet", render::Detail::Brief, terminal::width());
    format!("{}\n{report}", lines(fleet, states))
}

fn json(fleet: &Fleet, states: &[State], analysis: &Analysis) -> Result<String, serde_json::Error> {
    FleetDocument::new(fleet, states, Some(render::json_value(analysis)?)).json()
}
