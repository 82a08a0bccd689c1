//! What has a CPU that a thread spins on, from event to event.

use std::sync::Arc;

use howlate_model::{CpuChange, CpuEvent, GapCause, GapKind, MonotonicTime};

/// The state of one CPU.
#[derive(Debug, Default)]
pub(super) struct CpuState {
    spinner: u32,
    /// Interrupts and softirqs in progress, the innermost last.
    inside: Vec<GapCause>,
    /// The running thread, if it is not the spinner.
    other: Option<GapCause>,
    in_page_fault: bool,
}

impl CpuState {
    /// The spinner runs, and nothing else.
    pub(super) fn spinning(spinner: u32) -> Self {
        Self { spinner, ..Self::default() }
    }

    /// What else has the CPU; `None`: the spinner, or the kernel on its behalf.
    pub(super) fn occupant(&self) -> Option<GapCause> {
        let fault = || self.in_page_fault.then(|| GapCause::unnamed(GapKind::PageFault));
        self.inside.last().or(self.other.as_ref()).cloned().or_else(fault)
    }

    /// Changes the state by an event.
    pub(super) fn apply(&mut self, what: &CpuChange) {
        match what {
            CpuChange::Enters(cause) => self.inside.push(cause.clone()),
            CpuChange::Leaves(kind) => {
                if let Some(place) = self.inside.iter().rposition(|cause| cause.kind == *kind) {
                    self.inside.truncate(place);
                }
            }
            CpuChange::PageFault => self.in_page_fault = self.other.is_none(),
            CpuChange::Runs { tid, name } => {
                // On PREEMPT_RT a softirq can lose its CPU.
                self.inside.clear();
                self.other = (*tid != self.spinner).then(|| thread(*tid, name));
            }
            CpuChange::Missed => *self = Self::spinning(self.spinner),
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

/// How many of `events` no gap needs that ends after `until`: those up to the last time before at which the spinner ran.
pub(super) fn droppable_before(events: &[CpuEvent], spinner: u32, until: MonotonicTime) -> usize {
    let (mut state, mut over) = (CpuState::spinning(spinner), 0);
    for (place, event) in events.iter().enumerate().take_while(|(_, event)| event.at < until) {
        state.apply(&event.what);
        // Page faults end without an event.
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
        let over = |until| droppable_before(&events, 7, MonotonicTime::from_nanos(until));
        assert_eq!([1, 2, 3, 4, 9].map(over), [0, 0, 2, 2, 2]);
        assert_eq!(droppable_before(&events[..2], 7, MonotonicTime::from_nanos(9)), 2);
    }
}
