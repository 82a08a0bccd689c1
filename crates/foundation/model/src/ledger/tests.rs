//! Tests of adding, merging and storing.

use super::*;
use crate::Segment;
use proptest::prelude::*;

fn explained(parts: &[(Part, CauseKind, &str, Option<u32>, u64)]) -> WakeupBreakdown {
    let late: u64 = parts.iter().map(|part| part.4).sum();
    let mut from = 0;
    let segments = parts.iter().map(|&(part, kind, name, pid, ns)| {
        let from_ns = MonotonicTime::from_nanos(from);
        from += i64::try_from(ns).unwrap();
        Segment::new(Cause::new(part, kind, name.into()), pid, from_ns, Span::from_nanos(ns))
    });
    let parts = segments.collect();
    WakeupBreakdown { at: MonotonicTime::from_nanos(from), latency: latency(late), cpu: Some(0), parts }
}

fn hog(pid: u32, ns: u64) -> WakeupBreakdown {
    explained(&[
        (Part::InterruptDelivery, CauseKind::IdleExit, "", None, 9_000),
        (Part::Waiting, CauseKind::Thread, "hog", Some(pid), ns),
    ])
}

#[test]
fn late_wake_ups_name_their_causes() {
    let mut ledger = Ledger::default();
    for _ in 0..99 {
        ledger.add(&explained(&[(Part::Return, CauseKind::Kernel, "", None, 2_000)]));
    }
    ledger.add(&hog(7, 400_000));
    ledger.add(&hog(8, 300_000));
    let late = ledger.late_causes(Span::from_micros(100));
    assert_eq!((late.count, late.total), (2, 718_000));
    let hog = Cause::new(Part::Waiting, CauseKind::Thread, "hog".into());
    let share = late.causes[&hog];
    assert_eq!((share.total, share.wakeups, share.max), (700_000, 2, Span::from_micros(400)));
    assert_eq!(share.pid, Pid::Several);
    assert_eq!(late.above, Span::from_nanos(98_304));
    assert_eq!(ledger.worst()[0].latency, latency(409_000));
}

#[test]
fn the_slowest_are_a_hundredth_or_as_few_as_can_be_told_apart() {
    let slowest = |lengths: &[(u64, usize)]| {
        let mut ledger = Ledger::default();
        for (ns, times) in lengths {
            (0..*times)
                .for_each(|_| ledger.add(&explained(&[(Part::AtWork, CauseKind::LongWork, "", None, *ns)])));
        }
        ledger.slowest().count
    };
    assert_eq!(slowest(&[(1_000, 199), (9_000, 1)]), 1, "all others are of one length");
    assert_eq!(slowest(&[(1_000, 985), (2_000, 10), (4_000, 5)]), 15);
    assert_eq!(slowest(&[(1_000, 900), (2_000, 100)]), 100, "nothing tells them apart");
    assert_eq!((slowest(&[(1_000, 7)]), slowest(&[])), (7, 0));
}

#[test]
fn what_was_not_seen_is_unexplained() {
    let mut ledger = Ledger::default();
    ledger.add_undecomposed(latency(50_000), UndecomposedReason::NotSeen);
    let late = ledger.late_causes(Span::ZERO);
    let cause = late.causes.keys().next().unwrap();
    assert_eq!((cause.kind, late.total, ledger.undecomposed()), (CauseKind::Unexplained, 50_000, 1));
}

#[test]
fn names_are_bounded_and_their_time_is_not_lost() {
    let mut ledger = Ledger::default();
    for number in 0..20_000 {
        ledger.add(&explained(&[(
            Part::Waiting,
            CauseKind::Thread,
            &format!("t{number}"),
            Some(number),
            5_000,
        )]));
    }
    let late = ledger.late_causes(Span::ZERO);
    assert!(late.causes.len() <= ENTRIES_KEPT + 2, "{}", late.causes.len());
    assert_eq!(late.causes.values().map(|share| share.total).sum::<u64>(), 20_000 * 5_000);
}

fn any_wakeup() -> impl Strategy<Value = WakeupBreakdown> {
    let kinds = [CauseKind::Thread, CauseKind::Softirq, CauseKind::IdleExit, CauseKind::Kernel];
    let part = (0..Part::ALL.len(), 0..kinds.len(), 0..4u32, 1..900_000u64);
    proptest::collection::vec(part, 0..6).prop_map(move |parts| {
        let names = ["", "a", "b", "c"];
        let parts: Vec<_> = parts
            .into_iter()
            .map(|(part, kind, name, ns)| {
                (Part::ALL[part], kinds[kind], names[name as usize], (name > 0).then_some(name), ns)
            })
            .collect();
        explained(&parts)
    })
}

fn ledger_of(wakeups: &[WakeupBreakdown]) -> Ledger {
    let mut ledger = Ledger::default();
    wakeups.iter().for_each(|wakeup| ledger.add(wakeup));
    ledger
}

proptest! {
    #[test]
    fn every_lateness_has_its_slice(nanos in 0..u64::MAX / 2) {
        let band = band_of(nanos);
        prop_assert!(lower_edge(band) <= nanos);
        prop_assert!(nanos < lower_edge(band + 1));
    }

    #[test]
    fn merging_equals_adding_together(a in proptest::collection::vec(any_wakeup(), 0..20),
                                      b in proptest::collection::vec(any_wakeup(), 0..20)) {
        let mut merged = ledger_of(&a);
        merged.merge(&ledger_of(&b));
        let together = ledger_of(&[a, b].concat());
        prop_assert_eq!(merged.late_causes(Span::ZERO), together.late_causes(Span::ZERO));
        prop_assert_eq!(merged.parts(), together.parts());
        prop_assert_eq!(merged, together);
    }

    #[test]
    fn causes_sum_up_to_the_lateness(a in proptest::collection::vec(any_wakeup(), 0..20), above in 0..2_000_000u64) {
        let late = ledger_of(&a).late_causes(Span::from_nanos(above));
        prop_assert_eq!(late.causes.values().map(|share| share.total).sum::<u64>(), late.total);
    }

    #[test]
    fn a_recording_gives_it_back(a in proptest::collection::vec(any_wakeup(), 0..20)) {
        let before = ledger_of(&a);
        let json = serde_json::to_string(&before).unwrap();
        prop_assert_eq!(serde_json::from_str::<Ledger>(&json).unwrap(), before);
    }
}
