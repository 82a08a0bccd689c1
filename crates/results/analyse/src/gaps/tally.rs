//! What the gaps of one CPU come to.

use std::collections::BTreeMap;

use howlate_model::{CpuGap, Distribution, GapCause, GapKind, Latency, Span, SpinCount};

use super::split::GapPart;

/// Gaps that are told one by one.
pub(super) const WORST: usize = 10;

/// What one cause took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GapShare {
    /// What had the CPU.
    pub cause: GapCause,
    /// Gaps of which it is the largest part.
    pub gaps: u64,
    /// Gaps of which it is any part.
    pub in_gaps: u64,
    /// What it took of all gaps together.
    pub total: Span,
    /// The longest gap of which it is the largest part.
    pub longest: Span,
}

/// A gap with what explains it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedGap {
    /// The gap.
    pub gap: CpuGap,
    /// Its parts, the largest first.
    pub parts: Vec<GapPart>,
}

/// What else the kernel counts of a CPU, from before the first gap to behind the last one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GapAccount {
    /// What the hypervisor took, in whole ticks.
    pub stolen: Option<Span>,
    /// Non-maskable interrupts.
    pub nmis: Option<u64>,
    /// System management interrupts.
    pub smis: Option<u64>,
}

/// The gaps of one CPU.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuGaps {
    /// What the thread counted: all gaps, whether or not they could be handed on.
    pub counted: SpinCount,
    /// How long the gaps were that were handed on.
    pub histogram: Distribution,
    /// What they went to, the most first.
    pub by: Vec<GapShare>,
    /// The longest ones, the longest first.
    pub worst: Vec<ExplainedGap>,
    /// What else the kernel counts.
    pub account: GapAccount,
}

impl CpuGaps {
    /// Parts per million of the time that the thread did not get.
    pub fn ppm(&self) -> f64 {
        let lasted = self.counted.lasted.as_nanos().max(1);
        self.counted.total.as_nanos() as f64 / lasted as f64 * 1e6
    }
}

/// The gaps of one CPU while they come in.
#[derive(Debug, Default)]
pub(super) struct Tally {
    histogram: Distribution,
    by: BTreeMap<GapCause, GapShare>,
    worst: Vec<ExplainedGap>,
}

impl Tally {
    pub(super) fn add(&mut self, gap: CpuGap, mut parts: Vec<GapPart>) {
        self.histogram.record(Latency::from_span(gap.length));
        parts.sort_by_key(|part| std::cmp::Reverse(part.length));
        for (place, part) in parts.iter().enumerate() {
            let share = self.by.entry(part.cause.clone()).or_insert_with(|| GapShare {
                cause: part.cause.clone(),
                gaps: 0,
                in_gaps: 0,
                total: Span::ZERO,
                longest: Span::ZERO,
            });
            share.in_gaps += 1;
            share.total = share.total.plus(part.length);
            if place == 0 {
                share.gaps += 1;
                share.longest = share.longest.max(gap.length);
            }
        }
        self.keep(ExplainedGap { gap, parts });
    }

    fn keep(&mut self, one: ExplainedGap) {
        let place = self.worst.partition_point(|other| other.gap.length >= one.gap.length);
        if place < WORST {
            self.worst.insert(place, one);
            self.worst.truncate(WORST);
        }
    }

    pub(super) fn end(mut self, counted: SpinCount, account: GapAccount) -> CpuGaps {
        if counted.moved {
            self.forget_causes();
        }
        let mut by: Vec<GapShare> = self.by.into_values().collect();
        let mut worst = self.worst;
        if explains(account.smis, &by) {
            let parts = worst.iter_mut().flat_map(|one| &mut one.parts).map(|part| &mut part.cause);
            let unexplained = by.iter_mut().map(|share| &mut share.cause).chain(parts);
            unexplained
                .filter(|cause| cause.kind == GapKind::NoEvent)
                .for_each(|cause| cause.kind = GapKind::Smi);
        }
        by.sort_by_key(|share| std::cmp::Reverse(share.total));
        CpuGaps { counted, histogram: self.histogram, by, worst, account }
    }
}

impl Tally {
    /// The events were those of the CPU that it was to stay on: since when it did not, nobody knows.
    fn forget_causes(&mut self) {
        let cause = GapCause::unnamed(GapKind::NotTraced);
        let worst = std::mem::take(&mut self.worst);
        let without = |ExplainedGap { gap, .. }| ExplainedGap {
            parts: vec![GapPart { cause: cause.clone(), length: gap.length }],
            gap,
        };
        self.worst = worst.into_iter().map(without).collect();
        let all = std::mem::take(&mut self.by)
            .into_values()
            .map(|share| GapShare { cause: cause.clone(), ..share });
        let joined = all.reduce(|one, other| GapShare {
            gaps: one.gaps + other.gaps,
            in_gaps: one.in_gaps.max(other.in_gaps),
            total: one.total.plus(other.total),
            longest: one.longest.max(other.longest),
            ..one
        });
        self.by = joined.into_iter().map(|share| (cause.clone(), share)).collect();
    }
}

/// Whether the firmware interrupted at least as often as there are gaps without an event.
fn explains(smis: Option<u64>, by: &[GapShare]) -> bool {
    let unexplained =
        by.iter().find(|share| share.cause.kind == GapKind::NoEvent).map_or(0, |share| share.gaps);
    unexplained > 0 && smis.is_some_and(|smis| smis >= unexplained)
}

#[cfg(test)]
mod tests {
    use howlate_model::MonotonicTime;

    use super::*;

    fn gap(micros: u64) -> CpuGap {
        CpuGap { cpu: 0, from: MonotonicTime::default(), length: Span::from_micros(micros) }
    }

    fn part(kind: GapKind, micros: u64) -> GapPart {
        GapPart { cause: GapCause::unnamed(kind), length: Span::from_micros(micros) }
    }

    #[test]
    fn of_a_thread_that_did_not_stay_no_cause_is_named() {
        let moved = tally().end(SpinCount { moved: true, ..SpinCount::default() }, GapAccount::default());
        let [share] = &moved.by[..] else { panic!("{:?}", moved.by) };
        assert_eq!(
            (share.cause.kind, share.gaps, share.total),
            (GapKind::NotTraced, 2, Span::from_micros(40))
        );
        assert!(
            moved
                .worst
                .iter()
                .all(|one| one.parts == [part(GapKind::NotTraced, one.gap.length.as_nanos() / 1_000)])
        );
    }

    fn tally() -> Tally {
        let mut tally = Tally::default();
        tally.add(gap(10), vec![part(GapKind::Nmi, 4), part(GapKind::NoEvent, 6)]);
        tally.add(gap(30), vec![part(GapKind::Nmi, 30)]);
        tally
    }

    #[test]
    fn a_gap_counts_for_its_largest_part_and_time_for_each() {
        let gaps = tally().end(SpinCount::default(), GapAccount::default());
        let told: Vec<_> = gaps
            .by
            .iter()
            .map(|one| (one.cause.kind, [one.gaps, one.in_gaps], one.total, one.longest))
            .collect();
        let micros = Span::from_micros;
        let expected = [
            (GapKind::Nmi, [1, 2], micros(34), micros(30)),
            (GapKind::NoEvent, [1, 1], micros(6), micros(10)),
        ];
        assert_eq!(told, expected);
        assert_eq!(gaps.worst[0].gap.length, micros(30));
        assert_eq!(gaps.worst[1].parts[0].cause.kind, GapKind::NoEvent);
    }

    #[test]
    fn gaps_without_an_event_are_the_firmwares_only_if_it_interrupted_often_enough() {
        let kinds = |smis| {
            let account = GapAccount { smis, ..GapAccount::default() };
            let gaps = tally().end(SpinCount::default(), account);
            gaps.by.iter().any(|share| share.cause.kind == GapKind::Smi)
        };
        assert_eq!([Some(1), Some(0), None].map(kinds), [true, false, false]);
    }

    #[test]
    fn only_the_longest_are_told_one_by_one() {
        let mut tally = Tally::default();
        (1..40).for_each(|micros| tally.add(gap(micros), Vec::new()));
        let gaps = tally.end(SpinCount::default(), GapAccount::default());
        let lengths: Vec<u64> = gaps.worst.iter().map(|one| one.gap.length.as_nanos() / 1_000).collect();
        assert_eq!(lengths, (30..40).rev().collect::<Vec<_>>());
    }

    #[test]
    fn what_is_taken_is_told_in_parts_per_million() {
        let counted =
            SpinCount { lasted: Span::from_secs(2), total: Span::from_micros(3), ..SpinCount::default() };
        let gaps = Tally::default().end(counted, GapAccount::default());
        assert!((gaps.ppm() - 1.5).abs() < 1e-9);
    }
}
