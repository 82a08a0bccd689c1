//! Loops marked by programs, on the real machine. No durations of the machine are asserted.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::{howlate, is_installed, json, run, skip, stderr, stdout};
use serde_json::Value;

const HEADER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../loop");

fn example(folder: &Path) -> Option<PathBuf> {
    let program = folder.join("control");
    let source = Path::new(HEADER).join("examples/control.c");
    crate::common::build_c(&source, &program, &["-O1", "-I", HEADER]).map(|()| program)
}

fn program(folder: &Path, source: &str) -> Option<PathBuf> {
    let (text, program) = (folder.join("p.c"), folder.join("program"));
    std::fs::write(&text, source).unwrap();
    crate::common::build_c(&text, &program, &["-O1", "-pthread", "-I", HEADER]).map(|()| program)
}

/// The results of marked loops.
fn loops(document: &Value) -> Vec<&Value> {
    let results = document["results"].as_array().unwrap();
    results.iter().filter(|result| result["condition"]["mechanism"] == "loop").collect()
}

/// Arguments of `watch` that are the same in all tests.
fn watch<'a>(tracer: &'a str, more: &[&'a str]) -> Value {
    json(&[&["watch", "--json", "--quiet", "--tracer", tracer, "--"], more].concat(), 0)
}

/// Warnings with which users may build their programs.
const WARNINGS: [&str; 6] = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"];
const WARNINGS_OF_CXX: [&str; 2] = ["-Wold-style-cast", "-Wzero-as-null-pointer-constant"];

#[test]
fn the_headers_are_clean_in_both_languages() {
    for [of_c, of_cxx] in [["gcc", "g++"], ["clang", "clang++"]] {
        ["c99", "c11", "gnu17", "c2x"].iter().for_each(|standard| builds_cleanly(of_c, standard, false));
        ["c++11", "c++14", "c++17", "c++20", "c++2b"]
            .iter()
            .for_each(|standard| builds_cleanly(of_cxx, standard, true));
    }
    let lines = |name: &str| std::fs::read_to_string(Path::new(HEADER).join(name)).unwrap().lines().count();
    for (name, most) in [("howlate.h", 200), ("howlate_snap.h", 120), ("howlate_span.h", 130)] {
        assert!(lines(name) < most, "{name}: {}", lines(name));
    }
}

fn builds_cleanly(compiler: &str, standard: &str, is_cxx: bool) {
    if !is_installed(compiler) {
        return skip(&format!("{compiler} is not installed"));
    }
    let folder = tempfile::tempdir().unwrap();
    for source in ["control.c", "recorded.c"] {
        let mut command = Command::new(compiler);
        // The older example is C, and has C casts.
        let strict = is_cxx && source != "control.c";
        command.args(WARNINGS).args(if strict { &WARNINGS_OF_CXX[..] } else { &[] });
        command.args(["-O2", "-I", HEADER, "-x", if is_cxx { "c++" } else { "c" }]);
        command.arg(format!("-std={standard}")).arg(Path::new(HEADER).join("examples").join(source));
        let built = command.arg("-o").arg(folder.path().join("p")).output().unwrap();
        assert!(built.status.success(), "{compiler} -std={standard}: {}", stderr(&built));
    }
}

#[test]
fn turns_that_worked_too_long_are_named_without_a_tracer() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = example(folder.path()) else { return };
    let path = folder.path().join("l.jsonl");
    let (program, out) = (program.to_str().unwrap(), path.to_str().unwrap());
    let options =
        ["--json", "--quiet", "--tracer", "none", "--late-above", "1ms", "--out", out, "--", program, "2"];
    let document = json(&[&["watch"], &options[..]].concat(), 0);
    let results = loops(&document);
    assert_eq!(results.len(), 1, "{document}");
    let result = results[0];
    assert_eq!(
        (&result["condition"]["kind"], &result["condition"]["name"]),
        (&"watch".into(), &"control".into())
    );
    let turns = &result["rhythm"]["turns"];
    assert_eq!((&turns["period_ns"], &result["count"]), (&1_000_000.into(), &2_000.into()), "none is lost");
    // One iteration in a hundred works for three periods; a busy machine may delay more of them.
    assert!(turns["long"].as_u64().unwrap() >= 20, "{turns}");
    assert_eq!(turns["inferred"], 2_000, "nobody says when they were to begin");
    assert!(turns["work_ns"]["min"].as_u64().unwrap() >= 100_000, "{turns}");
    assert!(result["rhythm"]["missed"].as_u64().unwrap() >= 20, "{result}");
    let why = &result["why"];
    assert_eq!((&why["decomposed"], &why["tracer"]), (&2_000.into(), &"none".into()));
    for worst in why["worst"].as_array().unwrap() {
        assert_eq!(crate::common::sum(&worst["parts"], "ns"), worst["latency_ns"].as_i64().unwrap());
    }
    let causes = why["causes"].as_array().unwrap();
    let long = causes.iter().find(|cause| cause["kind"] == "long_work");
    assert!(long.is_some_and(|cause| cause["wakeups"].as_u64().unwrap() > 0), "{causes:?}");
    reads_the_same(out, &document);
}

/// All readers of recordings agree on this one.
fn reads_the_same(out: &str, document: &Value) {
    let shown = json(&["show", out, "--json"], 0);
    assert_eq!(shown["results"], document["results"], "a recording says the same");
    let text = stdout(&run(&["show", out])).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("due time") && text.contains("longer than its period of"), "{text}");
    assert!(stdout(&run(&["why", out])).contains("its own long work"));
    let page = format!("{out}.html");
    let report = run(&["report", out, "--output", &page]);
    assert_eq!(report.status.code(), Some(0), "{}", stderr(&report));
}

#[test]
fn with_a_tracer_turns_have_their_timers_time_and_their_parts() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = example(folder.path()) else { return };
    if !crate::common::has_bpf() {
        return;
    }
    let document = watch("bpf", &[program.to_str().unwrap(), "2"]);
    let result = loops(&document)[0];
    assert_eq!(result["count"], 2_000, "{result}");
    let inferred = result["rhythm"]["turns"]["inferred"].as_u64().unwrap();
    assert!(inferred < 2_000, "of no turn its timer was seen");
    let causes = result["why"]["causes"].as_array().unwrap();
    assert!(causes.iter().any(|cause| cause["kind"] == "long_work"), "{causes:?}");
    let parts = result["why"]["parts"].as_array().unwrap();
    assert!(parts.iter().any(|part| part["part"] == "return"), "up to the program's own reading: {parts:?}");
}

#[test]
fn the_published_crate_marks_the_same_loops() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "--offline", "--package", "howlate-loop", "--example", "control"]);
    let built = build.arg("--target-dir").arg(target).current_dir(HEADER).output().unwrap();
    assert!(built.status.success(), "{}", stderr(&built));
    let program = target.join("debug/examples/control");
    let document = watch("none", &[program.to_str().unwrap(), "1"]);
    let result = loops(&document)[0];
    assert_eq!((&result["condition"]["name"], &result["count"]), (&"control".into(), &1_000.into()));
    assert!(result["rhythm"]["turns"]["long"].as_u64().unwrap() >= 10, "{result}");
}

/// The crate builds with the oldest compiler that it promises.
#[test]
fn the_published_crate_builds_with_the_oldest_rust_it_names() {
    let version = env!("CARGO_PKG_RUST_VERSION");
    let rustup = |arguments: &[&str]| {
        let mut command = Command::new("rustup");
        // Variables of the cargo that runs this test.
        for name in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN"] {
            command.env_remove(name);
        }
        command.args(["run", version, "cargo"]).args(arguments).output()
    };
    if !rustup(&["--version"]).is_ok_and(|output| output.status.success()) {
        return skip(&format!("Rust {version} is not installed: rustup toolchain install {version}"));
    }
    let folder = tempfile::tempdir().unwrap();
    let (target, manifest) = (folder.path().to_str().unwrap(), format!("{HEADER}/Cargo.toml"));
    let arguments = ["check", "--quiet", "--offline", "--manifest-path", &manifest, "--target-dir", target];
    let checked = rustup(&arguments).unwrap();
    assert!(checked.status.success(), "{}", stderr(&checked));
}

/// Command for Python with the class.
fn python(arguments: &[&str]) -> Vec<String> {
    let module = format!("PYTHONPATH={HEADER}/../python");
    ["env", &module, "python3"].iter().chain(arguments).map(ToString::to_string).collect()
}

#[test]
fn the_python_class_marks_the_same_loops() {
    if !is_installed("python3") {
        return skip("python3 is not installed");
    }
    let command = python(&[&format!("{HEADER}/examples/control.py"), "1"]);
    let document = watch("none", &command.iter().map(String::as_str).collect::<Vec<_>>());
    let results = loops(&document);
    assert_eq!(results.len(), 1, "{document}");
    let turns = &results[0]["rhythm"]["turns"];
    assert_eq!((&results[0]["condition"]["name"], &results[0]["count"]), (&"control".into(), &200.into()));
    assert_eq!((&turns["period_ns"], &turns["inferred"]), (&5_000_000.into(), &200.into()));
    assert!(turns["long"].as_u64().unwrap() >= 2, "{turns}");
    assert!(turns["work_ns"]["min"].as_u64().unwrap() >= 500_000, "{turns}");
}

/// Loops of threads and of a child process, due times from the program, and what else the Python class must do.
const PYTHON_CROWD: &str = r#"
import ast, os, sys, threading, time
from howlate_loop import Loop
import howlate, howlate.loop
assert howlate.Loop is Loop
ast.parse(open(howlate.loop.__file__).read(), feature_version=(3, 8))
def turn(loop, times):
    for _ in range(times):
        time.sleep(0.001)
        loop.wake_at(time.monotonic_ns() - 1_000_000)
        loop.done()
parent = Loop("a\0b" if sys.argv[1:] else "parent", 1_000_000)
for wrong in 0.001, None:
    try:
        Loop("wrong", wrong)
    except TypeError as error:
        assert "1_000_000 for 1 ms" in str(error)
    else:
        raise AssertionError("a period that is no number of nanoseconds")
turn(parent, 100)
threads = [threading.Thread(target=lambda: turn(Loop("pool", 1_000_000), 100)) for _ in range(2)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
if (child := os.fork()) == 0:
    turn(parent, 100)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
turn(parent, 100)
print(parent.is_measured())
"#;

#[test]
fn threads_and_forks_of_python_have_loops_of_their_own() {
    if !is_installed("python3") {
        return skip("python3 is not installed");
    }
    let command = python(&["-c", PYTHON_CROWD]);
    let document = watch("none", &command.iter().map(String::as_str).collect::<Vec<_>>());
    let result = |value: &Value| {
        assert!(value["latency_ns"]["min"].as_i64().unwrap() >= 1_000_000, "as late as it says: {value}");
        assert_eq!(value["rhythm"]["turns"]["inferred"], 0, "{value}");
        (value["condition"]["name"].clone(), value["condition"]["thread"].clone(), value["count"].clone())
    };
    let mut found: Vec<_> = loops(&document).into_iter().map(result).collect();
    found.sort_by_key(|row| (row.0.to_string(), row.1.as_u64()));
    let own = |name: &str, number: u64, turns: u64| (name.into(), number.into(), turns.into());
    let expected = [own("parent", 0, 200), own("parent", 1, 99), own("pool", 0, 100), own("pool", 1, 100)];
    assert_eq!(found, expected, "but the turn in which a child takes a ring");
}

/// In Python: one iteration left by `return`, one by an exception.
const PYTHON_GUARDED: &str = r#"
import time
from howlate import Loop
loop = Loop("guarded")
def turn(fails):
    with loop.turn(time.monotonic_ns() - 1_000_000):
        time.sleep(0.0001)
        if fails:
            raise KeyError
        return
for number in range(100):
    try:
        turn(number % 2)
    except KeyError:
        pass
"#;

#[test]
fn a_turn_of_python_ends_however_its_block_is_left() {
    if !is_installed("python3") {
        return skip("python3 is not installed");
    }
    let command = python(&["-c", PYTHON_GUARDED]);
    let document = watch("none", &command.iter().map(String::as_str).collect::<Vec<_>>());
    let result = loops(&document)[0];
    let turns = &result["rhythm"]["turns"];
    assert_eq!(
        (&result["condition"]["name"], &result["count"]),
        (&"guarded".into(), &100.into()),
        "{result}"
    );
    assert!(turns["work_ns"]["min"].as_u64().unwrap() >= 100_000, "each has its end: {turns}");
    assert!(result["latency_ns"]["min"].as_u64().unwrap() >= 1_000_000, "as late as it says: {result}");
}

#[test]
fn without_howlate_the_python_class_does_nothing() {
    if !is_installed("python3") {
        return skip("python3 is not installed");
    }
    for handed_on in [None, Some("x"), Some("0"), Some("77")] {
        let command = python(&["-c", PYTHON_CROWD, "named"]);
        let mut without = Command::new(&command[0]);
        without
            .args(&command[1..])
            .env_remove("HOWLATE_LOOPS")
            .env("HOWLATE_RECORDER", "")
            .stdin(Stdio::null());
        let output = without.envs(handed_on.map(|value| ("HOWLATE_LOOPS", value))).output().unwrap();
        let status_and_output = (output.status.code(), stdout(&output));
        assert_eq!(status_and_output, (Some(0), "False\n".to_owned()), "{}", stderr(&output));
    }
}

/// In C++: one iteration left by `return`, one by an exception.
const GUARDED: &str = r#"
#include "howlate.h"
static void turn(howlate &loop, bool fails) {
    howlate::turn guard{loop, howlate_now(0)};
    usleep(100);
    if (fails) throw 1;
}
int main() {
    howlate loop = howlate_loop("guarded", 0);
    for (int number = 0; number < 100; number++) {
        try { turn(loop, number % 2); } catch (int) {}
    }
    return 0;
}
"#;

#[test]
fn a_guard_ends_a_turn_however_its_scope_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let (text, program) = (folder.path().join("p.cc"), folder.path().join("program"));
    std::fs::write(&text, GUARDED).unwrap();
    for compiler in ["clang++", "g++"] {
        if !is_installed(compiler) {
            skip(&format!("{compiler} is not installed"));
            continue;
        }
        let mut command = Command::new(compiler);
        command.args([
            "-std=c++17",
            "-Wall",
            "-Wextra",
            "-pedantic",
            "-Wconversion",
            "-Wold-style-cast",
            "-Wshadow",
            "-Wzero-as-null-pointer-constant",
            "-Werror",
        ]);
        let built = command.args(["-O1", "-I", HEADER, "-o"]).args([&program, &text]).output().unwrap();
        assert!(built.status.success(), "{compiler}: {}", stderr(&built));
    }
    if !program.exists() {
        return;
    }
    let document = watch("none", &[program.to_str().unwrap()]);
    let result = loops(&document)[0];
    assert_eq!(
        (&result["condition"]["name"], &result["count"]),
        (&"guarded".into(), &100.into()),
        "{result}"
    );
    assert!(
        result["rhythm"]["turns"]["work_ns"]["min"].as_u64().unwrap() >= 100_000,
        "each has its end: {result}"
    );
}

/// Loops in two threads, in a forked child, and in a program that it executes.
const CROWD: &str = r#"
#include "howlate.h"
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
static void turn(struct howlate *loop, int times) {
    while (times--) {
        struct timespec a_while = { 0, 1000000 };
        nanosleep(&a_while, NULL);
        howlate_wake(loop);
        howlate_done(loop);
    }
}
static void *thread(void *name) {
    struct howlate loop = howlate_loop((const char *)name, 1000000);
    turn(&loop, 100);
    return NULL;
}
int main(int argc, char **argv) {
    struct howlate loop = howlate_loop(argc > 1 ? argv[1] : "parent", 1000000);
    pthread_t threads[2];
    turn(&loop, 100);
    if (argc > 1) return 0;
    pthread_create(&threads[0], NULL, thread, (void *)"pool");
    pthread_create(&threads[1], NULL, thread, (void *)"pool");
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    if (fork() == 0) {
        turn(&loop, 100);
        execl(argv[0], argv[0], "another program", NULL);
        return 1;
    }
    wait(NULL);
    turn(&loop, 100);
    return 0;
}
"#;

#[test]
fn threads_forks_and_programs_have_loops_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = program(folder.path(), CROWD) else { return };
    let document = watch("none", &[program.to_str().unwrap()]);
    let results = loops(&document);
    let mut found: Vec<_> = results
        .iter()
        .map(|result| {
            let condition = &result["condition"];
            let name = condition["name"].as_str().unwrap();
            (
                name,
                condition["thread"].as_u64().unwrap(),
                result["rhythm"]["turns"]["work_ns"].is_object(),
                result["count"].as_u64().unwrap(),
            )
        })
        .collect();
    found.sort_unstable();
    let own = |name, number, turns| (name, number, true, turns);
    // A forked child loses the iteration in which it takes a ring of its own.
    let expected = [
        own("another program", 0, 100),
        own("parent", 0, 200),
        own("parent", 1, 99),
        own("pool", 0, 100),
        own("pool", 1, 100),
    ];
    assert_eq!(found, expected);
}

/// More loops than rings, and one that never waits.
const TOO_MUCH: &str = r#"
#include "howlate.h"
int main(void) {
    struct howlate busy = howlate_loop("busy", 1000);
    int turn, loop;
    for (turn = 0; turn < 200000; turn++) {
        howlate_wake(&busy);
        howlate_done(&busy);
    }
    for (loop = 0; loop < 66; loop++)
        howlate_loop("one of many", 0);
    return 0;
}
"#;

#[test]
fn what_is_lost_of_loops_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = program(folder.path(), TOO_MUCH) else { return };
    let document = watch("none", &[program.to_str().unwrap()]);
    let count = |name: &str| {
        let caveats = document["caveats"].as_array().unwrap();
        let found = caveats.iter().find(|caveat| caveat["caveat"] == name);
        found.map_or(0, |caveat| caveat["count"].as_u64().unwrap())
    };
    assert_eq!(count("loops_not_measured"), 3, "64 of 67 have a ring: {document}");
    let results = loops(&document);
    assert_eq!(results.len(), 1, "the others never turned: {document}");
    let (taken, lost) = (results[0]["count"].as_u64().unwrap(), count("samples_lost"));
    assert!(taken > 0 && lost > 0, "{document}");
    assert_eq!(taken + lost, 200_000, "each was taken, or counted as lost");
}

/// A loop without due times.
const NO_PERIOD: &str = r#"
#include "howlate.h"
#include <unistd.h>
int main(void) {
    struct howlate loop = howlate_loop("as it comes", 0);
    int turn;
    for (turn = 0; turn < 300; turn++) {
        howlate_wake(&loop);
        usleep(100);
        howlate_done(&loop);
    }
    return 0;
}
"#;

#[test]
fn a_loop_without_a_time_of_its_own_has_the_length_of_its_work() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = program(folder.path(), NO_PERIOD) else { return };
    let document = watch("none", &[program.to_str().unwrap()]);
    let results = loops(&document);
    assert_eq!(results.len(), 1, "{document}");
    assert_eq!(results[0]["count"], 0, "nobody knows how late its turns were");
    let turns = &results[0]["rhythm"]["turns"];
    assert_eq!(turns["inferred"], 0, "there is no rhythm to infer from: {turns}");
    assert!(turns["work_ns"]["p50"].is_u64(), "{turns}");
    let text = run(&["watch", "--quiet", "--tracer", "none", "--", program.to_str().unwrap()]);
    assert!(stdout(&text).contains("the work of 300 iterations took"), "{}", stdout(&text));
    assert!(stdout(&text).contains("`howlate_wake_at` gives exact due times"), "{}", stdout(&text));
}

#[test]
fn without_howlate_a_marked_program_runs_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = example(folder.path()) else { return };
    // Unset, no number, another file, and a missing file.
    for handed_on in [None, Some("x"), Some("0"), Some("77")] {
        let mut command = Command::new(&program);
        command.arg("1").env_remove("HOWLATE_LOOPS").env("HOWLATE_RECORDER", "");
        command.envs(handed_on.map(|value| ("HOWLATE_LOOPS", value)));
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert_eq!((output.status.code(), stdout(&output)), (Some(0), "1000 turns\n".to_owned()));
    }
}

#[test]
fn a_killed_howlate_leaves_a_marked_program_at_work() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = example(folder.path()) else { return };
    let path = folder.path().join("l.jsonl");
    let printed = folder.path().join("printed");
    let script = format!("exec {} 2 > {}", program.display(), printed.display());
    let out = path.to_str().unwrap();
    let mut watching =
        howlate(&["watch", "--quiet", "--tracer", "none", "--out", out, "--", "sh", "-c", &script]);
    let mut watching = watching.stdout(Stdio::null()).spawn().unwrap();
    crate::common::wait_until("a turn", || {
        std::fs::read_to_string(&path).is_ok_and(|text| text.contains("\n{\"started\""))
    });
    watching.kill().unwrap();
    watching.wait().unwrap();
    crate::common::wait_until("its end", || {
        std::fs::read_to_string(&printed).is_ok_and(|text| text == "2000 turns\n")
    });
}

#[test]
fn a_program_without_loops_and_a_tracer_is_told() {
    let output = run(&["watch", "--quiet", "--tracer", "none", "--", "true"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()));
    assert!(stderr(&output).contains("when the threads of a program should have run"), "{}", stderr(&output));
    assert!(stderr(&output).contains("mark the loops"), "{}", stderr(&output));
}
