//! The counter behind every reading of the clock.
//!
//! Source: `vdso(7)` and each architecture's `asm/vdso/clocksource.h`.

use howlate_model::Scope;
use howlate_procfs::Root;

use crate::knob::{Knob, Look};

pub(crate) const KNOB: Knob = Knob {
    name: "clocksource",
    scope: Scope::Machine,
    what: "a clock that is read without entering the kernel",
    cost: "nothing, where the kernel trusts it",
    look,
    texts: &[],
};

const FOLDER: &str = "/sys/devices/system/clocksource/clocksource0";

/// Counters that user space reads without entering the kernel.
const QUICK: [&str; 6] =
    ["tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page", "riscv_clocksource", "timebase"];

fn look(root: &Root) -> Look {
    let path = format!("{FOLDER}/current_clocksource");
    let now = root.read(&path).unwrap_or_default();
    if QUICK.contains(&now.as_str()) {
        return Look::AsWanted(now);
    }
    let available = root.read(&format!("{FOLDER}/available_clocksource")).unwrap_or_default();
    match available.split_whitespace().find(|name| QUICK.contains(name)) {
        Some(quick) => Look::file(root, &path, quick),
        None => Look::Absent("this machine has no faster clock".to_owned()),
    }
}
