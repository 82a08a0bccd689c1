//! The kernel's files, `/proc` and `/sys`, below a [`Root`]: `/` on a live machine, a captured
//! tree in tests.
//!
//! One module for each kernel file that more than one crate reads. Nothing is
//! written. Failing to read a file is a fact about the machine, with its reason as a type.

mod cgroup;
mod cgroup_membership;
mod cgroup_tree;
mod command_line;
mod container;
mod cpu_info;
mod cpu_power;
mod cpu_quota;
mod cpu_stat;
mod cpus;
mod distribution;
mod hypervisor;
mod interrupts;
mod isolation;
mod kernel;
mod kernel_symbols;
mod limits;
mod listening_ports;
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

pub use cgroup::{Cgroup, CgroupVersion, CpuCgroups};
pub use cgroup_membership::CgroupMembership;
pub use command_line::CommandLine;
pub use container::{Container, container};
pub use cpu_info::CpuInfo;
pub use cpu_power::{FREQUENCY_POLICIES, GOVERNOR, governor, governors, idle_usage};
pub use cpu_quota::CpuQuota;
pub use cpu_stat::{CpuStat, frozen_time};
pub use cpus::{numa_node, parse_cpu_list, read_cpu_list, siblings};
pub use distribution::{LinuxDistribution, board, is_transactional, os_release};
pub use hypervisor::{Hypervisor, hypervisor, virtio_port, xen_dom0};
pub use interrupts::{InterruptCounts, InterruptRow};
pub use isolation::Isolation;
pub use kernel::Kernel;
pub use kernel_symbols::KernelSymbols;
pub use limits::{Limits, UNLIMITED};
pub use listening_ports::listening_ports;
pub use load_average::LoadAverage;
pub use mounts::{Mount, Mounts};
pub use process_stat::ProcessStat;
pub use processes::{children, descendants, threads};
pub use reading::{Reading, Unreadable, bracketed_choice};
pub use root::{REFUSED, Root};
pub use schedstat::{OwnSchedstat, Schedstat};
pub use smi_count::{SmiCounter, counts_smis};
pub use stat::{CpuTicks, Stat};
pub use status::Status;

use howlate_model::Span;
use rustix::param::clock_ticks_per_second;

/// This process, in place of a process id.
pub const SELF: &str = "self";

/// Converts ticks of `USER_HZ`, nearly always 10 ms.
pub fn ticks(count: u64) -> Span {
    Span::from_nanos(count.saturating_mul(1_000_000_000 / clock_ticks_per_second().max(1)))
}

#[cfg(test)]
mod testing {
    use crate::Root;

    pub(crate) fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let folder = howlate_testing::tree(files);
        let root = Root::at(folder.path());
        (folder, root)
    }
}
