//! Requests to a server in a guest with a kernel that has no events for data at sockets.

use crate::common::stderr;
use crate::guest_init::first_process;
use crate::{cannot_fetch, guest, guests};

#[test]
fn requests_are_seen_on_kernels_without_events_of_sockets() {
    let Some(_permit) = guests() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = first_process(folder.path(), "guest_requests/init.c", &[]) else { return };
    let program = program.to_str().unwrap();
    let options =
        ["--kernel", "debian:6.1", "--memory", "1G", "--boot-deadline", "20m", "--program", program];
    let output = guest(&options, &["cyclic", "--samples", "1", "--why"]).output().unwrap();
    if cannot_fetch(&output) {
        return;
    }
    let message = stderr(&output);
    assert!(message.lines().any(|line| line.trim() == "that is all"), "{message}");
    // In emulation most of the time may go elsewhere, but some of it went to the sleep of the one with the lock.
    let found = message.lines().filter(|line| line.trim_end().ends_with(": found")).count();
    assert_eq!(found, 3, "{message}");
}
