//! `CAP_SYSLOG`, the right to see the kernel's addresses, which file capabilities of the executable may grant. It is raised only while
//! kernel symbols are read: every other file that this program opens was named by the user, who may lack the right.

use rustix::process::geteuid;
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

/// Lowers the effective capability of this thread, and of threads that it starts from then on, until [`with_raised`]. Not for root, who can
/// read the addresses anyway.
///
/// Source: <https://man7.org/linux/man-pages/man7/capabilities.7.html>
pub fn lower() {
    if !geteuid().is_root() {
        change(|sets| CapabilitySets { effective: sets.effective.difference(CapabilitySet::SYSLOG), ..sets });
    }
}

/// Runs `work` with the capability raised, where it is permitted.
pub fn with_raised<T>(work: impl FnOnce() -> T) -> T {
    if geteuid().is_root() {
        return work();
    }
    change(|sets| CapabilitySets {
        effective: sets.effective.union(sets.permitted.intersection(CapabilitySet::SYSLOG)),
        ..sets
    });
    let result = work();
    lower();
    result
}

/// Failure is ignored: without the permitted capability there is nothing to change.
fn change(to: impl FnOnce(CapabilitySets) -> CapabilitySets) {
    if let Ok(sets) = capabilities(None) {
        let _ = set_capabilities(None, to(sets));
    }
}
