//! Sleeps of language runtimes and of users' programs. No durations are asserted.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::{has_caveat, howlate, is_root, may_use_realtime, run, show_json, skip, stderr, stdout};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

/// A user's sleeper program in bash.
struct BashSleeper {
    folder: TempDir,
    path: PathBuf,
}

impl BashSleeper {
    fn new(script: &str) -> Self {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my-probe");
        std::fs::write(&path, format!("#!/bin/bash\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        Self { folder, path }
    }

    fn name(&self) -> &str {
        self.path.to_str().unwrap()
    }

    /// Result of one measurement with it and with a thread of howlate; the latter must be complete. Returns also its caveats.
    #[track_caller]
    fn beside_a_thread(&self, status: i32) -> (Value, String) {
        let calls = format!("{},clock_nanosleep", self.name());
        let output =
            run(&["sleep", "--for", "1ms", "--call", &calls, "--samples", "6", "--rounds", "2", "--json"]);
        assert_eq!(output.status.code(), Some(status), "{}", stderr(&output));
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(result["results"][1]["count"], 6, "the rest is unharmed");
        assert_eq!(result["ended"], "done");
        let caveats = result["results"][0]["caveats"].to_string();
        (result["results"][0].clone(), caveats)
    }
}

/// Other tests may take the CPU for a whole turn; three more attempts then.
fn unless_starved(measuring: &mut Command, recording: Option<&Path>) -> Output {
    let mut output = measuring.output().unwrap();
    for _ in 0..3 {
        if !stderr(&output).contains("cut at its time limit") {
            break;
        }
        recording.iter().for_each(|recording| std::fs::remove_file(recording).unwrap());
        output = measuring.output().unwrap();
    }
    output
}

const HELLO: &str = "echo 'howlate-probe 1 realtime my language 4.2'\n";

/// Sleeps as howlate requests.
const SLEEPS: &str = "\
for ((left = $2; left > 0; left--)); do
    start=$EPOCHREALTIME; sleep 0.001; end=$EPOCHREALTIME
    echo ${start/[.,]/}000 ${end/[.,]/}000
done
echo end";

/// A cache folder with a foreign program in place of howlate's.
fn with_a_planted_program() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    shell_probe(folder.path());
    let probe_folder =
        std::fs::read_dir(folder.path().join("howlate/probes")).unwrap().next().unwrap().unwrap();
    let ran = folder.path().join("ran");
    std::fs::write(probe_folder.path().join("shell.sh"), format!("touch {}\n", ran.display())).unwrap();
    (folder, ran)
}

/// Runs the shell's program from the folder `cache`; it must work.
#[track_caller]
fn shell_probe(cache: &Path) {
    let mut command = howlate(&["sleep", "--for", "1ms", "--call", "shell", "--samples", "2", "--json"]);
    let output = command.env("XDG_CACHE_HOME", cache).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["results"][0]["count"], 2);
}

#[test]
fn a_program_that_is_not_as_it_was_made_is_not_run() {
    let (cache, ran) = with_a_planted_program();
    shell_probe(cache.path());
    assert!(!ran.exists(), "the planted program was run");
}

#[test]
fn a_program_that_somebody_else_could_have_put_there_is_not_run() {
    if !is_root() {
        return skip("giving a folder to another user needs root");
    }
    let (cache, ran) = with_a_planted_program();
    let probe_folder = cache.path().join("howlate/probes");
    // With correct checksums, which an attacker would write too.
    let program = std::fs::read_dir(&probe_folder).unwrap().next().unwrap().unwrap().path();
    let sums =
        std::process::Command::new("sha256sum").arg("shell.sh").current_dir(&program).output().unwrap();
    std::fs::write(program.join("SHA256SUMS"), sums.stdout).unwrap();
    for folder in [probe_folder.clone(), cache.path().join("howlate"), cache.path().to_owned()] {
        std::os::unix::fs::chown(&folder, Some(65_534), None).unwrap();
        shell_probe(cache.path());
        assert!(!ran.exists(), "the program of another user's {} was run", folder.display());
        std::os::unix::fs::chown(&folder, Some(0), None).unwrap();
        std::fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        shell_probe(cache.path());
        assert!(!ran.exists(), "the program of {}, which anyone may write, was run", folder.display());
        std::fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    }
    let mut command = howlate(&["sleep", "--for", "1ms", "--call", "shell", "--samples", "2"]);
    command.env("XDG_CACHE_HOME", cache.path()).output().unwrap();
    assert!(ran.exists(), "ours alone and with the right sums, it would have been run");
}

/// The executable of each runtime, to find out whether it is installed.
const RUNTIMES: [(&str, &str); 9] = [
    ("python", "python3"),
    ("c", "cc"),
    ("cpp", "c++"),
    ("rust", "rustc"),
    ("go", "go"),
    ("java", "javac"),
    ("java_park", "javac"),
    ("node", "node"),
    ("shell", "bash"),
];

fn is_on_path(program: &str) -> bool {
    std::env::split_paths(&std::env::var_os("PATH").unwrap()).any(|folder| folder.join(program).is_file())
}

/// Runs every installed runtime for one length; checks what holds on any machine.
#[track_caller]
fn every_runtime(policy: &str, check: impl Fn(&Value)) {
    let (here, absent): (Vec<_>, Vec<_>) = RUNTIMES.into_iter().partition(|(_, program)| is_on_path(program));
    for (name, program) in absent {
        skip(&format!("{name}: {program} is not installed"));
    }
    let calls: Vec<&str> = here.iter().map(|(name, _)| *name).collect();
    let arguments =
        ["sleep", "--for", "2ms", "--samples", "6", "--rounds", "2", "--json", "--policy", policy];
    let output = unless_starved(howlate(&arguments).args(["--call", &calls.join(",")]), None);
    assert_eq!(output.status.code(), Some(0), "{}{}", stderr(&output), stdout(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["results"].as_array().unwrap().len(), calls.len());
    for (result, name) in result["results"].as_array().unwrap().iter().zip(calls) {
        assert_eq!(result["condition"]["mechanism"], name);
        assert_eq!(result["count"], 6, "{name}");
        assert!(result["runtime"].as_str().unwrap().len() > 5, "{name} tells its version");
        assert!(result["usage"]["elapsed_ns"].as_i64().unwrap() > 0);
        check(result);
    }
}

/// The nice value of these tests, 18 at most: anyone may add to it.
fn own_nice() -> i32 {
    rustix::process::getpriority_process(None).unwrap().min(18)
}

#[test]
fn every_language_sleeps_as_often_as_asked_with_what_was_asked() {
    // One more than now: a program of 19 hardly gets a CPU where others are busy.
    let nice = i64::from(own_nice()) + 1;
    every_runtime(&format!("nice:{nice}"), |result| {
        assert_eq!(result["in_force"]["policy"], "other");
        assert_eq!(result["in_force"]["nice"], nice);
    });
}

#[test]
fn every_language_runs_under_a_realtime_policy() {
    if !may_use_realtime() {
        return skip("real-time priorities are not allowed here");
    }
    every_runtime("rr:7", |result| {
        assert_eq!(
            (&result["in_force"]["policy"], &result["in_force"]["priority"]),
            (&"rr".into(), &7.into())
        );
        assert_eq!(result["in_force"]["slack_ns"], 0);
    });
}

#[test]
fn a_program_gets_policy_slack_and_cpu_and_its_result_is_recorded() {
    let own = BashSleeper::new(&format!("{HELLO}{SLEEPS}"));
    let path = own.folder.path().join("own.jsonl");
    let out = path.to_str().unwrap();
    let arguments = [
        "sleep",
        "--for",
        "1ms",
        "--policy",
        "batch,other",
        "--slack",
        "4321ns",
        "--cpus",
        "0",
        "--samples",
        "5",
    ];
    let mut measuring = howlate(&arguments);
    measuring.args(["--call", own.name(), "--json", "--out", out]);
    let output = unless_starved(&mut measuring, Some(&path));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    for (result, policy) in result["results"].as_array().unwrap().iter().zip(["batch", "other"]) {
        let in_force = &result["in_force"];
        assert_eq!((&in_force["policy"], &in_force["cpus"]), (&policy.into(), &"0".into()));
        assert_eq!(in_force["slack_ns"], 4321);
        assert_eq!(result["condition"]["mechanism"], own.name());
        assert_eq!((&result["count"], &result["runtime"]), (&5.into(), &"my language 4.2".into()));
    }
    assert_eq!(show_json(&path)["results"], result["results"]);
    let text = stdout(&run(&["show", out]));
    assert!(text.contains("my language 4.2"), "{text}");
}

#[test]
fn a_program_that_fails_fails_alone_and_says_why() {
    let cases = [
        ("exit 3", "ended too early (exit status: 3)"),
        ("echo 'no module named clock' >&2; exit 1", "its last words: no module named clock"),
        ("kill -SEGV $$", "signal: 11"),
        ("echo Hello, world", "its first line must be `howlate-probe 1 monotonic"),
        ("echo 'howlate-probe 1 monotonic x'; echo 1 2 3", "it printed `1 2 3`"),
        ("echo 'howlate-probe 1 monotonic x'; echo 1 2", "is its clock CLOCK_MONOTONIC?"),
        ("echo 'howlate-probe 1 monotonic x'; echo end", "said `end` after 0 of 3 sleeps"),
        ("head -c 100000 /dev/zero", "its first line must be"),
    ];
    for (script, says) in cases {
        let (result, caveats) = BashSleeper::new(script).beside_a_thread(3);
        assert!(caveats.contains(says), "{script}: {caveats}");
        assert_eq!((&result["count"], &result["unfinished"]), (&0.into(), &true.into()), "{script}");
    }
}

#[test]
fn a_program_that_failed_is_not_tried_again() {
    let own = BashSleeper::new("echo started >> $0.log; exit 3");
    own.beside_a_thread(3);
    let log = std::fs::read_to_string(own.path.with_extension("log")).unwrap();
    assert_eq!(log.lines().count(), 1, "there are two rounds");
}

#[test]
fn a_program_that_says_nothing_is_given_up() {
    let (_, caveats) = BashSleeper::new("sleep 1000").beside_a_thread(3);
    assert!(caveats.contains("said nothing within 1m"), "{caveats}");
}

#[test]
fn a_program_that_cannot_be_started_is_reported() {
    let own = BashSleeper::new("");
    std::fs::write(&own.path, "#!/no/such/interpreter\n").unwrap();
    let (_, caveats) = own.beside_a_thread(3);
    assert!(caveats.contains("cannot be started"), "{caveats}");
}

#[test]
fn a_program_that_hangs_is_cut_and_one_that_will_not_die_is_killed() {
    let hangs = BashSleeper::new(&format!("{HELLO}sleep 1000"));
    let output = run(&[
        "sleep",
        "--for",
        "1ms",
        "--call",
        hangs.name(),
        "--samples",
        "5",
        "--duration",
        "300ms",
        "--json",
    ]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&result["results"][0]["unfinished"], &result["ended"]), (&true.into(), &"done".into()));
    assert!(has_caveat(&result, "unfinished"));

    let stays = BashSleeper::new(&format!("trap '' TERM HUP INT\n{HELLO}{SLEEPS}\nsleep 1000 & sleep 1000"));
    let (result, caveats) = stays.beside_a_thread(0);
    assert_eq!(result["count"], 6, "all that was asked for was measured");
    assert!(!caveats.contains("unfinished"), "{caveats}");
}

#[test]
fn what_the_machine_lacks_is_named_and_the_rest_is_measured() {
    let empty = tempfile::tempdir().unwrap();
    let arguments = ["sleep", "--for", "1ms", "--samples", "3", "--json", "--call", "go,clock_nanosleep"];
    let output = howlate(&arguments).env("PATH", empty.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["results"].as_array().unwrap().len(), 1);
    assert!(result["caveats"].to_string().contains("apt-get install golang-go"), "{}", result["caveats"]);

    let output =
        howlate(&["sleep", "--call", "python,./no-such-probe"]).env("PATH", empty.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let message = stderr(&output);
    assert!(message.contains("apt-get install python3") && message.contains("no such program"), "{message}");
}

#[test]
fn a_compiler_that_fails_fails_alone() {
    let folder = tempfile::tempdir().unwrap();
    let compiler = BashSleeper::new(
        "[[ $1 == --version ]] && exec echo 'cc 0.1'; echo 'c.c:7: error: out of ideas' >&2; exit 1",
    );
    std::fs::rename(&compiler.path, folder.path().join("cc")).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let arguments = ["sleep", "--for", "1ms", "--samples", "3", "--json", "--call", "c,clock_nanosleep"];
    let output = howlate(&arguments).env("PATH", path).env("XDG_CACHE_HOME", folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let caveats = result["results"][0]["caveats"].to_string();
    assert!(caveats.contains("cc failed (exit status: 1): c.c:7: error: out of ideas"), "{caveats}");
    assert_eq!(result["results"][1]["count"], 3);
}

#[test]
fn an_interrupt_keeps_what_the_program_had_printed() {
    let own = BashSleeper::new(&format!("{HELLO}{SLEEPS}"));
    let mut run = crate::common::Background::start(&[
        "sleep",
        "--for",
        "1ms",
        "--call",
        own.name(),
        "--samples",
        "1000000",
    ]);
    run.wait_for("\"block\"");
    run.signal(Signal::INT);
    let output = run.output();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let result = show_json(&run.recording);
    assert_eq!(result["ended"], "interrupted");
    assert!(result["results"][0]["count"].as_u64().unwrap() > 0);
    assert!(!has_caveat(&result, "unfinished"));
}

#[test]
fn a_threshold_stops_a_program() {
    let own = BashSleeper::new(&format!("{HELLO}{SLEEPS}"));
    let arguments =
        ["sleep", "--for", "1ms", "--samples", "1000000", "--rounds", "1", "--stop-above", "1ns", "--json"];
    let output = howlate(&arguments).args(["--call", own.name()]).output().unwrap();
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&result["ended"], &result["results"][0]["count"]), (&"stopped_above".into(), &1.into()));
}

#[test]
fn a_thread_that_goes_its_own_way_is_told() {
    if !is_on_path("python3") {
        return skip("python3 is not installed");
    }
    let script = "\
exec python3 -c \"
import os, threading, time
apart = threading.Event()
def other():
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    apart.set()
    time.sleep(1000)
threading.Thread(target=other, daemon=True).start()
apart.wait()
print('howlate-probe 1 monotonic python')
for _ in range(2000):
    start = time.monotonic_ns()
    time.sleep(0.001)
    print(start, time.monotonic_ns())
\"";
    let arguments = ["sleep", "--for", "1ms", "--samples", "3", "--json", "--call"];
    let output = howlate(&arguments).arg(BashSleeper::new(script).name()).output().unwrap();
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let caveats = result["results"][0]["caveats"].to_string();
    assert!(caveats.contains("1 thread of the program runs under a different policy"), "{caveats}");
    assert!(caveats.contains("it slept more often than asked"), "{caveats}");
}

/// Whether any process runs the program at `path`.
fn runs(path: &Path) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let commands = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    commands
        .map(|command_line| String::from_utf8_lossy(&command_line).into_owned())
        .any(|command_line| command_line.contains(path.to_str().unwrap()) && !command_line.contains("--call"))
}

#[test]
fn a_killed_howlate_leaves_no_program_behind() {
    // It prints nothing after its first sleep, so that no broken pipe ends it.
    let once = "start=$EPOCHREALTIME; sleep 1.1; end=$EPOCHREALTIME
echo ${start/[.,]/}000 ${end/[.,]/}000
exec -a $0 sleep 1000";
    let own = BashSleeper::new(&format!("{HELLO}{once}"));
    let mut run =
        crate::common::Background::start(&["sleep", "--for", "1s", "--call", own.name(), "--samples", "100"]);
    run.wait_for("\"block\"");
    assert!(runs(&own.path));
    run.signal(Signal::KILL);
    run.output();
    let is_gone = (0..500).any(|_| {
        crate::common::pause(10);
        !runs(&own.path)
    });
    assert!(is_gone);
}

#[test]
fn a_refused_policy_is_a_caveat_and_the_program_measures_as_it_may() {
    let anyone = crate::common::ForAnyone::new();
    let own = BashSleeper::new(&format!("{HELLO}{SLEEPS}"));
    let open =
        |path: &Path| std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755));
    open(own.folder.path()).unwrap();
    let arguments =
        ["sleep", "--for", "1ms", "--samples", "3", "--policy", "fifo:99", "--json", "--call", own.name()];
    let output = anyone.howlate(&arguments).output().unwrap();
    if output.status.code() == Some(0) && !is_root() {
        return skip("this user may use real-time priorities");
    }
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(has_caveat(&result, "policy_refused"));
    assert_eq!(
        (&result["results"][0]["count"], &result["results"][0]["in_force"]["policy"]),
        (&3.into(), &"other".into())
    );
}
