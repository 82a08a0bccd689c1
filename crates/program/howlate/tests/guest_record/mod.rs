//! The recorder goes on while a CPU is away and while the clock is set: in a guest, whose CPUs and clock are its own.

use crate::guest_init::console;
use crate::guests;

#[test]
fn a_recorder_outlives_a_cpu_and_the_time_of_day() {
    let Some(_permit) = guests() else { return };
    let Some(message) = console("debian:standard", "guest_record/init.c", &[]) else { return };
    for name in ["hog-first", "hog-away", "hog-again", "hog-back", "hog-forth"] {
        let found = message.lines().find_map(|line| line.trim().strip_prefix(&format!("{name}: ")));
        // One of the four may be made late by something else of an emulated machine.
        let enough = found.is_some_and(|found| ["3 of 4", "4 of 4"].contains(&found));
        assert!(enough, "{name}: {message}");
    }
}
