//! The settings of Linux that may make wake-ups more punctual, one small file each.
//!
//! Each knob knows what it is on a machine (is it there, may I, what does it hold), what would be changed to turn it, what
//! that costs others, and how people turn it for good. Nothing is changed here: a thread's settings are asked for by the
//! thread, files are written through `guard`, and what takes a restart is only named.

mod boot;
mod change;
mod knob;
mod machine;
mod per_instance;
mod persistent;
mod rights;
mod thread;
mod writes;

pub use change::{Change, ThreadSetting};
pub use knob::{Knob, State, Status};
pub use per_instance::Files;
// Where a setting stands, for those who say whether that is good.
pub use machine::{
    boost, clocksource, energy_preference, fair_server, frequency_governor, idle_states, irq_affinity,
    numa_balancing, preemption_model, rt_throttling, smt, swappiness, timer_migration,
    transparent_huge_pages, watchdogs, workqueue_cpus,
};
pub use persistent::boot_remedy;
pub use thread::timer_slack;
pub use writes::{Writes, write_command};

use howlate_model::Remedy;
use howlate_procfs::Root;

/// Every knob, in the order in which they are listed.
pub fn all() -> impl Iterator<Item = &'static Knob> {
    thread::ALL.iter().chain(machine::ALL).chain(boot::ALL).copied()
}

/// The knob of this name.
pub fn named(name: &str) -> Option<&'static Knob> {
    all().find(|knob| knob.name == name)
}

/// What to type to turn a knob, and to turn it back; empty where that is not to be done by writing files or at the next start.
pub fn remedy(root: &Root, name: &str) -> Remedy {
    match named(name).and_then(|knob| knob.state(root).change) {
        Some(Change::Files(writes)) => writes.remedy,
        Some(Change::Boot(words)) => boot_remedy(&words),
        _ => Remedy::default(),
    }
}

#[cfg(test)]
mod testing {
    use howlate_procfs::Root;

    /// A tree that holds these files.
    pub(crate) fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let folder = howlate_testing::tree(files);
        let root = Root::at(folder.path());
        (folder, root)
    }
}
