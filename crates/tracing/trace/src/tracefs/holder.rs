//! Switches that no event told of: another thread makes an event than the one that had the CPU at the last. Pure.
//!
//! Some kernels tell of no switch away from the idle thread: seen on a guest of a hypervisor that patches how a CPU idles.

use howlate_model::{CpuChange, MonotonicTime};

/// The idle thread's id.
const IDLE: u32 = 0;

/// Who has a CPU, as its events tell.
#[derive(Debug, Default)]
pub(super) struct Holder {
    /// The thread that had it behind the last event, and when that was.
    last: Option<(u32, MonotonicTime)>,
}

impl Holder {
    /// Takes in an event of thread `by`; since when that must have had the CPU, if no event told of its turn.
    ///
    /// A CPU leaves idle by an interrupt, which is the last event then. Whoever else lost the CPU unseen is taken to have had it
    /// until now.
    pub(super) fn passes(&mut self, by: u32, at: MonotonicTime, change: &CpuChange) -> Option<MonotonicTime> {
        let runs = if let CpuChange::Runs { tid, .. } = change { *tid } else { by };
        let before = self.last.replace((runs, at)).filter(|(tid, _)| *tid != by)?;
        Some(if before.0 == IDLE { before.1 } else { at })
    }
}

#[cfg(test)]
mod tests {
    use howlate_model::GapKind;

    use super::*;

    /// Where turns came unseen, by events as (thread, microsecond, who runs next if it is a switch).
    fn unseen(events: &[(u32, i64, Option<u32>)]) -> Vec<Option<i64>> {
        let mut holder = Holder::default();
        let mut pass = |(by, at, next): &(u32, i64, Option<u32>)| {
            let interrupt = CpuChange::Leaves(GapKind::Interrupt);
            let change = next.map_or(interrupt, |tid| CpuChange::Runs { tid, name: "thread".into() });
            holder.passes(*by, MonotonicTime::from_nanos(*at), &change).map(MonotonicTime::as_nanos)
        };
        events.iter().map(&mut pass).collect()
    }

    #[test]
    fn whoever_is_switched_to_has_it() {
        assert_eq!(unseen(&[(7, 1, Some(0)), (0, 2, None), (0, 3, Some(7)), (7, 4, None)]), [None; 4]);
    }

    #[test]
    fn a_thread_that_comes_unseen_has_it_since_the_interrupt_that_ended_idling() {
        let events = [(7, 1, Some(0)), (0, 50, None), (9, 60, None), (9, 70, Some(7)), (7, 80, None)];
        assert_eq!(unseen(&events), [None, None, Some(50), None, None]);
    }

    #[test]
    fn another_one_has_it_since_its_first_event() {
        assert_eq!(unseen(&[(7, 1, None), (9, 60, None), (9, 70, None)]), [None, Some(60), None]);
    }
}
