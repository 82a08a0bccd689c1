//! Readings of a few threads, and the resulting tables.

use howlate_model::{
    CompetingProcess, KernelStack, OUT_OF_QUOTA, OngoingWait, ReasonWaits, Span, ThreadWaits, Waits,
    WaitsReport,
};

use super::*;

const MS: u64 = 1_000_000;

fn waits(count: u64, ms: u64) -> Waits {
    let time = Span::from_millis(ms);
    Waits { time, count, longest: Span::from_nanos(ms * MS / count.max(1)) }
}

/// A thread of process 7, seen for a second.
fn thread(tid: u32) -> ThreadWaits {
    ThreadWaits {
        tid,
        pid: 7,
        name: format!("t{tid}"),
        process: "loop".into(),
        seen: Span::from_secs(1),
        ..ThreadWaits::default()
    }
}

fn reason(stack: u64, count: u64, ms: u64) -> ReasonWaits {
    ReasonWaits { stack, waits: waits(count, ms), sampled: 1 }
}

fn stack(id: u64, functions: &str) -> KernelStack {
    KernelStack { id, functions: functions.split(' ').map(str::to_owned).collect() }
}

fn read(threads: Vec<ThreadWaits>) -> WaitsReport {
    let stacks = vec![
        stack(1, "bpf_prog_1_switches bpf_trace_run4 __schedule schedule do_nanosleep"),
        stack(2, "schedule anon_pipe_read"),
        stack(3, "schedule pipe_read"),
    ];
    WaitsReport { threads, stacks, ..WaitsReport::default() }
}

fn table(readings: Vec<Vec<ThreadWaits>>) -> WaitTable {
    let mut accumulator = WaitAccumulator::default();
    readings.into_iter().for_each(|threads| accumulator.add_reading(read(threads)));
    accumulator.table()
}

/// Kind, count, and milliseconds of each wait.
fn waits_of(waiter: &WaiterTotals) -> Vec<(WaitKind, u64, u64)> {
    let row = |wait: &WaitTotal| (wait.reason.kind, wait.sum.count, wait.sum.time.as_nanos() / MS);
    waiter.waits.iter().map(row).collect()
}

#[test]
fn threads_of_a_process_are_added_and_places_of_one_reason_are_one() {
    let first = ThreadWaits { cpu: waits(5, 200), reasons: vec![reason(2, 3, 300)], ..thread(7) };
    let second = ThreadWaits { reasons: vec![reason(3, 1, 600), reason(1, 2, 100)], ..thread(8) };
    let table = table(vec![vec![first, second]]);
    let process = &table.processes[0];
    assert_eq!((process.threads, process.seen), (2, Span::from_secs(2)));
    let expected = [(WaitKind::Cpu, 5, 200), (WaitKind::Pipe, 4, 900), (WaitKind::Timer, 2, 100)];
    assert_eq!(waits_of(process), expected, "what holds it up comes first");
    assert!((process.waits[1].share - 0.45).abs() < 1e-9);
    assert_eq!(table.threads.len(), 2);
    assert_eq!(
        process.waits[2].functions,
        ["__schedule", "schedule", "do_nanosleep"],
        "not those of the tracer"
    );
}

#[test]
fn a_wait_that_goes_on_counts_once_and_only_what_fell_into_the_while() {
    let asleep = |ms| ThreadWaits {
        ongoing: Some(OngoingWait { stack: Some(1), lasts: Span::from_millis(ms) }),
        ..thread(7)
    };
    let mut accumulator = WaitAccumulator::default();
    accumulator.add_reading(read(vec![asleep(400)]));
    accumulator.add_reading(read(vec![asleep(1_400)]));
    assert_eq!(waits_of(&accumulator.table().processes[0]), [(WaitKind::Timer, 1, 1_400)]);
    accumulator.add_reading(read(vec![asleep(2_400)]));
    let second = accumulator.table();
    assert_eq!(waits_of(&second.processes[0]), [(WaitKind::Timer, 1, 1_000)]);
    let sum = second.processes[0].waits[0].sum;
    assert_eq!(
        (sum.ongoing, sum.longest, sum.mean()),
        (1, Span::from_millis(2_400), Span::from_millis(2_400))
    );
    // It wakes 0.1 s later: the whole wait is read, of which 0.1 s fell into this while.
    accumulator.add_reading(read(vec![ThreadWaits { reasons: vec![reason(1, 1, 2_500)], ..thread(7) }]));
    assert_eq!(waits_of(&accumulator.table().processes[0]), [(WaitKind::Timer, 1, 100)]);
}

#[test]
fn processes_that_have_ended_are_one_row_of_each_name() {
    let ended = |tid: u32| ThreadWaits {
        pid: tid,
        process: "cc1".into(),
        ended: true,
        reasons: vec![reason(2, 1, 10)],
        ..thread(tid)
    };
    let worker = ThreadWaits { ended: true, reasons: vec![reason(2, 1, 50)], ..thread(9) };
    let table = table(vec![vec![ended(20), ended(21), thread(7), worker], vec![ended(22), thread(7)]]);
    let find = |name: &str| table.processes.iter().find(|process| process.name == name).unwrap();
    assert_eq!(
        (find("cc1").ended, find("cc1").pid, waits_of(find("cc1"))),
        (3, None, vec![(WaitKind::Pipe, 3, 30)])
    );
    assert_eq!(
        (find("loop").ended, waits_of(find("loop"))),
        (1, vec![(WaitKind::Pipe, 1, 50)]),
        "its process lives"
    );
}

#[test]
fn who_had_the_cpu_is_named_and_several_of_a_name_are_one() {
    let rival = |pid, ms| CompetingProcess { pid, time: Span::from_millis(ms) };
    let hog = |pid| ThreadWaits { pid, process: "hog".into(), ..thread(pid) };
    let rivals = vec![rival(30, 10), rival(31, 20), rival(0, 5), rival(99, 1)];
    let late = ThreadWaits { cpu: waits(9, 36), rivals, ..thread(7) };
    let table = table(vec![vec![late, hog(30), hog(31)]]);
    let process = table.processes.iter().find(|process| process.name == "loop").unwrap();
    let behind: Vec<_> =
        process.waits[0].behind.iter().map(|holder| (holder.name.as_str(), holder.pid)).collect();
    assert_eq!(behind, [("hog", None), ("", None), ("(ended)", Some(99))]);
    assert_eq!(process.waits[0].behind[0].time, Span::from_millis(30));
}

#[test]
fn a_quota_that_was_used_up_is_nobodys_process() {
    let rival = |pid, ms| CompetingProcess { pid, time: Span::from_millis(ms) };
    let late =
        ThreadWaits { cpu: waits(2, 90), rivals: vec![rival(OUT_OF_QUOTA, 80), rival(9, 10)], ..thread(7) };
    let behind = table(vec![vec![late]]).processes[0].waits[0].behind.clone();
    let quota: Vec<bool> = behind.iter().map(CpuHolderTime::is_quota).collect();
    assert_eq!(quota, [true, false], "{behind:?}");
    let named = CpuHolderTime { pid: Some(9), ..behind[0].clone() };
    assert!(!named.is_quota(), "a process may be called so");
}

#[test]
fn a_thread_that_is_not_told_of_any_more_has_ended() {
    let table = table(vec![
        vec![thread(7), ThreadWaits { reasons: vec![reason(2, 1, 5)], ..thread(8) }],
        vec![thread(7)],
    ]);
    assert_eq!(table.threads.len(), 1);
    assert_eq!((table.processes[0].ended, waits_of(&table.processes[0])), (1, vec![(WaitKind::Pipe, 1, 5)]));
}

#[test]
fn an_order_may_leave_natures_aside() {
    let waits_of_thread =
        ThreadWaits { cpu: waits(2, 20), reasons: vec![reason(1, 1, 900), reason(2, 50, 100)], ..thread(7) };
    let table = table(vec![vec![waits_of_thread]]);
    let sorted = |order: WaitOrder| -> Vec<WaitKind> {
        let process = &table.processes[0];
        let mut all: Vec<_> = process.waits.iter().map(|wait| (process, wait)).collect();
        order.sort(&mut all);
        all.iter().map(|(_, wait)| wait.reason.kind).collect()
    };
    assert_eq!(sorted(WaitOrder::HeldUp), [WaitKind::Cpu, WaitKind::Pipe, WaitKind::Timer]);
    assert_eq!(sorted(WaitOrder::Time), [WaitKind::Timer, WaitKind::Pipe, WaitKind::Cpu]);
    assert_eq!(sorted(WaitOrder::Count), [WaitKind::Pipe, WaitKind::Cpu, WaitKind::Timer]);
    assert_eq!(sorted(WaitOrder::Longest), [WaitKind::Timer, WaitKind::Cpu, WaitKind::Pipe]);
}

/// Process 7 is ready for 200 ms behind 8 and 100 ms behind an idle CPU, process 8 for 50 ms behind 7; both wait for a pipe.
fn two_processes() -> WaitTable {
    let rival = |pid, ms| CompetingProcess { pid, time: Span::from_millis(ms) };
    let first = ThreadWaits {
        cpu: waits(5, 300),
        rivals: vec![rival(8, 200), rival(0, 100)],
        reasons: vec![reason(2, 3, 300)],
        ..thread(7)
    };
    let second = ThreadWaits {
        pid: 8,
        process: "hog".into(),
        cpu: waits(1, 50),
        rivals: vec![rival(7, 50)],
        reasons: vec![reason(3, 1, 100)],
        ..thread(8)
    };
    table(vec![vec![first, second]])
}

#[test]
fn what_is_no_wait_was_run() {
    let ran: Vec<u64> =
        two_processes().processes.iter().map(|process| process.ran().as_nanos() / MS).collect();
    assert_eq!(ran, [400, 850]);
}

#[test]
fn processes_of_a_group_are_one_waiter() {
    let table = two_processes();
    let group = table.by_group(|_| Some("/both"));
    assert_eq!(group.len(), 1);
    assert_eq!((group[0].name.as_str(), group[0].threads, group[0].pid), ("/both", 2, None));
    assert_eq!(waits_of(&group[0]), [(WaitKind::Cpu, 6, 350), (WaitKind::Pipe, 4, 400)]);
    assert!((group[0].waits[1].share - 0.2).abs() < 1e-9, "of two seconds");
    let behind: Vec<&str> = group[0].waits[0].behind.iter().map(|holder| holder.name.as_str()).collect();
    assert_eq!(behind, ["hog", "", "loop"], "the longest first");
    assert!(table.by_group(|process| (process.pid == Some(9)).then_some("/none")).is_empty());
}

#[test]
fn who_had_the_cpu_is_a_culprit_with_those_who_waited() {
    let culprits = two_processes().culprits();
    let rows: Vec<(&str, Option<u32>, u64)> = culprits
        .iter()
        .map(|culprit| (culprit.who.name.as_str(), culprit.who.pid, culprit.who.time.as_nanos() / MS))
        .collect();
    assert_eq!(rows, [("hog", Some(8), 200), ("", None, 100), ("loop", Some(7), 50)]);
    assert_eq!(culprits[0].waiters[0].name, "loop");
    assert!((culprits[0].share - 200.0 / 350.0).abs() < 1e-9);
}
