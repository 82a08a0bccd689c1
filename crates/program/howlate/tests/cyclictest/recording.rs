//! `--howlate-out`: a recording beside the text.

use std::process::Command;

use crate::{run, stdout_of};

#[test]
fn a_recording_holds_every_wake_up_that_was_printed() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run.jsonl");
    let out = out.to_str().unwrap();
    let text = stdout_of(&["-q", "-l", "50", "-t", "2", "-d", "0", "-N", "--howlate-out", out]);
    let shown =
        Command::new(env!("CARGO_BIN_EXE_howlate")).args(["show", out, "--format", "json"]).output().unwrap();
    assert!(shown.status.success());
    let json: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    let header = std::fs::read_to_string(out).unwrap();
    assert!(header.lines().next().unwrap().contains("\"command\":\"cyclic\""));
    assert!(json.to_string().contains("\"thread\":1"));
    assert!(text.contains(" C:     50 "));
}

#[test]
fn nothing_is_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run.jsonl");
    std::fs::write(&out, "precious").unwrap();
    let output = run(&["-q", "-l", "5", "--howlate-out", out.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(std::fs::read_to_string(out).unwrap(), "precious");
}
