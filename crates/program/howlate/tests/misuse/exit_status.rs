//! One test for each row of the table of exit statuses in docs/commands.md.

use std::process::{Command, Stdio};

use crate::common::{
    Background, ForAnyone, SETTING_NAME, has_caveat, is_installed, is_root, json, run, show_json, skip,
    stderr, stdout,
};
use howlate_model::Policy;
use rustix::process::Signal;

#[test]
fn done_and_within_limits_is_0() {
    json(&["sleep", "--for", "1ms", "--samples", "3", "--fail-above", "max>1h", "--json"], 0);
}

/// An interrupted job has not passed, although its result is there.
#[test]
fn ended_before_what_was_asked_for_is_3() {
    let own = std::process::id().to_string();
    for command_line in [
        &["cyclic", "--threads", "1", "--duration", "1h"][..],
        &["sleep", "--for", "1ms", "--duration", "1h"],
        &["notify", "--mechanism", "futex", "--duration", "1h"],
    ] {
        let mut run = Background::start(command_line);
        run.wait_for("\"block\"");
        run.signal(Signal::INT);
        assert_eq!(run.output().status.code(), Some(3), "{command_line:?}");
        assert_eq!(show_json(&run.recording)["ended"], "interrupted", "{command_line:?}");
    }
    if !is_root() {
        return skip("watching takes root");
    }
    let mut run = Background::start(&["watch", &own, "--duration", "1h"]);
    run.wait_for("\"block\"");
    run.signal(Signal::INT);
    assert_eq!(run.output().status.code(), Some(3));
}

/// Also before the first turn; and howlate's own priority at its end is not attributed to the user.
#[test]
fn ended_at_its_start_is_3_and_no_niceness_is_blamed_on_anybody() {
    let mut run = Background::start(&["cyclic", "--policy", "other,fifo:80", "--duration", "1h"]);
    run.wait_for("\"header\"");
    run.signal(Signal::INT);
    let output = run.output();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(!stdout(&output).contains("runs at nice -20"), "{}", stdout(&output));
}

#[test]
fn a_limit_exceeded_is_1() {
    json(&["sleep", "--for", "1ms", "--samples", "3", "--fail-above", "max>1ns", "--json"], 1);
}

#[test]
fn a_limit_exceeded_before_it_was_ended_early_is_1() {
    let mut run =
        Background::start(&["cyclic", "--threads", "1", "--duration", "1h", "--fail-above", "max>1ns"]);
    run.wait_for("\"block\"");
    run.signal(Signal::TERM);
    assert_eq!(run.output().status.code(), Some(1));
}

#[test]
fn a_wake_up_that_stops_the_run_is_1_and_named() {
    let output = run(&["cyclic", "--cpus", "0", "--duration", "1h", "--stop-above", "1ns", "--quiet"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let message = stderr(&output);
    assert!(message.contains("stopped by --stop-above:") && message.contains("late on CPU 0, "), "{message}");
    assert!(message.contains("s after the start"), "{message}");
}

#[test]
fn what_is_refuted_is_1() {
    let refuted = ["cyclic", "--threads", "1", "--until", "max<1ns: 1 per 20s", "--at-most", "5m", "--json"];
    json(&refuted, 1);
}

#[test]
fn what_is_undecided_is_3() {
    let arguments =
        ["cyclic", "--threads", "1", "--period", "100us", "--until", "p50 ±2ns", "--at-most", "2s"];
    json(&[&arguments[..], &["--json"]].concat(), 3);
    let mut run = Background::start(&["cyclic", "--threads", "1", "--until", "max<1h: 1 per hour"]);
    run.wait_for("\"block\"");
    run.signal(Signal::INT);
    assert_eq!(run.output().status.code(), Some(3));
}

#[test]
fn a_bad_request_is_2() {
    assert_eq!(run(&["cyclic", "--period", "1"]).status.code(), Some(2));
    assert_eq!(run(&["show", "/no/such/recording"]).status.code(), Some(2));
}

/// A run killed before its first wake-up has no result in any format.
#[test]
fn a_killed_run_without_wake_ups_is_3() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("killed.jsonl");
    let recorded = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/recordings/v1/cyclic.jsonl");
    let text = std::fs::read_to_string(recorded).unwrap();
    std::fs::write(&path, format!("{}\n", text.lines().next().unwrap())).unwrap();
    let path = path.to_str().unwrap();
    for arguments in [&["show", path][..], &["report", path, "-o", "-"]] {
        assert_eq!(run(arguments).status.code(), Some(3), "{arguments:?}");
    }
    assert_eq!(run(&["show", recorded]).status.code(), Some(0));
    // JUnit XML alone does not pass either.
    let compared = run(&["compare", recorded, path, "--format", "junit"]);
    assert_eq!(compared.status.code(), Some(3));
    let xml = stdout(&compared);
    assert!(xml.contains("<skipped message=\"median needs ") && !xml.contains("tests=\"0\""), "{xml}");
}

/// Wrong attribution is status 1: tested in `commands/selfcheck`, without a machine.
#[test]
fn a_selfcheck_without_a_tracer_is_3() {
    assert_eq!(run(&["selfcheck", "--tracer", "none", "--quiet"]).status.code(), Some(3));
}

#[test]
fn a_refused_policy_is_3() {
    let (anyone, command_line) =
        (ForAnyone::new(), ["sleep", "--for", "1ms", "--samples", "1", "--policy", "fifo:80"]);
    let output = anyone.howlate(&command_line).output().unwrap();
    match is_root() {
        true => assert_eq!(output.status.code(), Some(3), "{}", stderr(&output)),
        false => skip("whether this user may use real-time policies is not known"),
    }
}

#[test]
fn a_refused_setting_is_3() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, out) = (folder.path().join("plan.toml"), folder.path().join("a.jsonl"));
    // An invalid value for every kernel.
    std::fs::write(
        &plan,
        format!("[system]\n{SETTING_NAME} = \"soon\"\n[[sleep]]\nfor = \"1ms\"\nsamples = 1\n"),
    )
    .unwrap();
    let output = run(&["run", plan.to_str().unwrap(), "--quiet", "--out", out.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(has_caveat(&show_json(&out), "setting_left_out"));
}

#[test]
fn a_refused_dma_latency_is_3() {
    if !is_root() {
        return skip("somebody without privilege must be had for certain");
    }
    let command_line = ["sleep", "--for", "1ms", "--samples", "1", "--dma-latency", "0", "--json"];
    let output = ForAnyone::new().howlate(&command_line).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(has_caveat(&serde_json::from_slice(&output.stdout).unwrap(), "dma_latency_refused"));
}

#[test]
fn an_affinity_that_deadline_threads_cannot_have_is_3() {
    let command_line =
        ["cyclic", "--policy", "deadline:100us/1ms", "--cpus", "0", "--samples", "5", "--json", "--quiet"];
    let output = run(&command_line);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(has_caveat(&result, "affinity_differs"), "{result}");
}

#[test]
fn cpus_taken_away_in_the_middle_are_3() {
    let allowed = howlate_linux::sched::affinity().unwrap();
    let mut cpus = allowed.iter();
    let (Some(first), Some(_)) = (cpus.next(), cpus.next()) else { return skip("needs two CPUs") };
    let command_line = "sleep --for 1ms --duration 1h --policy batch --rounds 1";
    let mut run = Background::start(&command_line.split(' ').collect::<Vec<_>>());
    // The affinity at the start has been read.
    run.wait_for("\"in_force\"");
    for tid in measuring_threads(run.child.as_ref().unwrap().id()) {
        howlate_linux::sched::bind_thread(tid, &[first].into_iter().collect()).unwrap();
    }
    run.signal(Signal::INT);
    let output = run.output();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(has_caveat(&show_json(&run.recording), "affinity_differs"));
}

/// Measuring threads of process `pid`; waits until there are some.
fn measuring_threads(pid: u32) -> Vec<u32> {
    let root = howlate_procfs::Root::live();
    let measures = |tid: &u32| {
        root.read(&format!("/proc/{pid}/task/{tid}/comm")).is_ok_and(|name| name.starts_with("howlate-"))
    };
    // The listing may miss threads while others end.
    let mut tids: Vec<u32> = Vec::new();
    crate::common::wait_until("a measuring thread", || {
        tids = howlate_procfs::threads(&root, pid).into_iter().filter(measures).collect();
        !tids.is_empty()
    });
    tids
}

/// Like `chrt --other --pid 0 TID`.
#[test]
fn a_policy_changed_in_the_middle_is_3() {
    use howlate_linux::sched;
    let command_line = "cyclic --threads 1 --policy batch --duration 1h --rounds 1";
    let mut run = Background::start(&command_line.split(' ').collect::<Vec<_>>());
    // The policy at the start has been read back.
    run.wait_for("\"in_force\"");
    for tid in measuring_threads(run.child.as_ref().unwrap().id()) {
        assert_eq!(sched::policy(tid).unwrap(), Policy::Batch);
        sched::set_policy(tid, Policy::OTHER).unwrap();
    }
    run.signal(Signal::INT);
    let output = run.output();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(has_caveat(&show_json(&run.recording), "policy_changed"));
}

/// Like `taskset -p` on the program that sleeps.
#[test]
fn cpus_taken_from_a_program_in_the_middle_are_3() {
    if !is_installed("python3") {
        return skip("python3 is not installed");
    }
    let allowed = howlate_linux::sched::affinity().unwrap();
    let (Some(first), 2..) = (allowed.iter().next(), allowed.len()) else { return skip("needs two CPUs") };
    let mut run = Background::start(&["sleep", "1ms", "python", "--samples", "60000", "--rounds", "1"]);
    let program = program_of(run.child.as_ref().unwrap().id());
    run.wait_for("\"in_force\"");
    howlate_linux::sched::bind_thread(program, &[first].into_iter().collect()).unwrap();
    run.wait_for("affinity_differs");
    run.signal(Signal::INT);
    let output = run.output();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(has_caveat(&show_json(&run.recording), "affinity_differs"));
}

/// Like `renice` on the program that sleeps.
#[test]
fn a_program_made_nicer_in_the_middle_is_3() {
    if !is_installed("python3") {
        return skip("python3 is not installed");
    }
    let mut run = Background::start(&["sleep", "1ms", "python", "--samples", "60000", "--rounds", "1"]);
    let program = program_of(run.child.as_ref().unwrap().id());
    run.wait_for("\"in_force\"");
    // Users may always make their programs nicer; these tests may be nice themselves.
    howlate_linux::sched::set_policy(program, "nice:19".parse().unwrap()).unwrap();
    run.wait_for("policy_changed");
    run.signal(Signal::INT);
    let output = run.output();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(has_caveat(&show_json(&run.recording), "policy_changed"));
}

/// The process of the language runtime that process `pid` measures.
fn program_of(pid: u32) -> u32 {
    let root = howlate_procfs::Root::live();
    let mut found = None;
    crate::common::wait_until("a program that sleeps", || {
        found = howlate_procfs::children(&root, pid).into_iter().find(|child| {
            root.read(&format!("/proc/{child}/comm")).is_ok_and(|name| name.starts_with("python"))
        });
        found.is_some()
    });
    found.unwrap()
}

/// A control group for one test, removed on drop.
struct TestGroup(std::path::PathBuf);

impl TestGroup {
    fn new(name: &str) -> Option<Self> {
        // In the hierarchy of cgroup v2, or in one of v1 without controllers.
        let places = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"].map(std::path::Path::new);
        let place = places.into_iter().find(|place| place.join("cgroup.procs").exists())?;
        let folder = place.join(format!("howlate-test-{name}-{}", std::process::id()));
        std::fs::create_dir(&folder).ok().map(|()| Self(folder))
    }

    fn take(&self, process: u32) {
        std::fs::write(self.0.join("cgroup.procs"), process.to_string()).unwrap();
    }
}

impl Drop for TestGroup {
    fn drop(&mut self) {
        drop(std::fs::remove_dir(&self.0));
    }
}

#[test]
fn a_move_to_another_control_group_in_the_middle_is_3() {
    let Some(group) = TestGroup::new("moved") else {
        return skip("needs root and control groups, version 2");
    };
    let mut run = Background::start(&["cyclic", "--threads", "1", "--duration", "2s", "--rounds", "1"]);
    let pid = run.child.as_ref().unwrap().id();
    run.wait_for("\"in_force\"");
    group.take(pid);
    let output = run.output();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(has_caveat(&show_json(&run.recording), "group_changed"));
}

#[test]
fn a_program_moved_to_another_control_group_in_the_middle_is_3() {
    if !is_installed("python3") {
        return skip("python3 is not installed");
    }
    let Some(group) = TestGroup::new("program") else {
        return skip("needs root and control groups, version 2");
    };
    let mut run = Background::start(&["sleep", "1ms", "python", "--samples", "60000", "--rounds", "1"]);
    let program = program_of(run.child.as_ref().unwrap().id());
    run.wait_for("\"in_force\"");
    group.take(program);
    run.wait_for("group_changed");
    run.signal(Signal::INT);
    let output = run.output();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(has_caveat(&show_json(&run.recording), "group_changed"));
}

#[test]
fn a_slice_changed_in_the_middle_is_3() {
    let mut run = Background::start(&["cyclic", "--threads", "1", "--duration", "2s", "--rounds", "1"]);
    let pid = run.child.as_ref().unwrap().id();
    run.wait_for("\"in_force\"");
    let tid = measuring_threads(pid)[0];
    if howlate_linux::sched::slice_of(tid).ok().flatten().is_none() {
        return skip("this kernel has no slices");
    }
    howlate_linux::sched::set_slice_of(tid, howlate_model::Span::from_micros(700)).unwrap();
    let output = run.output();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(has_caveat(&show_json(&run.recording), "slice_changed"));
}

#[test]
fn a_full_disk_is_3() {
    let folder = tempfile::tempdir().unwrap();
    for option in ["--out", "--samples-out"] {
        let path = folder.path().join(option);
        let command_line = [
            "sleep",
            "--for",
            "10us",
            "--samples",
            "20000",
            "--rounds",
            "20",
            "--quiet",
            option,
            path.to_str().unwrap(),
        ];
        let mut limited = Command::new("sh");
        limited
            .args(["-c", "ulimit -f 100; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_howlate")])
            .args(command_line);
        let output = limited.stdout(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{option}: {}", stderr(&output));
    }
}

#[test]
fn limits_without_a_wake_up_to_judge_are_3() {
    let command_line = [
        "cyclic",
        "--threads",
        "1",
        "--period",
        "1s",
        "--duration",
        "200ms",
        "--fail-above",
        "max>1h",
        "--quiet",
    ];
    assert_eq!(run(&command_line).status.code(), Some(3));
}

#[test]
fn limits_of_a_run_that_was_ended_early_are_3() {
    let mut run =
        Background::start(&["cyclic", "--threads", "1", "--duration", "1h", "--fail-above", "max>1h"]);
    run.wait_for("\"block\"");
    run.signal(Signal::TERM);
    assert_eq!(run.output().status.code(), Some(3));
}
