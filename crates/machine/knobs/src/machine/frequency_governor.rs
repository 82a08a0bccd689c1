//! Who chooses the frequency: `performance` keeps it at the highest.
//!
//! With it, drivers that leave the choice to the processor tell it to prefer speed (`energy_performance_preference`), and not
//! all take that back with another governor.
//!
//! Source: Documentation/admin-guide/pm/{cpufreq,intel_pstate,amd-pstate}.rst.

use howlate_model::SettingScope;
use howlate_procfs::{FREQUENCY_POLICIES, GOVERNOR, Root};

use crate::knob::{Knob, Look};
use crate::machine::energy_preference::preferences;
use crate::per_instance::Files;

pub(crate) const KNOB: Knob = Knob {
    name: "frequency_governor",
    scope: SettingScope::Machine,
    what: "the highest frequency at all times",
    cost: "power and heat",
    look: |root| Look::files(governors(root).write("performance").watching(preferences(root).as_they_are())),
    texts: &[],
};

/// The governor of each frequency policy.
pub fn governors(root: &Root) -> Files {
    Files::list(root, FREQUENCY_POLICIES, "policy", GOVERNOR)
}
