//! CPUs whose tick stops while a single thread runs.
//!
//! Source: Documentation/timers/no_hz.rst.

use howlate_model::Scope;
use howlate_procfs::{CommandLine, Root};

use crate::boot::isolcpus::last;
use crate::knob::{Knob, Look};

pub(crate) const KNOB: Knob = Knob {
    name: "nohz_full",
    scope: Scope::Boot,
    what: "no tick on a CPU that runs one thread",
    cost: "entering the kernel takes longer there",
    look,
    texts: &[],
};

fn look(root: &Root) -> Look {
    match (CommandLine::read(root).has("nohz_full"), last(root)) {
        (true, _) => {
            Look::AsWanted(CommandLine::read(root).value("nohz_full").unwrap_or_default().to_owned())
        }
        (false, Some(last)) => Look::boot(format!("nohz_full={last} rcu_nocbs={last}")),
        (false, None) => Look::Absent("this machine has only one CPU".to_owned()),
    }
}
