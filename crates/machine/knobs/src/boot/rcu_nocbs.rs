//! CPUs whose RCU callbacks are run elsewhere.
//!
//! Source: Documentation/admin-guide/kernel-parameters.txt.

use howlate_model::SettingScope;
use howlate_procfs::{CommandLine, Root};

use crate::boot::core_to_isolate::core_to_isolate;
use crate::knob::{Knob, Look};

pub(crate) const KNOB: Knob = Knob {
    name: "rcu_nocbs",
    scope: SettingScope::Boot,
    what: "RCU callbacks run on other CPUs",
    cost: "kernel threads run them elsewhere",
    look,
    texts: &[],
};

fn look(root: &Root) -> Look {
    match (CommandLine::read(root).has("rcu_nocbs"), core_to_isolate(root)) {
        (true, _) => {
            Look::AsWanted(CommandLine::read(root).value("rcu_nocbs").unwrap_or_default().to_owned())
        }
        (false, Some(core)) => Look::boot(root, format!("rcu_nocbs={core}")),
        (false, None) => Look::Absent("this machine has only one core".to_owned()),
    }
}
