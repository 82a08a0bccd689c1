//! Background loads: they do their work, report it, and leave nothing behind.

use std::fs;
use std::process::{Child, Command, Stdio};

use crate::common::{
    Background, has_caveat, howlate, is_root, json, run, show_json, skip, stderr, stdout, wait_until,
};
use howlate_model::LoadKind;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Descendants of a process.
fn descendants(pid: u32) -> Vec<u32> {
    let of = |pid: u32| -> Vec<u32> {
        let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        list.split_whitespace().map(|word| word.parse().unwrap()).collect()
    };
    let (mut found, mut next) = (of(pid), 0);
    while next < found.len() {
        found.extend(of(found[next]));
        next += 1;
    }
    found
}

/// Whether a process exists and is no zombie.
fn lives(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

/// `howlate load` in the background; killed on drop.
struct LoadProcess(Child);

impl LoadProcess {
    /// Starts it, and waits for at least `processes` processes.
    fn start(load: &str, processes: usize) -> Self {
        Self::of(howlate(&["load", load, "--json"]), processes)
    }

    fn of(mut command: Command, processes: usize) -> Self {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let applied = Self(child);
        wait_until("the processes of the load", || applied.processes().len() >= processes);
        applied
    }

    fn processes(&self) -> Vec<u32> {
        descendants(self.0.id())
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    /// Its output after the end.
    fn result(mut self) -> Value {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut self.0.stdout.take().unwrap(), &mut text).unwrap();
        assert!(self.0.wait().unwrap().success());
        serde_json::from_str(&text).unwrap()
    }
}

impl Drop for LoadProcess {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn every_built_in_load_does_something_and_says_how_much() {
    for load in LoadKind::BUILT_IN {
        for load in [load.to_owned(), format!("{load}:50%")] {
            let apply = |time| json(&["load", &load, "--duration", time, "--json", "--quiet"], 0);
            let mut result = apply("300ms");
            if result["parts"][0]["operations"] == 0 && !load.starts_with("awake") {
                // Other tests use the CPUs, so that a short time may not be enough.
                result = apply("10s");
            }
            let part = &result["parts"][0];
            assert_eq!(part["part"], load.as_str());
            // `awake` does nothing while every CPU is busy.
            let done = part["operations"].as_u64().unwrap();
            assert!(done > 0 || load.starts_with("awake"), "{result}");
            assert!(part["cpu_ns"].as_u64().unwrap() > 0, "{result}");
            assert!(result["context_switches"].as_u64().unwrap() > 0, "{result}");
        }
    }
}

#[test]
fn hackbench_sends_exactly_what_it_is_asked_to() {
    let result = json(&["load", "hackbench:groups=2:loops=30", "--json"], 0);
    assert_eq!(result["parts"][0]["operations"], 2 * 20 * 20 * 30);
    assert!(result["ended"][0]["took_ns"].as_u64().unwrap() > 0, "{result}");
}

#[test]
fn an_interrupt_ends_a_load_and_all_its_processes() {
    let load = LoadProcess::start("cpu+pipe+disk", 6);
    let processes = load.processes();
    load.signal(Signal::INT);
    let result = load.result();
    assert_eq!(result["parts"].as_array().unwrap().len(), 3);
    assert!(processes.iter().all(|pid| !lives(*pid)), "{processes:?}");
}

#[test]
fn a_killed_howlate_takes_its_loads_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let disk = format!("disk:{}", folder.path().display());
    let built_in = LoadKind::BUILT_IN.iter().filter(|load| **load != "disk").map(|load| (*load).to_owned());
    // The daemon leaves its process group and its parent.
    let daemon = "cmd:setsid sh -c 'sleep 1234 & sleep 1234' & sleep 1234".to_owned();
    for load in built_in.chain([disk, daemon]) {
        let running = LoadProcess::start(&load, 2);
        crate::common::pause(100);
        let processes = running.processes();
        assert!(processes.len() >= 2, "{load}: {processes:?}");
        running.signal(Signal::KILL);
        wait_until(&format!("the end of all processes of {load}"), || {
            !processes.iter().any(|pid| lives(*pid))
        });
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_killed_helper_is_reported_and_its_workers_end() {
    for load in ["pipe", "cmd:exec sleep 1234"] {
        // The turn starts after its load.
        let arguments = ["cyclic", "--threads", "1", "--duration", "2s", "--quiet", "--load", load];
        let mut running = crate::common::Background::start(&arguments);
        // The kernel's list of children may be incomplete while processes start and end: proc_pid_task(5).
        let mut processes = Vec::new();
        wait_until("the processes of the load", || {
            processes = descendants(running.child.as_ref().unwrap().id());
            processes.len() >= 2
        });
        let helper = i32::try_from(processes[0]).unwrap();
        kill_process(Pid::from_raw(helper).unwrap(), Signal::KILL).unwrap();
        assert_eq!(running.output().status.code(), Some(3), "{load}");
        wait_until("the end of the workers", || !processes.iter().any(|pid| lives(*pid)));
    }
}

#[test]
fn stress_ng_leaves_nothing_behind() {
    if Command::new("stress-ng").arg("--version").output().is_err() {
        return skip("stress-ng is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = howlate(&["load", "stress-ng:stressor=fiemap:workers=1", "--json", "--quiet"]);
    command.env("TMPDIR", folder.path());
    let load = LoadProcess::of(command, 3);
    wait_until("files of stress-ng", || fs::read_dir(folder.path()).unwrap().count() > 0);
    let processes = load.processes();
    load.signal(Signal::KILL);
    wait_until("the end of stress-ng", || !processes.iter().any(|pid| lives(*pid)));
    wait_until("the files are gone", || fs::read_dir(folder.path()).unwrap().count() == 0);
}

#[test]
fn rt_tests_hackbench_is_started_again_and_again() {
    if Command::new("hackbench").arg("--help").output().is_err() {
        return skip("rt-tests is not installed");
    }
    let result = json(&["load", "hackbench-program:-g 1 -l 10", "--duration", "1s", "--json"], 0);
    assert_eq!(result["ended"], Value::Array(vec![]));
    assert!(result["parts"][0]["cpu_ns"].as_u64().unwrap() > 0, "{result}");
}

/// A field of `/proc/PID/stat`, numbered as in proc_pid_stat(5).
fn stat(pid: u32, field: usize) -> i64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit(')').next().unwrap().split_whitespace().nth(field - 3).unwrap().parse().unwrap()
}

#[test]
fn loads_are_normal_programs_whatever_howlate_was_started_with() {
    const NICE: usize = 19;
    const POLICY: usize = 41;
    let mut command = Command::new("chrt");
    command.args([
        "--batch",
        "0",
        env!("CARGO_BIN_EXE_howlate"),
        "load",
        "cpu",
        "--load-cpus",
        "0",
        "--json",
    ]);
    let load = LoadProcess::of(command, 3);
    // The helper sets its own scheduling before it starts workers.
    for pid in load.processes() {
        assert_eq!((stat(pid, POLICY), stat(pid, NICE)), (0, 0));
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        assert!(status.contains("Cpus_allowed_list:\t0\n"), "{status}");
    }
    load.signal(Signal::INT);
    assert_eq!(load.result()["parts"][0]["cpus"], "0");
}

#[test]
fn a_nice_howlate_that_may_not_undo_it_says_so() {
    if Command::new("prlimit").arg("--version").output().is_err() {
        return skip("prlimit(1) is not installed");
    }
    let anyone = crate::common::ForAnyone::new();
    let howlate = anyone.howlate(&["load", "cpu", "--duration", "200ms", "--json"]);
    // The user's limits may permit lower nice values.
    let mut command = Command::new("prlimit");
    command.args(["--nice=0:0", "nice", "-n", "5"]).arg(howlate.get_program()).args(howlate.get_args());
    if is_root() {
        std::os::unix::process::CommandExt::uid(&mut command, 65_534);
    }
    let output = command.output().unwrap();
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let notes = result["notes"].to_string();
    // `nice` prints the inherited nice value, to which it adds.
    let own: i32 = stdout(&Command::new("nice").output().unwrap()).trim().parse().unwrap();
    let nice = (own + 5).min(19);
    assert!(notes.contains(&format!("The load cpu runs at nice {nice}, ")), "{notes}");
}

#[test]
fn what_a_load_did_is_part_of_the_result() {
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("run.jsonl");
    let measure =
        ["cyclic", "--threads", "1", "--load", "idle,pipe+timers:20%", "--load-cpus", "0", "--duration"];
    let output =
        run(&[&measure[..], &["1s", "--rounds", "2", "--details", "--out", recording.to_str().unwrap()]]
            .concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    for report in [
        "Load: idle; whole machine: ",
        "Load: pipe:cpus=0 ",
        " wake-ups/s, ",
        " expiries/s, ",
        " interrupts/s",
    ] {
        assert!(text.contains(report), "{report}: {text}");
    }
    let result = show_json(&recording);
    let of = |load: &str| {
        let results = result["results"].as_array().unwrap();
        results.iter().find(|result| result["condition"]["load"] == load).unwrap()["load_effect"].clone()
    };
    let (idle, pipe) = (of("idle"), of("pipe:cpus=0+timers:20%:cpus=0"));
    assert!(idle["context_switches"].as_u64().unwrap() > 0);
    assert_eq!(idle["parts"], Value::Null);
    assert_eq!([&pipe["parts"][0]["unit"], &pipe["parts"][1]["unit"]], ["wake-ups", "expiries"]);
    assert!(
        pipe["parts"].as_array().unwrap().iter().all(|part| part["operations"].as_u64().unwrap() > 0),
        "{pipe}"
    );
    assert!(pipe["parts"].as_array().unwrap().iter().all(|part| part["cpus"] == "0"), "{pipe}");
    let lines = fs::read_to_string(&recording).unwrap();
    assert!(lines.lines().filter(|line| line.starts_with("{\"load\"")).count() >= 4, "{lines}");
}

#[test]
fn a_load_that_dies_is_reported_with_its_last_words() {
    let load = "cmd:sleep 0.4; echo the pump is broken >&2; exit 7";
    let mut run = Background::start(&["cyclic", "--threads", "1", "--load", load, "--duration", "2s"]);
    let output = run.output();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let result = show_json(&run.recording);
    assert!(has_caveat(&result, "load_ended"), "{}", result["caveats"]);
    assert!(
        result["caveats"].to_string().contains("exit status: 7: the pump is broken"),
        "{}",
        result["caveats"]
    );
}

#[test]
fn a_load_that_does_nothing_is_named_and_one_that_works_is_not() {
    for (load, idle) in [("cmd:exec sleep 60", true), ("cmd:while :; do :; done", false)] {
        let output = run(&["cyclic", "--threads", "1", "--load", load, "--duration", "1s", "--json"]);
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(has_caveat(&result, "load_ineffective"), idle, "{load}: {result}");
    }
}

#[test]
fn a_load_is_given_time_to_settle_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("run.jsonl");
    let measure = ["cyclic", "--threads", "1", "--load", "idle,pipe", "--duration", "400ms", "--rounds", "2"];
    run(&[&measure[..], &["--out", recording.to_str().unwrap()]].concat());
    let lines = fs::read_to_string(&recording).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let finished: Vec<&Value> = lines.iter().filter_map(|line| line.get("finished")).collect();
    assert_eq!(finished.len(), 4);
    for turn in finished.iter().filter(|turn| turn["load"] != Value::Null) {
        let nanos = |name: &str| turn["load"][name].as_u64().unwrap();
        assert!(0 < nanos("settled_ns") && nanos("settled_ns") < nanos("elapsed_ns"), "{turn}");
    }
    // The work while it settled is only in the report of the turn.
    let done = |of: &Value| of["parts"][0]["operations"].as_u64().unwrap();
    let in_blocks: u64 = lines
        .iter()
        .filter_map(|line| line.get("load"))
        .filter(|load| load["parts"] != Value::Null)
        .map(done)
        .sum();
    let in_turns: u64 =
        finished.iter().filter(|turn| turn["load"] != Value::Null).map(|turn| done(&turn["load"])).sum();
    assert!(0 < in_blocks && in_blocks < in_turns, "{in_blocks} of {in_turns}");
}

#[test]
fn a_full_disk_is_refused_before_anything_is_measured() {
    if !is_root() {
        return skip("mounting a small disk needs root");
    }
    let folder = tempfile::tempdir().unwrap();
    let mount =
        format!("mount -t tmpfs -o size=64m none {0} && exec \"$0\" load disk:{0}", folder.path().display());
    let mut command = Command::new("unshare");
    let output =
        command.args(["--mount", "sh", "-c", &mount, env!("CARGO_BIN_EXE_howlate")]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("wants 512 MiB free in"), "{}", stderr(&output));
}

/// A folder with only the program and its libraries.
fn almost_empty_root() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    crate::common::copy_libraries(root.path());
    crate::common::copy_program(&root.path().join("howlate"));
    ["proc", "tmp"].iter().for_each(|folder| fs::create_dir(root.path().join(folder)).unwrap());
    root
}

#[test]
fn built_in_loads_run_as_process_1_without_any_other_program() {
    if !is_root() {
        return skip("making a container needs root");
    }
    let root = almost_empty_root();
    // `awake` yields to all the others, so that it would do nothing.
    let without_awake: Vec<&str> = LoadKind::BUILT_IN.into_iter().filter(|load| *load != "awake").collect();
    let loads = without_awake.join("+");
    // Many more workers than CPUs: a short time may not be enough for one of them.
    for duration in ["500ms", "3s", "20s"] {
        let enter = format!(
            "mount -t proc proc {0}/proc && exec chroot {0} /howlate load {loads} --duration {duration} --json",
            root.path().display()
        );
        let mut command = Command::new("unshare");
        // A folder for temporary files that does not exist there.
        command.env_remove("TMPDIR");
        let output = command.args(["--mount", "--pid", "--fork", "sh", "-c", &enter]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        let parts = result["parts"].as_array().unwrap();
        assert_eq!(parts.len(), without_awake.len());
        let idle = parts.iter().find(|part| part["operations"] == 0);
        assert!(idle.is_none() || duration != "20s", "{idle:?}");
        if idle.is_none() {
            return;
        }
    }
}

#[test]
fn a_command_begins_with_no_signal_ignored_that_is_not_ignored_here() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ignored");
    let load = format!("cmd:grep SigIgn /proc/self/status > {}", file.display());
    run(&["load", &load, "--duration", "5s"]);
    let ignored = fs::read_to_string(file).unwrap();
    let ignored = u64::from_str_radix(ignored.split_whitespace().last().unwrap(), 16).unwrap();
    // Two signals of the C library itself, and SIGPIPE and SIGXFSZ.
    let own = [32, 33, 13, 25].map(|signal: u32| 1 << (signal - 1)).iter().sum::<u64>();
    assert_eq!(ignored & own, 0, "{ignored:x}");
}
