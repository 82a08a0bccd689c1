//! Refused input: the message has what was found, what is valid, and what to type.

use crate::common::{howlate, run, stderr};

#[track_caller]
fn assert_refused(arguments: &[&str], says: &str) {
    let output = run(arguments);
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
    assert!(message.contains(says), "{arguments:?} says: {message}");
    assert!(!message.contains("panicked"), "{message}");
    assert!(output.stdout.is_empty());
}

#[test]
fn wrong_values_are_named_with_their_remedy() {
    assert_refused(&["cyclic", "--period", "100"], "`100` has no unit; write `100us`, `100ms` or `100s`");
    assert_refused(&["cyclic", "--period", "0"], "write a length of time, such as `--period 1ms`");
    assert_refused(&["cyclic", "--period", "-5us"], "--period");
    assert_refused(
        &["cyclic", "--policy", "fast"],
        "write other, batch, idle, ext, nice:N, fifo:P, rr:P or deadline",
    );
    assert_refused(
        &["cyclic", "--policy", "fifo:0"],
        "priority `0` is out of range; write 1 (lowest) to 99 (highest)",
    );
    assert_refused(&["cyclic", "--policy", "rr:100"], "priority `100` is out of range");
    assert_refused(&["cyclic", "--policy", "nice:20"], "write -20 (runs most) to 19 (runs least)");
    assert_refused(&["cyclic", "--policy", "deadline:2ms/1ms"], "no more than the period 1ms");
    assert_refused(&["cyclic", "--cpus", "a"], "write numbers and ranges, such as `0-1,3`");
    assert_refused(
        &["cyclic", "--cpus", "8191"],
        "CPU 8191 cannot be used; the kernel lets this process use",
    );
    assert_refused(&["cyclic", "--threads", "0"], "write a number from 1 to 1000, or `per-cpu`");
    assert_refused(&["cyclic", "--samples", "0"], "--samples is 0; write at least 1");
    assert_refused(&["cyclic", "--duration", "0"], "such as `--duration 10s`");
    assert_refused(&["cyclic", "--call", "usleep"], "choose from clock_nanosleep");
    assert_refused(&["cyclic", "--fail-above", "max"], "such as `max>100us`");
    assert_refused(&["cyclic", "--fail-above", "max>100"], "`100` has no unit");
    assert_refused(&["cyclic", "--slack", "0"], "write `1ns` for the least");
    assert_refused(&["cyclic", "--perod", "1ms"], "--period");
    assert_refused(&["sleep", "--for", ""], "is not a length of time");
    assert_refused(&["doctor", "--root", "/no/such/folder"], "there is no folder /no/such/folder");
    assert_refused(&["cyclik"], "cyclic");
}

#[test]
fn what_is_no_sweep_has_no_steps() {
    assert_refused(&["sleep", "--steps", "--for", "1ms"], "`--steps` chooses lengths and loads itself");
    assert_refused(&["sleep", "1ms,2ms", "--steps"], "`--steps` chooses lengths and loads itself");
    assert_refused(&["sleep", "--steps", "--load", "cpu"], "`--steps` chooses lengths and loads itself");
    assert_refused(&["sleep", "--steps", "--call", "python"], "`python` rounds lengths");
    assert_refused(&["sleep", "--steps", "--call", "nanosleep,ppoll"], "give one call");
    assert_refused(&["sleep", "--steps", "--call", "busy_wait"], "`busy_wait` spins");
    assert_refused(&["sleep", "--steps", "--policy", "other,fifo:80"], "give one policy");
    assert_refused(&["sleep", "--steps", "--cpus", "8191"], "CPU 8191 cannot be used");
    assert_refused(&["sleep", "--steps", "--rounds", "3"], "write `--rounds 6` or more");
    assert_refused(&["sleep", "--steps", "--samples", "8"], "write `--samples 24` or more");
}

#[test]
fn what_a_program_cannot_be_watched_until_is_named() {
    assert_refused(&["watch", "--until", "compare decided", "sleep", "1"], "a program is watched as it is");
    assert_refused(&["watch", "--until", "p50 ±1%", "sleep", "1"], "±2 %");
    assert_refused(&["watch", "--until", "max<1ms: 10 per second", "sleep", "1"], "one in 20.0 s");
    assert_refused(
        &["watch", "--until", "max<1ms: 1 per hour", "--duration", "1s", "sleep", "1"],
        "cannot be used with",
    );
    assert_refused(&["watch", "--at-most", "1m", "sleep", "1"], "--until");
}

#[test]
fn what_would_lock_the_machine_up_is_refused() {
    assert_refused(&["cyclic", "--policy", "fifo:50", "--call", "busy_wait"], "never lets other threads run");
    assert_refused(
        &["cyclic", "--policy", "fifo:50", "--period", "1us"],
        "would leave no CPU time to others; use at least",
    );
    assert_refused(
        &["sleep", "--for", "0", "--policy", "rr:9", "--samples", "1000000"],
        "use at most 50000 samples",
    );
}

#[test]
fn a_place_that_cannot_be_written_to_is_named_before_anything_is_measured() {
    assert_refused(&["cyclic", "--out", "/no/such/folder/x.jsonl"], "cannot write /no/such/folder/x.jsonl");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("precious.jsonl");
    std::fs::write(&path, "precious").unwrap();
    assert_refused(&["cyclic", "--out", path.to_str().unwrap()], "already exists; refusing to overwrite it");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
}

#[test]
fn what_is_no_recording_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.jsonl");
    let path = path.to_str().unwrap();
    assert_refused(&["show", path], "cannot read");
    for (content, says) in [
        ("", "is empty"),
        ("cyclictest -p 80\n", "is not a howlate recording"),
        ("{\"header\":{\"format\":7}}\n", "has format 7; this howlate reads up to format 1"),
    ] {
        std::fs::write(path, content).unwrap();
        assert_refused(&["show", path], says);
    }
}

#[test]
fn loads_that_cannot_be_applied_are_named_with_what_was_meant() {
    assert_refused(&["cyclic", "--load", "storm"], "`storm` is not a load; choose from idle, cpu");
    assert_refused(&["cyclic", "--load", "idle,pip"], "`pip` is not a load; did you mean `pipe`?");
    assert_refused(
        &["cyclic", "--load", "pipe:120%"],
        "write an intensity such as `50%` (1 to 100), `workers=N`",
    );
    assert_refused(&["sleep", "--load", "cmd:'sleep"], "a quote is left open");
    assert_refused(
        &["sleep", "--load", "cpu", "--load-cpus", "8191"],
        "CPU 8191; the kernel lets this process use CPU",
    );
    assert_refused(&["load", "disk:/no/such/folder"], "name a folder that exists");
    assert_refused(&["load", "files:/no/such/folder"], "cannot use the folder /no/such/folder");
    assert_refused(&["load"], "<LOAD>");
    let output = howlate(&["load", "stress-ng:pipe"]).env("PATH", "/nowhere").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("`sudo apt-get install stress-ng`"), "{}", stderr(&output));
    if std::process::Command::new("stress-ng").arg("--version").output().is_err() {
        return crate::common::skip("stress-ng is not installed");
    }
    assert_refused(
        &["load", "stress-ng:swtich"],
        "neither a class nor a stressor `swtich`; did you mean `switch`?",
    );
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = howlate(&["doctor"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(stderr(&output).is_empty(), "{}", stderr(&output));
}
