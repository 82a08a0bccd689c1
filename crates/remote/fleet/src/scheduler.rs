//! What every scheduler does for a fleet.

use std::sync::atomic::AtomicBool;

use crate::{Fleet, FleetError, NodeStatus};

/// A recording of more bytes than this is not fetched.
pub(crate) const LONGEST_RECORDING: u64 = 1 << 30;
/// What is said of one.
pub(crate) const TOO_LONG: &str = "its recording is longer than 1 GiB";

/// What became of a recording that was to be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FetchResult {
    /// The recording is in the fleet's folder.
    Here,
    /// The node has none.
    None,
    /// The recording is lost or incomplete, with the reason.
    Lost(String),
}

/// Starts the script of a fleet on nodes, and brings back what it left.
pub trait Scheduler {
    /// What [`start`](Self::start) would do, as commands that people can keep; `plan` is what would be measured, if that is one. The fleet's
    /// folder holds program, plan and script by then.
    fn dry_run(&self, fleet: &Fleet, plan: Option<&str>) -> String;

    /// Starts the nodes with these indices, up to an interruption; what a node refuses is its state, and in the fleet.
    ///
    /// # Errors
    ///
    /// When none can be started.
    fn start(&self, fleet: &mut Fleet, nodes: &[usize], interrupted: &AtomicBool) -> Result<(), FleetError>;

    /// How each of these nodes is doing.
    ///
    /// # Errors
    ///
    /// When the scheduler cannot be asked.
    fn look(&self, fleet: &Fleet, nodes: &[usize]) -> Result<Vec<NodeStatus>, FleetError>;

    /// Brings the recordings of these nodes into the fleet's folder; for each node why it could not be.
    ///
    /// # Errors
    ///
    /// When the scheduler cannot be asked.
    fn fetch(&self, fleet: &Fleet, nodes: &[usize]) -> Result<Vec<Result<FetchResult, String>>, FleetError>;

    /// Ends what these nodes do, in order: what they have measured until then stays. For each node why it could not be.
    ///
    /// # Errors
    ///
    /// When the scheduler cannot be asked.
    fn cancel(&self, fleet: &Fleet, nodes: &[usize]) -> Result<Vec<Result<(), String>>, FleetError>;
}
