//! What was kept of a machine that was watched for weeks: which incidents there were, whose fault they were, and how long the
//! threads of each group waited. Pure.

mod cgroup_owner;
mod culprits;
mod group_waits;
mod kept;

pub use cgroup_owner::{Grouping, container, pod, unit};
pub use culprits::{Culprit, culprits};
pub use group_waits::{GroupWaits, groups};
pub use kept::{Kept, Missing};
