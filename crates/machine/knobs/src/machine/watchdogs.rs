//! A timer on every CPU that looks whether the kernel hangs, and a counter that raises NMIs.
//!
//! Source: Documentation/admin-guide/lockup-watchdogs.rst.

use howlate_model::SettingScope;

use crate::knob::{Knob, Look};

/// Where it stands.
pub const FILE: &str = "/proc/sys/kernel/watchdog";

pub(crate) const KNOB: Knob = Knob {
    name: "watchdogs",
    scope: SettingScope::Machine,
    what: "no lockup watchdogs",
    cost: "a hanging kernel is not reported: switch them off only to measure",
    look: |root| Look::file(root, FILE, "0"),
    texts: &[],
};
