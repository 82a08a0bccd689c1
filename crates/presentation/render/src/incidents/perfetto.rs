//! Incidents and what all CPUs did around them, for Perfetto.

use howlate_model::{CpuTimeline, Incident, IncidentKind, MonotonicTime, Part};

use super::Incidents;
use super::words::how_late;
use crate::perfetto::{Late, LateThread, Wait, trace};

impl Incidents {
    /// A trace: the incidents, and these timelines of their moments, which may overlap.
    pub fn perfetto(&self, timelines: Vec<Vec<CpuTimeline>>) -> Vec<u8> {
        let incidents = &self.kept.incidents;
        let late: Vec<Late<'_>> = incidents.iter().map(late).collect();
        trace(&late, timelines, incidents.first().map(|one| (one.at_ns, one.at.as_str())))
    }
}

fn late(one: &Incident) -> Late<'_> {
    let thread = &one.thread;
    let (from, until) = (one.at_ns.minus(one.latency), one.at_ns);
    // Who is away, or takes too long, may have had a CPU meanwhile.
    let is_wait = !matches!(one.kind, IncidentKind::EventLoop | IncidentKind::Loop);
    Late {
        thread: LateThread { tid: thread.tid, pid: thread.pid, name: &thread.name, process: &thread.process },
        name: name(one),
        from,
        until,
        parts: &one.parts,
        wait: is_wait.then(|| Wait {
            from: ready_since(one).unwrap_or(from),
            until,
            preempted: one.kind == IncidentKind::Preempted,
        }),
    }
}

fn name(one: &Incident) -> String {
    let turn = one.turn.as_ref().map_or_else(String::new, |turn| format!("loop {} ", turn.name));
    format!("{turn}{}", how_late(one))
}

/// While its timer was late it slept. `None`: the whole of it is a wait for a CPU, or where that began is not known.
fn ready_since(one: &Incident) -> Option<MonotonicTime> {
    let is_ready = |part: Part| matches!(part, Part::WakeUp | Part::Called | Part::Waiting);
    let first = one.parts.iter().find(|part| is_ready(part.cause.part))?;
    (one.kind == IncidentKind::Timer && !first.merged).then_some(first.from)
}
