//! Splits a gap by what had the CPU.
//!
//! ```text
//! spins ──► |  enters  |   timer    |  leaves  | softirq | … | ──► spins
//!           from       event        event                     until
//! ```
//!
//! Time between the loop and an event is entry into the kernel or exit from it, and counts for what it led to, unless it is
//! longer than entries and exits are: then no event explains it.

use howlate_model::{CpuChange, CpuEvent, CpuGap, GapCause, GapKind, MonotonicTime, Span};

use super::cpu_state::CpuState;

/// Kernel entries and exits are shorter, on processors with every mitigation and below a hypervisor.
const ENTRY_OR_EXIT: Span = Span::from_micros(5);
/// The loop stamps the end of a gap some 50 ns after it, and the kernel's clock for events may be off by as much.
const TOLERANCE: Span = Span::from_nanos(250);

/// A part of a gap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GapPart {
    pub cause: GapCause,
    pub length: Span,
}

/// Splits a gap of the thread `spinner` by `events` of its CPU, by time; the parts add up to its length.
pub(super) fn split(gap: &CpuGap, events: &[CpuEvent], spinner: u32) -> Vec<GapPart> {
    let first = events.partition_point(|event| event.at < gap.from.minus(TOLERANCE));
    let last = events.partition_point(|event| event.at <= gap.until().plus(TOLERANCE));
    let within = &events[first..last.max(first)];
    if within.iter().any(|event| event.what == CpuChange::Missed) {
        return vec![GapPart { cause: GapCause::unnamed(GapKind::NotTraced), length: gap.length }];
    }
    let mut splitter =
        GapSplitter { at: gap.from, state: CpuState::spinning(spinner), intervals: Vec::new() };
    for event in within {
        splitter.apply(event.at.clamp(gap.from, gap.until()), &event.what);
    }
    splitter.until(gap.until());
    splitter.parts()
}

/// A gap that is being split, from event to event.
struct GapSplitter {
    at: MonotonicTime,
    state: CpuState,
    /// Intervals one after the other; `None`: the kernel, on the spinner's behalf.
    intervals: Vec<(Option<GapCause>, Span)>,
}

impl GapSplitter {
    fn until(&mut self, at: MonotonicTime) {
        self.add(self.state.occupant(), at);
    }

    fn add(&mut self, cause: Option<GapCause>, until: MonotonicTime) {
        self.intervals.push((cause, until.since(self.at)));
        self.at = until;
    }

    fn apply(&mut self, at: MonotonicTime, what: &CpuChange) {
        if let CpuChange::Nmi(lasted) = what {
            self.until(at.minus(*lasted).max(self.at));
            return self.add(Some(GapCause::unnamed(GapKind::Nmi)), at);
        }
        self.until(at);
        self.state.apply(what);
    }

    /// The intervals summed by cause.
    fn parts(self) -> Vec<GapPart> {
        let mut parts: Vec<GapPart> = Vec::new();
        let mut add =
            |cause: &GapCause, length: Span| match parts.iter_mut().find(|part| part.cause == *cause) {
                Some(part) => part.length = part.length.plus(length),
                None => parts.push(GapPart { cause: cause.clone(), length }),
            };
        let none = GapCause::unnamed(GapKind::NoEvent);
        for (place, (cause, length)) in self.intervals.iter().enumerate() {
            let near = || self.neighbour_cause(place).filter(|_| *length <= ENTRY_OR_EXIT);
            add(cause.as_ref().or_else(near).unwrap_or(&none), *length);
        }
        parts.retain(|part| !part.length.is_zero());
        parts
    }

    /// The cause that a kernel entry leads to, or that an exit comes from.
    fn neighbour_cause(&self, place: usize) -> Option<&GapCause> {
        let after = self.intervals[place..].iter().find_map(|(cause, _)| cause.as_ref());
        let before = || self.intervals[..place].iter().rev().find_map(|(cause, _)| cause.as_ref());
        after.or_else(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPINNER: u32 = 7;

    fn cause(kind: GapKind, name: &str) -> GapCause {
        GapCause { kind, name: name.into() }
    }

    fn at(micros: i64) -> MonotonicTime {
        MonotonicTime::from_nanos(micros * 1_000)
    }

    fn enters(kind: GapKind, name: &str) -> CpuChange {
        CpuChange::Enters(cause(kind, name))
    }

    fn runs(tid: u32, name: &str) -> CpuChange {
        CpuChange::Runs { tid, name: name.into() }
    }

    /// A gap from 100 to 200 µs, with these events; parts in µs.
    #[track_caller]
    fn check(events: &[(i64, CpuChange)], expected: &[(GapKind, &str, u64)]) {
        let gap = CpuGap { cpu: 0, from: at(100), length: Span::from_micros(100) };
        let event =
            |(micros, what): &(i64, CpuChange)| CpuEvent { at: at(*micros), cpu: 0, what: what.clone() };
        let events: Vec<CpuEvent> = events.iter().map(event).collect();
        let parts = split(&gap, &events, SPINNER);
        let expected = expected.iter().map(|(kind, name, micros)| GapPart {
            cause: cause(*kind, name),
            length: Span::from_micros(*micros),
        });
        assert_eq!(parts, expected.collect::<Vec<_>>());
    }

    #[test]
    fn without_an_event_nothing_of_the_kernels_had_it() {
        check(&[], &[(GapKind::NoEvent, "", 100)]);
        check(&[(50, runs(9, "before")), (250, runs(9, "after"))], &[(GapKind::NoEvent, "", 100)]);
    }

    // 100 102        150    153           198 200
    // |---|timer------|------|softirq------|---|
    #[test]
    fn ways_belong_to_what_they_lead_to() {
        check(
            &[
                (102, enters(GapKind::Interrupt, "local_timer")),
                (150, CpuChange::Leaves(GapKind::Interrupt)),
                (153, enters(GapKind::Softirq, "RCU")),
                (198, CpuChange::Leaves(GapKind::Softirq)),
            ],
            &[(GapKind::Interrupt, "local_timer", 50), (GapKind::Softirq, "RCU", 50)],
        );
    }

    #[test]
    fn an_interrupt_that_comes_long_after_the_gap_began_was_not_what_began_it() {
        check(
            &[(180, enters(GapKind::Interrupt, "local_timer")), (198, CpuChange::Leaves(GapKind::Interrupt))],
            &[(GapKind::NoEvent, "", 80), (GapKind::Interrupt, "local_timer", 20)],
        );
    }

    #[test]
    fn an_interrupt_within_a_thread_is_no_time_of_the_thread() {
        check(
            &[
                (101, runs(9, "rival")),
                (120, enters(GapKind::Interrupt, "virtio0")),
                (130, CpuChange::Leaves(GapKind::Interrupt)),
                (190, runs(0, "swapper/0")),
                (197, runs(SPINNER, "howlate")),
            ],
            &[(GapKind::Thread, "rival", 80), (GapKind::Interrupt, "virtio0", 10), (GapKind::Idle, "", 10)],
        );
    }

    #[test]
    fn an_nmi_is_told_when_it_is_over() {
        check(
            &[(160, CpuChange::Nmi(Span::from_micros(58)))],
            &[(GapKind::Nmi, "", 60), (GapKind::NoEvent, "", 40)],
        );
    }

    #[test]
    fn what_a_fault_takes_is_the_faults() {
        check(&[(101, CpuChange::PageFault)], &[(GapKind::PageFault, "", 100)]);
    }

    #[test]
    fn where_events_are_missing_nothing_is_claimed() {
        check(&[(150, CpuChange::Missed)], &[(GapKind::NotTraced, "", 100)]);
    }

    proptest::proptest! {
        #[test]
        fn parts_add_up(events in proptest::collection::vec((90_i64..210, 0..6_u32), 0..12)) {
            let change = |kind: u32| match kind {
                0 => enters(GapKind::Interrupt, "a"),
                1 => CpuChange::Leaves(GapKind::Interrupt),
                2 => enters(GapKind::Softirq, "b"),
                3 => CpuChange::Leaves(GapKind::Softirq),
                4 => runs(9, "c"),
                _ => CpuChange::Nmi(Span::from_micros(20)),
            };
            let mut events: Vec<CpuEvent> = events
                .into_iter()
                .map(|(micros, kind)| CpuEvent { at: at(micros), cpu: 0, what: change(kind) })
                .collect();
            events.sort_by_key(|event| event.at);
            let gap = CpuGap { cpu: 0, from: at(100), length: Span::from_micros(100) };
            let sum: u64 = split(&gap, &events, SPINNER).iter().map(|part| part.length.as_nanos()).sum();
            proptest::prop_assert_eq!(sum, 100_000);
        }
    }
}
