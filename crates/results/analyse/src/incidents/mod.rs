//! What was kept of a machine that was watched for weeks: which incidents there were, whose fault they were, and how long the
//! threads of each group waited. Pure.

mod advice;
mod cgroup_owner;
mod charged;
mod culprits;
mod folded;
mod group_waits;
mod kept;
mod late_counts;
mod own_time;
mod recurring;
mod waited_for;

pub use advice::{causes_by_urgency, thread_to_raise};
pub use cgroup_owner::{Grouping, container, pod, unit};
pub use charged::{cause_of, charged_to};
pub use culprits::{Culprit, culprits};
pub use folded::{Frames, folded};
pub use group_waits::{GroupWaits, groups};
pub use kept::{Kept, Missing};
pub use late_counts::LateCounts;
pub use recurring::{RecurringCulprit, recurring};
pub use waited_for::{Held, waited_for};
