//! Exact output for command lines and prepared wake-ups.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use howlate_model::{MonotonicTime, Wakeup, Work};
use howlate_rt_tests::cyclictest::{
    CpuMasks, CyclictestEarlyExit, CyclictestOptions, CyclictestRequest, CyclictestResults, final_text,
    histogram_text, json, live_text, parse, preamble, stat_lines, turn, usage,
};
use howlate_rt_tests::{Compat, RunFacts};

fn machine() -> CpuMasks {
    let cpus: howlate_model::CpuSet = "0-3".parse().unwrap();
    CpuMasks { configured: 4, online: 4, allowed: cpus.clone(), bindable: cpus }
}

fn request(line: &str) -> CyclictestRequest {
    let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    parse(&arguments, &machine(), Compat::default()).unwrap()
}

fn options(line: &str) -> CyclictestOptions {
    request(line).options
}

/// Results for the latencies of each thread, in nanoseconds; wake-ups every millisecond.
fn results(line: &str, threads: &[&[i64]]) -> CyclictestResults {
    let options = options(line);
    let mut results = CyclictestResults::new(&options, &turn(&options, &machine()), 0);
    for (thread, latencies) in threads.iter().enumerate() {
        results.set_tid(thread, 100 + u32::try_from(thread).unwrap());
        let wakeup = |(cycle, latency): (i64, i64)| {
            let expected = 1_000_000 * (cycle + 1);
            let at = MonotonicTime::from_nanos;
            Wakeup { expected: at(expected), ran: at(expected + latency) }
        };
        let wakeups: Vec<Wakeup> = (0..).zip(latencies.iter().copied()).map(wakeup).collect();
        results.add(thread, &wakeups);
    }
    results
}

#[track_caller]
fn check_final(line: &str, threads: &[&[i64]], text: &str) {
    let results = results(line, threads);
    let histogram = histogram_text(&results).unwrap_or_default();
    assert_eq!(final_text(&results, &histogram), text, "{line}");
}

#[test]
fn stat_lines_are_those_of_the_original() {
    check_final(
        "-q -p80 -t2",
        &[&[5_999, 25_000, 10_100], &[]],
        "T: 0 (  100) P:80 I:1000 C:      3 Min:      5 Act:   10 Avg:   13 Max:      25\n\
         T: 1 (    0) P:80 I:1500 C:      0 Min:1000000 Act:    0 Avg:    0 Max:       0\n"
            .replace("(    0)", "(  101)")
            .as_str(),
    );
    check_final(
        "-q -N -p7 -i 200 -l5",
        &[&[8_297, 51_180]],
        "T: 0 (  100) P: 7 I:200 C:      2 Min:   8297 Act:   51180 Avg:   29738 Max:   51180\n",
    );
    // Every latency above a millisecond: the original would report a minimum of 1000000.
    check_final(
        "-q -N",
        &[&[2_000_000]],
        "T: 0 (  100) P: 0 I:1000 C:      1 Min:2000000 Act: 2000000 Avg: 2000000 Max: 2000000\n",
    );
}

const LATENCIES: [&[i64]; 2] = [&[7_000, 9_999, 9_000, 12_000], &[7_100, 30_000, 40_000, 8_000]];

#[test]
fn histograms_of_2_10_leave_out_empty_rows_and_totals() {
    check_final(
        "--compat=2.10 -q -t2 -h 10",
        &LATENCIES,
        "# Histogram\n000007 000001\t000001\n000008 000000\t000001\n000009 000002\t000000\n\
         # Min Latencies: 00007 00007\n# Avg Latencies: 00009 00021\n# Max Latencies: 00012 00040\n\
         # Histogram Overflows: 00001 00002\n# Histogram Overflow at cycle number:\n\
         # Thread 0: 00003\n# Thread 1: 00001 00002\n\n",
    );
    check_final(
        "--compat=2.10 -q -H 10",
        &LATENCIES[..1],
        "# Histogram\n000007 000001\t000001\n000009 000002\t000002\n\
         # Min Latencies: 00007\n# Avg Latencies: 00009\n# Max Latencies: 00012\n\
         # Histogram Overflows: 00001\n# Histogram Overflow at cycle number:\n# Thread 0: 00003\n\n",
    );
    check_final(
        "--compat=2.10 -q -H 2 -t2",
        &[&[1_000, 5_000, 6_000, 7_000], &[0]],
        "# Histogram\n000000 000000\t000001\t000001\n000001 000001\t000000\t000001\n\
         # Min Latencies: 00001 00000\n# Avg Latencies: 00004 00000\n# Max Latencies: 00007 00000 00007\n\
         # Histogram Overflows: 00003 00000 00003\n# Histogram Overflow at cycle number:\n\
         # Thread 0: 00001 00002 # 00001 others\n# Thread 1: \n\n",
    );
}

#[test]
fn histograms_of_2_4_and_2_6_have_every_row_and_totals() {
    for version in ["2.4", "2.6"] {
        every_row_and_totals(version);
    }
}

fn every_row_and_totals(version: &str) {
    let line = |options: &str| format!("--compat={version} {options}");
    check_final(
        &line("-q -t2 -h 3"),
        &[&[0, 2_000], &[9_000]],
        "# Histogram\n000000 000001\t000000\n000001 000000\t000000\n000002 000001\t000000\n\
         # Total: 000000002 000000000\n\
         # Min Latencies: 00000 00009\n# Avg Latencies: 00001 00009\n# Max Latencies: 00002 00009\n\
         # Histogram Overflows: 00000 00001\n# Histogram Overflow at cycle number:\n\
         # Thread 0:\n# Thread 1: 00000\n\n",
    );
    check_final(
        &line("-q -H 1"),
        &[&[0]],
        "# Histogram\n000000 000001\n# Total: 000000001\n\
         # Min Latencies: 00000\n# Avg Latencies: 00000\n# Max Latencies: 00000\n\
         # Histogram Overflows: 00000\n# Histogram Overflow at cycle number:\n# Thread 0:\n\n",
    );
    let both = results(&line("-q -H 1 -t2"), &[&[0], &[0, 7_000]]);
    let text = histogram_text(&both).unwrap();
    assert!(
        text.contains("000000 000001\t000001\t000002\n# Total: 000000001 000000001 000000002\n"),
        "{text}"
    );
}

#[test]
fn latencies_are_negative_after_the_clock_was_set_back() {
    check_final(
        "-q -c 1",
        &[&[-3_000_000, 5_000]],
        "T: 0 (  100) P: 0 I:1000 C:      2 Min:  -3000 Act:    5 Avg:-1497 Max:       5\n",
    );
}

#[test]
fn spikes_histogram_and_break_come_in_this_order() {
    check_final(
        "--compat=2.10 -q -t2 -h 2 --spike=20 -b 30",
        &[&[1_000, 30_999], &[1_000, 40_000, 31_000]],
        "\nT: 0 Spike:      30: TS:         2030\nT: 1 Spike:      40: TS:         2040\n\
         T: 1 Spike:      31: TS:         3031\nspikes = 3\n\n\
         # Histogram\n000001 000001\t000001\n\
         # Min Latencies: 00001 00001\n# Avg Latencies: 00015 00024\n# Max Latencies: 00030 00040\n\
         # Histogram Overflows: 00001 00002\n# Histogram Overflow at cycle number:\n\
         # Thread 0: 00001\n# Thread 1: 00001 00002\n\n\
         # Thread Ids: 00100 00101\n# Break thread: 101\n# Break value: 40\n",
    );
    check_final("-b 99 -v", &[&[1_000]], "# Thread Ids: 00100\n");
}

#[test]
fn verbose_values_have_thread_and_cycle() {
    let mut results = results("-v -t2", &[&[5_000, 6_000], &[7_000]]);
    assert_eq!(
        results.take_values(),
        "       0:       0:       5\n       0:       1:       6\n       1:       0:       7\n"
    );
    assert_eq!(results.take_values(), "");
    let options = options("-v -t2 -a 1,2");
    let (before, after) = preamble(&options, &machine(), &[Some(1), Some(2)]);
    assert_eq!(before, "Max CPUs = 4\nOnline CPUs = 4\nUsing 2 cpus.\n");
    assert_eq!(
        after,
        "Thread 0 using cpu 1.\nThread 0 Interval: 1500\nThread 1 using cpu 2.\nThread 1 Interval: 2000\n"
    );
}

#[test]
fn the_screen_shows_policy_load_and_threads() {
    let results = results("-p80", &[&[5_000]]);
    let text = live_text(&results, "5.64 5.67 4.14 8/127 30516\n");
    assert_eq!(
        text,
        format!("policy: fifo: loadavg: 5.64 5.67 4.14 8/127 30516          \n\n{}", stat_lines(&results))
    );
    for (line, policy) in
        [("-t1", "other/other"), ("--policy=batch", "batch/batch"), ("--policy=rr -p1", "rr")]
    {
        let text = live_text(&self::results(line, &[&[5_000]]), "0\n");
        assert!(text.starts_with(&format!("policy: {policy}: loadavg: 0 ")), "{text}");
    }
}

#[test]
fn json_has_the_keys_of_the_original_and_is_valid() {
    let facts = RunFacts {
        command_line: "cyclictest \"a\\\tb".into(),
        started: "Sat, 21 Nov 2026 01:33:57 +0000".into(),
        nodes: vec![0, -1],
        ..RunFacts::default()
    };
    let text = json(&results("-q -t2 -h 5", &[&[1_000, 2_000, 1_500]]), &facts);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["cmdline:"], "cyclictest \"a\\\tb");
    assert_eq!(value["rt_test_version:"], "2.60");
    assert_eq!(value["thread"]["0"]["histogram"], serde_json::json!({ "1": 2, "2": 1 }));
    assert!(text.contains("\"avg\": 1.33,\n      \"cpu\": -1,\n      \"node\": 0\n"), "{text}");
    // A thread without any cycle, for which the original writes "-nan".
    assert_eq!(value["thread"]["1"]["avg"], 0.0);
    let old = json(&results("-q --compat=2.4", &[&[1_000]]), &facts);
    assert!(old.contains("\"rt_test_version:\": \"2.40\"") && old.contains("\"histogram\": {      },\n"));
    let new = json(&results("-q --compat=2.10", &[&[1_000]]), &facts);
    assert!(new.contains("\"rt_test_version:\": \"2.10\"") && !new.contains("histogram"));
}

#[test]
fn options_become_tasks() {
    let shown = |line: &str| {
        let turn = turn(&options(line), &machine());
        let task = |task: &howlate_model::Task| {
            let kind = match task.work {
                Work::Cyclic { .. } => "until",
                Work::Sleep { .. } => "for",
                Work::Notify { .. } => "notify",
                Work::Watch { .. } => "watch",
                Work::Foreign { .. } => "foreign",
            };
            let cpu = task.cpu.map_or_else(|| "-".to_owned(), |cpu| cpu.to_string());
            let (call, length) = (task.work.mechanism(), task.work.length());
            let samples = task.samples.map_or_else(|| "-".to_owned(), |samples| samples.to_string());
            format!("{call} {kind} {length} {} @{cpu} x{samples} +{}", task.policy, task.phase)
        };
        turn.tasks.iter().map(task).collect::<Vec<_>>().join("; ")
    };
    for (line, tasks) in [
        ("-l 5", "clock_nanosleep until 1ms other @- x5 +1ms"),
        (
            "-p 80 -t2",
            "clock_nanosleep until 1ms fifo:80 @- x- +1ms; clock_nanosleep until 1.5ms fifo:80 @- x- +1.55ms",
        ),
        ("-x -D 1 -i 3000", "posix_timer until 3ms other @- x334 +3ms"),
        ("-s --policy=rr -p 5", "nanosleep for 1ms rr:5 @- x- +1ms"),
        ("-r -a 2", "clock_nanosleep for 1ms other @2 x- +1ms"),
        ("--compat=2.4", "clock_nanosleep until 1ms other @0 x- +1ms"),
        ("--compat=2.6", "clock_nanosleep until 1ms other @- x- +1ms"),
        ("--compat=2.10", "clock_nanosleep until 1ms other @- x- +1ms"),
        (
            "-A 7 -d0 -t2",
            "clock_nanosleep until 1ms other @- x- +1ms; clock_nanosleep until 1ms other @- x- +1.007ms",
        ),
        ("--secaligned 7", "clock_nanosleep until 1ms other @- x- +1.007ms"),
        (
            "-p 2 --priospread -t 3 -a 3 -d0 -A",
            "clock_nanosleep until 1ms fifo:2 @3 x- +1ms; clock_nanosleep until 1ms fifo:1 @3 x- +1ms; \
             clock_nanosleep until 1ms fifo:1 @3 x- +1ms",
        ),
    ] {
        assert_eq!(shown(line), tasks, "{line}");
    }
}

#[test]
fn threads_are_assigned_to_cpus_round_robin() {
    let cpus = |line: &str| -> Vec<Option<u32>> {
        turn(&options(line), &machine()).tasks.iter().map(|task| task.cpu).collect()
    };
    assert_eq!(cpus("-t"), [None; 4]);
    assert_eq!(cpus("-S"), [Some(0), Some(1), Some(2), Some(3)]);
    assert_eq!(cpus("-a -t 5"), [Some(0), Some(1), Some(2), Some(3), Some(0)]);
    assert_eq!(cpus("-a 3,1 -t"), [Some(1), Some(3)]);
    assert_eq!(cpus("-a !0 -t 2"), [Some(1), Some(2)]);
    assert_eq!(cpus("-a all -t 2"), [Some(0), Some(1)]);
}

#[test]
fn invalid_command_lines_end_early() {
    let refused = |line: &str| {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&arguments, &machine(), Compat::default()).unwrap_err()
    };
    assert!(matches!(refused("-q --help"), CyclictestEarlyExit::Help(_)));
    assert!(
        matches!(refused("-q -Z"), CyclictestEarlyExit::GetoptError(_, text) if text == "invalid option -- 'Z'")
    );
    for line in ["-i 0", "-c 2", "-h 0", "-p 100", "-o 2", "-A --secaligned", "-a 9", "-t-3", "-D -1"] {
        assert!(matches!(refused(line), CyclictestEarlyExit::Invalid(..)), "{line}");
    }
    // One line, as in the original; no usage.
    let CyclictestEarlyExit::Fatal(warning) = refused("--smi") else {
        panic!("--smi needs threads bound to CPUs")
    };
    assert!(warning.to_string().starts_with("FATAL: SMI counter relies on thread affinity"));
}

proptest::proptest! {
    /// No command line panics, and accepted ones have intervals that can be measured.
    #[test]
    fn any_command_line_is_parsed_or_refused(arguments in proptest::collection::vec("-?-?[a-zA-Z=0-9 :,!+]{0,12}|-[itdlDhcpAboa]-?[0-9]{1,20}", 0..6)) {
        if let Ok(request) = parse(&arguments, &machine(), Compat::default()) {
            let options = CyclictestOptions { threads: request.options.threads.min(8), ..request.options };
            let turn = turn(&options, &machine());
            proptest::prop_assert!(turn.tasks.iter().all(|task| !task.work.length().is_zero()));
        }
    }
}

#[test]
fn the_usage_has_the_layout_of_the_original() {
    let text = usage(Compat::V2_10);
    assert!(text.starts_with("cyclictest V 2.10\nUsage:\ncyclictest <options>\n\n-a [CPUSET] --affinity"));
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    assert!(usage(Compat::V2_6).starts_with("cyclictest V 2.60\n"));
    assert!(!usage(Compat::V2_4).contains("deepest-idle-state"));
}
