//! The right to see the kernel's addresses, `CAP_SYSLOG`, which a program's file may give to whoever runs it. It is taken up only where
//! the names of the kernel's functions are read: whatever else is opened, a user has named.

use rustix::process::geteuid;
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

/// Sets the right aside, until it is [needed](when_needed): in this thread, and those that it starts from then on. Root keeps it, who can
/// read them anyway.
///
/// Source: <https://man7.org/linux/man-pages/man7/capabilities.7.html>
pub fn set_aside() {
    if !geteuid().is_root() {
        change(|sets| CapabilitySets { effective: sets.effective.difference(CapabilitySet::SYSLOG), ..sets });
    }
}

/// Does `what` with the right, where this thread has set it aside.
pub fn when_needed<T>(what: impl FnOnce() -> T) -> T {
    if geteuid().is_root() {
        return what();
    }
    change(|sets| CapabilitySets {
        effective: sets.effective.union(sets.permitted.intersection(CapabilitySet::SYSLOG)),
        ..sets
    });
    let done = what();
    set_aside();
    done
}

/// What cannot be changed stays: without the right there is nothing to change.
fn change(to: impl FnOnce(CapabilitySets) -> CapabilitySets) {
    if let Ok(sets) = capabilities(None) {
        let _ = set_capabilities(None, to(sets));
    }
}
