//! Who has the CPU before and after the switch.

use super::*;

#[test]
fn who_had_the_cpu_is_named() {
    let mut one = timely();
    one.occupants = vec![
        Occupant { who: thread(9, "hog"), ns: span(30), from: None },
        Occupant { who: idle(), ns: span(15), from: None },
    ];
    let known = decompose(WAKEUP, None, &[one], false).unwrap();
    let waiting: Vec<_> = known.wakeup.parts.iter().filter(|one| one.cause.part == Part::Waiting).collect();
    assert_eq!((waiting[0].cause.name.as_str(), waiting[0].pid, waiting[0].ns), ("hog", Some(9), span(30)));
    assert_eq!(waiting[1].ns, span(15));
    assert_eq!((waiting[2].cause.kind, waiting[2].ns), (CauseKind::Unexplained, span(5)));
    whole(&known, WAKEUP);
}

#[test]
fn what_follows_the_last_stretch_that_is_listed_is_not_the_way_back() {
    let mut one = timely();
    one.lost = vec![CpuLoss {
        from: at(1_205),
        until: at(1_210),
        to: thread(9, "hog"),
        throttled: false,
        merged: false,
    }];
    for (lost_more, part, kind) in
        [(0, Part::Return, CauseKind::Kernel), (1, Part::LostAgain, CauseKind::Undetermined)]
    {
        one.lost_more = lost_more;
        let known = decompose(WAKEUP, None, &[one.clone()], false).unwrap();
        let last = known.wakeup.parts.last().unwrap();
        assert_eq!((last.cause.part, last.cause.kind, last.ns), (part, kind, span(30)));
    }
}

/// The fair server lets an ordinary thread run for 18 ms while this one, of real time, is ready; and again after it had begun.
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
        let one = TracedSleep {
            occupants: vec![Occupant { who: ahead.clone(), ns: span(waits), from: None }],
            switched_in: Some(at(ends)),
            lost: vec![again],
            ..timely()
        };
        let wakeup = Wakeup { ran: at(2 * ends + 40), ..WAKEUP };
        let known = decompose(wakeup, None, &[one], false).unwrap();
        whole(&known, wakeup);
        let last =
            known.wakeup.parts.into_iter().skip(5).map(|one| (one.cause.kind, one.cause.name, one.pid));
        last.take(2).collect::<Vec<_>>()
    };
    let throttled = (CauseKind::RtThrottled, String::new(), None);
    assert_eq!(kinds(18_000_000), [throttled.clone(), throttled]);
    let gave_way = (CauseKind::Thread, "batch".to_owned(), Some(9));
    assert_eq!(kinds(90_000), [gave_way.clone(), gave_way], "as soon as it could be preempted");
}

#[test]
fn an_idle_cpu_is_called_before_it_switches() {
    let mut one = timely();
    one.woken_by = WakeSource::Other(thread(9, "sender"));
    one.called = Some(at(1_180));
    let parts = |one: &TracedSleep| -> Vec<_> {
        let known = decompose(WAKEUP, None, from_ref(one), true).unwrap();
        known.wakeup.parts.iter().map(|part| (part.cause.part, part.cause.kind, part.ns.as_nanos())).collect()
    };
    let (waiting, idle) = (Part::Waiting, CauseKind::IdleExit);
    assert_eq!(parts(&one)[2..4], [(Part::Called, idle, 30), (waiting, CauseKind::Kernel, 20)]);
    // Who had the CPU meanwhile was in the way, and not the call.
    one.occupants = vec![Occupant { who: thread(9, "hog"), ns: span(50), from: None }];
    assert_eq!(parts(&one)[2], (waiting, CauseKind::Thread, 50));
}

#[test]
fn page_faults_take_the_rest() {
    let mut one = timely();
    one.first_fault = Some(at(1_210));
    let known = decompose(WAKEUP, None, &[one], false).unwrap();
    let last = known.wakeup.parts.last().unwrap();
    assert_eq!((last.cause.kind, last.ns), (CauseKind::PageFault, span(30)));
}

#[test]
fn what_the_record_lost_came_first() {
    let mut one = timely();
    one.unnamed = span(20);
    one.occupants = vec![Occupant { who: thread(9, "hog"), ns: span(30), from: None }];
    let known = decompose(WAKEUP, None, &[one], false).unwrap();
    whole(&known, WAKEUP);
    let waiting = known.wakeup.parts.iter().filter(|one| one.cause.part == Part::Waiting);
    let told: Vec<_> = waiting.map(|one| (one.cause.kind, one.from, one.ns)).collect();
    assert_eq!(
        told,
        [(CauseKind::Unexplained, at(1_150), span(20)), (CauseKind::Thread, at(1_170), span(30))]
    );
}

//          1150     1160     1170    1180     1195  1200
// waits    |--------|--------|-------|--------|-----|
// had it   |a or b  |a       |a or b |eth0    |others
/// Two stretches of the wait lie where they were; what two others had in all fills what is left, and nothing of it is unexplained.
#[test]
fn what_is_known_lies_where_it_was_and_the_rest_between() {
    let had = |who: &CpuHolder, from: Option<i64>, ns| Occupant {
        who: who.clone(),
        ns: span(ns),
        from: from.map(at),
    };
    let [a, b] = [(9, "a"), (10, "b")].map(|(pid, name)| thread(pid, name));
    let herd = CpuHolder { pid: None, ..b };
    let nameless = |holder, name: &str| CpuHolder { holder, pid: None, name: name.to_owned() };
    let (eth0, others) = (nameless(HolderKind::Interrupt, "eth0"), nameless(HolderKind::Others, ""));
    let occupants = vec![
        had(&a, None, 8),
        had(&herd, None, 12),
        had(&a, Some(1_160), 10),
        had(&eth0, Some(1_180), 15),
        had(&others, Some(1_195), 5),
    ];
    let one = TracedSleep { occupants, ..timely() };
    let known = decompose(WAKEUP, None, &[one], false).unwrap();
    whole(&known, WAKEUP);
    let waiting = known.wakeup.parts.iter().filter(|one| one.cause.part == Part::Waiting);
    let told: Vec<_> = waiting
        .map(|one| {
            (
                one.cause.name.as_str(),
                one.cause.kind,
                one.pid,
                one.from.as_nanos(),
                one.ns.as_nanos(),
                one.merged,
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
    assert_eq!(told, expected);
}
