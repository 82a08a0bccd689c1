//! Incidents whose lines are written after their timeline.

use howlate_model::{CpuTimeline, Incident, MonotonicTime, Span};
use howlate_recording::LateLanes;
use howlate_trace::TimelineHistory;

/// Length of the timeline before and after the wait.
const AROUND: Span = Span::from_millis(100);

/// Incidents and the timelines of all CPUs around the worst of them.
#[derive(Debug)]
pub(crate) struct PendingIncidents {
    pub(crate) incidents: Vec<Incident>,
    pub(crate) from: MonotonicTime,
    pub(crate) until: MonotonicTime,
    /// Latency of the worst; its end on this clock, and as date and time.
    pub(crate) latency: Span,
    ended: MonotonicTime,
    pub(crate) at: String,
    /// CPU of the worst; `None` for a loop turn and a request, whose CPU is unknown.
    cpu: Option<u32>,
    /// Whether the worst is reported by a program of another user.
    pub(crate) is_reported: bool,
    timelines: TimelineHistory,
}

impl PendingIncidents {
    /// A timeline of at most `most` around `worst`.
    pub(crate) fn around(worst: &Incident, most: Span, is_reported: bool) -> Self {
        let until = worst.at_ns.plus(AROUND);
        let from = worst.at_ns.minus(worst.latency).minus(AROUND).max(until.minus(most));
        let (latency, ended, at) = (worst.latency, worst.at_ns, worst.at.clone());
        let cpu = (worst.turn.is_none() && worst.server.is_none()).then_some(worst.cpu);
        Self {
            incidents: Vec::new(),
            from,
            until,
            latency,
            ended,
            at,
            cpu,
            is_reported,
            timelines: TimelineHistory::default(),
        }
    }

    /// Adds the timelines as of now: a busy CPU may have overwritten them at the next call.
    pub(crate) fn remember(&mut self, now: Vec<CpuTimeline>) {
        self.timelines.add(now);
    }

    /// `None` if nothing of the worst wait was read.
    pub(crate) fn cpus(&self) -> Option<&[CpuTimeline]> {
        self.timelines.of_wait(self.cpu, self.ended.minus(self.latency), self.ended)
    }

    /// Whether the incident ended within the timeline.
    pub(crate) fn covers(&self, incident: &Incident) -> bool {
        incident.at_ns >= self.from && incident.at_ns <= self.until
    }

    /// A lane for each incident within the timeline.
    pub(crate) fn lanes(&self) -> LateLanes<'_> {
        lanes(self.incidents.iter().filter(|incident| self.covers(incident)))
    }
}

pub(crate) fn lanes<'a>(incidents: impl Iterator<Item = &'a Incident>) -> LateLanes<'a> {
    let name = |incident: &Incident| format!("{} ({})", incident.thread.name, incident.thread.tid);
    LateLanes {
        title: "late",
        lanes: incidents.map(|incident| (name(incident), incident.parts.as_slice())).collect(),
    }
}
