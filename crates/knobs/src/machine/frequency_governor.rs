//! Who chooses the frequency: `performance` keeps it at the highest.
//!
//! Source: Documentation/admin-guide/pm/cpufreq.rst.

use crate::files::Files;
use crate::knob::{Knob, Look, Scope};

pub(crate) const KNOB: Knob = Knob {
    name: "frequency_governor",
    scope: Scope::Machine,
    what: "the highest frequency at all times",
    cost: "power and heat",
    look: |root| {
        Look::files(
            Files::of(root, "/sys/devices/system/cpu/cpufreq", "policy", "scaling_governor")
                .write("performance"),
        )
    },
    texts: &[],
};
