//! What was kept of a machine that was watched for weeks: which incidents there were, whose fault they were, and how long the
//! threads of each group waited. Pure.

mod culprits;
mod grouping;
mod groups;
mod kept;

pub use culprits::{Culprit, culprits};
pub use grouping::{Grouping, container, pod, unit};
pub use groups::{GroupWaits, groups};
pub use kept::{Kept, Missing};
