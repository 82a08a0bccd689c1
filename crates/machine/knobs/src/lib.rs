//! The settings of Linux that may make wake-ups more punctual, one small file each.
//!
//! Each knob knows what it is on a machine (is it there, may I, what does it hold), what would be changed to turn it, what
//! that costs others, and how people turn it for good. Nothing is changed here: a thread's settings are asked for by the
//! thread, files are written through `guard`, and what takes a restart is only named.

mod boot;
mod boot_loader;
mod change;
mod knob;
mod machine;
mod per_instance;
mod persistent;
mod rights;
mod thread;
pub mod tuning_daemons;
mod writes;

pub use change::{Change, ThreadSetting};
pub use knob::{Knob, State, Status};
pub use per_instance::Files;
// Where a setting stands, for those who say whether that is good.
pub use boot::core_to_isolate::{core_to_isolate, cores_to_spare};
pub use boot::nohz_full;
pub use boot_loader::boot_remedy;
pub use machine::{
    autogroup, boost, clocksource, energy_preference, fair_server, frequency_governor,
    housekeeping::housekeeping, idle_states, irq_affinity, numa_balancing, preemption_model,
    receive_steering, rt_throttling, same_page_merging, smt, swappiness, timer_migration,
    transparent_huge_pages, watchdogs, workqueue_cpus,
};
pub use persistent::Whose;
pub use thread::timer_slack;
pub use writes::{Writes, write_command};

use howlate_model::Remedy;
use howlate_procfs::{LinuxDistribution, Root};

/// Every knob, in the order in which they are listed.
pub fn all() -> impl Iterator<Item = &'static Knob> {
    thread::ALL.iter().chain(machine::ALL).chain(boot::ALL).copied()
}

/// The knob of this name.
pub fn named(name: &str) -> Option<&'static Knob> {
    all().find(|knob| knob.name == name)
}

/// A setting of so many files is not written down file by file.
const MOST_PATTERNS: usize = 8;

/// What to type to turn a knob, and to turn it back, with what that takes from others; empty where that is not to be done by writing
/// files or at the next start.
pub fn remedy(root: &Root, name: &str) -> Remedy {
    let Some(knob) = named(name) else { return Remedy::default() };
    let remedy = typed(root, knob);
    let price = (!remedy.apply.is_empty()).then(|| knob.cost.to_owned());
    Remedy { price, ..remedy }
}

fn typed(root: &Root, knob: &Knob) -> Remedy {
    match knob.state(root).change {
        Some(Change::Files(writes)) => {
            let has_systemd = root.has("/run/systemd/system") || LinuxDistribution::read(root).has_systemd();
            // More files than these are no line that anybody types.
            let is_short = writes.patterns.len() <= MOST_PATTERNS;
            let lasting = (has_systemd && is_short).then(|| persistent::of_files(knob.name, &writes).apply);
            Remedy { lasting: lasting.into_iter().collect(), ..writes.remedy }
        }
        Some(Change::Boot(remedy)) => remedy,
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
