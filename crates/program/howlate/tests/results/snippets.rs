//! Code that howlate suggests compiles and works.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use crate::common::{howlate, skip, stdout};

/// The code that `howlate show` suggests for a recording, in one language.
fn suggested_code(recording: &str, language: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../testdata/recordings/v1");
    let text = stdout(&howlate(&["show", "--details", recording]).current_dir(folder).output().unwrap());
    let (_, below) = text.split_once("\nCode\n").unwrap_or_else(|| panic!("nothing to copy: {text}"));
    let below = below.split("\n\n").next().unwrap();
    let (mut lines, mut inside) = (Vec::new(), false);
    for line in below.lines().filter_map(|line| line.strip_prefix("  ")) {
        let (label, code) = line.split_at(7);
        if !label.trim().is_empty() {
            inside = label.trim().split(", ").any(|name| name == language);
        }
        lines.extend(inside.then_some(code));
    }
    assert!(!lines.is_empty(), "{language} in {recording}: {text}");
    lines.join("\n") + "\n"
}

/// The code that `howlate tune` suggests to keep a setting, in one language.
fn suggested_by_tune(knob: &str, language: &str) -> String {
    let listed = crate::common::json(&["tune", "--knobs", knob, "--dry-run", "--json"], 0);
    let row = listed["knobs"].as_array().unwrap().iter().find(|row| row["knob"] == knob).unwrap();
    let ways = row["permanent"].as_array().unwrap();
    let way =
        ways.iter().find(|way| way["by"] == language).unwrap_or_else(|| panic!("{language} in {listed}"));
    way["apply"].as_str().unwrap().to_owned()
}

/// Two commands must not suggest different calls for one setting.
#[test]
fn show_and_tune_offer_the_same() {
    for (recording, knob) in [("cyclic.jsonl", "timer_slack"), ("policies.jsonl", "fifo")] {
        for language in ["C", "Rust", "Python"] {
            let (shown, tuned) = (suggested_code(recording, language), suggested_by_tune(knob, language));
            let statements = shown.lines().filter(|line| !line.starts_with('#'));
            for statement in statements.map(|line| line.split("   //").next().unwrap().trim()) {
                assert!(
                    tuned.contains(statement),
                    "{language}: {statement} of show is not in tune's {tuned}"
                );
            }
        }
    }
}

/// Output of a program with `code` as its input; `None` where it is not installed.
fn run_program(program: &[&str], code: &str) -> Option<Output> {
    let mut command = Command::new(program[0]);
    command.args(&program[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().ok()?;
    child.stdin.take().unwrap().write_all(code.as_bytes()).unwrap();
    Some(child.wait_with_output().unwrap())
}

/// `code` as a whole program: includes first, the rest in `main`.
fn in_main(code: &str) -> String {
    let (above, inside): (Vec<&str>, Vec<&str>) = code.lines().partition(|line| line.starts_with('#'));
    format!("{}\nint main(void) {{\n{}\nreturn 0; }}\n", above.join("\n"), inside.join("\n"))
}

#[test]
fn c_and_cpp_compile() {
    for (language, compiler) in [("C", ["cc", "-xc", "-std=gnu11"]), ("C++", ["c++", "-xc++", "-std=c++17"])]
    {
        for recording in ["cyclic.jsonl", "policies.jsonl"] {
            let code = in_main(&suggested_code(recording, language));
            let strict = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", "-"];
            let Some(output) = run_program(&[&compiler[..], &strict].concat(), &code) else {
                skip(&format!("there is no {}", compiler[0]));
                continue;
            };
            assert!(output.status.success(), "{code}{}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

/// Libraries that this test was built with; one of them matches the compiler.
fn libraries(name: &str) -> Vec<PathBuf> {
    let beside = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let is_named = |path: &PathBuf| {
        let file = path.file_name().and_then(|file| file.to_str()).unwrap_or_default();
        file.starts_with(&format!("lib{name}-")) && file.ends_with(".rmeta")
    };
    std::fs::read_dir(beside).unwrap().map(|entry| entry.unwrap().path()).filter(is_named).collect()
}

#[test]
fn rust_compiles() {
    let libraries = libraries("libc");
    assert!(!libraries.is_empty(), "the crate that the lines use");
    for recording in ["cyclic.jsonl", "policies.jsonl"] {
        let code = format!("pub fn set() {{ unsafe\n{{\n{}}} }}\n", suggested_code(recording, "Rust"));
        let mut message = String::new();
        let compiles = libraries.iter().any(|library| {
            let library = format!("libc={}", library.display());
            let arguments =
                ["--edition=2024", "--crate-type=lib", "--emit=metadata", "--extern", &library, "-o"];
            let folder = tempfile::tempdir().unwrap();
            let result = folder.path().join("lib.rmeta");
            let program =
                [&["rustc", "-Dwarnings"], &arguments[..], &[result.to_str().unwrap(), "-"]].concat();
            let Some(output) = run_program(&program, &code) else {
                skip("there is no rustc");
                return true;
            };
            message.push_str(&String::from_utf8_lossy(&output.stderr));
            output.status.success()
        });
        assert!(compiles, "{code}{message}");
    }
}

#[test]
fn python_does_what_it_says() {
    let slack =
        suggested_code("cyclic.jsonl", "Python") + "print(open('/proc/self/timerslack_ns').read().strip())\n";
    let Some(output) = run_program(&["python3", "-"], &slack) else { return skip("there is no Python") };
    assert_eq!(stdout(&output).trim(), "1", "{slack}{}", String::from_utf8_lossy(&output.stderr));
    let priority =
        suggested_code("policies.jsonl", "Python") + "print(os.sched_getscheduler(0) == os.SCHED_FIFO)\n";
    let output = run_program(&["python3", "-"], &priority).unwrap();
    let refused = String::from_utf8_lossy(&output.stderr).contains("PermissionError");
    assert!(refused || stdout(&output).trim() == "True", "{priority}");
}

/// The code is in the language of the measured call.
#[test]
fn the_call_chooses_the_language() {
    let text = stdout(&crate::common::run(&[
        "sleep",
        "--for",
        "1ms",
        "--call",
        "c",
        "--samples",
        "30",
        "--no-save",
        "--details",
    ]));
    if !text.contains("Code") {
        return skip("this machine's timer slack does not show, or there is no C compiler");
    }
    assert!(text.contains("  C      #include <sys/prctl.h>") && !text.contains("Python"), "{text}");
}
