//! Programs of language runtimes, and which of their threads a timer wakes, as docs/watch.md describes. Each sleeps 200 times for 5 ms.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::common::{is_installed, json, run, skip, stderr};

const PYTHON: &str = "import time\nfor turn in range(200): time.sleep(0.005)";

const ASYNCIO: &str = "import asyncio
async def main():
    for turn in range(200): await asyncio.sleep(0.005)
asyncio.run(main())";

const NODE: &str =
    "let turns = 0; const timer = setInterval(() => { if (++turns === 200) clearInterval(timer); }, 5);";

const GO: &str = "package main
import \"time\"
func main() {
    ticker := time.NewTicker(5 * time.Millisecond)
    for turn := 0; turn < 200; turn++ { <-ticker.C }
}";

/// Its goroutines share one CPU, and one of them computes: the monitor thread of the runtime sleeps for 10 ms, and polls epoll without
/// waiting.
const GO_THAT_COMPUTES: &str = "package main
import (\"runtime\"; \"time\")
func main() {
    runtime.GOMAXPROCS(1)
    go func() { for x := 0; ; x++ { _ = x } }()
    ticker := time.NewTicker(5 * time.Millisecond)
    for turn := 0; turn < 100; turn++ { <-ticker.C }
}";

const JAVA: &str = "public class Sleeps {
    public static void main(String[] words) throws InterruptedException {
        for (int turn = 0; turn < 200; turn++) Thread.sleep(5);
    }
}";

const TOKIO: &str = "use std::time::Duration;
fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let mut every = tokio::time::interval(Duration::from_millis(5));
        for _ in 0..200 { every.tick().await; }
    });
}";

/// Most of the 200 wake-ups: some virtual machines raise no event for a few.
const MOST: u64 = 150;

/// Result of watching a program; `None` where nothing can be watched.
fn watch(program: &[&str]) -> Option<Value> {
    let arguments = ["watch", "--json", "--quiet", "--no-save", "--"];
    crate::common::has_bpf().then(|| json(&[&arguments[..], program].concat(), 0))
}

/// Wake-ups of this kind, of threads of such a name.
fn wakeup_count(document: &Value, mechanism: &str, name: &str) -> u64 {
    let results = document["results"].as_array().unwrap().iter();
    let of_them = results.filter(|result| {
        let condition = &result["condition"];
        condition["mechanism"] == mechanism && condition["name"].as_str().unwrap().starts_with(name)
    });
    of_them.map(|result| result["count"].as_u64().unwrap()).sum()
}

/// Whether a program is installed; skips the test otherwise.
fn is_there(program: &str) -> bool {
    let there = is_installed(program);
    if !there {
        skip(&format!("{program} is not installed"));
    }
    there
}

/// Its timer wakes the thread of this name itself.
#[track_caller]
fn wakes_itself(program: &[&str], name: &str) {
    let Some(document) = watch(program) else { return };
    assert!(wakeup_count(&document, "timer", name) >= MOST, "{document}");
}

fn write_source(folder: &Path, name: &str, source: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, source).unwrap();
    path
}

#[track_caller]
fn build(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn python_sleeps_by_itself_and_so_does_its_event_loop() {
    if is_there("python3") {
        let python = super::python();
        wakes_itself(&[&python, "-c", PYTHON], "python");
        wakes_itself(&[&python, "-c", ASYNCIO], "python");
    }
}

#[test]
fn the_main_thread_of_node_waits_for_its_timers() {
    if is_there("node") {
        wakes_itself(&["node", "-e", NODE], "node");
    }
}

#[test]
fn a_thread_of_java_sleeps_by_itself() {
    if !is_there("javac") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    build(Command::new("javac").arg(write_source(folder.path(), "Sleeps.java", JAVA)));
    wakes_itself(&["java", "-cp", folder.path().to_str().unwrap(), "Sleeps"], "java");
}

#[test]
fn several_threads_of_go_wait_for_its_timers() {
    if !is_there("go") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    wakes_itself(&[&built_with_go(folder.path(), GO)], "ticker");
}

/// No advice for C programs applies to a Go program.
#[test]
fn a_program_of_go_is_known_as_such() {
    if !is_there("go") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (program, out) = (built_with_go(folder.path(), GO), folder.path().join("seen.jsonl"));
    let output = run(&["watch", "--quiet", "--out", out.to_str().unwrap(), "--", &program]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(std::fs::read_to_string(out).unwrap().contains("\"language\":\"go\""));
}

/// Builds a Go program; returns its path.
fn built_with_go(folder: &Path, source: &str) -> String {
    let program = folder.join("ticker");
    let source = write_source(folder, "ticker.go", source);
    build(Command::new("go").current_dir(folder).args(["build", "-o"]).arg(&program).arg(source));
    program.to_str().unwrap().to_owned()
}

#[test]
fn the_monitor_of_go_is_no_event_loop() {
    if !is_there("go") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(document) = watch(&[&built_with_go(folder.path(), GO_THAT_COMPUTES)]) else { return };
    for result in document["results"].as_array().unwrap() {
        let event_loop = &result["rhythm"]["event_loop"];
        let is_alone = !event_loop.is_null() && event_loop["shared_by"].is_null();
        assert!(!is_alone || event_loop["long"] == 0, "{result}");
    }
}

/// Builds a Rust program with crates from crates.io; `None` where that is impossible, with the reason printed.
fn with_tokio() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tokio");
    let of_probe = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../measuring/runtimes/programs/tokio");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(of_probe.join("manifest.toml"), folder.join("Cargo.toml")).unwrap();
    std::fs::copy(of_probe.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    write_source(&folder, "tokio.rs", TOKIO);
    let mut cargo = Command::new("cargo");
    cargo.current_dir(&folder).args(["build", "--quiet", "--locked", "--target-dir", "target"]);
    let output = cargo.env("CARGO_PROFILE_DEV_DEBUG", "0").output().ok()?;
    if output.status.success() {
        return Some(folder.join("target/debug/probe"));
    }
    let message = stderr(&output);
    assert!(!message.contains("could not compile"), "{message}");
    skip(&format!("tokio cannot be had: {}", message.lines().last().unwrap_or_default()));
    None
}

#[test]
fn a_worker_of_tokio_waits_and_hands_the_time_on_to_the_main_thread() {
    let Some(program) = with_tokio() else { return };
    let Some(document) = watch(&[program.to_str().unwrap()]) else { return };
    assert!(wakeup_count(&document, "timer", "tokio-rt-worker") >= MOST, "{document}");
    assert!(wakeup_count(&document, "handed_on", "probe") >= MOST, "{document}");
}
