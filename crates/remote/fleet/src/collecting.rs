//! What came of the nodes of a fleet.

use crate::error::FleetError;
use crate::folder::{Fleet, Member};
use crate::scheduler::{Fetched, Scheduler};
use crate::state::State;

impl Fleet {
    /// How each node is doing.
    ///
    /// # Errors
    ///
    /// When the scheduler cannot be asked.
    pub fn states(&self, scheduler: &dyn Scheduler) -> Result<Vec<State>, FleetError> {
        let mut found = scheduler.look(self, &self.open_nodes())?.into_iter();
        let state = |member: &Member| {
            let asked = || found.next().unwrap_or(State::Running);
            member.ended.clone().unwrap_or_else(asked)
        };
        Ok(self.members.iter().map(state).collect())
    }

    /// Fetches what is new. One that failed may have measured until then, and stays failed.
    ///
    /// # Errors
    ///
    /// When the scheduler cannot be asked, or the fleet's folder not be written.
    pub fn fetch(&mut self, scheduler: &dyn Scheduler, states: &mut [State]) -> Result<(), FleetError> {
        let has_ended =
            |node: &usize| !matches!(states[*node], State::NotStarted { .. }) && states[*node].is_over();
        let wanted: Vec<usize> = self.open_nodes().into_iter().filter(has_ended).collect();
        for (node, fetched) in wanted.iter().zip(scheduler.fetch(self, &wanted)?) {
            let state = &mut states[*node];
            match (fetched, &state) {
                (Ok(Fetched::Here), _) | (Ok(Fetched::None), State::Failed { .. } | State::Cancelled) => {}
                (Ok(Fetched::None), _) => {
                    *state = State::Failed { reason: "it left no recording".to_owned() }
                }
                (Ok(Fetched::Lost(reason)), _) => *state = State::Failed { reason },
                // It is there still: the next time may do better.
                (Err(reason), _) => {
                    *state = State::Unreachable { reason };
                    continue;
                }
            }
            self.members[*node].ended = Some(state.clone());
        }
        self.save()
    }
}
