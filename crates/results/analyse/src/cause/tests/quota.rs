//! Control groups that have used up their quota.

use super::*;

#[test]
fn a_quota_that_is_used_up_on_the_way_back() {
    let mut sleep = timely();
    sleep.lost =
        vec![CpuLoss { from: at(1_205), until: at(1_230), to: idle(), throttled: true, merged: false }];
    let decomposed = decompose(WAKEUP, None, &[sleep], false).unwrap();
    let lost = decomposed.wakeup.parts.iter().find(|part| part.cause.part == Part::LostAgain).unwrap();
    assert_eq!((lost.cause.kind, lost.ns), (CauseKind::Throttled, span(25)));
    whole(&decomposed, WAKEUP);
}

#[test]
fn whoever_runs_while_a_group_has_no_time_is_not_blamed() {
    let mut sleep = timely();
    sleep.occupants = vec![Occupant { who: thread(99, "bystander"), ns: span(50), from: None }];
    sleep.throttled = true;
    let decomposed = decompose(WAKEUP, None, &[sleep], false).unwrap();
    let waiting = decomposed.wakeup.parts.iter().find(|part| part.cause.part == Part::Waiting).unwrap();
    assert_eq!(
        (waiting.cause.kind, waiting.cause.name.as_str(), waiting.pid),
        (CauseKind::Throttled, "", None)
    );
}

#[test]
fn the_group_that_had_no_time_is_named() {
    let mut sleep = timely();
    let quota = CpuHolder { holder: HolderKind::Quota, pid: None, name: "/a/b".into() };
    sleep.occupants = vec![Occupant { who: quota.clone(), ns: span(50), from: None }];
    sleep.lost =
        vec![CpuLoss { from: at(1_205), until: at(1_230), to: quota, throttled: true, merged: false }];
    for throttled in [true, false] {
        sleep.throttled = throttled;
        let decomposed = decompose(WAKEUP, None, &[sleep.clone()], false).unwrap();
        let throttled_parts =
            decomposed.wakeup.parts.iter().filter(|part| part.cause.kind == CauseKind::Throttled);
        let throttled_parts: Vec<_> =
            throttled_parts.map(|part| (part.cause.name.as_str(), part.ns.as_nanos())).collect();
        assert_eq!(throttled_parts, [("/a/b", 50), ("/a/b", 25)]);
    }
}
