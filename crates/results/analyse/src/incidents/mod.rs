//! Incidents recorded over a long time: how many there were, their culprits, and how long the threads of each group waited. Pure.

mod advice;
mod cgroup_owner;
mod culprit_of_cause;
mod culprits;
mod group_waits;
mod late_counts;
mod own_time;
mod recorded;
mod recurring;
mod stacks;
mod victims;

pub use advice::{causes_by_urgency, thread_to_raise};
pub use cgroup_owner::{Grouping, container, pod, unit};
pub use culprit_of_cause::{cause_of, culprit_name};
pub use culprits::{Culprit, culprits};
pub use group_waits::{GroupWaits, requests_by_server, waits_by_group};
pub use late_counts::LateCounts;
pub use recorded::{MissingRecords, RecordedIncidents};
pub use recurring::{RecurringCulprit, recurring_culprits};
pub use stacks::{Frames, late_time_by_stack};
pub use victims::{VictimWaits, waits_by_victim};
