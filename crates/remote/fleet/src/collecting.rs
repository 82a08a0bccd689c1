//! What came of the nodes of a fleet.

use crate::error::FleetError;
use crate::folder::{Fleet, FleetMember};
use crate::scheduler::{FetchResult, Scheduler};
use crate::state::NodeStatus;

impl Fleet {
    /// How each node is doing.
    ///
    /// # Errors
    ///
    /// When the scheduler cannot be asked.
    pub fn states(&self, scheduler: &dyn Scheduler) -> Result<Vec<NodeStatus>, FleetError> {
        let mut found = scheduler.look(self, &self.open_nodes())?.into_iter();
        let state = |member: &FleetMember| {
            let queried = || found.next().unwrap_or(NodeStatus::Running);
            member.ended.clone().unwrap_or_else(queried)
        };
        Ok(self.members.iter().map(state).collect())
    }

    /// Fetches what is new. One that failed may have measured until then, and stays failed.
    ///
    /// # Errors
    ///
    /// When the scheduler cannot be asked, or the fleet's folder not be written.
    pub fn fetch(&mut self, scheduler: &dyn Scheduler, states: &mut [NodeStatus]) -> Result<(), FleetError> {
        let has_ended =
            |node: &usize| !matches!(states[*node], NodeStatus::NotStarted { .. }) && states[*node].is_over();
        let ended_nodes: Vec<usize> = self.open_nodes().into_iter().filter(has_ended).collect();
        for (node, fetched) in ended_nodes.iter().zip(scheduler.fetch(self, &ended_nodes)?) {
            let state = &mut states[*node];
            match (fetched, &state) {
                (Ok(FetchResult::Here), _)
                | (Ok(FetchResult::None), NodeStatus::Failed { .. } | NodeStatus::Cancelled) => {}
                (Ok(FetchResult::None), _) => {
                    *state = NodeStatus::Failed { reason: "it left no recording".to_owned() }
                }
                (Ok(FetchResult::Lost(reason)), _) => *state = NodeStatus::Failed { reason },
                // It is there still: the next time may do better.
                (Err(reason), _) => {
                    *state = NodeStatus::Unreachable { reason };
                    continue;
                }
            }
            self.members[*node].ended = Some(state.clone());
        }
        self.save()
    }
}
