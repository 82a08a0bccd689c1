//! From the expected time until the timer is served.

use super::*;

#[test]
fn an_interrupt_that_came_for_another_timer_before_ours() {
    let mut sleep = timely();
    let WakeSource::Timer(expiry) = &mut sleep.woken_by else { unreachable!() };
    (expiry.interrupt, expiry.first_served) = (Some(at(980)), at(990));
    let expected = [
        (Part::OtherTimers, CauseKind::OtherTimers, "", 130),
        (Part::WakeUp, CauseKind::Kernel, "", 20),
        (Part::Waiting, CauseKind::IdleExit, "", 50),
        (Part::Return, CauseKind::Kernel, "", 40),
    ];
    check(WAKEUP, &[sleep], &expected);
}

#[test]
fn timers_served_after_ours_are_no_part_of_our_wake_up() {
    // 1130    1140           1350  1370     1400   1440
    // |wake-up|other timers  |NET_RX|idle   |return|
    let mut sleep = timely();
    (sleep.next_timer, sleep.runnable, sleep.switched_in) = (Some(at(1_140)), at(1_350), Some(at(1_400)));
    let net = CpuHolder { holder: HolderKind::Softirq, pid: None, name: "NET_RX".into() };
    sleep.occupants = vec![
        Occupant { who: net, ns: span(20), from: None },
        Occupant { who: idle(), ns: span(30), from: None },
    ];
    let wakeup = Wakeup { ran: at(1_440), ..WAKEUP };
    let rest = [
        (Part::WakeUp, CauseKind::Kernel, "", 10),
        (Part::WakeUp, CauseKind::OtherTimers, "", 210),
        (Part::Waiting, CauseKind::Softirq, "NET_RX", 20),
        (Part::Waiting, CauseKind::IdleExit, "", 30),
        (Part::Return, CauseKind::Kernel, "", 40),
    ];
    let before = [
        (Part::TimerSlack, CauseKind::TimerSlack, "", 50),
        (Part::InterruptDelivery, CauseKind::IdleExit, "", 50),
        (Part::InterruptEntry, CauseKind::Kernel, "", 20),
        (Part::OtherTimers, CauseKind::OtherTimers, "", 10),
    ];
    check(wakeup, &[sleep.clone()], &[&before[..], &rest].concat());
    // Moved to another CPU, it does not wait for them.
    (sleep.runnable, sleep.migrated, sleep.occupants) = (at(1_138), true, vec![]);
    let parts = decompose(wakeup, None, &[sleep], false).unwrap().wakeup.parts;
    assert_eq!(parts.iter().filter(|part| part.cause.kind == CauseKind::OtherTimers).count(), 1);
}

#[test]
fn a_late_interrupt_is_blamed_by_what_the_cpu_did() {
    for (interrupted, late, kind, name) in [
        (idle(), 60_000, CauseKind::IdleExit, ""),
        (thread(9, "hog"), 5_000, CauseKind::Kernel, ""),
        (thread(9, "hog"), 60_000, CauseKind::Undetermined, "hog"),
        (
            CpuHolder { holder: HolderKind::Interrupt, pid: None, name: "eth0".into() },
            60_000,
            CauseKind::Interrupt,
            "eth0",
        ),
        (
            CpuHolder { holder: HolderKind::Softirq, pid: None, name: "NET_RX".into() },
            60_000,
            CauseKind::Undetermined,
            "NET_RX",
        ),
    ] {
        let mut sleep = timely();
        let interrupt = at(1_050 + late);
        sleep.woken_by = WakeSource::Timer(Expiry {
            soft: at(1_000),
            hard: at(1_050),
            interrupt: Some(interrupt),
            interrupted,
            first_served: interrupt,
            served: interrupt,
            deferred: None,
            idle_since: None,
            rearmed: None,
        });
        let wakeup = Wakeup { ran: at(100_000), ..WAKEUP };
        let decomposed = decompose(wakeup, None, &[sleep], false).unwrap();
        let delivery = &decomposed.wakeup.parts[1];
        assert_eq!((delivery.cause.part, delivery.cause.kind), (Part::InterruptDelivery, kind));
        assert_eq!((delivery.cause.name.as_str(), delivery.ns.as_nanos()), (name, late.unsigned_abs()));
    }
}

#[test]
fn a_cpu_that_was_busy_until_late_was_not_leaving_idle_before() {
    // 1050 the slack's end, a thread has the CPU until 31050, it is idle until the interrupt at 41050.
    let mut sleep = timely();
    let WakeSource::Timer(expiry) = &mut sleep.woken_by else { panic!() };
    (expiry.interrupt, expiry.idle_since) = (Some(at(41_050)), Some(at(31_050)));
    let wakeup = Wakeup { ran: at(100_000), ..WAKEUP };
    let decomposed = decompose(wakeup, None, &[sleep], false).unwrap();
    let parts = decomposed.wakeup.parts[1..3].iter().map(|part| (part.cause.kind, part.ns.as_nanos()));
    assert_eq!(parts.collect::<Vec<_>>(), [(CauseKind::Undetermined, 30_000), (CauseKind::IdleExit, 10_000)]);
    whole(&decomposed, wakeup);
}

#[test]
fn until_the_device_is_armed_anew_a_late_interrupt_is_the_kernels() {
    // 1050 the slack's end, the device is armed at 21050, the interrupt comes over the hog at 41050.
    for (rearmed, kernels) in [(None, 0), (Some(at(21_050)), 20_000), (Some(at(1_020)), 0)] {
        let mut sleep = timely();
        let WakeSource::Timer(expiry) = &mut sleep.woken_by else { panic!() };
        (expiry.interrupt, expiry.rearmed) = (Some(at(41_050)), rearmed);
        expiry.interrupted = thread(9, "hog");
        let wakeup = Wakeup { ran: at(100_000), ..WAKEUP };
        let decomposed = decompose(wakeup, None, &[sleep], false).unwrap();
        let delivered =
            decomposed.wakeup.parts.iter().filter(|part| part.cause.part == Part::InterruptDelivery);
        let time_of = |kind| -> u64 {
            delivered.clone().filter(|part| part.cause.kind == kind).map(|part| part.ns.as_nanos()).sum()
        };
        assert_eq!(
            (time_of(CauseKind::Kernel), time_of(CauseKind::Undetermined)),
            (kernels, 40_000 - kernels)
        );
        whole(&decomposed, wakeup);
    }
}

#[test]
fn a_timer_left_to_a_thread_waits_behind_whoever_has_the_cpu() {
    // 1000 expected, 1050 the slack's end, 1100 interrupt over the hog, which has the CPU until 1180; 1190 served.
    let mut sleep = timely();
    let occupants = vec![
        Occupant {
            who: CpuHolder { holder: HolderKind::Interrupt, pid: None, name: "local_timer".into() },
            ns: span(10),
            from: None,
        },
        Occupant { who: thread(9, "hog"), ns: span(70), from: None },
        Occupant {
            who: CpuHolder { holder: HolderKind::Softirq, pid: None, name: "HRTIMER".into() },
            ns: span(8),
            from: None,
        },
    ];
    let deferred = DeferredTimers { interrupt: at(1_100), interrupted: thread(9, "hog"), occupants };
    sleep.woken_by = WakeSource::Timer(Expiry {
        soft: at(1_000),
        hard: at(1_050),
        interrupt: None,
        interrupted: deferred.interrupted.clone(),
        first_served: at(1_185),
        served: at(1_190),
        deferred: Some(deferred),
        idle_since: None,
        rearmed: None,
    });
    (sleep.waking, sleep.runnable) = (at(1_195), at(1_195));
    sleep.occupants = vec![Occupant { who: thread(15, "ktimers/0"), ns: span(5), from: None }];
    let decomposed = decompose(WAKEUP, None, &[sleep], false).unwrap();
    whole(&decomposed, WAKEUP);
    let found = decomposed
        .wakeup
        .parts
        .iter()
        .map(|part| (part.cause.part, part.cause.kind, part.cause.name.as_str(), part.ns.as_nanos()));
    let expected = [
        (Part::TimerSlack, CauseKind::TimerSlack, "", 50),
        (Part::InterruptDelivery, CauseKind::Kernel, "", 50),
        (Part::TimerSoftirq, CauseKind::Interrupt, "local_timer", 10),
        (Part::TimerSoftirq, CauseKind::Thread, "hog", 70),
        (Part::TimerSoftirq, CauseKind::Softirq, "HRTIMER", 8),
        // The record of who had the CPU was too short for the rest.
        (Part::TimerSoftirq, CauseKind::Unexplained, "", 2),
        (Part::WakeUp, CauseKind::Kernel, "", 5),
        (Part::Waiting, CauseKind::Thread, "ktimers/0", 5),
        (Part::Return, CauseKind::Kernel, "", 40),
    ];
    assert_eq!(found.collect::<Vec<_>>(), expected);
}
