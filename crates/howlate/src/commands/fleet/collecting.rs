//! What came of the nodes of a fleet.

use std::path::Path;

use howlate_fleet::{Fetched, Fleet, Member, Scheduler, State};
use howlate_model::shell_path;
use howlate_render as render;

use super::reading::{self, Texts};
use crate::error::Error;
use crate::exit_status::Status;
use crate::terminal;

/// How each node is doing.
pub(super) fn states(fleet: &Fleet, scheduler: &dyn Scheduler) -> Result<Vec<State>, Error> {
    let mut found = scheduler.look(fleet, &fleet.open_nodes())?.into_iter();
    let state = |member: &Member| {
        let asked = || found.next().unwrap_or(State::Running);
        member.ended.clone().unwrap_or_else(asked)
    };
    Ok(fleet.members.iter().map(state).collect())
}

/// One line a node; how the command ends.
pub(super) fn told(fleet: &Fleet, states: &[State]) -> Result<Status, Error> {
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
    let mut states = states(fleet, scheduler)?;
    fetch(fleet, scheduler, &mut states)?;
    let status = told(fleet, &states)?;
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

/// Fetches what is new. One that failed may have measured until then, and stays failed.
fn fetch(fleet: &mut Fleet, scheduler: &dyn Scheduler, states: &mut [State]) -> Result<(), Error> {
    let has_ended =
        |node: &usize| !matches!(states[*node], State::NotStarted { .. }) && states[*node].is_over();
    let wanted: Vec<usize> = fleet.open_nodes().into_iter().filter(has_ended).collect();
    for (node, fetched) in wanted.iter().zip(scheduler.fetch(fleet, &wanted)?) {
        let state = &mut states[*node];
        match (fetched, &state) {
            (Ok(Fetched::Here), _) | (Ok(Fetched::None), State::Failed { .. } | State::Cancelled) => {}
            (Ok(Fetched::None), _) => *state = State::Failed { reason: "it left no recording".to_owned() },
            (Ok(Fetched::Lost(reason)), _) => *state = State::Failed { reason },
            // It is there still: the next time may do better.
            (Err(reason), _) => {
                *state = State::Unreachable { reason };
                continue;
            }
        }
        fleet.members[*node].ended = Some(state.clone());
    }
    Ok(fleet.save()?)
}
