//! Named spans within iterations, on the real machine, and together with versions that do not know spans.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{build_c, is_installed, json, run, skip, stderr, stdout};
use serde_json::{Value, json as value};

const LOOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../loop");
const BEFORE_SPANS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/loops/howlate-before-spans.h");

fn example(folder: &Path) -> Option<PathBuf> {
    let program = folder.join("spans");
    build_c(&Path::new(LOOP).join("examples/spans.c"), &program, &["-O1", "-I", LOOP]).map(|()| program)
}

/// Builds the example of the published crate.
fn crate_example() -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "--offline", "--package", "howlate-loop", "--example", "spans"]);
    let built = build.arg("--target-dir").arg(target).current_dir(LOOP).output().unwrap();
    assert!(built.status.success(), "{}", stderr(&built));
    target.join("debug/examples/spans")
}

/// Command for the Python example.
fn python_example() -> Vec<String> {
    let arguments =
        [&format!("PYTHONPATH={LOOP}/../python"), "python3", &format!("{LOOP}/examples/spans.py")];
    ["env"].iter().chain(&arguments).map(ToString::to_string).collect()
}

/// The only loop of a program.
fn watch(command: &[&str]) -> (Value, Value) {
    let document = json(&[&["watch", "--json", "--quiet", "--tracer", "none", "--"], command].concat(), 0);
    let results = document["results"].as_array().unwrap();
    let mut loops = results.iter().filter(|result| result["condition"]["mechanism"] == "loop");
    let turns = loops.next().unwrap()["rhythm"]["turns"].clone();
    assert!(loops.next().is_none(), "{document}");
    (turns, document)
}

/// What all examples do: `plan` and `act` in every iteration, one plan in a hundred is long.
fn plans_and_acts(turns: &Value, all: u64) {
    let spans = turns["spans"].as_array().unwrap();
    let named = |value: &Value| (value["name"].clone(), value["count"].clone());
    let found: Vec<_> = spans.iter().map(named).collect();
    assert_eq!(found, [("plan".into(), all.into()), ("act".into(), all.into())], "{turns}");
    let longest = &turns["longest"];
    assert!(longest["work_ns"].as_u64() >= longest["spans"][0]["spent_ns"].as_u64(), "{turns}");
    assert_eq!(longest["work_ns"], turns["work_ns"]["max"], "{turns}");
    assert!(spans[0]["time_ns"]["max"].as_i64() >= spans[0]["time_ns"]["p50"].as_i64(), "{turns}");
}

#[test]
fn spans_of_c_say_where_turns_were_long() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = example(folder.path()) else { return };
    let (program, path) = (program.to_str().unwrap(), folder.path().join("l.jsonl"));
    let out = path.to_str().unwrap();
    let (turns, document) = watch(&[program, "1"]);
    plans_and_acts(&turns, 1_000);
    assert_eq!(document["caveats"].as_array().unwrap().iter().filter(of_spans).count(), 0, "{document}");
    let live = run(&["watch", "--quiet", "--tracer", "none", "--out", out, "--", program, "1"]);
    let shown = json(&["show", out, "--json"], 0);
    plans_and_acts(&shown["results"][0]["rhythm"]["turns"], 1_000);
    for text in [stdout(&live), stdout(&run(&["show", out]))] {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("The longest iteration took") && text.contains("of it in `"), "{text}");
        assert!(!text.contains("Time in each span"), "details only: {text}");
    }
    let details = stdout(&run(&["show", out, "--details"]));
    assert!(details.contains("Time in each span, per iteration · µs"), "{details}");
}

fn of_spans(caveat: &&Value) -> bool {
    caveat["caveat"].as_str().is_some_and(|name| name.starts_with("spans_"))
}

#[test]
fn spans_of_rust_say_the_same() {
    plans_and_acts(&watch(&[crate_example().to_str().unwrap(), "1"]).0, 1_000);
}

#[test]
fn spans_of_python_say_the_same() {
    if !is_installed("python3") {
        return skip("python3 is not installed");
    }
    let mut command = python_example();
    command.push("1".to_owned());
    plans_and_acts(&watch(&command.iter().map(String::as_str).collect::<Vec<_>>()).0, 200);
}

/// A span within itself, a span left by an exception, too many names, and a fork.
const GUARDED: &str = r#"
#include "howlate_span.h"
#include <sys/wait.h>
static void deeper(struct howlate_span &plan, int levels) {
    howlate::span here{plan};
    usleep(10);
    if (levels) deeper(plan, levels - 1);
    else throw 1;
}
static void turns(howlate &loop, struct howlate_span &plan, int times) {
    while (times--) {
        howlate::turn turn{loop};
        try { deeper(plan, 3); } catch (int) {}
    }
}
int main() {
    howlate loop = howlate_loop("guarded", 0);
    auto plan = howlate_span(&loop, "plan");
    auto same = howlate_span(&loop, "plan");
    if (same.number != plan.number) return 1;
    char name[] = "name-a";
    for (name[5] = 'a'; name[5] < 'a' + 17; name[5]++) {
        auto more = howlate_span(&loop, name);
        howlate_wake(&loop);
        howlate::span here{more};
    }
    turns(loop, plan, 50);
    if (fork() == 0) {
        turns(loop, plan, 50);
        return 0;
    }
    wait(nullptr);
    return 0;
}
"#;

#[test]
fn a_guard_ends_a_span_however_its_scope_is_left_and_names_have_a_limit() {
    let folder = tempfile::tempdir().unwrap();
    let (text, program) = (folder.path().join("p.cc"), folder.path().join("program"));
    std::fs::write(&text, GUARDED).unwrap();
    for (compiler, standard) in [("clang++", "c++17"), ("g++", "c++20"), ("g++", "c++23")] {
        if !is_installed(compiler) {
            skip(&format!("{compiler} is not installed"));
            continue;
        }
        let mut command = Command::new(compiler);
        command.args([
            "-Wall",
            "-Wextra",
            "-Wpedantic",
            "-Wconversion",
            "-Wold-style-cast",
            "-Wshadow",
            "-Wzero-as-null-pointer-constant",
            "-Werror",
            "-O1",
        ]);
        command.arg(format!("-std={standard}")).args(["-I", LOOP, "-o"]).args([&program, &text]);
        let built = command.output().unwrap();
        assert!(built.status.success(), "{compiler}: {}", stderr(&built));
    }
    if !program.exists() {
        return;
    }
    let arguments = ["watch", "--json", "--quiet", "--tracer", "none", "--", program.to_str().unwrap()];
    let document = json(&arguments, 0);
    let loops: Vec<_> = document["results"].as_array().unwrap().iter().collect();
    let plan = |value: &&Value| {
        let spans = value["rhythm"]["turns"]["spans"].as_array().unwrap();
        let plan = spans.iter().find(|span| span["name"] == "plan").unwrap();
        let (most, work) =
            (plan["time_ns"]["max"].as_i64(), value["rhythm"]["turns"]["work_ns"]["max"].as_i64());
        assert!(most <= work, "one in another counts once: {value}");
        plan["count"].as_u64().unwrap()
    };
    assert_eq!(loops.iter().map(plan).collect::<Vec<_>>(), [50, 49], "but the turn in which a child joins");
    let caveats: Vec<_> = document["caveats"].as_array().unwrap().iter().filter(of_spans).collect();
    let [caveat] = caveats.as_slice() else { panic!("{caveats:?}") };
    let found = ["caveat", "name", "first", "kept"].map(|key| &caveat[key]);
    let beyond = value!(["spans_not_measured", "guarded", "name-p", 16]);
    assert_eq!(value!(found), beyond);
    let text = run(&["watch", "--quiet", "--tracer", "none", "--", program.to_str().unwrap()]);
    let text = stdout(&text) + &stderr(&text);
    assert!(
        text.split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .contains("more than 16 names of spans: `name-p`"),
        "{text}"
    );
}

/// Built with a header from before spans.
#[test]
fn an_older_header_and_this_howlate_work_together() {
    let folder = tempfile::tempdir().unwrap();
    let (header, program) = (folder.path().join("howlate.h"), folder.path().join("control"));
    std::fs::copy(BEFORE_SPANS, &header).unwrap();
    let source = Path::new(LOOP).join("examples/control.c");
    let options = ["-O1", "-iquote", folder.path().to_str().unwrap()];
    let copy = folder.path().join("control.c");
    std::fs::copy(source, &copy).unwrap();
    if build_c(&copy, &program, &options).is_none() {
        return;
    }
    let (turns, _) = watch(&[program.to_str().unwrap(), "1"]);
    assert_eq!((&turns["inferred"], &turns["spans"]), (&1_000.into(), &Value::Null), "{turns}");
}

/// Reads the shared memory as a howlate with or without spans; prints the number of iterations and spans.
const OTHER_HOWLATE: &str = r#"
import mmap, os, subprocess, sys
first, ring, length = 65536, 131072, 65536 + 80 * 131072
file = os.memfd_create("loops")
os.ftruncate(file, length)
memory = memoryview(mmap.mmap(file, length)).cast("Q")
memory[64], memory[68] = int.from_bytes(b"howlate1", sys.byteorder), int(sys.argv[1])
subprocess.run(sys.argv[2:], pass_fds=[file], check=True, stdout=subprocess.DEVNULL,
               env={**os.environ, "HOWLATE_LOOPS": str(file)})
words = [(first + number * ring) // 8 for number in range(80)]
print(sum(memory[at + 8] for at in words), sum(memory[at + 9] for at in words))
"#;

#[test]
fn an_older_howlate_and_these_programs_work_together() {
    if !is_installed("python3") {
        return skip("python3 is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let crates = crate_example().to_str().unwrap().to_owned();
    let c = example(folder.path()).map(|program| (vec![program.to_str().unwrap().to_owned()], 1_000));
    let programs = [(vec![crates], 1_000), (python_example(), 200)];
    for (program, turns) in c.into_iter().chain(programs) {
        for (reads, spans) in [("0", 0), ("1", 2 * turns.min(976))] {
            let mut other = Command::new("python3");
            other.args(["-c", OTHER_HOWLATE, reads]).args(&program).arg("1");
            let output = other.output().unwrap();
            assert_eq!(stdout(&output), format!("{turns} {spans}\n"), "{program:?} {}", stderr(&output));
        }
    }
}
