//! What a folder of `howlate record` holds of a stretch of time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use howlate_analyse::incidents::{Grouping, RecordedIncidents};
use howlate_model::{CpuTimeline, Header, Incident, TimeRange};
use howlate_recording::{has_ended, read_between, read_timeline, timeline_beside};
use howlate_render::{Incidents, Written};
use jiff::tz::TimeZone;

use crate::NotRead;

/// What was kept of that stretch, to be told in a time zone and with these names of users.
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
) -> Result<Incidents, NotRead> {
    let TimeRange { from, until } = stretch;
    let mut kept = RecordedIncidents::default();
    // Asked first: what one that ends meanwhile writes is read.
    let is_recording = !has_ended(folder);
    let read = read_between(folder, (from, until), |line| {
        kept.add(line, |at, before| stretch.contains(at, before))
    })?;
    // Of one that was not among the worst for long, the file is gone.
    for one in &mut kept.incidents {
        one.timeline = one.timeline.take().filter(|name| timeline_beside(folder, name).is_some());
    }
    for one in &mut kept.snaps {
        one.timeline = one.timeline.take().filter(|name| timeline_beside(folder, name).is_some());
    }
    let late_above = read.header.as_ref().and_then(Header::late_rule);
    let machine = read.header.map(|header| (header.node, header.system));
    let (oldest, cut_off, damaged) = (read.since, read.cut_off, read.damaged);
    let written = Written { last: read.last, is_recording };
    Ok(Incidents {
        kept,
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

/// What all CPUs did around these incidents, file by file; what cannot be read is left out.
pub fn timelines(folder: &Path, incidents: &[Incident]) -> Vec<Vec<CpuTimeline>> {
    let names: BTreeSet<&String> = incidents.iter().filter_map(|one| one.timeline.as_ref()).collect();
    names.into_iter().filter_map(|name| read_timeline(&timeline_beside(folder, name)?)).collect()
}

/// What all CPUs did around an incident; `None` where that was not kept, or cannot be read.
pub fn timeline(folder: &Path, incident: &Incident) -> Option<Vec<CpuTimeline>> {
    read_timeline(&timeline_beside(folder, incident.timeline.as_ref()?)?)
}
