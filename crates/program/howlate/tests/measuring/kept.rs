//! The history of runs: private to the user, and shown without a path.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use crate::common::{howlate, is_root, run, skip, stderr, stdout};

const SHORT: [&str; 5] = ["cyclic", "--threads", "1", "--samples", "20"];

/// Runs the program with `data` as `XDG_DATA_HOME`.
fn with_data(data: &Path, arguments: &[&str]) -> Output {
    let output = howlate(arguments).env("XDG_DATA_HOME", data).current_dir(data).output().unwrap();
    assert!(output.status.code().is_some());
    output
}

fn history_length(data: &Path) -> usize {
    fs::read_dir(data.join("howlate")).map_or(0, |folder| folder.flatten().count())
}

#[test]
fn a_recording_may_have_any_name_that_a_file_may_have() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(OsStr::from_bytes(b"run\xff.jsonl"));
    let output = howlate(&SHORT).arg("--out").arg(&path).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let shown = howlate(&["show", "--json"]).arg(&path).output().unwrap();
    let result: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(result["command"], "cyclic");
}

#[test]
fn the_most_recent_run_is_shown_without_its_name() {
    let data = tempfile::tempdir().unwrap();
    let none = with_data(data.path(), &["show"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(stderr(&none).contains("no run has been saved here"), "{}", stderr(&none));
    let printed = stdout(&with_data(data.path(), &SHORT));
    assert_eq!(stdout(&with_data(data.path(), &["show"])), printed);
    let mode = data.path().join("howlate").metadata().unwrap().permissions().mode();
    assert_eq!((mode & 0o777, history_length(data.path())), (0o700, 1));
    let page = with_data(data.path(), &["report", "-o", "page.html"]);
    assert_eq!(page.status.code(), Some(0), "{}", stderr(&page));
    let elsewhere = stdout(&with_data(data.path(), &[&SHORT[..], &["--out", "mine.jsonl"]].concat()));
    assert_eq!(stdout(&with_data(data.path(), &["show"])), elsewhere);
    with_data(data.path(), &[&SHORT[..], &["--no-save"]].concat());
    assert_eq!(history_length(data.path()), 2);
}

/// What is not the last run is not called it.
#[test]
fn a_result_says_how_to_see_more_of_it() {
    let data = tempfile::tempdir().unwrap();
    let more_of = |options: &[&str]| {
        let text = stdout(&with_data(data.path(), &[&SHORT[..], options].concat()));
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(more_of(&[]).contains("`howlate show --details`"));
    assert!(more_of(&["--no-save", "--out", "one.jsonl"]).contains("`howlate show one.jsonl --details`"));
    let unsaved = more_of(&["--no-save"]);
    assert!(unsaved.contains("the same command with `--details`"), "{unsaved}");
    assert!(!unsaved.contains("howlate show"), "{unsaved}");
}

/// All measuring commands are saved: plans and watched programs too, and `why` reads what was traced.
#[test]
fn experiments_and_watched_programs_are_kept_too() {
    let data = tempfile::tempdir().unwrap();
    fs::write(data.path().join("plan.toml"), "[[cyclic]]\nthreads = 1\nsamples = 20\n").unwrap();
    let printed = stdout(&with_data(data.path(), &["run", "plan.toml"]));
    assert_eq!(stdout(&with_data(data.path(), &["show"])), printed);
    let untraced = with_data(data.path(), &["why", "--last"]);
    assert!(stderr(&untraced).contains("was traced"), "{}", stderr(&untraced));
    with_data(data.path(), &["run", "plan.toml", "--out", "again.jsonl", "--no-save"]);
    assert_eq!(history_length(data.path()), 1);
    let watched = with_data(data.path(), &["watch", "--", "sleep", "0.2"]);
    if !watched.status.success() {
        return skip("no program can be watched here");
    }
    assert_eq!(history_length(data.path()), 2);
    assert_eq!(stdout(&with_data(data.path(), &["show"])), stdout(&watched));
}

#[test]
fn runs_that_begin_together_are_all_kept() {
    let data = tempfile::tempdir().unwrap();
    let start = |_| howlate(&SHORT).env("XDG_DATA_HOME", data.path()).stdout(Stdio::null()).spawn().unwrap();
    let runs: Vec<Child> = (0..3).map(start).collect();
    for mut run in runs {
        assert_eq!(run.wait().unwrap().code(), Some(0));
    }
    assert_eq!(history_length(data.path()), 3);
}

#[test]
fn a_run_that_could_not_be_kept_whole_is_not_kept() {
    let data = tempfile::tempdir().unwrap();
    // Without policy idle, which may never run on a busy machine.
    let many = ["cyclic", "--threads=1", "--policy=other,batch,nice:1", "--samples=500", "--period=200us"];
    let mut limited = Command::new("sh");
    // In blocks of 512 bytes: enough for the first line, but not for the rest.
    limited.args(["-c", "ulimit -f 60; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_howlate")]).args(many);
    let output = limited.env("XDG_DATA_HOME", data.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(history_length(data.path()), 0);
}

#[test]
fn what_cannot_be_kept_takes_nothing_away() {
    let data = tempfile::tempdir().unwrap();
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -f 1; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_howlate")]).args(SHORT);
    let output = limited.env("XDG_DATA_HOME", data.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    assert_eq!(history_length(data.path()), 0);
}

#[test]
fn root_keeps_nothing_in_the_folder_of_another_user() {
    if !is_root() {
        return skip("only root could");
    }
    let home = tempfile::tempdir().unwrap();
    chown(home.path(), Some(65_534), Some(65_534)).unwrap();
    let output = howlate(&SHORT).env_remove("XDG_DATA_HOME").env("HOME", home.path()).output().unwrap();
    assert!(!stdout(&output).is_empty(), "{}", stderr(&output));
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn a_dash_is_no_file() {
    for (command, option) in [("cyclic", "--out"), ("sleep", "--samples-out"), ("why", "-o")] {
        let output = run(&[command, option, "-"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("standard output is for the result"), "{}", stderr(&output));
    }
}

#[test]
fn help_is_a_command_too() {
    assert_eq!(stdout(&run(&["help", "doctor"])), stdout(&run(&["doctor", "--help"])));
}
