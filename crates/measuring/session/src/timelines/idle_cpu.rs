//! The CPU that was idle longest while a thread waited for another one.

use howlate_model::{
    CauseKind, CpuSet, CpuTimeline, HolderKind, IdleCpu, MonotonicTime, Occupant, Part, Span, WakeupBreakdown,
};

/// The CPU of `allowed` that was idle longest from when the thread waited for a CPU until it ran. Not the one on which it ran, and none
/// if its group had no time left. A CPU that is still idle at the end of its timeline is not seen to be.
pub(super) fn idle_longest(
    cpus: &[CpuTimeline],
    wakeup: &WakeupBreakdown,
    allowed: &CpuSet,
) -> Option<IdleCpu> {
    let mut waiting = wakeup.parts.iter().filter(|part| part.cause.part == Part::Waiting).peekable();
    let from = waiting.peek()?.from;
    if waiting.any(|part| part.cause.kind == CauseKind::Throttled) {
        return None;
    }
    let others = cpus.iter().filter(|of| allowed.contains(of.cpu) && Some(of.cpu) != wakeup.cpu);
    IdleCpu::longest(others.map(|of| IdleCpu { cpu: of.cpu, idle: idle_between(of, from, wakeup.at) }))
}

fn idle_between(cpu: &CpuTimeline, from: MonotonicTime, until: MonotonicTime) -> Span {
    let overlap = |occupant: &Occupant| {
        let began = occupant.from?;
        let is_idle = occupant.who.holder == HolderKind::Idle;
        is_idle.then(|| began.plus(occupant.ns).min(until).since(began.max(from)))
    };
    cpu.stretches.iter().filter_map(overlap).fold(Span::ZERO, Span::plus)
}

#[cfg(test)]
mod tests {
    use howlate_model::{Cause, CpuHolder, Latency, Segment};

    use super::*;

    fn at(micros: i64) -> MonotonicTime {
        MonotonicTime::from_nanos(micros * 1_000)
    }

    fn timeline(cpu: u32, stretches: &[(HolderKind, i64, u64)]) -> CpuTimeline {
        let occupant = |(holder, from, micros): &(HolderKind, i64, u64)| Occupant {
            who: CpuHolder { holder: *holder, pid: None, name: String::new() },
            ns: Span::from_micros(*micros),
            from: Some(at(*from)),
        };
        CpuTimeline { cpu, stretches: stretches.iter().map(occupant).collect() }
    }

    /// Due at 1 ms, ready at 2 ms, ran on CPU 0 at 8 ms.
    fn wakeup(kind: CauseKind) -> WakeupBreakdown {
        let part = |part, kind, from, micros| {
            Segment::new(Cause::new(part, kind, String::new()), None, at(from), Span::from_micros(micros))
        };
        let parts = vec![
            part(Part::TimerSlack, CauseKind::Kernel, 1_000, 1_000),
            part(Part::Waiting, kind, 2_000, 6_000),
        ];
        WakeupBreakdown { at: at(8_000), latency: Latency::from_nanos(7_000_000), cpu: Some(0), parts }
    }

    #[test]
    fn it_is_one_on_which_the_thread_may_run_and_did_not() {
        let idle = |from, micros| (HolderKind::Idle, from, micros);
        let cpus = [
            timeline(0, &[idle(0, 9_000)]),
            timeline(1, &[idle(0, 3_000), (HolderKind::Thread, 3_000, 1_000), idle(4_000, 9_000)]),
            timeline(2, &[idle(1_000, 1_050)]),
        ];
        let found = |allowed: &str, kind| idle_longest(&cpus, &wakeup(kind), &allowed.parse().unwrap());
        let first = Some(IdleCpu { cpu: 1, idle: Span::from_micros(5_000) });
        assert_eq!(found("0-2", CauseKind::Thread), first);
        assert_eq!(found("0,2", CauseKind::Thread), None, "50 us are no time");
        assert_eq!(found("0", CauseKind::Thread), None, "that is where it ran");
        assert_eq!(found("0-2", CauseKind::Throttled), None, "its group had no time left");
    }
}
