//! What delayed the iteration of a loop: another thread, a lock and its holder, a system call, the runtime of its own deadline; and the
//! advice. No durations are asserted.

use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::compile;
use crate::common::{has_bpf, is_installed, json, may_use_realtime, run, skip, stderr, stdout};

/// Lock for programs that compute on CPU 0.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The JSON result and the screen for the program; `None` where it cannot be tested.
fn watch(way: &str, status: i32) -> Option<(Value, String)> {
    watch_with(&[], &[way], status)
}

fn watch_with(options: &[&str], ways: &[&str], status: i32) -> Option<(Value, String)> {
    if !has_bpf() || !may_use_realtime() {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), include_str!("waits.c"))?;
    let (program, file) = (program.to_str().unwrap(), folder.path().join("w.jsonl"));
    let file = file.to_str().unwrap();
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let arguments = [&["watch", "--json", "--quiet", "--out", file][..], options, &["--", program], ways];
    let document = json(&arguments.concat(), status);
    Some((document, stdout(&run(&["show", file]))))
}

/// The delayed thread, woken by its own timer.
fn victim(document: &Value) -> &Value {
    let results = document["results"].as_array().unwrap();
    let is_it =
        |value: &&Value| value["condition"]["name"] == "victim" && value["condition"]["mechanism"] == "timer";
    results.iter().find(is_it).unwrap_or_else(|| panic!("{document}"))
}

fn causes(victim: &Value) -> &[Value] {
    victim["why"]["causes"].as_array().map_or(&[], Vec::as_slice)
}

fn waits(victim: &Value) -> &[Value] {
    victim["rhythm"]["timer_loop"]["waits"].as_array().map_or(&[], Vec::as_slice)
}

#[test]
fn turns_that_are_caught_up_with_are_of_whoever_had_the_cpu() {
    let folder = tempfile::tempdir().unwrap();
    let witness = folder.path().join("witness");
    // The longest wake-ups alone may be those of one moment in which the machine stood still.
    let options = ["--late-above", "1ms"];
    let Some((document, text)) = watch_with(&options, &["catch-up", witness.to_str().unwrap()], 0) else {
        return;
    };
    let victim = victim(&document);
    let most = &causes(victim)[0];
    if most["name"] != "taker" && stood_still(&witness) > Duration::from_millis(40) {
        return skip("the machine stood still for longer than the thread took");
    }
    assert_eq!((&most["kind"], &most["name"]), (&"thread".into(), &"taker".into()), "{victim}");
    assert_eq!(causes(victim)[0]["own"], true, "{victim}");
    assert!(!causes(victim).iter().any(|cause| cause["kind"] == "late_arming"), "{victim}");
    // Above the other thread, whose priority is known; no advice for the program as a whole.
    assert!(text.contains("struct sched_param p = { .sched_priority = 51 };"), "{text}");
    compiles_as_c_and_cpp(&text);
    assert!(!text.contains("chrt "), "{text}");
}

/// For how long not even the most urgent thread had the CPU.
fn stood_still(witness: &Path) -> Duration {
    Duration::from_nanos(std::fs::read_to_string(witness).unwrap().parse().unwrap())
}

/// Printed code can be pasted into C and into C++.
fn compiles_as_c_and_cpp(text: &str) {
    let lines = text.lines().map(str::trim).filter(|line| line.contains(';') && line.contains("sched"));
    let code = lines.collect::<Vec<_>>().join("\n");
    assert!(code.contains("pthread_setschedparam"), "{text}");
    let program = format!("#include <pthread.h>\nint main(void) {{\n{code}\nreturn 0; }}\n");
    for (compiler, language) in [("cc", "c"), ("c++", "c++")] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pasted");
        std::fs::write(&file, &program).unwrap();
        let mut compile_command = Command::new(compiler);
        compile_command.args(["-x", language, "-D_GNU_SOURCE", "-fsyntax-only"]).arg(&file);
        match compile_command.output() {
            Ok(output) => assert!(output.status.success(), "{}\n{program}", stderr(&output)),
            Err(_) => skip(&format!("there is no {compiler}")),
        }
    }
}

#[test]
fn of_a_lock_it_is_told_what_its_holder_was_kept_by() {
    let Some((document, text)) = watch("lock", 0) else { return };
    let victim = victim(&document);
    let behind =
        |cause: &&Value| cause["through"] == "low" && cause["name"] == "middle" && cause["call"] == "futex";
    assert!(causes(victim).iter().any(|cause| behind(&cause)), "{victim}");
    let of_low = |wait: &&Value| wait["kind"] == "lock" && wait["by"] == "low" && wait["own"] == true;
    assert!(waits(victim).iter().any(|wait| of_low(&wait)), "{victim}");
    assert!(text.contains("PTHREAD_PRIO_INHERIT"), "{text}");
    assert!(!text.contains("chrt"), "{text}");
}

#[test]
fn a_write_that_blocks_is_told_with_who_was_waited_for() {
    let Some((document, text)) = watch("write", 0) else { return };
    let victim = victim(&document);
    let of_reader =
        |wait: &&Value| wait["kind"] == "system_call" && wait["call"] == "write" && wait["by"] == "reader";
    assert!(waits(victim).iter().any(|wait| of_reader(&wait)), "{victim}");
    assert!(text.contains("blocked in write"), "{text}");
}

#[test]
fn a_deadlines_runtime_that_was_used_up_is_the_cause() {
    // What is later than a period is few wake-ups; on a busy machine others are even later.
    let Some((document, text)) = watch_with(&["--late-above", "15ms"], &["deadline"], 0) else { return };
    let victim = victim(&document);
    if victim["in_force"]["policy"] != "deadline" && victim["condition"]["policy"] != "deadline" {
        return skip("SCHED_DEADLINE is refused here");
    }
    assert!(causes(victim).iter().any(|cause| cause["kind"] == "deadline_budget"), "{victim}");
    assert!(text.contains("deadline runtime"), "{text}");
}

#[test]
fn who_sleeps_for_a_length_is_told_to_sleep_until_a_time() {
    let Some((document, text)) = watch("drift", 0) else { return };
    let found = &victim(&document)["rhythm"]["timer_loop"]["sleeps_for_length"];
    assert!(found["step_ns"].as_u64() > found["without_delay_ns"].as_u64(), "{found}");
    assert!(text.contains("TIMER_ABSTIME"), "{text}");
}

/// The JSON result and the screen for a Python program with these arguments.
fn watched_python(source: &str, arguments: &[&str]) -> Option<(Value, String)> {
    if !has_bpf() || !is_installed("python3") {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let (program, file) = (folder.path().join("program.py"), folder.path().join("w.jsonl"));
    std::fs::write(&program, source).unwrap();
    let (python, file) = (super::python(), file.to_str().unwrap());
    let options = ["watch", "--json", "--quiet", "--out", file, "--", &python, program.to_str().unwrap()];
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let document = json(&[&options[..], arguments].concat(), 0);
    Some((document, stdout(&run(&["show", file]))))
}

/// All waits within the iterations of the loops.
fn all_waits(document: &Value) -> impl Iterator<Item = &Value> {
    document["results"].as_array().unwrap().iter().flat_map(waits)
}

/// Whether other programs caused much of the lateness: then the advice of a priority is right in any case, except against the watch
/// itself, for which nobody is given one.
fn is_disturbed(document: &Value) -> bool {
    is_disturbed_by(document, |cause| cause["name"] != "howlate")
}

/// Whether such threads of other programs caused much of it.
fn is_disturbed_by(document: &Value, is_one: impl Fn(&Value) -> bool) -> bool {
    let share = |result: &Value| {
        let causes = result["why"]["causes"].as_array().into_iter().flatten();
        let of_others =
            causes.filter(|cause| cause["kind"] == "thread" && cause["own"] != true && is_one(cause));
        of_others.filter_map(|cause| cause["share"].as_f64()).sum::<f64>()
    };
    document["results"].as_array().unwrap().iter().any(|result| share(result) > 0.15)
}

#[test]
fn a_thread_of_python_that_waits_for_the_interpreter_is_given_no_priority() {
    for _ in 0..8 {
        let Some((document, text)) = watched_python(include_str!("interpreter_lock.py"), &[]) else { return };
        let of_sibling =
            |wait: &Value| wait["kind"] == "lock" && wait["call"] == "futex" && wait["own"] == true;
        assert!(all_waits(&document).any(of_sibling), "{document}");
        // Of 300 turns. What the lock's limit ends is no turn, and no sleep for a length.
        let turns = super::by_timer(&document)["count"].as_u64();
        assert!((290..330).contains(&turns.unwrap()), "{document}");
        assert!(!text.contains("for a length"), "{text}");
        if is_disturbed(&document) {
            continue;
        }
        assert!(!text.contains("SCHED_FIFO") && !text.contains("chrt "), "{text}");
        // On a busy machine the watch may keep it waiting for longer than the lock does.
        let watch_kept_it = is_disturbed_by(&document, |_| true);
        if text.contains("sys.setswitchinterval") || !watch_kept_it {
            return assert!(text.contains("sys.setswitchinterval"), "{text}");
        }
    }
    skip("programs beside it kept the CPUs of Python's threads busy");
}

#[test]
fn a_loop_that_waits_for_its_own_pages_is_told_to_bring_them_in() {
    // On a disk: files in memory are never read from a device.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let pages = folder.path().join("pages");
    let options = [pages.to_str().unwrap()];
    let Some((document, text)) = watched_python(include_str!("cold_pages.py"), &options) else { return };
    assert!(all_waits(&document).any(|wait| wait["kind"] == "page_fault"), "{document}");
    assert!(text.contains("page faults"), "{text}");
}
