//! Options of `howlate guest`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use howlate_guest::{Acceleration, Architecture, KernelSpec};
use howlate_model::{LoadList, Policy, Span};

use super::recording_name::recording_name;
use super::{IdentityArgs, PrintArgs, completion_values};

/// Measure the same inside other kernels, booted in QEMU
#[derive(Args)]
#[command(after_help = "Examples:\n  \
howlate guest --kernel debian:standard --kernel debian:rt \\\n      -- cyclic --policy fifo:80 --duration 30s\n  \
howlate guest --kernel ./bzImage --memory 1G --vcpus 4 -- sleep --for 1ms\n  \
howlate guest --kernel debian:rt --host-load idle,cpu \\\n      -- cyclic --policy fifo:80")]
pub struct GuestArgs {
    /// Kernels to boot: the path of an image, `host`, or one of Debian's (see --list)
    ///
    /// debian:standard, debian:cloud and debian:rt are what apt would install here; debian:trixie, debian:backports:rt and so on the
    /// newest of a suite, debian:7.3 the newest of a version. --list shows them all.
    #[arg(long, value_name = "KERNEL,…", value_delimiter = ',', required_unless_present_any = ["libvirt_xml", "list"], value_parser = completion_values::completable::<KernelSpec>(completion_values::kernels), hide_possible_values = true)]
    pub kernel: Vec<KernelSpec>,
    /// What to measure in each guest: `cyclic`, `sleep` or `notify`, with its options
    #[arg(last = true, value_name = "COMMAND", required_unless_present_any = ["libvirt_xml", "list"])]
    pub command: Vec<String>,
    /// Only list Debian's kernels on this machine's mirror
    #[arg(long, hide_short_help = true, conflicts_with_all = ["kernel", "command", "libvirt_xml", "out"])]
    pub list: bool,

    /// CPUs of each guest
    #[arg(long, alias = "cpus", value_name = "N", default_value = "2", help_heading = "Guest", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub vcpus: u32,
    /// Memory of each guest
    #[arg(long, value_name = "SIZE", default_value = "512M", help_heading = "Guest")]
    pub memory: MemorySize,
    /// What runs the guest's instructions: kvm, tcg (emulation) or auto
    ///
    /// `auto` is KVM where guests make progress on it.
    #[arg(long, value_name = "KIND", default_value = "auto", help_heading = "Guest")]
    pub accel: Acceleration,
    /// The guest's processor: x86_64 or aarch64 [default: this machine's]
    #[arg(long, value_name = "NAME", help_heading = "Guest", hide_short_help = true)]
    pub arch: Option<Architecture>,
    /// A static howlate to run in the guest [default: this one]
    #[arg(long, value_name = "FILE", help_heading = "Guest", hide_short_help = true)]
    pub program: Option<PathBuf>,
    /// Added to the kernel's command line, such as 'isolcpus=1 nohz_full=1'
    #[arg(
        long,
        value_name = "WORDS",
        default_value = "",
        hide_default_value = true,
        help_heading = "Guest",
        hide_short_help = true
    )]
    pub append: String,

    /// Background loads on the host: idle, cpu
    #[arg(long, value_name = "LOAD,…", default_value = "idle", help_heading = "Host")]
    pub host_load: Vec<LoadList>,
    /// Policies of threads that run guests' CPUs, such as fifo:1
    #[arg(long, value_name = "POLICY,…", value_delimiter = ',', help_heading = "Host", value_parser = completion_values::completable::<Policy>(completion_values::policies), hide_possible_values = true)]
    pub vcpu_policy: Vec<Policy>,
    /// Policy of QEMU's main thread
    #[arg(long, value_name = "POLICY", help_heading = "Host", hide_short_help = true)]
    pub emulator_policy: Option<Policy>,
    /// The host's CPU for each CPU of the guest, such as 0,1
    #[arg(long, value_name = "CPU,…", value_delimiter = ',', help_heading = "Host", hide_short_help = true)]
    pub vcpu_pin: Vec<u32>,
    /// Only print these settings as elements of a libvirt domain
    #[arg(long, help_heading = "Host", hide_short_help = true)]
    pub libvirt_xml: bool,

    /// Boots of each kind of guest; 2 if several are compared, otherwise 1
    ///
    /// They are counterbalanced: A B B A.
    #[arg(long, value_name = "N", help_heading = "Duration", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: Option<u32>,
    /// How long a guest may take before it begins to measure
    #[arg(
        long,
        value_name = "LENGTH",
        default_value = "2m",
        help_heading = "Duration",
        hide_short_help = true
    )]
    pub boot_deadline: Span,
    /// How long a measuring guest may stay silent
    #[arg(
        long,
        value_name = "LENGTH",
        default_value = "2m",
        help_heading = "Duration",
        hide_short_help = true
    )]
    pub hang_deadline: Span,

    /// Save the recording of all guests
    #[arg(long, short, value_name = "FILE", value_parser = recording_name(), help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Do not keep the run for `howlate show`
    #[arg(long, hide_short_help = true, help_heading = "Output")]
    pub no_save: bool,
    /// What the recording says of where it was made.
    #[command(flatten)]
    pub identity: IdentityArgs,
    /// How it is printed.
    #[command(flatten, next_help_heading = "Output")]
    pub printing: PrintArgs,
}

/// A size of memory, in bytes.
#[derive(Clone, Copy)]
pub struct MemorySize(pub u64);

impl FromStr for MemorySize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shift = match text.chars().last() {
            Some('M') => 20,
            Some('G') => 30,
            _ => return Err(format!("`{text}` is no size; write a number with M or G, such as `512M`")),
        };
        let number: u64 =
            text[..text.len() - 1].parse().map_err(|_| format!("`{text}` has no number before its unit"))?;
        /// Less does not hold a kernel with its first file system.
        const LEAST: u64 = 128 << 20;
        match number.checked_mul(1 << shift) {
            Some(bytes) if bytes >= LEAST => Ok(Self(bytes)),
            _ => Err(format!("`{text}` is too little or too much; write at least 128M")),
        }
    }
}
