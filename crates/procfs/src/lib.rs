//! The kernel's files, `/proc` and `/sys`, below a [`Root`]: `/` on a live machine, a captured
//! tree in tests.
//!
//! One file of this crate for each file of the kernel that more than one stage reads. Nothing is
//! written. A file that is missing is a fact about the machine, with its reason as a type.

mod chosen;
mod command_line;
mod cpu_info;
mod cpus;
mod kernel;
mod kernel_symbols;
mod load_average;
mod processes;
mod reading;
mod root;
mod schedstat;
mod stat;
mod status;

pub use chosen::chosen;
pub use command_line::CommandLine;
pub use cpu_info::CpuInfo;
pub use cpus::{list_of_cpus, node_of};
pub use kernel::Kernel;
pub use kernel_symbols::KernelSymbols;
pub use load_average::LoadAverage;
pub use processes::{children, descendants, of_ended_children, threads};
pub use reading::{Reading, Unreadable};
pub use root::{REFUSED, Root};
pub use schedstat::{OwnSchedstat, Schedstat};
pub use stat::{CpuTicks, Stat};
pub use status::Status;

use howlate_model::Span;
use rustix::param::clock_ticks_per_second;

/// A time that the kernel gives in ticks of `USER_HZ`, 10 ms nearly everywhere.
pub fn ticks(count: u64) -> Span {
    Span::from_nanos(count.saturating_mul(1_000_000_000 / clock_ticks_per_second().max(1)))
}
