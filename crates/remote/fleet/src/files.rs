//! What files of a fleet are called, here and on its nodes.

/// The program, in the fleet's folder.
pub const PROGRAM: &str = "howlate";
/// The plan, there as well.
pub const PLAN: &str = "plan.toml";
/// What each node runs.
pub const SCRIPT: &str = "node.sh";
/// Where each node has a folder of its name.
pub(crate) const NODES: &str = "nodes";
