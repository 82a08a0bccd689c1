//! The clock source, and the timers of the lockup watchdogs.

use crate::settings::tunable::{Probe, Tunable};
use howlate_model::SettingScope;
use howlate_procfs::Root;

/// The hardware counter behind every clock reading.
///
/// Source: `vdso(7)` and each architecture's `asm/vdso/clocksource.h`.
pub(crate) const CLOCKSOURCE: Tunable = Tunable {
    name: "clocksource",
    scope: SettingScope::Machine,
    what: "a clock that is read without entering the kernel",
    cost: "nothing, where the kernel trusts it",
    probe: probe_clocksource,
    permanent: &[],
};

pub(crate) const CURRENT_CLOCKSOURCE: &str =
    "/sys/devices/system/clocksource/clocksource0/current_clocksource";
pub(crate) const AVAILABLE_CLOCKSOURCES: &str =
    "/sys/devices/system/clocksource/clocksource0/available_clocksource";

/// Clock sources that the vDSO reads without a system call.
const USER_SPACE_CLOCKSOURCES: [&str; 6] =
    ["tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page", "riscv_clocksource", "timebase"];

/// Whether the vDSO reads this clock source without a system call.
pub(crate) fn is_read_in_user_space(name: &str) -> bool {
    USER_SPACE_CLOCKSOURCES.contains(&name)
}

/// The first of several names for which [`is_read_in_user_space`] holds.
pub(crate) fn first_read_in_user_space(names: &str) -> Option<&str> {
    names.split_whitespace().find(|name| is_read_in_user_space(name))
}

fn probe_clocksource(root: &Root) -> Probe {
    let now = root.read(CURRENT_CLOCKSOURCE).unwrap_or_default();
    if is_read_in_user_space(&now) {
        return Probe::AsWanted(now);
    }
    match first_read_in_user_space(&root.read(AVAILABLE_CLOCKSOURCES).unwrap_or_default()) {
        Some(faster) => Probe::file(root, CURRENT_CLOCKSOURCE, faster),
        None => Probe::Absent("this machine has no faster clock".to_owned()),
    }
}

/// Lockup detectors: a timer on every CPU, and a performance counter that raises NMIs.
///
/// Source: Documentation/admin-guide/lockup-watchdogs.rst.
pub(crate) const WATCHDOGS: Tunable = Tunable {
    name: "watchdogs",
    scope: SettingScope::Machine,
    what: "no lockup watchdogs",
    cost: "a hanging kernel is not reported: switch them off only to measure",
    probe: |root| Probe::file(root, WATCHDOGS_FILE, "0"),
    permanent: &[],
};

pub(crate) const WATCHDOGS_FILE: &str = "/proc/sys/kernel/watchdog";
