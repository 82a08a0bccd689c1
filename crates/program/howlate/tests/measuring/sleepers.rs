//! Sleeps of language runtimes and of users' own programs. No test here asserts a duration.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::{has_caveat, howlate, is_root, may_use_realtime, run, shown, skip, stderr, stdout};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

/// A bash program of the user's own.
struct Own {
    folder: TempDir,
    path: PathBuf,
}

impl Own {
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

    /// What one run with it and with a thread of howlate gives; the latter must be unharmed.
    #[track_caller]
    fn beside_a_thread(&self, status: i32) -> (Value, String) {
        let calls = format!("{},clock_nanosleep", self.name());
        let output =
            run(&["sleep", "--for", "1ms", "--call", &calls, "--samples", "6", "--rounds", "2", "--json"]);
        assert_eq!(output.status.code(), Some(status), "{}", stderr(&output));
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(result["results"][1]["count"], 6, "the rest is unharmed");
        assert_eq!(result["ended"], "done");
        let words = result["results"][0]["caveats"].to_string();
        (result["results"][0].clone(), words)
    }
}

/// What other tests do on its CPU may take all of a turn's time; it has three more then.
fn unless_starved(measuring: &mut Command, recording: &Path) -> Output {
    let mut output = measuring.output().unwrap();
    for _ in 0..3 {
        if !stderr(&output).contains("cut at its time limit") {
            break;
        }
        std::fs::remove_file(recording).unwrap();
        output = measuring.output().unwrap();
    }
    output
}

const HELLO: &str = "echo 'howlate-probe 1 realtime my language 4.2'\n";

/// Sleeps as it is told to.
const SLEEPS: &str = "\
for ((left = $2; left > 0; left--)); do
    start=$EPOCHREALTIME; sleep 0.001; end=$EPOCHREALTIME
    echo ${start/[.,]/}000 ${end/[.,]/}000
done
echo end";

/// A folder for programs in which one that is not ours waits to be run.
fn with_a_planted_program() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    shell_probe(folder.path());
    let kept = std::fs::read_dir(folder.path().join("howlate/probes")).unwrap().next().unwrap().unwrap();
    let ran = folder.path().join("ran");
    std::fs::write(kept.path().join("shell.sh"), format!("touch {}\n", ran.display())).unwrap();
    (folder, ran)
}

/// Runs the shell's program, kept in `cache`; it must work.
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
    let kept = cache.path().join("howlate/probes");
    // With sums that fit, as whoever plants it would write them.
    let program = std::fs::read_dir(&kept).unwrap().next().unwrap().unwrap().path();
    let sums =
        std::process::Command::new("sha256sum").arg("shell.sh").current_dir(&program).output().unwrap();
    std::fs::write(program.join("SHA256SUMS"), sums.stdout).unwrap();
    for folder in [kept.clone(), cache.path().join("howlate"), cache.path().to_owned()] {
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

/// The program behind each runtime, to find out whether it is there.
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

/// Runs every runtime that is there, for one length; checks what must hold anywhere.
#[track_caller]
fn every_runtime(policy: &str, check: impl Fn(&Value)) {
    let (here, absent): (Vec<_>, Vec<_>) = RUNTIMES.into_iter().partition(|(_, program)| is_on_path(program));
    for (name, program) in absent {
        skip(&format!("{name}: {program} is not installed"));
    }
    let calls: Vec<&str> = here.iter().map(|(name, _)| *name).collect();
    let arguments =
        ["sleep", "--for", "2ms", "--samples", "6", "--rounds", "2", "--json", "--policy", policy];
    let output = howlate(&arguments).args(["--call", &calls.join(",")]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}{}", stderr(&output), stdout(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["results"].as_array().unwrap().len(), calls.len());
    for (one, name) in result["results"].as_array().unwrap().iter().zip(calls) {
        assert_eq!(one["condition"]["mechanism"], name);
        assert_eq!(one["count"], 6, "{name}");
        assert!(one["runtime"].as_str().unwrap().len() > 5, "{name} tells its version");
        assert!(one["usage"]["elapsed_ns"].as_i64().unwrap() > 0);
        check(one);
    }
}

#[test]
fn every_language_sleeps_as_often_as_asked_with_what_was_asked() {
    every_runtime("nice:19", |one| {
        assert_eq!(one["in_force"]["policy"], "other");
        assert_eq!(one["in_force"]["nice"], 19);
    });
}

#[test]
fn every_language_runs_under_a_realtime_policy() {
    if !may_use_realtime() {
        return skip("real-time priorities are not allowed here");
    }
    every_runtime("rr:7", |one| {
        assert_eq!((&one["in_force"]["policy"], &one["in_force"]["priority"]), (&"rr".into(), &7.into()));
        assert_eq!(one["in_force"]["slack_ns"], 0);
    });
}

#[test]
fn a_program_gets_policy_slack_and_cpu_and_its_result_is_recorded() {
    let own = Own::new(&format!("{HELLO}{SLEEPS}"));
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
    let output = unless_starved(&mut measuring, &path);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    for (one, policy) in result["results"].as_array().unwrap().iter().zip(["batch", "other"]) {
        let in_force = &one["in_force"];
        assert_eq!((&in_force["policy"], &in_force["cpus"]), (&policy.into(), &"0".into()));
        assert_eq!(in_force["slack_ns"], 4321);
        assert_eq!(one["condition"]["mechanism"], own.name());
        assert_eq!((&one["count"], &one["runtime"]), (&5.into(), &"my language 4.2".into()));
    }
    assert_eq!(shown(&path)["results"], result["results"]);
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
        let (one, words) = Own::new(script).beside_a_thread(3);
        assert!(words.contains(says), "{script}: {words}");
        assert_eq!((&one["count"], &one["unfinished"]), (&0.into(), &true.into()), "{script}");
    }
}

#[test]
fn a_program_that_failed_is_not_tried_again() {
    let own = Own::new("echo started >> $0.log; exit 3");
    own.beside_a_thread(3);
    let log = std::fs::read_to_string(own.path.with_extension("log")).unwrap();
    assert_eq!(log.lines().count(), 1, "there are two rounds");
}

#[test]
fn a_program_that_says_nothing_is_given_up() {
    let (_, words) = Own::new("sleep 1000").beside_a_thread(3);
    assert!(words.contains("said nothing within 1m"), "{words}");
}

#[test]
fn a_program_that_cannot_be_started_is_reported() {
    let own = Own::new("");
    std::fs::write(&own.path, "#!/no/such/interpreter\n").unwrap();
    let (_, words) = own.beside_a_thread(3);
    assert!(words.contains("cannot be started"), "{words}");
}

#[test]
fn a_program_that_hangs_is_cut_and_one_that_will_not_die_is_killed() {
    let hangs = Own::new(&format!("{HELLO}sleep 1000"));
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

    let stays = Own::new(&format!("trap '' TERM HUP INT\n{HELLO}{SLEEPS}\nsleep 1000 & sleep 1000"));
    let (one, words) = stays.beside_a_thread(0);
    assert_eq!(one["count"], 6, "all that was asked for was measured");
    assert!(!words.contains("unfinished"), "{words}");
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
    let said = stderr(&output);
    assert!(said.contains("apt-get install python3") && said.contains("no such program"), "{said}");
}

#[test]
fn a_compiler_that_fails_fails_alone() {
    let folder = tempfile::tempdir().unwrap();
    let compiler = Own::new(
        "[[ $1 == --version ]] && exec echo 'cc 0.1'; echo 'c.c:7: error: out of ideas' >&2; exit 1",
    );
    std::fs::rename(&compiler.path, folder.path().join("cc")).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let arguments = ["sleep", "--for", "1ms", "--samples", "3", "--json", "--call", "c,clock_nanosleep"];
    let output = howlate(&arguments).env("PATH", path).env("XDG_CACHE_HOME", folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let words = result["results"][0]["caveats"].to_string();
    assert!(words.contains("cc failed (exit status: 1): c.c:7: error: out of ideas"), "{words}");
    assert_eq!(result["results"][1]["count"], 3);
}

#[test]
fn an_interrupt_keeps_what_the_program_had_printed() {
    let own = Own::new(&format!("{HELLO}{SLEEPS}"));
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
    let result = shown(&run.recording);
    assert_eq!(result["ended"], "interrupted");
    assert!(result["results"][0]["count"].as_u64().unwrap() > 0);
    assert!(!has_caveat(&result, "unfinished"));
}

#[test]
fn a_threshold_stops_a_program() {
    let own = Own::new(&format!("{HELLO}{SLEEPS}"));
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
    let output = howlate(&arguments).arg(Own::new(script).name()).output().unwrap();
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let words = result["results"][0]["caveats"].to_string();
    assert!(words.contains("1 thread of the program runs under a different policy"), "{words}");
    assert!(words.contains("it slept more often than asked"), "{words}");
}

/// Whether any process runs the program at `path`.
fn runs(path: &Path) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let commands = processes.filter_map(|one| std::fs::read(one.path().join("cmdline")).ok());
    commands
        .map(|words| String::from_utf8_lossy(&words).into_owned())
        .any(|words| words.contains(path.to_str().unwrap()) && !words.contains("--call"))
}

#[test]
fn a_killed_howlate_leaves_no_program_behind() {
    // After its first sleep it prints nothing any more, so that no broken pipe ends it.
    let once = "start=$EPOCHREALTIME; sleep 1.1; end=$EPOCHREALTIME
echo ${start/[.,]/}000 ${end/[.,]/}000
exec -a $0 sleep 1000";
    let own = Own::new(&format!("{HELLO}{once}"));
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
    let own = Own::new(&format!("{HELLO}{SLEEPS}"));
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
