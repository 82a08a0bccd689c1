//! Interrupt handlers as threads of priority 50, below real-time threads and above ordinary ones.
//!
//! Source: Documentation/admin-guide/kernel-parameters.txt.

use howlate_model::SettingScope;
use howlate_procfs::{CommandLine, Kernel, Root};

use crate::knob::{Knob, Look};

pub(crate) const KNOB: Knob = Knob {
    name: "threadirqs",
    scope: SettingScope::Boot,
    what: "interrupt handlers as threads",
    cost: "each interrupt takes longer",
    look,
    texts: &[],
};

fn look(root: &Root) -> Look {
    match CommandLine::read(root).has("threadirqs") || Kernel::is_realtime(root) {
        true => Look::AsWanted("handlers are threads".to_owned()),
        false => Look::boot(root, "threadirqs"),
    }
}
