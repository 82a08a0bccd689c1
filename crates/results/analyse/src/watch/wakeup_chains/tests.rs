//! Scripted sleeps of chains of threads.

use super::*;
use crate::watch::thread::testing::{at, by_timer, woken};
use howlate_model::{CpuLoss, Occupant};

fn thread(tid: u32, name: &str) -> CpuHolder {
    CpuHolder { holder: HolderKind::Thread, pid: Some(tid), name: name.to_owned() }
}

fn until(again: i64, sleep: TracedSleep) -> TracedSleep {
    TracedSleep { asleep_again: Some(at(again)), ..sleep }
}

/// A worker that a timer wakes, set to 1000; it wakes the main thread at 1500, which wakes a third at 1700.
fn tokio() -> [TracedSleep; 3] {
    [
        until(2_000, by_timer(7, 1_000, 1_400)),
        until(1_900, woken(8, thread(7, "tokio-rt-worker"), 1_500, 1_560)),
        until(3_000, woken(9, thread(8, "main"), 1_700, 1_730)),
    ]
}

fn settle_all(chains: &mut WakeupChains, now: i64) -> Vec<(TracedSleep, Option<Awakening>)> {
    let mut settled = Vec::new();
    chains.settle(at(now), |past, awakening| settled.push((past.sleep.clone(), awakening)));
    settled
}

fn settle_summary(chains: &mut WakeupChains, now: i64) -> Vec<(u32, Activation, i64, usize)> {
    let mut all: Vec<_> = settle_all(chains, now)
        .into_iter()
        .map(|(past, awakening)| {
            let awakening = awakening.unwrap();
            let parts: u64 = awakening.parts.wakeup.parts.iter().map(|part| part.ns.as_nanos()).sum();
            let late = awakening.wakeup.latency().as_nanos();
            assert_eq!(i64::try_from(parts).unwrap(), late, "{awakening:?}");
            (past.tid, awakening.activation, late, awakening.through.len())
        })
        .collect();
    all.sort_unstable_by_key(|row| row.0);
    all
}

#[test]
fn what_a_crowd_did_is_remembered_within_bounds_and_forgotten_with_it() {
    let mut chains = WakeupChains::default();
    for round in 0..20 {
        for tid in 0..4_096 {
            chains.follow(tid, 7);
            chains.record_sleep(by_timer(tid, round * 1_000, round * 1_000 + 400), 7);
        }
        assert_eq!(settle_all(&mut chains, round * 1_000 + 500).len(), 4_096);
    }
    let runs = |chains: &WakeupChains| chains.threads.values().map(|thread| thread.runs.len()).sum::<usize>();
    assert_eq!((runs(&chains), chains.waiting.len()), (RUNS_OF_ALL_THREADS, 0));
    (0..4_096).for_each(|tid| chains.forget(tid));
    chains.follow(5, 7);
    assert_eq!(settle_all(&mut chains, 30_000).len(), 0);
    assert_eq!((chains.threads.len(), chains.ended.len()), (1, 0), "another has the id of one that ended");
}

// 1000      1400          1500  1560         1700 1730
// |---------|-------------|-----|------------|----|
// timer     worker runs   main  runs         third runs
#[test]
fn who_is_woken_because_a_timers_time_had_come_is_late_from_that() {
    let expected = [
        (7, Activation::Timer, 400, 0),
        (8, Activation::HandedOn, 560, 1),
        (9, Activation::HandedOn, 730, 2),
    ];
    // Sleeps are recorded when the thread sleeps again: in any order.
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [2, 0, 1]] {
        let mut chains = WakeupChains::default();
        [7, 8, 9].into_iter().for_each(|tid| chains.follow(tid, 7));
        let all = tokio();
        let mut found = Vec::new();
        for place in order {
            chains.record_sleep(all[place].clone(), 7);
            found.extend(settle_summary(&mut chains, 2_000));
        }
        found.sort_unstable_by_key(|row| row.0);
        assert_eq!(found, expected, "{order:?}");
    }
}

#[test]
fn what_the_first_did_until_then_is_a_part() {
    let mut chains = WakeupChains::default();
    tokio().into_iter().for_each(|sleep| chains.record_sleep(sleep, 7));
    let all = settle_all(&mut chains, 2_000);
    let main = all.iter().find(|(sleep, _)| sleep.tid == 8).unwrap().1.clone().unwrap();
    let work = main.parts.wakeup.parts.iter().find(|part| part.cause.part == Part::Blocked).unwrap();
    assert_eq!((work.cause.kind, work.cause.name.as_str()), (CauseKind::LongWork, "tokio-rt-worker"));
    assert_eq!((work.from, work.ns.as_nanos(), work.pid), (at(1_400), 100, Some(7)));
    assert_eq!(main.by, Some(thread(7, "tokio-rt-worker")));
}

// timer:   due 1000   2000   3000   4000      (thread 6, on time)
// feeder:  woken 1200, has no CPU until 3500, then passes on one every 100 from 3600 on; never sleeps
// main:    woken 3600, 3700, 3800
#[test]
fn who_catches_up_passes_on_one_deadline_after_the_other() {
    let mut chains = WakeupChains::default();
    for due in [-1_000, 1_000, 2_000, 3_000, 4_000] {
        chains.record_sleep(until(due + 300, by_timer(6, due, due + 150)), 7);
    }
    let feeder = occupied(woken(7, thread(6, "timer"), 1_200, 3_500), thread(99, "hog"), 1_210, 3_500);
    chains.record_sleep(until(9_000, feeder), 7);
    chains.record_sleep(until(600, woken(8, thread(7, "feeder"), 500, 510)), 7);
    for (since, now) in [(600, 3_600), (3_620, 3_700), (3_720, 3_800)] {
        let main = until(now + 20, woken(8, thread(7, "feeder"), now, now + 5));
        chains.record_sleep(TracedSleep { asleep_since: Some(at(since)), ..main }, 7);
    }
    let found = settle_summary(&mut chains, 10_000_000_000);
    let late: Vec<i64> = found.iter().filter(|row| row.0 == 8).map(|row| row.2).collect();
    assert_eq!(late, [10, 2_605, 1_705, 805], "each since its own deadline: {found:?}");
    assert_eq!(found.last(), Some(&(8, Activation::HandedOn, 805, 2)));
}

#[test]
fn who_slept_in_between_hands_nothing_on() {
    let mut chains = WakeupChains::default();
    // The worker was woken by something else when it woke the main thread.
    chains.record_sleep(until(1_450, by_timer(7, 1_000, 1_400)), 7);
    chains.record_sleep(until(2_000, woken(7, thread(99, "other"), 1_480, 1_490)), 7);
    chains.record_sleep(until(1_900, woken(8, thread(7, "tokio-rt-worker"), 1_500, 1_560)), 7);
    let found = settle_summary(&mut chains, 2_000);
    assert_eq!(found[2], (8, Activation::Event, 60, 0), "{found:?}");
}

#[test]
fn another_process_hands_nothing_on() {
    let mut chains = WakeupChains::default();
    let [worker, main, _] = tokio();
    chains.record_sleep(worker, 7);
    chains.record_sleep(main, 70);
    assert_eq!(settle_summary(&mut chains, 2_000)[1], (8, Activation::Event, 60, 0));
}

#[test]
fn nobody_waits_for_ever_for_what_its_waker_did() {
    let mut chains = WakeupChains::default();
    chains.follow(7, 7);
    let [worker, main, _] = tokio();
    chains.record_sleep(main, 7);
    chains.record_sleep(until(900, by_timer(7, 100, 200)), 7);
    assert_eq!(settle_summary(&mut chains, 2_000).len(), 1, "only what the worker did before");
    assert_eq!(settle_summary(&mut chains, 600_000_000), [(8, Activation::Event, 60, 0)]);
    chains.record_sleep(worker, 7);
    assert_eq!(settle_summary(&mut chains, 600_000_000).len(), 1);
}

/// As at the end of a run, or where the machine is so busy that nothing was read for a while.
#[test]
fn what_is_read_late_is_handed_on_like_the_rest() {
    let mut chains = WakeupChains::default();
    [8, 9].into_iter().for_each(|tid| chains.follow(tid, 7));
    // The main thread has the lower id, as everywhere.
    for round in 0..3 {
        let ahead = round * 10_000;
        chains.record_sleep(
            until(ahead + 1_900, woken(8, thread(9, "worker"), ahead + 1_500, ahead + 1_560)),
            7,
        );
        chains.record_sleep(until(ahead + 2_000, by_timer(9, ahead + 1_000, ahead + 1_400)), 7);
    }
    let found = settle_summary(&mut chains, 900_000_000);
    let handed = found.iter().filter(|row| row.1 == Activation::HandedOn).count();
    assert_eq!(handed, 3, "{found:?}");
}

#[test]
fn a_chain_has_an_end() {
    let mut chains = WakeupChains::default();
    chains.record_sleep(until(100_000, by_timer(1, 1_000, 1_400)), 7);
    for tid in 2..10 {
        let woken_at = 1_500 + i64::from(tid) * 100;
        chains.record_sleep(until(100_000, woken(tid, thread(tid - 1, "link"), woken_at, woken_at + 10)), 7);
    }
    let found = settle_summary(&mut chains, 2_000);
    let handed: Vec<usize> = found.iter().map(|row| row.3).collect();
    assert_eq!(handed, [0, 1, 2, 3, 4, 0, 0, 0, 0]);
}

fn occupied(sleep: TracedSleep, who: CpuHolder, from: i64, until: i64) -> TracedSleep {
    let ns = at(until).since(at(from));
    TracedSleep { occupants: vec![Occupant { who, ns, from: Some(at(from)) }], ..sleep }
}

/// Blocked in a call since then.
fn in_call(since: i64, call: &str, sleep: TracedSleep) -> TracedSleep {
    TracedSleep { asleep_since: Some(at(since)), slept_in: Some(SleepSite::Call(call.to_owned())), ..sleep }
}

/// Kind, name, `through` and length in ns of each part of the last wake-up of a thread.
fn causes(chains: &mut WakeupChains, tid: u32) -> Vec<(CauseKind, String, String, u64)> {
    let all = settle_all(chains, 100_000_000);
    let last = all.iter().rfind(|(sleep, _)| sleep.tid == tid).unwrap();
    let wakeup = &last.1.as_ref().unwrap().parts.wakeup;
    let sum: u64 = wakeup.parts.iter().map(|part| part.ns.as_nanos()).sum();
    assert_eq!(i64::try_from(sum).unwrap(), wakeup.latency.as_nanos(), "{wakeup:?}");
    let row = |part: &Segment| {
        (part.cause.kind, part.cause.name.clone(), part.cause.through.clone(), part.ns.as_nanos())
    };
    wakeup.parts.iter().map(row).collect()
}

// 1000        2000       3000         61000   61010      61020
// |-----------|----------|------------|-------|----------|
// due         due        due          runs    asleep     asleep for 3000, late by what kept it from 2000 and 1000
//             taker has the CPU
#[test]
fn who_catches_up_is_late_by_what_made_the_first_one_late() {
    let mut chains = WakeupChains::default();
    let first = occupied(until(61_010, by_timer(7, 1_000, 61_000)), thread(99, "taker"), 1_100, 61_000);
    chains.record_sleep(TracedSleep { asleep_since: Some(at(500)), ..first }, 7);
    let again = |since: i64, due: i64| {
        let mut sleep = until(since + 10, by_timer(7, due, since + 5));
        sleep.asleep_since = Some(at(since));
        sleep
    };
    chains.record_sleep(again(61_010, 2_000), 7);
    chains.record_sleep(again(61_020, 3_000), 7);
    let found = causes(&mut chains, 7);
    let of = |kind| found.iter().filter(|row| row.0 == kind).map(|row| row.3).sum::<u64>();
    assert_eq!(of(CauseKind::Thread), 58_000, "{found:?}");
    assert!(found.iter().any(|row| row.1 == "taker"));
    assert_eq!(of(CauseKind::LateArming), 0, "that is no cause: {found:?}");
    assert!(of(CauseKind::LongWork) <= 20, "{found:?}");
}

#[test]
fn a_loop_that_keeps_its_own_time_inherits_no_deadline() {
    let mut chains = WakeupChains::default();
    let own = until(1_450, by_timer(8, 1_000, 1_010));
    chains.record_sleep(
        TracedSleep { slept_in: Some(SleepSite::Call("clock_nanosleep".to_owned())), ..own },
        7,
    );
    chains.record_sleep(until(2_000, by_timer(7, 1_000, 1_400)), 7);
    chains
        .record_sleep(in_call(1_450, "futex", until(1_900, woken(8, thread(7, "worker"), 1_500, 1_560))), 7);
    let found = settle_summary(&mut chains, 2_000);
    assert_eq!(found.last(), Some(&(8, Activation::Event, 60, 0)), "{found:?}");
}

// client:  due 1000, runs 1110, wakes worker 1150
// worker:                               1150, runs 1160, blocked 1200 ......... woken 1500, runs 1510
// keeper:  due 400, runs 900, has the lock ............................ gives it back 1500
#[test]
fn whose_lock_it_waits_for_hands_nothing_on() {
    let mut chains = WakeupChains::default();
    [7, 8, 9].into_iter().for_each(|tid| chains.follow(tid, 7));
    let request = |start: i64| {
        let sleep = until(start + 200, woken(8, thread(7, "client"), start + 150, start + 160));
        in_call(start, "read", sleep)
    };
    let client = |start: i64| until(start + 170, by_timer(7, start, start + 110));
    for start in [-20_000, -10_000, 1_000] {
        chains.record_sleep(client(start), 7);
        chains.record_sleep(request(start), 7);
    }
    chains.record_sleep(until(1_600, by_timer(9, 400, 900)), 7);
    let waits = until(1_700, woken(8, thread(9, "keeper"), 1_500, 1_510));
    chains.record_sleep(in_call(1_200, "futex", waits), 7);
    let all = settle_all(&mut chains, 100_000_000);
    let last = all.iter().rfind(|(sleep, _)| sleep.tid == 8).unwrap().1.clone().unwrap();
    assert_eq!(
        (last.activation, last.wakeup.expected, last.through),
        (Activation::HandedOn, at(1_000), vec![thread(7, "client")])
    );
    let parts = &last.parts.wakeup.parts;
    let lock: u64 =
        parts.iter().filter(|part| part.cause.kind == CauseKind::Lock).map(|part| part.ns.as_nanos()).sum();
    assert_eq!((lock, parts.iter().map(|part| part.ns.as_nanos()).sum::<u64>()), (300, 510), "{parts:?}");
    assert!(
        parts.iter().all(|part| part.cause.kind != CauseKind::Lock || part.cause.name == "keeper"),
        "{parts:?}"
    );
}

/// A wait for a lock from `since` on that its limit ended.
fn limited(since: i64, limit: i64) -> TracedSleep {
    in_call(since, "futex", until(limit + 20, by_timer(7, limit, limit + 10)))
}

fn kept_by_its_own_time(start: i64) -> TracedSleep {
    in_call(start - 500, "clock_nanosleep", until(start + 100, by_timer(7, start, start + 10)))
}

// 1000     1100      6100 6120     11120 11140     12000
// |--------|---------|----|--------|-----|---------|
// timer    asks      limit, asks   limit, asks     the other thread gives the lock up
#[test]
fn a_wait_for_a_lock_goes_on_when_its_limit_has_passed() {
    let mut chains = WakeupChains::default();
    chains.follow(8, 7);
    let given = in_call(11_140, "futex", until(12_500, woken(7, thread(8, "other"), 12_000, 12_010)));
    for sleep in [kept_by_its_own_time(1_000), limited(1_100, 6_100), limited(6_120, 11_120), given] {
        chains.record_sleep(sleep, 7);
    }
    let all = settle_all(&mut chains, 20_000);
    let activations = all.iter().map(|(_, awakening)| awakening.as_ref().map(|found| found.activation));
    assert_eq!(activations.collect::<Vec<_>>(), [Some(Activation::Timer), Some(Activation::Event)]);
    let whole = &all[1].0;
    assert_eq!((whole.asleep_since, whole.waking), (Some(at(1_100)), at(12_000)));
}

/// Whether each settled sleep was a wake-up.
fn wakeups(chains: &mut WakeupChains, now: i64) -> Vec<bool> {
    settle_all(chains, now).iter().map(|(_, awakening)| awakening.is_some()).collect()
}

#[test]
fn a_limit_after_which_it_had_the_lock_is_no_deadline_either() {
    let mut chains = WakeupChains::default();
    chains.record_sleep(kept_by_its_own_time(1_000), 7);
    chains.record_sleep(limited(1_100, 6_100), 7);
    assert_eq!(wakeups(&mut chains, 6_200), [true], "it may wait on");
    chains.record_sleep(in_call(6_120, "futex", until(7_000, woken(7, thread(8, "other"), 6_500, 6_510))), 7);
    chains.record_sleep(limited(7_100, 12_100), 7);
    chains.record_sleep(kept_by_its_own_time(14_000), 7);
    assert_eq!(wakeups(&mut chains, 15_000), [true, false, true]);
}

// 6100   6110 ................. 906100     906120
// |------|----------------------|----------|
// limit   a hog has its CPU      runs       asks again
#[test]
fn who_had_the_cpu_after_the_limit_is_not_the_lock() {
    let mut chains = WakeupChains::default();
    let again = 900_000;
    chains.record_sleep(kept_by_its_own_time(1_000), 7);
    chains.record_sleep(until(6_120 + again, limited(1_100, 6_100)), 7);
    let given = until(8_000 + again, woken(7, thread(8, "other"), 7_000 + again, 7_010 + again));
    chains.record_sleep(in_call(6_120 + again, "futex", given), 7);
    let all = settle_all(&mut chains, 10_000_000);
    assert_eq!(
        all.iter().map(|(sleep, _)| sleep.asleep_since).collect::<Vec<_>>()[1..],
        [Some(at(1_100)), Some(at(6_120 + again))]
    );
}

// The limit of each wait is the period; a short sleep follows.
#[test]
fn a_condition_variable_that_nothing_follows_is_a_timer() {
    let mut chains = WakeupChains::default();
    for turn in 0..10 {
        chains.record_sleep(kept_by_its_own_time(turn * 10_000 + 1_000), 7);
        chains.record_sleep(limited(turn * 10_000 + 1_100, turn * 10_000 + 9_000), 7);
    }
    assert_eq!(wakeups(&mut chains, 90_000 + 9_100), [true; 19], "something may follow the last one");
    let late = 99_000 + i64::try_from(WAKER_TIMEOUT.as_nanos()).unwrap();
    assert_eq!(wakeups(&mut chains, late + 100), [true], "nothing does");
}

#[test]
fn a_loop_that_waits_in_a_condition_variable_keeps_its_time_by_that() {
    let mut chains = WakeupChains::default();
    chains.record_sleep(kept_by_its_own_time(1_000), 7);
    for turn in 2..30 {
        chains.record_sleep(limited(turn * 1_000 + 100, turn * 1_000 + 1_000), 7);
    }
    let all = settle_all(&mut chains, 1_000_000_000);
    let by_timer = all.iter().filter(|(_, awakening)| awakening.is_some()).count();
    assert!(by_timer > 15, "{by_timer}");
}

// high:    1000 runs 1010, blocked 1100 .......................... woken 9400; asleep on its timer 9500, due 2000
// low:     500 runs ..  1200 loses the CPU to middle ..... 9200, runs, 9400 wakes high, asleep 9450
fn inversion() -> [TracedSleep; 3] {
    let due = until(1_100, by_timer(7, 1_000, 1_010));
    let mutex = in_call(1_100, "futex", until(9_500, woken(7, thread(8, "low"), 9_400, 9_410)));
    let lost = CpuLoss {
        from: at(1_200),
        until: at(9_200),
        to: thread(9, "middle"),
        throttled: false,
        merged: false,
    };
    let low = TracedSleep { lost: vec![lost], ..until(9_450, by_timer(8, 400, 500)) };
    [
        TracedSleep { asleep_since: Some(at(900)), ..due },
        mutex,
        TracedSleep { asleep_since: Some(at(100)), ..low },
    ]
}

#[test]
fn of_a_lock_it_is_what_its_holder_did_that_took_the_time() {
    let mut chains = WakeupChains::default();
    chains.follow(9, 7);
    inversion().into_iter().for_each(|sleep| chains.record_sleep(sleep, 7));
    let mut next = until(20_000, by_timer(7, 2_000, 9_520));
    next.asleep_since = Some(at(9_500));
    chains.record_sleep(next, 7);
    let found = causes(&mut chains, 7);
    let of = |kind, name: &str, through: &str| {
        let matching = found.iter().filter(|part| part.0 == kind && part.1 == name && part.2 == through);
        matching.map(|part| part.3).sum::<u64>()
    };
    assert_eq!(of(CauseKind::Thread, "middle", "low"), 7_200, "{found:?}");
    assert_eq!(of(CauseKind::Lock, "low", ""), 200, "it ran, and held the lock: {found:?}");
}

// client:  woken 9800 by high, after 8700 asleep in read
// high:    waits for the lock of low, which lost its CPU to middle
/// What the client waited for, a thread of this process.
fn blocked_client(process: u32) -> Vec<Segment> {
    let mut chains = WakeupChains::default();
    [9, 10].into_iter().for_each(|tid| chains.follow(tid, 7));
    let [first, mutex, low] = inversion();
    let mutex = TracedSleep { asleep_again: Some(at(9_900)), ..mutex };
    [first, mutex, low].into_iter().for_each(|sleep| chains.record_sleep(sleep, 7));
    chains.record_sleep(
        in_call(1_050, "read", until(9_950, woken(10, thread(7, "high"), 9_800, 9_810))),
        process,
    );
    let mut blocked = Vec::new();
    chains.settle(at(100_000_000), |past, _| {
        if past.sleep.tid == 10 {
            blocked.clone_from(&past.blocked);
        }
    });
    blocked
}

#[test]
fn who_is_between_a_thread_and_the_one_that_is_kept_is_told() {
    let blocked = blocked_client(7);
    let total: u64 = blocked.iter().map(|part| part.ns.as_nanos()).sum();
    assert_eq!(total, 8_750, "all of the wait: {blocked:?}");
    let of = |is_it: &dyn Fn(&Cause) -> bool| -> u64 {
        blocked.iter().filter(|part| is_it(&part.cause)).map(|part| part.ns.as_nanos()).sum()
    };
    let chain = |cause: &Cause| (cause.through == "low" && cause.via == ["high"], cause.call == "read");
    assert_eq!(of(&|cause| cause.name == "middle" && chain(cause) == (true, true)), 8_000, "{blocked:?}");
    let named = |name: &str| blocked.iter().find(|part| part.cause.through == name);
    let pids = ["low", "high"].map(|name| named(name).and_then(|part| part.through_pid));
    assert!(pids.iter().all(Option::is_some) && pids[0] != pids[1], "{blocked:?}");
    let waits = |cause: &Cause| cause.kind == CauseKind::Lock && cause.through == "high";
    assert_eq!(of(&|cause| waits(cause) && cause.call == "futex"), 300, "its own call stays: {blocked:?}");
    let of_other_process = blocked_client(11);
    let without_own = |parts: &[Segment]| {
        let cause = |part: &Segment| Cause { own: false, ..part.cause.clone() };
        parts.iter().map(|part| (cause(part), part.ns)).collect::<Vec<_>>()
    };
    assert_eq!(
        without_own(&of_other_process),
        without_own(&blocked),
        "also across processes that are watched"
    );
}

#[test]
fn whose_program_a_culprit_is_of_is_told() {
    let mut chains = WakeupChains::default();
    chains.follow(9, 7);
    let own = |who: CpuHolder, chains: &mut WakeupChains| {
        chains.record_sleep(occupied(until(2_000, by_timer(7, 1_000, 1_400)), who, 1_100, 1_400), 7);
        let all = settle_all(chains, 100_000_000);
        let parts = &all[0].1.as_ref().unwrap().parts.wakeup.parts;
        parts.iter().any(|part| part.cause.kind == CauseKind::Thread && part.cause.own)
    };
    assert!(own(thread(9, "middle"), &mut chains));
    assert!(!own(thread(77, "stranger"), &mut chains));
}

#[test]
fn what_a_call_of_ones_own_waited_for_is_told_with_the_call() {
    let mut chains = WakeupChains::default();
    let mut first = until(1_100, by_timer(7, 1_000, 1_010));
    first.asleep_since = Some(at(900));
    chains.record_sleep(first, 7);
    chains.record_sleep(
        in_call(1_100, "write", until(5_100, woken(7, thread(99, "python3"), 5_000, 5_010))),
        7,
    );
    let mut late = until(20_000, by_timer(7, 2_000, 5_120));
    late.asleep_since = Some(at(5_100));
    chains.record_sleep(late, 7);
    let all = settle_all(&mut chains, 100_000_000);
    let parts = &all[2].1.as_ref().unwrap().parts.wakeup.parts;
    let blocked = parts.iter().find(|part| part.cause.kind == CauseKind::SystemCall).unwrap();
    assert_eq!((blocked.cause.call.as_str(), blocked.cause.name.as_str()), ("write", "python3"));
    assert_eq!((blocked.ns.as_nanos(), blocked.pid, blocked.cause.own), (3_000, Some(99), false));
}
