//! Incidents and what all CPUs did around them, for Perfetto.

use howlate_model::{CpuTimeline, Incident, IncidentKind, MonotonicTime, Part};

use super::IncidentReport;
use super::wording::how_late;
use crate::perfetto::{CpuWait, LateSlice, TraceThread, trace};

impl IncidentReport {
    /// A trace of the incidents and the given timelines, which may overlap.
    pub fn perfetto(&self, timelines: Vec<Vec<CpuTimeline>>) -> Vec<u8> {
        let incidents = &self.recording.incidents;
        let late: Vec<LateSlice<'_>> = incidents.iter().map(late).collect();
        trace(&late, timelines, incidents.first().map(|incident| (incident.at_ns, incident.at.as_str())))
    }
}

fn late(incident: &Incident) -> LateSlice<'_> {
    let thread = &incident.thread;
    let (from, until) = (incident.at_ns.minus(incident.latency), incident.at_ns);
    // A loop or a request that is late by its own work may have had a CPU meanwhile.
    let is_wait = incident.kind.is_wait();
    LateSlice {
        thread: TraceThread {
            tid: thread.tid,
            pid: thread.pid,
            name: &thread.name,
            process: &thread.process,
        },
        name: name(incident),
        from,
        until,
        parts: &incident.parts,
        wait: is_wait.then(|| CpuWait {
            from: ready_since(incident).unwrap_or(from),
            until,
            preempted: incident.kind == IncidentKind::Preempted,
        }),
    }
}

fn name(incident: &Incident) -> String {
    let turn = incident.turn.as_ref().map_or_else(String::new, |turn| format!("loop {} ", turn.name));
    format!("{turn}{}", how_late(incident))
}

/// Start of the wait for a CPU, if it is not the whole incident. `None`: it is, or the start is unknown.
fn ready_since(incident: &Incident) -> Option<MonotonicTime> {
    let is_ready =
        |part: Part| matches!(part, Part::WakeUp | Part::Called | Part::Waiting | Part::LazyPreemption);
    let first = incident.parts.iter().find(|part| is_ready(part.cause.part))?;
    (incident.kind == IncidentKind::Timer && !first.merged).then_some(first.from)
}
