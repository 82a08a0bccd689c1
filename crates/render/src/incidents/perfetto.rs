//! Incidents and what all CPUs did around them, for Perfetto.

use howlate_model::{CpuTimeline, Incident, IncidentKind};

use super::Incidents;
use super::words::{how_it_came, span};
use crate::perfetto::{Late, LateThread, Wait, trace};

impl Incidents {
    /// A trace: the incidents, and these timelines of their moments, which may overlap.
    pub fn perfetto(&self, timelines: Vec<Vec<CpuTimeline>>) -> Vec<u8> {
        let incidents = &self.kept.incidents;
        let late: Vec<Late<'_>> = incidents.iter().map(late).collect();
        trace(&late, timelines, incidents.first().map(|one| (one.at_ns, one.at.as_str())))
    }
}

/// The whole of it is a wait.
fn late(one: &Incident) -> Late<'_> {
    let thread = &one.thread;
    let (from, until) = (one.at_ns.minus(one.latency), one.at_ns);
    Late {
        thread: LateThread { tid: thread.tid, pid: thread.pid, name: &thread.name, process: &thread.process },
        name: format!("waited {} for CPU {}, {}", span(one.latency), one.cpu, how_it_came(one.kind)),
        from,
        until,
        parts: &one.parts,
        wait: Some(Wait { from, until, preempted: one.kind == IncidentKind::Preempted }),
    }
}
