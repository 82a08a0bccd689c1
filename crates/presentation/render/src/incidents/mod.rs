//! Recordings of `howlate record` as text, JSON, metrics and traces.

mod folded;
mod groups;
mod json;
mod metrics;
mod nodes;
mod perfetto;
#[cfg(test)]
mod perfetto_tests;
mod recorder_messages;
mod snaps;
mod text;
mod title;
mod unrecorded;
mod waited_for;
mod why;
mod wording;

use std::collections::BTreeMap;

use howlate_analyse::incidents::{Grouping, RecordedIncidents};
use howlate_model::{LateThreshold, Node, System};
use jiff::Timestamp;
use jiff::tz::TimeZone;

pub use json::incidents_schema;
pub use metrics::{late_metrics, late_metrics_protobuf};
pub use nodes::NodesIncidentReport;
pub use recorder_messages::{
    RecordEnd, disk_refuses, disk_takes_again, folder_is_gone, lines_not_written, record_has_ended,
};
pub use snaps::{NO_SNAP_FILE, snap_origin};
pub use wording::{
    HOW_CULPRITS_ARE_ADDED, bucketed, culprit_name, held_up, held_up_by, how_late, idle_meanwhile,
    incident_cause, late_above, part_of_incident, victim, was_late,
};

/// The recording of a machine, and how it is shown.
#[derive(Clone, Debug)]
pub struct IncidentReport {
    /// What the folder contains.
    pub recording: RecordedIncidents,
    /// The machine and its name.
    pub machine: Option<(Node, System)>,
    /// The limit above which waits are late.
    pub late_above: Option<LateThreshold>,
    /// Start of the requested time; `None`: from the beginning.
    pub from: Option<Timestamp>,
    /// End of the requested time.
    pub until: Option<Timestamp>,
    /// Start of the oldest file that still exists.
    pub oldest: Option<Timestamp>,
    /// When the folder was last written.
    pub written: RecordingState,
    /// How threads are grouped.
    pub by: Grouping,
    /// Names of users by id.
    pub users: BTreeMap<u32, String>,
    /// Time zone of printed times.
    pub zone: TimeZone,
    /// Number of files whose last line is incomplete.
    pub cut_off: u64,
    /// Errors of files that could not be read to their end.
    pub damaged: Vec<String>,
}

/// When a folder was last written, and whether it is being written to.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordingState {
    /// Time of the last line; `None` where unknown.
    pub last: Option<Timestamp>,
    /// Start of the newest file.
    pub newest: Option<Timestamp>,
    /// Whether a recorder is running.
    pub is_recording: bool,
}

#[cfg(test)]
mod tests;
