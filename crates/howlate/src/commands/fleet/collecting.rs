//! What came of the nodes of a fleet.

use std::path::Path;

use howlate_analyse::Analysis;
use howlate_fleet::{Fleet, FleetDocument, Member, Scheduler, State};
use howlate_model::shell_path;
use howlate_render as render;

use super::reading::{self, Texts};
use crate::error::Error;
use crate::exit_status::Status;
use crate::terminal;

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
    if (0..fleet.members.len()).all(|node| !fleet.recording(node).exists()) {
        print_states(fleet, &states, is_json)?;
        return Ok(Status::NotTrustworthy);
    }
    let texts = if is_json { Texts::AsRecorded } else { Texts::Legible };
    let analysis = reading::analysis(&fleet.folder, texts)?;
    let text = if is_json { json(fleet, &states, &analysis)? } else { words(fleet, &states, &analysis) };
    terminal::print_or_json(&text, is_json)?;
    terminal::say(&format!("Show it again with: howlate show {}\n", shell_path(named)));
    Ok(if reading::is_mixed(&analysis) { Status::NotTrustworthy } else { status(&states) })
}

fn words(fleet: &Fleet, states: &[State], analysis: &Analysis) -> String {
    let report = render::report_titled(analysis, "howlate fleet", render::Detail::Brief, terminal::width());
    format!("{}\n{report}", lines(fleet, states))
}

fn json(fleet: &Fleet, states: &[State], analysis: &Analysis) -> Result<String, serde_json::Error> {
    let result = serde_json::from_str(&render::json(analysis, &[])?)?;
    FleetDocument::new(fleet, states, Some(result)).json()
}
