//! Detects switches without an event: the thread of an event is not the one that had the CPU at the previous event. Pure.
//!
//! Some kernels report no switch away from the idle thread: observed on a guest of a hypervisor that patches how a CPU idles.

use howlate_model::{CpuChange, MonotonicTime};

/// Id of the idle thread.
const IDLE: u32 = 0;

/// The holder of a CPU, from its events.
#[derive(Debug, Default)]
pub(super) struct UnseenSwitches {
    /// The thread that had the CPU after the last event, and the time of that event.
    last: Option<(u32, MonotonicTime)>,
}

impl UnseenSwitches {
    /// Adds an event of thread `by`; returns since when that thread must have had the CPU, if no event reported the switch to it.
    ///
    /// A CPU leaves idle by an interrupt, which is then the last event. Any other thread that lost the CPU unseen is assumed to have had it
    /// until now.
    pub(super) fn add_event(
        &mut self,
        by: u32,
        at: MonotonicTime,
        change: &CpuChange,
    ) -> Option<MonotonicTime> {
        let runs = if let CpuChange::Runs { tid, .. } = change { *tid } else { by };
        let before = self.last.replace((runs, at)).filter(|(tid, _)| *tid != by)?;
        Some(if before.0 == IDLE { before.1 } else { at })
    }
}

#[cfg(test)]
mod tests {
    use howlate_model::GapKind;

    use super::*;

    /// Unseen switches of events as (thread, microsecond, next thread if it is a switch).
    fn unseen(events: &[(u32, i64, Option<u32>)]) -> Vec<Option<i64>> {
        let mut switches = UnseenSwitches::default();
        let mut pass = |(by, at, next): &(u32, i64, Option<u32>)| {
            let interrupt = CpuChange::Leaves(GapKind::Interrupt);
            let change = next.map_or(interrupt, |tid| CpuChange::Runs { tid, name: "thread".into() });
            switches.add_event(*by, MonotonicTime::from_nanos(*at), &change).map(MonotonicTime::as_nanos)
        };
        events.iter().map(&mut pass).collect()
    }

    #[test]
    fn the_next_thread_of_a_switch_has_the_cpu() {
        assert_eq!(unseen(&[(7, 1, Some(0)), (0, 2, None), (0, 3, Some(7)), (7, 4, None)]), [None; 4]);
    }

    #[test]
    fn an_unseen_thread_after_idle_has_it_since_the_interrupt() {
        let events = [(7, 1, Some(0)), (0, 50, None), (9, 60, None), (9, 70, Some(7)), (7, 80, None)];
        assert_eq!(unseen(&events), [None, None, Some(50), None, None]);
    }

    #[test]
    fn another_unseen_thread_has_it_since_its_first_event() {
        assert_eq!(unseen(&[(7, 1, None), (9, 60, None), (9, 70, None)]), [None, Some(60), None]);
    }
}
