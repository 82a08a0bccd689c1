//! Time kept for ordinary threads that real-time threads starve.
//!
//! Source: Linux commit d741f297, since 6.12.

use howlate_model::SettingScope;
use howlate_procfs::Root;

use crate::knob::{Knob, Look};
use crate::per_instance::Files;

pub(crate) const KNOB: Knob = Knob {
    name: "fair_server",
    scope: SettingScope::Machine,
    what: "no time reserved for starving ordinary threads",
    cost: "a real-time thread that never sleeps takes its CPU for good",
    look: |root| Look::files(runtimes(root).write("0")),
    texts: &[],
};

/// Where it stands, a folder for each CPU.
pub const FOLDER: &str = "/sys/kernel/debug/sched/fair_server";

/// What is kept on each CPU, nanoseconds of every period.
pub fn runtimes(root: &Root) -> Files {
    Files::list(root, FOLDER, "cpu", "runtime")
}
