//! The kernel's files, `/proc` and `/sys`, below a [`Root`]: `/` on a live machine, a captured
//! tree in tests.
//!
//! One file of this crate for each file of the kernel that more than one stage reads. Nothing is
//! written. A file that is missing is a fact about the machine, with its reason as a type.

mod cgroup;
mod cgroup_membership;
mod cgroup_tree;
mod chosen;
mod command_line;
mod container;
mod cpu_info;
mod cpu_quota;
mod cpu_stat;
mod cpus;
mod distribution;
mod freezes;
mod governors;
mod hypervisor;
mod idle_usage;
mod interrupts;
mod isolation;
mod kernel;
mod kernel_symbols;
mod limits;
mod load_average;
mod mounts;
mod process_stat;
mod processes;
mod reading;
mod root;
mod schedstat;
mod smi_count;
mod stat;
mod status;
mod virtio_port;

pub use cgroup::{Cgroup, CgroupVersion, CpuCgroups};
pub use cgroup_membership::CgroupMembership;
pub use chosen::chosen;
pub use command_line::CommandLine;
pub use container::{Container, container};
pub use cpu_info::CpuInfo;
pub use cpu_quota::CpuQuota;
pub use cpu_stat::CpuStat;
pub use cpus::{cpus_of, list_of_cpus, node_of, siblings};
pub use distribution::{Distribution, board, is_transactional, os_release};
pub use freezes::frozen_time;
pub use governors::{FREQUENCY_POLICIES, GOVERNOR, governor, governors};
pub use hypervisor::{Hypervisor, first_domain, hypervisor};
pub use idle_usage::idle_usage;
pub use interrupts::{InterruptCounts, InterruptRow};
pub use isolation::Isolation;
pub use kernel::Kernel;
pub use kernel_symbols::KernelSymbols;
pub use limits::{Limits, UNLIMITED};
pub use load_average::LoadAverage;
pub use mounts::{Mount, Mounts};
pub use process_stat::ProcessStat;
pub use processes::{children, descendants, threads};
pub use reading::{Reading, Unreadable};
pub use root::{REFUSED, Root};
pub use schedstat::{OwnSchedstat, Schedstat};
pub use smi_count::{SmiCounter, counts_smis};
pub use stat::{CpuTicks, Stat};
pub use status::Status;
pub use virtio_port::virtio_port;

use howlate_model::Span;
use rustix::param::clock_ticks_per_second;

/// This process, where the number of another could stand.
pub const SELF: &str = "self";

/// A time that the kernel gives in ticks of `USER_HZ`, 10 ms nearly everywhere.
pub fn ticks(count: u64) -> Span {
    Span::from_nanos(count.saturating_mul(1_000_000_000 / clock_ticks_per_second().max(1)))
}

#[cfg(test)]
mod testing {
    use crate::Root;

    /// A tree that holds these files.
    pub(crate) fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let folder = howlate_testing::tree(files);
        let root = Root::at(folder.path());
        (folder, root)
    }
}
