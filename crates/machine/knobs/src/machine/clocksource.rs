//! The counter behind every reading of the clock.
//!
//! Source: `vdso(7)` and each architecture's `asm/vdso/clocksource.h`.

use howlate_model::SettingScope;
use howlate_procfs::Root;

use crate::knob::{Knob, Look};

pub(crate) const KNOB: Knob = Knob {
    name: "clocksource",
    scope: SettingScope::Machine,
    what: "a clock that is read without entering the kernel",
    cost: "nothing, where the kernel trusts it",
    look,
    texts: &[],
};

/// Where it stands.
pub const CURRENT: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
/// What it may be.
pub const AVAILABLE: &str = "/sys/devices/system/clocksource/clocksource0/available_clocksource";

/// Counters that user space reads without entering the kernel.
const QUICK: [&str; 6] =
    ["tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page", "riscv_clocksource", "timebase"];

/// Whether user space reads this one without entering the kernel.
pub fn is_quick(name: &str) -> bool {
    QUICK.contains(&name)
}

/// The first of these names that is such a one.
pub fn first_quick(names: &str) -> Option<&str> {
    names.split_whitespace().find(|name| is_quick(name))
}

fn look(root: &Root) -> Look {
    let now = root.read(CURRENT).unwrap_or_default();
    if is_quick(&now) {
        return Look::AsWanted(now);
    }
    match first_quick(&root.read(AVAILABLE).unwrap_or_default()) {
        Some(quick) => Look::file(root, CURRENT, quick),
        None => Look::Absent("this machine has no faster clock".to_owned()),
    }
}
