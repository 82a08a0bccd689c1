//! The recorder goes on while a CPU is away and while the clock is set: in a guest, whose CPUs and clock are its own.

use crate::common::stderr;
use crate::guest_init::first_process;
use crate::{cannot_fetch, guest, guests};

#[test]
fn a_recorder_outlives_a_cpu_and_the_time_of_day() {
    let Some(_permit) = guests() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = first_process(folder.path(), "guest_record/init.c", &[]) else { return };
    let program = program.to_str().unwrap();
    let options =
        ["--kernel", "debian:standard", "--memory", "1G", "--boot-deadline", "20m", "--program", program];
    let output = guest(&options, &["cyclic", "--samples", "1", "--why"]).output().unwrap();
    if cannot_fetch(&output) {
        return;
    }
    let message = stderr(&output);
    for name in ["hog-first", "hog-away", "hog-again", "hog-back", "hog-forth"] {
        let found = message.lines().find_map(|line| line.trim().strip_prefix(&format!("{name}: ")));
        // One of the four may be made late by something else of an emulated machine.
        let enough = found.is_some_and(|found| ["3 of 4", "4 of 4"].contains(&found));
        assert!(enough, "{name}: {message}");
    }
}
