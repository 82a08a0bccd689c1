//! Incidents that wait for what comes after them.

use howlate_model::{CpuTimeline, Incident, MonotonicTime, Span};
use howlate_recording::LateLanes;
use howlate_trace::Remembered;

/// A timeline begins so long before the wait, and ends so long after it.
const AROUND: Span = Span::from_millis(100);

/// Incidents, and what all CPUs did around the worst of them.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) incidents: Vec<Incident>,
    pub(crate) from: MonotonicTime,
    pub(crate) until: MonotonicTime,
    /// How long the worst waited, and until when, on this clock and as date and time.
    pub(crate) latency: Span,
    ended: MonotonicTime,
    pub(crate) at: String,
    /// Where the worst ran; of a turn nobody knows.
    cpu: Option<u32>,
    /// Whether the worst is what a program of another user tells.
    pub(crate) is_told: bool,
    remembered: Remembered,
}

impl Held {
    /// Around the `worst` of them, so much at most; whether only its program tells of it.
    pub(crate) fn around(worst: &Incident, most: Span, is_told: bool) -> Self {
        let until = worst.at_ns.plus(AROUND);
        let from = worst.at_ns.minus(worst.latency).minus(AROUND).max(until.minus(most));
        let (latency, ended, at) = (worst.latency, worst.at_ns, worst.at.clone());
        let cpu = worst.turn.is_none().then_some(worst.cpu);
        Self {
            incidents: Vec::new(),
            from,
            until,
            latency,
            ended,
            at,
            cpu,
            is_told,
            remembered: Remembered::default(),
        }
    }

    /// Takes in what is remembered now: what a busy CPU did before, it may have forgotten at the next look.
    pub(crate) fn remember(&mut self, now: Vec<CpuTimeline>) {
        self.remembered.add(now);
    }

    /// What all CPUs did; `None`: nothing of the worst wait is remembered.
    pub(crate) fn cpus(&self) -> Option<&[CpuTimeline]> {
        self.remembered.of_wait(self.cpu, self.ended.minus(self.latency), self.ended)
    }

    /// Whether it ended while the CPUs were remembered.
    pub(crate) fn covers(&self, one: &Incident) -> bool {
        one.at_ns >= self.from && one.at_ns <= self.until
    }

    /// A lane for each incident of that time.
    pub(crate) fn lanes(&self) -> LateLanes<'_> {
        lanes(self.incidents.iter().filter(|one| self.covers(one)))
    }
}

/// A lane for each incident.
pub(crate) fn lanes<'a>(incidents: impl Iterator<Item = &'a Incident>) -> LateLanes<'a> {
    let name = |one: &Incident| format!("{} ({})", one.thread.name, one.thread.tid);
    LateLanes { title: "late", lanes: incidents.map(|one| (name(one), one.parts.as_slice())).collect() }
}
