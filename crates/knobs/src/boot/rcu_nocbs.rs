//! CPUs whose RCU callbacks are run elsewhere.
//!
//! Source: Documentation/admin-guide/kernel-parameters.txt.

use howlate_model::Scope;
use howlate_procfs::{CommandLine, Root};

use crate::boot::isolcpus::last;
use crate::knob::{Knob, Look};

pub(crate) const KNOB: Knob = Knob {
    name: "rcu_nocbs",
    scope: Scope::Boot,
    what: "RCU callbacks run on other CPUs",
    cost: "kernel threads run them elsewhere",
    look,
    texts: &[],
};

fn look(root: &Root) -> Look {
    match (CommandLine::read(root).has("rcu_nocbs"), last(root)) {
        (true, _) => {
            Look::AsWanted(CommandLine::read(root).value("rcu_nocbs").unwrap_or_default().to_owned())
        }
        (false, Some(last)) => Look::boot(format!("rcu_nocbs={last}")),
        (false, None) => Look::Absent("this machine has only one CPU".to_owned()),
    }
}
