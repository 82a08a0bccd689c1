//! What the processor itself is told to prefer. Under the governor `performance` the kernel takes nothing else than 0.
//!
//! Source: Documentation/admin-guide/pm/intel_pstate.rst.

use howlate_model::SettingScope;
use howlate_procfs::{FREQUENCY_POLICIES, Root};

use crate::knob::{Knob, Look};
use crate::per_instance::Files;

pub(crate) const KNOB: Knob = Knob {
    name: "energy_preference",
    scope: SettingScope::Machine,
    what: "the processor is told to prefer speed",
    cost: "power and heat",
    look: |root| Look::files(preferences(root).write("performance")),
    texts: &[],
};

/// What the processor is told for each frequency policy.
pub fn preferences(root: &Root) -> Files {
    Files::list(root, FREQUENCY_POLICIES, "policy", "energy_performance_preference")
}
