//! Decomposes arbitrary traced sleeps.

use super::*;

fn any_time() -> impl Strategy<Value = MonotonicTime> {
    (0..3_000i64).prop_map(MonotonicTime::from_nanos)
}

fn any_who() -> impl Strategy<Value = CpuHolder> {
    (0..7u32).prop_map(|number| {
        let holder = [
            HolderKind::Idle,
            HolderKind::Thread,
            HolderKind::Interrupt,
            HolderKind::Softirq,
            HolderKind::NotSeen,
            HolderKind::Server,
            HolderKind::LazyThread,
        ][number as usize];
        CpuHolder { holder, pid: (number == 1).then_some(3), name: format!("n{number}") }
    })
}

fn any_occupant() -> impl Strategy<Value = Occupant> {
    let all = (any_who(), 0..2_000u64, proptest::option::of(any_time()));
    all.prop_map(|(who, ns, from)| Occupant { who, ns: span(ns), from })
}

fn any_deferred() -> impl Strategy<Value = DeferredTimers> {
    let occupant = any_occupant();
    let all = (any_time(), any_who(), proptest::collection::vec(occupant, 0..4));
    all.prop_map(|(interrupt, interrupted, occupants)| DeferredTimers { interrupt, interrupted, occupants })
}

fn any_woken() -> impl Strategy<Value = WakeSource> {
    let expiry = (
        any_time(),
        any_time(),
        proptest::option::of(any_time()),
        any_who(),
        any_time(),
        any_time(),
        proptest::option::of(any_deferred()),
    );
    prop_oneof![
        expiry.prop_map(|(soft, hard, interrupt, interrupted, first_served, served, deferred)| {
            let idle_since = Some(first_served).filter(|_| served > first_served);
            WakeSource::Timer(Expiry {
                soft,
                hard,
                interrupt,
                interrupted,
                idle_since,
                rearmed: interrupt.filter(|at| *at > served),
                first_served,
                served,
                deferred,
            })
        }),
        any_who().prop_map(WakeSource::Other),
        (0..3_000u64)
            .prop_map(|slack| WakeSource::NotSeen { slack: span(slack), runnable_known: slack % 2 == 0 }),
    ]
}

prop_compose! {
    /// Any traced sleep, however little sense it makes.
    fn any_traced()(woken_by in any_woken(),
                    times in (any_time(), any_time(), proptest::option::of(any_time()), proptest::option::of(any_time()), proptest::option::of(any_time())),
                    occupants in proptest::collection::vec(any_occupant(), 0..5),
                    lost in proptest::collection::vec((any_time(), any_time(), any_who(), any::<bool>()), 0..3),
                    first_fault in proptest::option::of(any_time()),
                    flags in any::<(bool, bool, bool, bool)>()) -> TracedSleep {
        TracedSleep {
            tid: 7,
            asleep_since: times.2,
            slept_in: None,
            asleep: if flags.3 { SleepState::Stopped(None) } else { SleepState::Waiting },
            woken_by,
            waking: times.0,
            runnable: times.1,
            occupants,
            unnamed: Span::ZERO,
            switched_in: times.3,
            cpu: 0,
            migrated: flags.0,
            throttled: flags.1,
            rt_throttled: flags.2,
            out_of_runtime: flags.3 && flags.2,
            bpf_scheduled: flags.1 != flags.3,
            called: times.4,
            next_timer: times.2,
            stolen: times.3.map(|time| time.since(at(0))),
            others_stood_still: vec![],
            lost: lost.into_iter().map(|(from, until, to, throttled)| CpuLoss { from, until, to, throttled, merged: false }).collect(),
            lost_more: 0,
            first_fault,
            asleep_again: times.4,
        }
    }
}

proptest! {
    #[test]
    fn parts_are_not_negative_and_add_up(seen in proptest::collection::vec(any_traced(), 1..5),
                                         expected in any_time(), late in -5..4_000i64, notified: bool) {
        let wakeup = Wakeup { expected, ran: at(expected.as_nanos() + late) };
        let decomposed = decompose(wakeup, None, &seen, notified).unwrap();
        whole(&decomposed, wakeup);
        let sum: u64 = decomposed.wakeup.parts.iter().map(|part| part.ns.as_nanos()).sum();
        prop_assert_eq!(sum, late.max(0).unsigned_abs());
    }

    #[test]
    fn occupants_fill_the_wait(occupants in proptest::collection::vec((any_who(), 1..20u64), 1..5)) {
        let total: u64 = occupants.iter().map(|occupant| occupant.1).sum();
        let mut sleep = timely();
        sleep.switched_in = Some(sleep.runnable.plus(span(total)));
        sleep.occupants = occupants.iter().map(|(who, ns)| Occupant { who: who.clone(), ns: span(*ns), from: None }).collect();
        let wakeup = Wakeup { ran: at(2_000), ..WAKEUP };
        let decomposed = decompose(wakeup, None, &[sleep], false).unwrap();
        let is_wait = |part: Part| matches!(part, Part::Waiting | Part::LazyPreemption);
        let waited: Vec<_> = decomposed.wakeup.parts.iter().filter(|part| is_wait(part.cause.part)).collect();
        prop_assert_eq!(waited.iter().map(|part| part.ns.as_nanos()).sum::<u64>(), total);
        prop_assert!(waited.iter().all(|part| part.cause.kind != CauseKind::Unexplained));
    }
}
