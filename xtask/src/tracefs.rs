//! The kernel's trace files: tests and benches see them mounted, and nobody else on the machine does.

use std::process::{Command, Stdio};

/// Mounts them where they are not, and becomes what follows.
const MOUNT: &str = "mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing || exit 77; exec \"$@\"";

/// A mount namespace, which ends with the last process in it, and none of whose mounts is seen outside.
const MOUNTED: [&str; 6] = ["unshare", "--mount", "sh", "-c", MOUNT, "sh"];

/// The words before those of a program that is to see tracefs mounted; none where this user may not mount it. Tests
/// that need it then skip themselves, and say what is missing.
pub(crate) fn words_before() -> &'static [&'static str] {
    let mut tried = Command::new(MOUNTED[0]);
    tried.args(&MOUNTED[1..]).arg("true").stderr(Stdio::null());
    if tried.status().is_ok_and(|status| status.success()) { &MOUNTED } else { &[] }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "/proc/self/mounts";

    #[test]
    fn tests_see_trace_files_that_nobody_else_sees() {
        let before = std::fs::read_to_string(MOUNTS).unwrap();
        let Some((first, rest)) = words_before().split_first() else {
            return howlate_testing::skip("tracefs cannot be mounted here");
        };
        let output = Command::new(first).args(rest).args(["cat", MOUNTS]).output().unwrap();
        let inside = String::from_utf8(output.stdout).unwrap();
        assert!(inside.contains(" /sys/kernel/tracing tracefs "), "{inside}");
        assert_eq!(std::fs::read_to_string(MOUNTS).unwrap(), before);
    }
}
