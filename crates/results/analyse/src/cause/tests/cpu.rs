//! What has the CPU before and after the switch-in.

use super::*;

#[test]
fn who_had_the_cpu_is_named() {
    let mut sleep = timely();
    sleep.occupants = vec![
        Occupant { who: thread(9, "hog"), ns: span(30), from: None },
        Occupant { who: idle(), ns: span(15), from: None },
    ];
    let decomposed = decompose(WAKEUP, None, &[sleep], false).unwrap();
    let waiting: Vec<_> =
        decomposed.wakeup.parts.iter().filter(|part| part.cause.part == Part::Waiting).collect();
    assert_eq!((waiting[0].cause.name.as_str(), waiting[0].pid, waiting[0].ns), ("hog", Some(9), span(30)));
    assert_eq!(waiting[1].ns, span(15));
    assert_eq!((waiting[2].cause.kind, waiting[2].ns), (CauseKind::Unexplained, span(5)));
    whole(&decomposed, WAKEUP);
}

/// A wait is divided into before and after the lazy request to the other thread.
#[test]
fn what_a_thread_does_after_a_lazy_request_is_a_part_of_its_own() {
    let mut sleep = timely();
    let lazy = CpuHolder { holder: HolderKind::LazyThread, ..thread(9, "hog") };
    sleep.occupants = vec![
        Occupant { who: thread(9, "hog"), ns: span(20), from: None },
        Occupant { who: lazy.clone(), ns: span(30), from: None },
    ];
    sleep.lost =
        vec![CpuLoss { from: at(1_205), until: at(1_210), to: lazy, throttled: false, merged: false }];
    let decomposed = decompose(WAKEUP, None, &[sleep], false).unwrap();
    let parts = decomposed.wakeup.parts.iter().filter(|part| part.cause.kind == CauseKind::Thread);
    let found: Vec<_> =
        parts.map(|part| (part.cause.part, part.cause.name.as_str(), part.pid, part.ns)).collect();
    let part = |part, ns| (part, "hog", Some(9), span(ns));
    let lazy = Part::LazyPreemption;
    assert_eq!(found, [part(Part::Waiting, 20), part(lazy, 30), part(lazy, 5)]);
    whole(&decomposed, WAKEUP);
}

#[test]
fn what_follows_the_last_stretch_that_is_listed_is_not_the_way_back() {
    let mut sleep = timely();
    sleep.lost = vec![CpuLoss {
        from: at(1_205),
        until: at(1_210),
        to: thread(9, "hog"),
        throttled: false,
        merged: false,
    }];
    for (lost_more, part, kind) in
        [(0, Part::Return, CauseKind::Kernel), (1, Part::LostAgain, CauseKind::Undetermined)]
    {
        sleep.lost_more = lost_more;
        let decomposed = decompose(WAKEUP, None, &[sleep.clone()], false).unwrap();
        let last = decomposed.wakeup.parts.last().unwrap();
        assert_eq!((last.cause.part, last.cause.kind, last.ns), (part, kind, span(30)));
    }
}

/// The fair server lets a normal thread run for 18 ms while this real-time thread is ready; and again after it had begun.
#[test]
fn who_runs_ahead_of_real_time_threads_was_let_by_the_kernel() {
    let ahead = CpuHolder { holder: HolderKind::Server, ..thread(9, "batch") };
    let kinds = |waits: u64| {
        let ends = 1_150 + i64::try_from(waits).unwrap();
        let again = CpuLoss {
            from: at(ends),
            until: at(2 * ends),
            to: ahead.clone(),
            throttled: false,
            merged: false,
        };
        let sleep = TracedSleep {
            occupants: vec![Occupant { who: ahead.clone(), ns: span(waits), from: None }],
            switched_in: Some(at(ends)),
            lost: vec![again],
            ..timely()
        };
        let wakeup = Wakeup { ran: at(2 * ends + 40), ..WAKEUP };
        let decomposed = decompose(wakeup, None, &[sleep], false).unwrap();
        whole(&decomposed, wakeup);
        let last = decomposed
            .wakeup
            .parts
            .into_iter()
            .skip(5)
            .map(|part| (part.cause.kind, part.cause.name, part.pid));
        last.take(2).collect::<Vec<_>>()
    };
    let throttled = (CauseKind::RtThrottled, String::new(), None);
    assert_eq!(kinds(18_000_000), [throttled.clone(), throttled]);
    let gave_way = (CauseKind::Thread, "batch".to_owned(), Some(9));
    assert_eq!(kinds(90_000), [gave_way.clone(), gave_way], "as soon as it could be preempted");
}

#[test]
fn a_thread_without_runtime_waits_for_its_next_period_whoever_has_the_cpu() {
    let mut sleep = timely();
    sleep.occupants = vec![Occupant { who: thread(9, "hog"), ns: span(50), from: None }];
    let waiting = |sleep: &TracedSleep| -> Vec<(CauseKind, String)> {
        let parts = decompose(WAKEUP, None, from_ref(sleep), true).unwrap().wakeup.parts;
        let waiting = parts.into_iter().filter(|part| part.cause.part == Part::Waiting);
        waiting.map(|part| (part.cause.kind, part.cause.name)).collect()
    };
    assert_eq!(waiting(&sleep), [(CauseKind::Thread, "hog".to_owned())]);
    sleep.out_of_runtime = true;
    assert_eq!(waiting(&sleep), [(CauseKind::DeadlineBudget, String::new())]);
}

#[test]
fn an_idle_cpu_is_called_before_it_switches() {
    let mut sleep = timely();
    sleep.woken_by = WakeSource::Other(thread(9, "sender"));
    sleep.called = Some(at(1_180));
    let parts = |sleep: &TracedSleep| -> Vec<_> {
        let decomposed = decompose(WAKEUP, None, from_ref(sleep), true).unwrap();
        decomposed
            .wakeup
            .parts
            .iter()
            .map(|part| (part.cause.part, part.cause.kind, part.ns.as_nanos()))
            .collect()
    };
    let (waiting, idle) = (Part::Waiting, CauseKind::IdleExit);
    assert_eq!(parts(&sleep)[2..4], [(Part::Called, idle, 30), (waiting, CauseKind::Kernel, 20)]);
    // A thread that had the CPU meanwhile was in the way, not the call.
    sleep.occupants = vec![Occupant { who: thread(9, "hog"), ns: span(50), from: None }];
    assert_eq!(parts(&sleep)[2], (waiting, CauseKind::Thread, 50));
}

/// The CPU is idle, a thread has it, it is idle again, and it leaves that state.
#[test]
fn a_scheduler_of_bpf_that_leaves_its_cpu_idle_is_the_cause() {
    let began = 1_150;
    let occupant = |who, from: i64, ns| Occupant { who, ns: span(ns), from: Some(at(began + from)) };
    let occupants = vec![
        occupant(idle(), 0, 2_000_000),
        occupant(thread(9, "hog"), 2_000_000, 1_000_000),
        occupant(idle(), 3_000_000, 1_000_000),
    ];
    let causes = |bpf_scheduled: bool, occupants: &[Occupant]| {
        let end = began + i64::try_from(occupants.iter().map(|one| one.ns.as_nanos()).sum::<u64>()).unwrap();
        let sleep = TracedSleep {
            occupants: occupants.to_vec(),
            switched_in: Some(at(end)),
            bpf_scheduled,
            ..timely()
        };
        let wakeup = Wakeup { ran: at(end + 40), ..WAKEUP };
        let parts = decompose(wakeup, None, &[sleep], false).unwrap().wakeup.parts;
        let waiting = parts.into_iter().filter(|part| part.cause.part == Part::Waiting);
        waiting.map(|part| (part.cause.kind, part.ns.as_nanos() / 1_000_000)).collect::<Vec<_>>()
    };
    let (idle_exit, scheduler) = (CauseKind::IdleExit, CauseKind::Scheduler);
    let hog = (CauseKind::Thread, 1);
    assert_eq!(causes(false, &occupants), [(idle_exit, 2), hog, (idle_exit, 1)]);
    assert_eq!(causes(true, &occupants), [(scheduler, 2), hog, (idle_exit, 1)]);
    let long = [Occupant { who: idle(), ns: span(20_000_000), from: None }];
    assert_eq!(causes(true, &long), [(scheduler, 20)], "no CPU takes that long to leave idle");
}

/// It had its CPU, lost it again, and the CPU ran idle.
#[test]
fn a_cpu_that_is_lost_to_idle_was_taken_by_a_scheduler_of_bpf() {
    let lost = CpuLoss { from: at(1_210), until: at(1_230), to: idle(), throttled: false, merged: false };
    let kind = |bpf_scheduled: bool| {
        let sleep = TracedSleep { lost: vec![lost.clone()], bpf_scheduled, ..timely() };
        let parts = decompose(WAKEUP, None, &[sleep], false).unwrap().wakeup.parts;
        parts.into_iter().find(|part| part.cause.part == Part::LostAgain).map(|part| part.cause.kind)
    };
    assert_eq!((kind(false), kind(true)), (Some(CauseKind::Undetermined), Some(CauseKind::Scheduler)));
}

#[test]
fn page_faults_take_the_rest() {
    let mut sleep = timely();
    sleep.first_fault = Some(at(1_210));
    let decomposed = decompose(WAKEUP, None, &[sleep], false).unwrap();
    let last = decomposed.wakeup.parts.last().unwrap();
    assert_eq!((last.cause.kind, last.ns), (CauseKind::PageFault, span(30)));
}

#[test]
fn what_the_record_lost_came_first() {
    let mut sleep = timely();
    sleep.unnamed = span(20);
    sleep.occupants = vec![Occupant { who: thread(9, "hog"), ns: span(30), from: None }];
    let decomposed = decompose(WAKEUP, None, &[sleep], false).unwrap();
    whole(&decomposed, WAKEUP);
    let waiting = decomposed.wakeup.parts.iter().filter(|part| part.cause.part == Part::Waiting);
    let found: Vec<_> = waiting.map(|part| (part.cause.kind, part.from, part.ns)).collect();
    assert_eq!(
        found,
        [(CauseKind::Unexplained, at(1_150), span(20)), (CauseKind::Thread, at(1_170), span(30))]
    );
}

//          1150     1160     1170    1180     1195  1200
// waits    |--------|--------|-------|--------|-----|
// had it   |a or b  |a       |a or b |eth0    |others
/// Two occupants of the wait lie where they were; two others, of which only the length is known, fill the rest. Nothing stays unexplained.
#[test]
fn what_is_known_lies_where_it_was_and_the_rest_between() {
    let occupant = |who: &CpuHolder, from: Option<i64>, ns| Occupant {
        who: who.clone(),
        ns: span(ns),
        from: from.map(at),
    };
    let [a, b] = [(9, "a"), (10, "b")].map(|(pid, name)| thread(pid, name));
    let herd = CpuHolder { pid: None, ..b };
    let nameless = |holder, name: &str| CpuHolder { holder, pid: None, name: name.to_owned() };
    let (eth0, others) = (nameless(HolderKind::Interrupt, "eth0"), nameless(HolderKind::Others, ""));
    let occupants = vec![
        occupant(&a, None, 8),
        occupant(&herd, None, 12),
        occupant(&a, Some(1_160), 10),
        occupant(&eth0, Some(1_180), 15),
        occupant(&others, Some(1_195), 5),
    ];
    let sleep = TracedSleep { occupants, ..timely() };
    let decomposed = decompose(WAKEUP, None, &[sleep], false).unwrap();
    whole(&decomposed, WAKEUP);
    let waiting = decomposed.wakeup.parts.iter().filter(|part| part.cause.part == Part::Waiting);
    let found: Vec<_> = waiting
        .map(|part| {
            (
                part.cause.name.as_str(),
                part.cause.kind,
                part.pid,
                part.from.as_nanos(),
                part.ns.as_nanos(),
                part.merged,
            )
        })
        .collect();
    let (thread, interrupt) = (CauseKind::Thread, CauseKind::Interrupt);
    let expected = [
        ("a", thread, Some(9), 1_150, 8, true),
        ("b", thread, None, 1_158, 2, true),
        ("a", thread, Some(9), 1_160, 10, false),
        ("b", thread, None, 1_170, 10, true),
        ("eth0", interrupt, None, 1_180, 15, false),
        ("", CauseKind::Others, None, 1_195, 5, false),
    ];
    assert_eq!(found, expected);
}
