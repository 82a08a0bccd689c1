//! Requests to a server in a guest with a kernel that has no events for data at sockets.

use crate::guest_init::console;
use crate::guests;

#[test]
fn requests_are_seen_on_kernels_without_events_of_sockets() {
    let Some(_permit) = guests() else { return };
    let Some(message) = console("debian:6.1", "guest_requests/init.c", &[]) else { return };
    assert!(message.lines().any(|line| line.trim() == "that is all"), "{message}");
    // In emulation most of the time may go elsewhere, but some of it went to the sleep of the one with the lock.
    let found = message.lines().filter(|line| line.trim_end().ends_with(": found")).count();
    assert_eq!(found, 3, "{message}");
}
