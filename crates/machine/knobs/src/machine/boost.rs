//! Frequencies above the base one: quicker, but as long as heat and the other cores allow.
//!
//! Source: Documentation/admin-guide/pm/cpufreq.rst, intel_pstate.rst.

use howlate_model::SettingScope;
use howlate_procfs::Root;

use crate::knob::{Knob, Look};

/// Where it stands, the other way around, with `intel_pstate`.
pub const NO_TURBO: &str = "/sys/devices/system/cpu/intel_pstate/no_turbo";
/// Where it stands with other drivers.
pub const BOOST: &str = "/sys/devices/system/cpu/cpufreq/boost";

pub(crate) const KNOB: Knob = Knob {
    name: "boost",
    scope: SettingScope::Machine,
    what: "no turbo, so that the same code takes the same time",
    cost: "everything that computes is slower",
    look,
    texts: &[],
};

fn look(root: &Root) -> Look {
    if root.has(NO_TURBO) {
        return Look::file(root, NO_TURBO, "1");
    }
    Look::file(root, BOOST, "0")
}
