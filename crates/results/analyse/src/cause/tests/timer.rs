//! From the time asked for until the timer is served.

use super::*;

#[test]
fn an_interrupt_that_came_for_another_timer_before_ours() {
    let mut one = timely();
    let WakeSource::Timer(expiry) = &mut one.woken_by else { unreachable!() };
    (expiry.interrupt, expiry.first_served) = (Some(at(980)), at(990));
    let expected = [
        (Part::OtherTimers, CauseKind::OtherTimers, "", 130),
        (Part::WakeUp, CauseKind::Kernel, "", 20),
        (Part::Waiting, CauseKind::IdleExit, "", 50),
        (Part::Return, CauseKind::Kernel, "", 40),
    ];
    check(WAKEUP, &[one], &expected);
}

#[test]
fn timers_served_after_ours_are_no_part_of_our_wake_up() {
    // 1130    1140           1350  1370     1400   1440
    // |wake-up|other timers  |NET_RX|idle   |return|
    let mut one = timely();
    (one.next_timer, one.runnable, one.switched_in) = (Some(at(1_140)), at(1_350), Some(at(1_400)));
    let net = CpuHolder { holder: HolderKind::Softirq, pid: None, name: "NET_RX".into() };
    one.occupants = vec![
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
    check(wakeup, &[one.clone()], &[&before[..], &rest].concat());
    // Moved to another CPU, it does not wait for them.
    (one.runnable, one.migrated, one.occupants) = (at(1_138), true, vec![]);
    let parts = decompose(wakeup, None, &[one], false).unwrap().wakeup.parts;
    assert_eq!(parts.iter().filter(|one| one.cause.kind == CauseKind::OtherTimers).count(), 1);
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
        let mut one = timely();
        let interrupt = at(1_050 + late);
        one.woken_by = WakeSource::Timer(Expiry {
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
        let known = decompose(wakeup, None, &[one], false).unwrap();
        let delivery = &known.wakeup.parts[1];
        assert_eq!((delivery.cause.part, delivery.cause.kind), (Part::InterruptDelivery, kind));
        assert_eq!((delivery.cause.name.as_str(), delivery.ns.as_nanos()), (name, late.unsigned_abs()));
    }
}

#[test]
fn a_cpu_that_was_busy_until_late_was_not_leaving_idle_before() {
    // 1050 the slack's end, somebody has the CPU until 31050, nobody until the interrupt at 41050.
    let mut one = timely();
    let WakeSource::Timer(expiry) = &mut one.woken_by else { panic!() };
    (expiry.interrupt, expiry.idle_since) = (Some(at(41_050)), Some(at(31_050)));
    let wakeup = Wakeup { ran: at(100_000), ..WAKEUP };
    let known = decompose(wakeup, None, &[one], false).unwrap();
    let parts = known.wakeup.parts[1..3].iter().map(|one| (one.cause.kind, one.ns.as_nanos()));
    assert_eq!(parts.collect::<Vec<_>>(), [(CauseKind::Undetermined, 30_000), (CauseKind::IdleExit, 10_000)]);
    whole(&known, wakeup);
}

#[test]
fn until_the_device_is_armed_anew_a_late_interrupt_is_the_kernels() {
    // 1050 the slack's end, the device is armed at 21050, the interrupt comes over the hog at 41050.
    for (rearmed, kernels) in [(None, 0), (Some(at(21_050)), 20_000), (Some(at(1_020)), 0)] {
        let mut one = timely();
        let WakeSource::Timer(expiry) = &mut one.woken_by else { panic!() };
        (expiry.interrupt, expiry.rearmed) = (Some(at(41_050)), rearmed);
        expiry.interrupted = thread(9, "hog");
        let wakeup = Wakeup { ran: at(100_000), ..WAKEUP };
        let known = decompose(wakeup, None, &[one], false).unwrap();
        let delivered = known.wakeup.parts.iter().filter(|one| one.cause.part == Part::InterruptDelivery);
        let by = |kind| -> u64 {
            delivered.clone().filter(|one| one.cause.kind == kind).map(|one| one.ns.as_nanos()).sum()
        };
        assert_eq!((by(CauseKind::Kernel), by(CauseKind::Undetermined)), (kernels, 40_000 - kernels));
        whole(&known, wakeup);
    }
}

#[test]
fn a_timer_left_to_a_thread_waits_behind_whoever_has_the_cpu() {
    // 1000 asked for, 1050 the slack's end, 1100 interrupt over the hog, which has the CPU until 1180; 1190 served.
    let mut one = timely();
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
    one.woken_by = WakeSource::Timer(Expiry {
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
    (one.waking, one.runnable) = (at(1_195), at(1_195));
    one.occupants = vec![Occupant { who: thread(15, "ktimers/0"), ns: span(5), from: None }];
    let known = decompose(WAKEUP, None, &[one], false).unwrap();
    whole(&known, WAKEUP);
    let found = known
        .wakeup
        .parts
        .iter()
        .map(|one| (one.cause.part, one.cause.kind, one.cause.name.as_str(), one.ns.as_nanos()));
    let wanted = [
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
    assert_eq!(found.collect::<Vec<_>>(), wanted);
}
