//! Settings of Linux that may make wake-ups more punctual.
//!
//! Each [`Tunable`] is a row of data: how its state is read, what would be changed, the cost for others, and how it is made
//! permanent. Nothing is changed here: threads apply their own settings, files are written by `howlate-guard`, and boot parameters
//! are only named.

mod boot;
mod boot_loader;
mod change;
mod cpus;
mod interrupts;
mod memory;
mod numbered_files;
mod permanent;
mod power;
mod privileges;
mod scheduling;
mod thread;
mod timekeeping;
mod tunable;
pub mod tuning_daemons;
mod writes;

pub use change::{Change, ThreadSetting};
pub use permanent::AppliesTo;
pub use tunable::{Tunable, TunableState, TunableStatus};
pub use writes::Writes;

pub(crate) use boot::NOHZ_FULL_FILE;
pub(crate) use boot_loader::boot_remedy;
pub(crate) use cpus::{core_to_isolate, cores_to_isolate, housekeeping};
pub(crate) use interrupts::{
    RECEIVE_STEERING_FOLDER, WORKQUEUE_CPUS_FILE, handled_by, managed_near, movable,
};
pub(crate) use memory::{
    NUMA_BALANCING_FILE, SAME_PAGE_MERGING_FILE, SWAPPINESS_FILE, TRANSPARENT_HUGE_PAGES_FILE,
};
pub(crate) use numbered_files::NumberedFiles;
pub(crate) use power::{BOOST_FILE, NO_TURBO_FILE, NOTICEABLE_US, energy_preferences};
pub(crate) use scheduling::{
    AUTOGROUP_FILE, FAIR_SERVER_FOLDER, PREEMPTION_MODEL_FILE, RT_THROTTLING_FILE, SMT_CONTROL,
    TIMER_MIGRATION_FILE, fair_server_runtimes,
};
pub(crate) use thread::TIMER_SLACK_FILE;
pub(crate) use timekeeping::{
    AVAILABLE_CLOCKSOURCES, CURRENT_CLOCKSOURCE, WATCHDOGS_FILE, first_read_in_user_space,
    is_read_in_user_space,
};

use howlate_model::Remedy;
use howlate_procfs::{LinuxDistribution, Root};

/// All tunables, in the order in which they are listed.
const ALL: &[&Tunable] = &[
    &thread::TIMER_SLACK,
    &thread::NICE,
    &thread::FIFO,
    &thread::SLICE,
    &thread::AFFINITY,
    &thread::TIMERFD,
    &thread::MEMORY_LOCK,
    &thread::SMALL_PAGES,
    &thread::NOTHING,
    &power::CPU_DMA_LATENCY,
    &power::RESUME_LATENCY,
    &power::IDLE_STATES,
    &power::IDLE_GOVERNOR,
    &power::FREQUENCY_GOVERNOR,
    &power::ENERGY_PREFERENCE,
    &power::BOOST,
    &scheduling::PREEMPTION_MODEL,
    &scheduling::RT_THROTTLING,
    &scheduling::FAIR_SERVER,
    &scheduling::TIMER_MIGRATION,
    &interrupts::IRQ_AFFINITY,
    &interrupts::RECEIVE_STEERING,
    &interrupts::WORKQUEUE_CPUS,
    &timekeeping::WATCHDOGS,
    &memory::NUMA_BALANCING,
    &memory::SAME_PAGE_MERGING,
    &memory::TRANSPARENT_HUGE_PAGES,
    &memory::COMPACTION,
    &memory::SWAPPINESS,
    &memory::STAT_INTERVAL,
    &scheduling::SMT,
    &scheduling::CPUSET_ISOLATION,
    &scheduling::AUTOGROUP,
    &timekeeping::CLOCKSOURCE,
    &power::HALT_POLLING,
    &boot::ISOLCPUS,
    &boot::NOHZ_FULL,
    &boot::RCU_NOCBS,
    &boot::THREADIRQS,
    &boot::IDLE_POLL,
    &boot::MITIGATIONS,
];

/// All tunables, in the order in which they are listed.
pub fn all() -> impl Iterator<Item = &'static Tunable> {
    ALL.iter().copied()
}

/// The tunable with this name.
pub fn find(name: &str) -> Option<&'static Tunable> {
    all().find(|tunable| tunable.name == name)
}

/// With more files than this, the permanent way is no line that can be typed.
const MOST_PATTERNS: usize = 8;

/// Commands that change a setting and that restore it, with its price; empty where it is not changed by writing files or at boot.
pub fn remedy(root: &Root, name: &str) -> Remedy {
    let Some(tunable) = find(name) else { return Remedy::default() };
    let commands = commands(root, tunable);
    let price = (!commands.apply.is_empty()).then(|| tunable.cost.to_owned());
    Remedy { price, ..commands }
}

fn commands(root: &Root, tunable: &Tunable) -> Remedy {
    match tunable.state(root).change {
        Some(Change::Files(writes)) => {
            let has_systemd = root.has("/run/systemd/system") || LinuxDistribution::read(root).has_systemd();
            let is_short = writes.patterns.len() <= MOST_PATTERNS;
            let lasting = (has_systemd && is_short).then(|| permanent::of_files(tunable.name, &writes).apply);
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
