//! Reads a time range of a recording of `howlate record`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use howlate_analyse::incidents::{Grouping, RecordedIncidents};
use howlate_model::{CpuTimeline, Header, Incident, TimeRange};
use howlate_recording::{has_ended, read_between, read_timeline, timeline_beside};
use howlate_render::{IncidentReport, RecordingState};
use jiff::tz::TimeZone;

use crate::OpenError;

/// Incidents of a time range, with time zone and user names for the output.
///
/// # Errors
///
/// When the folder cannot be read.
pub fn incidents(
    folder: &Path,
    stretch: TimeRange,
    by: Grouping,
    users: BTreeMap<u32, String>,
    zone: TimeZone,
) -> Result<IncidentReport, OpenError> {
    let TimeRange { from, until } = stretch;
    let mut kept = RecordedIncidents::default();
    // Checked first, so that lines written at the end are read.
    let is_recording = !has_ended(folder);
    let read = read_between(folder, (from, until), |line| {
        kept.add(line, |at, before| stretch.contains(at, before))
    })?;
    // Timelines of incidents that were soon no longer among the worst are removed.
    for entry in &mut kept.incidents {
        entry.timeline = entry.timeline.take().filter(|name| timeline_beside(folder, name).is_some());
    }
    for entry in &mut kept.snaps {
        entry.timeline = entry.timeline.take().filter(|name| timeline_beside(folder, name).is_some());
    }
    let late_above = read.header.as_ref().and_then(Header::late_rule);
    let machine = read.header.map(|header| (header.node, header.system));
    let (oldest, cut_off, damaged) = (read.since, read.cut_off, read.damaged);
    let written = RecordingState { last: read.last, newest: read.newest, is_recording };
    Ok(IncidentReport {
        recording: kept,
        machine,
        late_above,
        from,
        until,
        oldest,
        written,
        by,
        users,
        zone,
        cut_off,
        damaged,
    })
}

/// Timelines of these incidents; unreadable ones are omitted.
pub fn timelines(folder: &Path, incidents: &[Incident]) -> Vec<Vec<CpuTimeline>> {
    let names: BTreeSet<&String> =
        incidents.iter().filter_map(|incident| incident.timeline.as_ref()).collect();
    names.into_iter().filter_map(|name| read_timeline(&timeline_beside(folder, name)?)).collect()
}

/// Timeline of an incident; `None` if there is none, or it cannot be read.
pub fn timeline(folder: &Path, incident: &Incident) -> Option<Vec<CpuTimeline>> {
    read_timeline(&timeline_beside(folder, incident.timeline.as_ref()?)?)
}
