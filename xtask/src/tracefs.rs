//! Mounts tracefs for tests and benches, invisible to the rest of the machine.

use std::process::{Command, Stdio};

/// Mounts tracefs unless it is mounted, then executes the arguments.
const MOUNT: &str = "mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing || exit 77; exec \"$@\"";

/// Runs `MOUNT` in a mount namespace of its own, which ends with its last process.
const COMMAND: [&str; 6] = ["unshare", "--mount", "sh", "-c", MOUNT, "sh"];

/// The command that goes before that of a program that needs tracefs; empty if this user may not mount it: tests that need it then
/// skip themselves.
pub(crate) fn mount_command() -> &'static [&'static str] {
    let mut trial = Command::new(COMMAND[0]);
    trial.args(&COMMAND[1..]).arg("true").stderr(Stdio::null());
    if trial.status().is_ok_and(|status| status.success()) { &COMMAND } else { &[] }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "/proc/self/mounts";

    #[test]
    fn tests_see_trace_files_that_nobody_else_sees() {
        let before = std::fs::read_to_string(MOUNTS).unwrap();
        let Some((first, rest)) = mount_command().split_first() else {
            return howlate_testing::skip("tracefs cannot be mounted here");
        };
        let output = Command::new(first).args(rest).args(["cat", MOUNTS]).output().unwrap();
        let inside = String::from_utf8(output.stdout).unwrap();
        assert!(inside.contains(" /sys/kernel/tracing tracefs "), "{inside}");
        assert_eq!(std::fs::read_to_string(MOUNTS).unwrap(), before);
    }
}
