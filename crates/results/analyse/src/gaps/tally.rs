//! Sums over the gaps of one CPU.

use std::collections::BTreeMap;

use howlate_model::{CpuGap, Distribution, GapCause, GapKind, Latency, Span, SpinCount};

use super::split::GapPart;

/// Most gaps listed one by one.
pub(super) const WORST: usize = 10;

/// Sums over the gaps of one cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GapShare {
    pub cause: GapCause,
    /// Gaps of which it is the largest part.
    pub gaps: u64,
    /// Gaps of which it is any part.
    pub in_gaps: u64,
    /// Its time in all gaps together.
    pub total: Span,
    /// The longest gap of which it is the largest part.
    pub longest: Span,
}

/// A gap with its causes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedGap {
    pub gap: CpuGap,
    /// The largest first.
    pub parts: Vec<GapPart>,
}

/// The kernel's own counts for a CPU, from before the first gap to after the last one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GapAccount {
    /// Steal time, in whole ticks.
    pub stolen: Option<Span>,
    /// Non-maskable interrupts.
    pub nmis: Option<u64>,
    /// System management interrupts.
    pub smis: Option<u64>,
}

/// The gaps of one CPU.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuGaps {
    /// The thread's own counts: all gaps, even those for which there was no room.
    pub counted: SpinCount,
    /// Lengths of the gaps that were recorded.
    pub histogram: Distribution,
    /// Sums by cause, the largest first.
    pub by: Vec<GapShare>,
    /// The longest gaps, the longest first.
    pub worst: Vec<ExplainedGap>,
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
pub(super) struct GapTally {
    histogram: Distribution,
    by: BTreeMap<GapCause, GapShare>,
    worst: Vec<ExplainedGap>,
}

impl GapTally {
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
        self.keep_worst(ExplainedGap { gap, parts });
    }

    fn keep_worst(&mut self, gap: ExplainedGap) {
        let place = self.worst.partition_point(|other| other.gap.length >= gap.gap.length);
        if place < WORST {
            self.worst.insert(place, gap);
            self.worst.truncate(WORST);
        }
    }

    pub(super) fn end(mut self, count: SpinCount, account: GapAccount) -> CpuGaps {
        if count.moved {
            self.drop_causes();
        }
        let mut by: Vec<GapShare> = self.by.into_values().collect();
        let mut worst = self.worst;
        if are_smis(account.smis, &by) {
            let parts = worst.iter_mut().flat_map(|gap| &mut gap.parts).map(|part| &mut part.cause);
            let unexplained = by.iter_mut().map(|share| &mut share.cause).chain(parts);
            unexplained
                .filter(|cause| cause.kind == GapKind::NoEvent)
                .for_each(|cause| cause.kind = GapKind::Smi);
        }
        by.sort_by_key(|share| std::cmp::Reverse(share.total));
        CpuGaps { counted: count, histogram: self.histogram, by, worst, account }
    }
}

impl GapTally {
    /// Drops all causes: the events were those of the CPU that the thread was to stay on, and when it left that is unknown.
    fn drop_causes(&mut self) {
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
        let joined = all.reduce(|left, right| GapShare {
            gaps: left.gaps + right.gaps,
            in_gaps: left.in_gaps.max(right.in_gaps),
            total: left.total.plus(right.total),
            longest: left.longest.max(right.longest),
            ..left
        });
        self.by = joined.into_iter().map(|share| (cause.clone(), share)).collect();
    }
}

/// Whether there were at least as many system management interrupts as gaps without an event.
fn are_smis(smis: Option<u64>, by: &[GapShare]) -> bool {
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
                .all(|gap| gap.parts == [part(GapKind::NotTraced, gap.gap.length.as_nanos() / 1_000)])
        );
    }

    fn tally() -> GapTally {
        let mut tally = GapTally::default();
        tally.add(gap(10), vec![part(GapKind::Nmi, 4), part(GapKind::NoEvent, 6)]);
        tally.add(gap(30), vec![part(GapKind::Nmi, 30)]);
        tally
    }

    #[test]
    fn a_gap_counts_for_its_largest_part_and_time_for_each() {
        let gaps = tally().end(SpinCount::default(), GapAccount::default());
        let rows: Vec<_> = gaps
            .by
            .iter()
            .map(|share| (share.cause.kind, [share.gaps, share.in_gaps], share.total, share.longest))
            .collect();
        let micros = Span::from_micros;
        let expected = [
            (GapKind::Nmi, [1, 2], micros(34), micros(30)),
            (GapKind::NoEvent, [1, 1], micros(6), micros(10)),
        ];
        assert_eq!(rows, expected);
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
        let mut tally = GapTally::default();
        (1..40).for_each(|micros| tally.add(gap(micros), Vec::new()));
        let gaps = tally.end(SpinCount::default(), GapAccount::default());
        let lengths: Vec<u64> = gaps.worst.iter().map(|gap| gap.gap.length.as_nanos() / 1_000).collect();
        assert_eq!(lengths, (30..40).rev().collect::<Vec<_>>());
    }

    #[test]
    fn what_is_taken_is_told_in_parts_per_million() {
        let counted =
            SpinCount { lasted: Span::from_secs(2), total: Span::from_micros(3), ..SpinCount::default() };
        let gaps = GapTally::default().end(counted, GapAccount::default());
        assert!((gaps.ppm() - 1.5).abs() < 1e-9);
    }
}
