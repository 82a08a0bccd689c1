//! Wake-ups in a guest that its hypervisor delayed, with steal time as a witness and without.

use super::*;

const HOLE: i64 = 9_180_000;

/// A softirq that waited for its turn, then a hole of 9.18 ms in the wake-up, or in another part; `stolen` is the steal time.
fn holed(part: Part, stolen: Option<u64>) -> Vec<(Part, CauseKind, String, u64)> {
    let mut sleep = TracedSleep { stolen: stolen.map(span), ..timely() };
    let late = |time: MonotonicTime| at(time.as_nanos() + HOLE);
    let net = CpuHolder { holder: HolderKind::Softirq, pid: None, name: "NET_RX".into() };
    sleep.occupants = vec![Occupant { who: net, ns: span(50), from: None }];
    match part {
        Part::WakeUp => {
            (sleep.runnable, sleep.switched_in) = (late(sleep.runnable), sleep.switched_in.map(late))
        }
        Part::Waiting => {
            sleep.occupants[0].ns = span(50 + HOLE.unsigned_abs());
            sleep.switched_in = sleep.switched_in.map(late);
        }
        _ => {}
    }
    sleep.asleep_again = sleep.asleep_again.map(late);
    let wakeup = Wakeup { ran: late(WAKEUP.ran), ..WAKEUP };
    let decomposed = decompose(wakeup, None, &[sleep], false).unwrap();
    whole(&decomposed, wakeup);
    let long = decomposed.wakeup.parts.into_iter().filter(|part| part.ns > span(1_000));
    long.map(|part| (part.cause.part, part.cause.kind, part.cause.name, part.ns.as_nanos())).collect()
}

#[test]
fn a_hole_in_a_guest_is_nobodys_without_a_witness_and_the_hypervisors_with_one() {
    for (part, by_itself, name, length) in [
        (Part::WakeUp, CauseKind::Kernel, "", 9_180_020),
        (Part::Return, CauseKind::Kernel, "", 9_180_040),
        (Part::Waiting, CauseKind::Softirq, "NET_RX", 9_180_050),
    ] {
        let is = |kind, name: &str| vec![(part, kind, name.to_owned(), length)];
        assert_eq!(holed(part, None), is(by_itself, name), "nobody could take anything");
        assert_eq!(holed(part, Some(0)), is(CauseKind::Undetermined, ""));
        assert_eq!(
            holed(part, Some(length / 2 - 1)),
            is(CauseKind::Undetermined, ""),
            "most of it is not explained"
        );
        assert_eq!(holed(part, Some(9_000_000)), is(CauseKind::Hypervisor, ""));
    }
}

#[test]
fn a_late_interrupt_has_a_witness_as_well() {
    let kind = |stolen: Option<u64>| {
        let mut sleep = TracedSleep { stolen: stolen.map(span), ..timely() };
        let WakeSource::Timer(expiry) = &mut sleep.woken_by else { unreachable!() };
        (expiry.interrupt, expiry.interrupted) = (Some(at(61_050)), thread(9, "hog"));
        let wakeup = Wakeup { ran: at(70_000), ..WAKEUP };
        let delivery = decompose(wakeup, None, &[sleep], false).unwrap().wakeup.parts.swap_remove(1);
        assert_eq!((delivery.cause.part, delivery.ns), (Part::InterruptDelivery, span(60_000)));
        (delivery.cause.kind, delivery.cause.name, delivery.pid)
    };
    let unknown = (CauseKind::Undetermined, "hog".to_owned(), Some(9));
    assert_eq!([kind(None), kind(Some(29_999))], [unknown.clone(), unknown]);
    assert_eq!(kind(Some(30_000)), (CauseKind::Hypervisor, String::new(), None));
}

#[test]
fn no_idle_state_takes_as_long_as_a_machine_that_stands_still() {
    let kind = |stolen: Option<u64>, late: i64| {
        let mut sleep = TracedSleep { stolen: stolen.map(span), ..timely() };
        let WakeSource::Timer(expiry) = &mut sleep.woken_by else { unreachable!() };
        let idle = CpuHolder { holder: HolderKind::Idle, pid: None, name: String::new() };
        (expiry.interrupt, expiry.interrupted) = (Some(at(1_050 + late)), idle);
        let wakeup = Wakeup { ran: at(2_000 + late), ..WAKEUP };
        decompose(wakeup, None, &[sleep], false).unwrap().wakeup.parts.swap_remove(1).cause.kind
    };
    let still = 30_000_000;
    assert_eq!(kind(None, still), CauseKind::IdleExit, "nobody could take anything");
    assert_eq!(kind(Some(0), still), CauseKind::Undetermined);
    assert_eq!(kind(Some(20_000_000), still), CauseKind::Hypervisor);
    assert_eq!(kind(Some(0), 2_600_000), CauseKind::IdleExit, "the deepest state there is");
}

/// The longer parts, in tenths of a millisecond, of a wake-up whose idle CPU took its interrupt `late` ns late, and then needed
/// `switching` ns to switch.
fn asleep(
    stolen: Option<u64>,
    late: i64,
    switching: i64,
    still: Option<MonotonicInterval>,
) -> Vec<(CauseKind, u64)> {
    let idle = CpuHolder { holder: HolderKind::Idle, pid: None, name: String::new() };
    let mut sleep =
        TracedSleep { stolen: stolen.map(span), others_stood_still: Vec::from_iter(still), ..timely() };
    let WakeSource::Timer(expiry) = &mut sleep.woken_by else { unreachable!() };
    (expiry.interrupt, expiry.interrupted) = (Some(at(1_050 + late)), idle.clone());
    (expiry.first_served, expiry.served) = (at(1_060 + late), at(1_070 + late));
    (sleep.waking, sleep.runnable) = (at(1_080 + late), at(1_150 + late));
    let switched_in = at(1_200 + late + switching);
    let length = span(50 + switching.unsigned_abs());
    sleep.occupants = vec![Occupant { who: idle, ns: length, from: None }];
    sleep.switched_in = Some(switched_in);
    let wakeup = Wakeup { ran: switched_in.plus(span(40)), ..WAKEUP };
    let decomposed = decompose(wakeup, None, &[sleep], false).unwrap();
    whole(&decomposed, wakeup);
    let long = decomposed.wakeup.parts.iter().filter(|part| part.ns >= span(500_000));
    long.map(|part| (part.cause.kind, part.ns.as_nanos() / 100_000)).collect()
}

#[test]
fn idle_is_left_once_however_many_parts_it_is_in() {
    use CauseKind::{Hypervisor, IdleExit, Undetermined};
    let two = |stolen| asleep(stolen, 2_000_000, 1_500_000, None);
    assert_eq!(two(None), [(IdleExit, 20), (IdleExit, 15)], "nobody could take anything");
    assert_eq!(two(Some(0)), [(Undetermined, 20), (Undetermined, 15)]);
    assert_eq!(two(Some(2_500_000)), [(Hypervisor, 20), (Undetermined, 15)]);
    let less = asleep(Some(0), 1_500_000, 1_000_000, None);
    assert_eq!(less, [(IdleExit, 15), (IdleExit, 10)], "as the deepest state there is");
}

#[test]
fn who_is_asleep_when_the_machine_stands_still_is_not_known_to_leave_idle_before() {
    use CauseKind::{Hypervisor, IdleExit, Machine, Undetermined};
    let still = Some(MonotonicInterval { from: at(2_502_000), until: at(29_000_000) });
    let long_parts = |stolen| asleep(stolen, 29_700_000, 0, still);
    assert_eq!(long_parts(None), [(Undetermined, 25), (Machine, 264), (IdleExit, 7)]);
    assert_eq!(long_parts(Some(0)), [(Undetermined, 25), (Hypervisor, 264), (IdleExit, 7)]);
}

#[test]
fn who_asks_late_because_the_machine_stood_still_did_not_compute() {
    use CauseKind::{LateArming, Machine, Undetermined};
    let (from, until) = (at(2_000_000), at(29_000_000));
    let unknown = CpuHolder { holder: HolderKind::NotSeen, pid: None, name: String::new() };
    let own_cpu = CpuLoss { from, until, to: unknown, throttled: false, merged: false };
    let long_parts = |others_stood_still, lost| {
        let before = TracedSleep { others_stood_still, lost, ..timely() };
        let mut sleep = TracedSleep { asleep_since: Some(at(30_000_000)), occupants: vec![], ..timely() };
        let WakeSource::Timer(expiry) = &mut sleep.woken_by else { unreachable!() };
        (expiry.interrupt, expiry.soft, expiry.hard) = (Some(at(30_000_100)), at(30_000_000), at(30_000_000));
        (expiry.first_served, expiry.served) = (at(30_000_110), at(30_000_120));
        (sleep.waking, sleep.runnable) = (at(30_000_130), at(30_000_140));
        (sleep.switched_in, sleep.asleep_again) = (Some(at(30_000_200)), None);
        let wakeup = Wakeup { ran: at(30_000_240), ..WAKEUP };
        let decomposed = decompose(wakeup, Some(&before), &[sleep], false).unwrap();
        whole(&decomposed, wakeup);
        let long = decomposed.wakeup.parts.iter().filter(|part| part.ns >= span(500_000));
        long.map(|part| (part.cause.kind, part.ns.as_nanos() / 1_000_000)).collect::<Vec<_>>()
    };
    assert_eq!(long_parts(vec![], vec![]), [(LateArming, 29)]);
    assert_eq!(
        long_parts(vec![MonotonicInterval { from, until }], vec![]),
        [(LateArming, 1), (Machine, 27), (LateArming, 1)]
    );
    assert_eq!(long_parts(vec![], vec![own_cpu]), [(LateArming, 1), (Undetermined, 27), (LateArming, 1)]);
}

#[test]
fn what_was_stolen_explains_no_more_than_that() {
    let hole = HOLE.unsigned_abs();
    let mut sleep = TracedSleep { stolen: Some(span(hole)), ..timely() };
    (sleep.runnable, sleep.switched_in) = (at(1_150 + HOLE), Some(at(1_200 + HOLE)));
    let wakeup = Wakeup { ran: at(1_240 + 2 * HOLE), ..WAKEUP };
    let parts = decompose(wakeup, None, &[sleep], false).unwrap().wakeup.parts;
    let long: Vec<_> =
        parts.iter().filter(|part| part.ns > span(1_000)).map(|part| part.cause.kind).collect();
    assert_eq!(long, [CauseKind::Hypervisor, CauseKind::Undetermined]);
}

#[test]
fn the_usual_way_and_other_threads_stay_what_they_are() {
    let usual = TracedSleep { stolen: Some(span(1_000_000)), ..timely() };
    let kinds = |sleep: &TracedSleep, ran: i64| {
        let wakeup = Wakeup { ran: at(ran), ..WAKEUP };
        let parts = decompose(wakeup, None, from_ref(sleep), false).unwrap().wakeup.parts;
        parts.iter().map(|part| part.cause.kind).collect::<Vec<_>>()
    };
    let bare = TracedSleep { stolen: None, ..usual.clone() };
    assert_eq!(kinds(&usual, 101_200), kinds(&bare, 101_200), "100 µs to return");
    assert_ne!(kinds(&usual, 101_201), kinds(&bare, 101_201));
    let hog = Occupant { who: thread(9, "hog"), ns: span(50), from: None };
    let waited = TracedSleep { occupants: vec![hog], ..usual };
    assert_eq!(kinds(&waited, 1_240)[5], CauseKind::Thread);
}

#[test]
fn many_short_softirqs_among_others_are_no_hole() {
    let net = CpuHolder { holder: HolderKind::Softirq, pid: None, name: "NET_RX".into() };
    let kind = |hogs: u64| {
        let occupants = vec![
            Occupant { who: net.clone(), ns: span(4_000_000), from: None },
            Occupant { who: thread(9, "hog"), ns: span(hogs), from: None },
        ];
        let ends = at(1_150 + 4_000_000 + i64::try_from(hogs).unwrap());
        let sleep = TracedSleep { occupants, switched_in: Some(ends), stolen: Some(Span::ZERO), ..timely() };
        let wakeup = Wakeup { ran: ends.plus(span(40)), ..WAKEUP };
        decompose(wakeup, None, &[sleep], false).unwrap().wakeup.parts[5].cause.kind
    };
    assert_eq!(kind(1_000_000), CauseKind::Undetermined);
    assert_eq!(kind(5_000_000), CauseKind::Softirq);
}

/// Parts of a wait of 34 ms in which `hog` had the CPU, in pieces of `pieces` ms between ticks; the other CPUs stood still for the 20 ms
/// from 8 ms after the expected time on.
fn hogged(stolen: Option<u64>, still: bool, pieces: &[i64]) -> Vec<(CauseKind, String, u64)> {
    let mut sleep = TracedSleep { stolen: stolen.map(span), occupants: vec![], ..timely() };
    let mut until = 1_150;
    for piece in pieces {
        let hog = Occupant {
            who: thread(9, "hog"),
            ns: span(piece.unsigned_abs() * 1_000_000),
            from: Some(at(until)),
        };
        let tick = CpuHolder { holder: HolderKind::Interrupt, pid: None, name: "local_timer".into() };
        until += piece * 1_000_000 + 900;
        let tick = Occupant { who: tick, ns: span(900), from: Some(at(until - 900)) };
        sleep.occupants.extend([hog, tick]);
    }
    (sleep.switched_in, sleep.asleep_again) = (Some(at(until)), Some(at(until + 1_000)));
    if still {
        sleep.others_stood_still = vec![MonotonicInterval { from: at(8_001_150), until: at(28_001_150) }];
    }
    let wakeup = Wakeup { ran: at(until + 40), ..WAKEUP };
    let decomposed = decompose(wakeup, None, &[sleep], false).unwrap();
    whole(&decomposed, wakeup);
    let long = decomposed.wakeup.parts.into_iter().filter(|part| part.ns > span(1_000));
    long.map(|part| (part.cause.kind, part.cause.name, part.ns.as_nanos() / 1_000_000)).collect()
}

/// Cause of a wait of `millis` in which `who` had the CPU, after a thread that had it for much longer.
fn at_once(who: &CpuHolder, millis: u64, stolen: Option<u64>) -> CauseKind {
    let (begins, lasts) = (at(1_150 + 50_000_000), span(millis * 1_000_000));
    let occupants = vec![
        Occupant { who: thread(9, "hog"), ns: span(50_000_000), from: Some(at(1_150)) },
        Occupant { who: who.clone(), ns: lasts, from: Some(begins) },
    ];
    let ends = begins.plus(lasts);
    let sleep = TracedSleep { occupants, switched_in: Some(ends), stolen: stolen.map(span), ..timely() };
    let wakeup = Wakeup { ran: ends.plus(span(40)), ..WAKEUP };
    let parts = decompose(wakeup, None, &[sleep], false).unwrap().wakeup.parts;
    parts.iter().find(|part| part.ns == lasts).unwrap().cause.kind
}

#[test]
fn one_handler_is_not_as_long_as_a_stop_of_its_guest() {
    let tick = CpuHolder { holder: HolderKind::Interrupt, pid: None, name: "local_timer".into() };
    assert_eq!(at_once(&tick, 30, Some(0)), CauseKind::Undetermined);
    assert_eq!(at_once(&tick, 30, Some(90_000_000)), CauseKind::Hypervisor);
    assert_eq!(at_once(&tick, 1, Some(0)), CauseKind::Interrupt);
    assert_eq!(at_once(&tick, 30, None), CauseKind::Interrupt, "nobody could take anything");
}

#[test]
fn one_softirq_that_no_tick_parts_is_not_as_long_as_a_stop_of_its_guest() {
    let balancing = CpuHolder { holder: HolderKind::Softirq, pid: None, name: "SCHED".into() };
    assert_eq!(at_once(&balancing, 30, Some(0)), CauseKind::Undetermined);
    assert_eq!(at_once(&balancing, 30, Some(90_000_000)), CauseKind::Hypervisor);
    assert_eq!(at_once(&balancing, 9, Some(0)), CauseKind::Softirq, "a slow tick's time");
    assert_eq!(at_once(&balancing, 30, None), CauseKind::Softirq, "nobody could take anything");
}

#[test]
fn what_no_tick_parts_is_not_a_threads_in_a_guest() {
    let hog = |millis| (CauseKind::Thread, "hog".to_owned(), millis);
    let (unknown, hypervisor) = (CauseKind::Undetermined, CauseKind::Hypervisor);
    assert_eq!(hogged(None, false, &[34]), [hog(34)], "nobody could take anything");
    assert_eq!(hogged(Some(0), false, &[34]), [(unknown, String::new(), 34)]);
    assert_eq!(hogged(Some(20_000_000), false, &[34]), [(hypervisor, String::new(), 34)]);
    assert_eq!(hogged(Some(0), false, &[10, 10, 10]), [hog(10), hog(10), hog(10)], "it had the CPU");
}

// 0               10                   30         34 ms
// |---------------|=== stood still ====|----------|
// |- hog 29 ms, other 5 ms, at unknown times -----|     the tracer saw hog when the machine stopped, and when it went on
#[test]
fn where_no_part_has_a_place_the_longest_seemed_to_run_on() {
    use CauseKind::{Machine, Thread};
    let who = |tid, name, millis: u64| Occupant {
        who: thread(tid, name),
        ns: span(millis * 1_000_000),
        from: None,
    };
    let parts = |occupants: Vec<Occupant>, still: Option<(i64, i64)>| {
        let ends = at(1_150 + 34_000_000);
        let mut sleep = TracedSleep { stolen: None, occupants, ..timely() };
        (sleep.switched_in, sleep.asleep_again) = (Some(ends), Some(ends.plus(span(1_000))));
        let interval = |(from, until): (i64, i64)| MonotonicInterval {
            from: at(1_150 + from * 1_000_000),
            until: at(1_150 + until * 1_000_000),
        };
        sleep.others_stood_still = still.map(interval).into_iter().collect();
        let wakeup = Wakeup { ran: ends.plus(span(40)), ..WAKEUP };
        let decomposed = decompose(wakeup, None, &[sleep], false).unwrap();
        whole(&decomposed, wakeup);
        let mut until = decomposed.wakeup.parts[0].from;
        for part in &decomposed.wakeup.parts {
            assert_eq!(part.from, until, "no gap");
            until = part.from.plus(part.ns);
        }
        let long = decomposed.wakeup.parts.into_iter().filter(|part| part.ns > span(1_000));
        long.map(|part| (part.cause.kind, part.cause.name, part.ns.as_nanos() / 1_000_000))
            .collect::<Vec<_>>()
    };
    let both = || vec![who(9, "hog", 29), who(8, "other", 5)];
    let of = |kind, name: &str, millis| (kind, name.to_owned(), millis);
    assert_eq!(parts(both(), None), [of(Thread, "hog", 29), of(Thread, "other", 5)]);
    let still = of(Machine, "", 20);
    let hog_first = [of(Thread, "hog", 9), of(Thread, "other", 1), still.clone(), of(Thread, "other", 4)];
    assert_eq!(parts(both(), Some((10, 30))), hog_first);
    let at_once = [still.clone(), of(Thread, "hog", 9), of(Thread, "other", 5)];
    assert_eq!(parts(both(), Some((0, 20))), at_once);
    let at_last = [of(Thread, "hog", 9), of(Thread, "other", 5), still];
    assert_eq!(parts(both(), Some((14, 34))), at_last);
    let neither = [of(Thread, "hog", 5), of(Machine, "", 24), of(Thread, "other", 5)];
    assert_eq!(parts(both(), Some((5, 29))), neither);
    // A part of it was the other's, where even the longest is too short.
    let split = parts(vec![who(9, "hog", 18), who(8, "other", 16)], Some((2, 32)));
    assert_eq!(split, [of(Thread, "other", 2), of(Machine, "", 30), of(Thread, "other", 2)]);
}

#[test]
fn where_all_other_cpus_stood_still_so_did_this_one() {
    let hog = |millis| (CauseKind::Thread, "hog".to_owned(), millis);
    for (stolen, below) in [(None, CauseKind::Machine), (Some(0), CauseKind::Hypervisor)] {
        let still = |millis| (below, String::new(), millis);
        assert_eq!(hogged(stolen, true, &[34]), [hog(8), still(20), hog(6)]);
        // Something happened here meanwhile: the others waited for it.
        let parted: Vec<_> = std::iter::repeat_with(|| hog(1)).take(34).collect();
        assert_eq!(hogged(stolen, true, &[1; 34]), parted);
    }
}
