//! What came of the nodes of a fleet.

use std::path::Path;

use howlate_fleet::{Fleet, Member, Scheduler, State};
use howlate_model::shell_path;
use howlate_render as render;

use super::reading::{self, Texts};
use crate::error::Error;
use crate::exit_status::Status;
use crate::terminal;

/// One line a node; how the command ends.
pub(super) fn print_states(fleet: &Fleet, states: &[State]) -> Result<Status, Error> {
    let width = fleet.members.iter().map(|member| member.name().len()).max().unwrap_or(0);
    let line = |(member, state): (&Member, &State)| format!("{:width$}  {state}\n", member.name());
    terminal::print(&fleet.members.iter().zip(states).map(line).collect::<String>())?;
    Ok(status(states))
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
pub(super) fn collect(fleet: &mut Fleet, scheduler: &dyn Scheduler, named: &Path) -> Result<Status, Error> {
    let mut states = fleet.states(scheduler)?;
    fleet.fetch(scheduler, &mut states)?;
    let status = print_states(fleet, &states)?;
    if (0..fleet.members.len()).all(|node| !fleet.recording(node).exists()) {
        return Ok(Status::NotTrustworthy);
    }
    let analysis = reading::analysis(&fleet.folder, Texts::Legible)?;
    terminal::print(&format!(
        "\n{}",
        render::report_titled(&analysis, "howlate fleet", render::Detail::Brief, terminal::width())
    ))?;
    terminal::say(&format!("Show it again with: howlate show {}\n", shell_path(named)));
    Ok(if reading::is_mixed(&analysis) { Status::NotTrustworthy } else { status })
}
