//! What `howlate record` kept, as tables and for machines.

mod disk;
mod end;
mod folded;
mod groups;
mod json;
mod metrics;
mod nodes;
mod perfetto;
#[cfg(test)]
mod perfetto_tests;
mod snaps;
mod text;
mod title;
mod told;
mod waited_for;
mod words;

use std::collections::BTreeMap;

use howlate_analyse::incidents::{Grouping, RecordedIncidents};
use howlate_model::{LateThreshold, Node, System};
use jiff::Timestamp;
use jiff::tz::TimeZone;

pub use disk::{disk_refuses, disk_takes_again, lines_not_written};
pub use end::{RecordEnd, folder_is_gone, record_has_ended};
pub use json::incidents_schema;
pub use metrics::{late_metrics, late_metrics_protobuf};
pub use nodes::NodesIncidents;
pub use snaps::{NO_SNAP_FILE, asked_by};
pub use words::{
    HOW_CULPRITS_ARE_ADDED, bucketed, culprit_name, held_up_by, how_late, incident_cause, late_above,
    part_of_incident, victim, was_late,
};

/// What was kept of a stretch of time, and how it is shown.
#[derive(Clone, Debug)]
pub struct Incidents {
    /// What was kept.
    pub kept: RecordedIncidents,
    /// Where: the machine, and what it is called.
    pub machine: Option<(Node, System)>,
    /// Which waits were late.
    pub late_above: Option<LateThreshold>,
    /// From when on was asked; `None`: from the beginning.
    pub from: Option<Timestamp>,
    /// Last moment that was asked for.
    pub until: Option<Timestamp>,
    /// When the oldest begins that is still there.
    pub oldest: Option<Timestamp>,
    /// Up to when it goes.
    pub written: Written,
    /// By what threads are counted together.
    pub by: Grouping,
    /// Names of users.
    pub users: BTreeMap<u32, String>,
    /// In which time is told.
    pub zone: TimeZone,
    /// Files whose last line is not whole, and what is wrong with others.
    pub cut_off: u64,
    /// Files that could not be read to their end.
    pub damaged: Vec<String>,
}

/// Up to when a folder was written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Written {
    /// When the last line was; `None` where that is not known.
    pub last: Option<Timestamp>,
    /// Whether a recorder is at work there.
    pub is_recording: bool,
}

#[cfg(test)]
mod tests;
