//! Control groups whose time is used up.

use super::*;

#[test]
fn a_quota_that_is_used_up_on_the_way_back() {
    let mut one = timely();
    one.lost =
        vec![CpuLoss { from: at(1_205), until: at(1_230), to: idle(), throttled: true, merged: false }];
    let known = decompose(WAKEUP, None, &[one], false).unwrap();
    let lost = known.wakeup.parts.iter().find(|one| one.cause.part == Part::LostAgain).unwrap();
    assert_eq!((lost.cause.kind, lost.ns), (CauseKind::Throttled, span(25)));
    whole(&known, WAKEUP);
}

#[test]
fn whoever_runs_while_a_group_has_no_time_is_not_blamed() {
    let mut one = timely();
    one.occupants = vec![Occupant { who: thread(99, "bystander"), ns: span(50), from: None }];
    one.throttled = true;
    let known = decompose(WAKEUP, None, &[one], false).unwrap();
    let waiting = known.wakeup.parts.iter().find(|one| one.cause.part == Part::Waiting).unwrap();
    assert_eq!(
        (waiting.cause.kind, waiting.cause.name.as_str(), waiting.pid),
        (CauseKind::Throttled, "", None)
    );
}

#[test]
fn the_group_that_had_no_time_is_named() {
    let mut one = timely();
    let quota = CpuHolder { holder: HolderKind::Quota, pid: None, name: "/a/b".into() };
    one.occupants = vec![Occupant { who: quota.clone(), ns: span(50), from: None }];
    one.lost = vec![CpuLoss { from: at(1_205), until: at(1_230), to: quota, throttled: true, merged: false }];
    for throttled in [true, false] {
        one.throttled = throttled;
        let known = decompose(WAKEUP, None, &[one.clone()], false).unwrap();
        let named = known.wakeup.parts.iter().filter(|one| one.cause.kind == CauseKind::Throttled);
        let named: Vec<_> = named.map(|one| (one.cause.name.as_str(), one.ns.as_nanos())).collect();
        assert_eq!(named, [("/a/b", 50), ("/a/b", 25)]);
    }
}
