//! The CPU that was idle longest while a thread waited for another one.

use howlate_model::{CpuSet, IdleCpu, MonotonicTime, Span};

use super::ring::CpuRings;

/// When a thread waited for one CPU.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueuedTime {
    pub(super) cpu: u32,
    pub(super) from: MonotonicTime,
    pub(super) until: MonotonicTime,
}

/// The CPU of `allowed` that was idle longest while the thread waited for another one. A ring may not reach back to the beginning: it
/// was idle for at least so long.
pub(super) fn idle_longest(rings: &CpuRings, allowed: &CpuSet, waited: &[QueuedTime]) -> Option<IdleCpu> {
    let idle_meanwhile = |cpu: u32| {
        let others = waited.iter().filter(|queued| queued.cpu != cpu);
        let idle = others.map(|queued| rings.idle_between(cpu, queued.from, queued.until));
        IdleCpu { cpu, idle: idle.fold(Span::ZERO, Span::plus) }
    };
    IdleCpu::longest(allowed.iter().map(idle_meanwhile))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::late::ring::{IDLE, RingEvent};

    fn event(until: i64, id: u32) -> RingEvent {
        RingEvent { until: MonotonicTime::from_nanos(until * 1_000), id, kind: 0, name: [0; 16] }
    }

    fn queued(cpu: u32, from: i64, until: i64) -> QueuedTime {
        let at = |micros: i64| MonotonicTime::from_nanos(micros * 1_000);
        QueuedTime { cpu, from: at(from), until: at(until) }
    }

    fn found(allowed: &str, waited: &[QueuedTime]) -> Option<(u32, u64)> {
        let busy = vec![event(0, 9), event(9_000, 9)];
        let idle = vec![event(0, 7), event(4_000, IDLE), event(5_000, 8), event(8_000, IDLE)];
        let rings = CpuRings::holding(vec![busy, idle.clone(), idle]);
        let found = idle_longest(&rings, &allowed.parse().unwrap(), waited);
        found.map(|found| (found.cpu, found.idle.as_nanos() / 1_000))
    }

    #[test]
    fn it_is_one_on_which_the_thread_may_run_and_for_which_it_did_not_wait() {
        assert_eq!(found("0-2", &[queued(0, 1_000, 7_000)]), Some((1, 5_000)), "3 ms and 2 ms");
        assert_eq!(found("0,2", &[queued(0, 1_000, 7_000)]), Some((2, 5_000)));
        assert_eq!(found("0", &[queued(0, 1_000, 7_000)]), None, "it may not run elsewhere");
        assert_eq!(found("0-1", &[queued(1, 1_000, 3_000)]), None, "it is idle, but the one it waits for");
        assert_eq!(found("0-1", &[queued(0, 1_000, 3_000), queued(1, 3_000, 4_000)]), Some((1, 2_000)));
        assert_eq!(found("0-1", &[queued(0, 4_000, 5_000)]), None, "it was busy, too");
        assert_eq!(found("0-1", &[queued(0, 3_950, 4_500)]), None, "50 us are no time");
        assert_eq!(found("0-9", &[queued(0, 1_000, 2_000)]), Some((1, 1_000)), "of others nothing is known");
    }
}
