//! Who chooses the frequency: `performance` keeps it at the highest.
//!
//! With it, drivers that leave the choice to the processor tell it to prefer speed (`energy_performance_preference`), and not
//! all take that back with another governor.
//!
//! Source: Documentation/admin-guide/pm/{cpufreq,intel_pstate,amd-pstate}.rst.

use howlate_model::Scope;
use howlate_procfs::{FREQUENCY_POLICIES, GOVERNOR};

use crate::files::Files;
use crate::knob::{Knob, Look};

pub(crate) const KNOB: Knob = Knob {
    name: "frequency_governor",
    scope: Scope::Machine,
    what: "the highest frequency at all times",
    cost: "power and heat",
    look: |root| {
        let files = |name: &str| Files::list(root, FREQUENCY_POLICIES, "policy", name);
        let preferences = files("energy_performance_preference").as_they_are();
        Look::files(files(GOVERNOR).write("performance").watching(preferences))
    },
    texts: &[],
};
