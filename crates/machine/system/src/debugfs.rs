//! Whether settings below `/sys/kernel/debug` can be reached.

use howlate_procfs::{CommandLine, Reading, Root, Unreadable};

use crate::kernel_config::KernelConfig;
use crate::process::Process;

const LOCKDOWN: &str = "/sys/kernel/security/lockdown";
const FORCED: [&str; 2] =
    ["CONFIG_LOCK_DOWN_KERNEL_FORCE_INTEGRITY", "CONFIG_LOCK_DOWN_KERNEL_FORCE_CONFIDENTIALITY"];

/// How a file of debugfs can be had.
pub(crate) enum Debugfs {
    /// It is there, or will be for root.
    Mounted,
    /// It is there once debugfs is mounted.
    Unmounted,
    /// The kernel refuses it, even to root; what says so.
    Refused(Reading),
}

impl Debugfs {
    /// Of the file that `seen` is a reading of.
    pub(crate) fn read(root: &Root, seen: &Reading) -> Self {
        if let Some(refusal) = locked_down(root).or_else(|| refused_to_an_administrator(root, seen)) {
            return Self::Refused(refusal);
        }
        if seen.is_missing() { Self::Unmounted } else { Self::Mounted }
    }
}

/// A kernel that is locked down opens no file of debugfs that could change it.
///
/// Source: `kernel_lockdown(7)`; `fs/debugfs/file.c`, `debugfs_locked_down`.
fn locked_down(root: &Root) -> Option<Reading> {
    let state = root.reading(LOCKDOWN);
    if let Some(text) = state.text() {
        let locked = text.contains("[integrity]") || text.contains("[confidentiality]");
        return locked.then(|| state.clone());
    }
    let line = CommandLine::read(root);
    if line.value("lockdown").is_some_and(|value| matches!(value, "integrity" | "confidentiality")) {
        return Some(line.only(&["lockdown"]));
    }
    let config = KernelConfig::read(root);
    FORCED.into_iter().find(|option| config.has(option) == Some(true)).map(|option| config.only(&[option]))
}

/// Who is not root is refused anyway, which says nothing about root.
fn refused_to_an_administrator(root: &Root, seen: &Reading) -> Option<Reading> {
    let is_refused = seen.content == Err(Unreadable::Permission);
    (is_refused && Process::read(root).holds("CAP_SYS_ADMIN") == Some(true)).then(|| seen.clone())
}
