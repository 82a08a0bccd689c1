//! Who has a CPU that a thread spins on, from event to event.

use std::sync::Arc;

use howlate_model::{CpuChange, CpuEvent, GapCause, GapKind, MonotonicTime};

/// The state of one CPU.
#[derive(Debug, Default)]
pub(super) struct Occupied {
    spinner: u32,
    /// Interrupts and softirqs that it is in, the innermost last.
    inside: Vec<GapCause>,
    /// Another thread than the spinner.
    other: Option<GapCause>,
    faults: bool,
}

impl Occupied {
    /// By the thread `spinner`, and nothing else.
    pub(super) fn by(spinner: u32) -> Self {
        Self { spinner, ..Self::default() }
    }

    /// Who else has it; `None`: the spinner, or the kernel on its account.
    pub(super) fn has(&self) -> Option<GapCause> {
        let fault = || self.faults.then(|| GapCause::unnamed(GapKind::PageFault));
        self.inside.last().or(self.other.as_ref()).cloned().or_else(fault)
    }

    /// An event has passed.
    pub(super) fn pass(&mut self, what: &CpuChange) {
        match what {
            CpuChange::Enters(cause) => self.inside.push(cause.clone()),
            CpuChange::Leaves(kind) => {
                if let Some(place) = self.inside.iter().rposition(|cause| cause.kind == *kind) {
                    self.inside.truncate(place);
                }
            }
            CpuChange::PageFault => self.faults = self.other.is_none(),
            CpuChange::Runs { tid, name } => {
                // On PREEMPT_RT a softirq can lose its CPU.
                self.inside.clear();
                self.other = (*tid != self.spinner).then(|| thread(*tid, name));
            }
            CpuChange::Missed => *self = Self::by(self.spinner),
            CpuChange::Nmi(_) => {}
        }
    }
}

fn thread(tid: u32, name: &Arc<str>) -> GapCause {
    match tid {
        0 => GapCause::unnamed(GapKind::Idle),
        _ => GapCause { kind: GapKind::Thread, name: name.clone() },
    }
}

/// How many of `events` no gap needs that ends after `until`: those up to the last moment before at which the spinner ran.
pub(super) fn over_before(events: &[CpuEvent], spinner: u32, until: MonotonicTime) -> usize {
    let (mut state, mut over) = (Occupied::by(spinner), 0);
    for (place, event) in events.iter().enumerate().take_while(|(_, event)| event.at < until) {
        state.pass(&event.what);
        // What a fault takes ends without an event.
        if state.inside.is_empty() && state.other.is_none() {
            over = place + 1;
        }
    }
    over
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(nanos: i64, what: CpuChange) -> CpuEvent {
        CpuEvent { at: MonotonicTime::from_nanos(nanos), cpu: 0, what }
    }

    fn runs(tid: u32) -> CpuChange {
        CpuChange::Runs { tid, name: "rival".into() }
    }

    #[test]
    fn what_goes_on_is_kept_from_its_beginning() {
        let tick = || CpuChange::Enters(GapCause::unnamed(GapKind::Interrupt));
        let ends = || CpuChange::Leaves(GapKind::Interrupt);
        let events =
            [event(1, runs(9)), event(2, runs(7)), event(3, runs(9)), event(4, tick()), event(5, ends())];
        let over = |until| over_before(&events, 7, MonotonicTime::from_nanos(until));
        assert_eq!([1, 2, 3, 4, 9].map(over), [0, 0, 2, 2, 2]);
        assert_eq!(over_before(&events[..2], 7, MonotonicTime::from_nanos(9)), 2);
    }
}
