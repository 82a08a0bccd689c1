//! Other kernels, booted in QEMU with howlate as their first process.
//!
//! On the host: find a kernel, pack howlate into its first file system, boot it, and hand on the
//! lines of its recording as they come. In the guest: the same program notices that it is the
//! first process, runs the same command, and powers off.

mod architecture;
mod checksum;
mod cpio;
mod debian;
mod emulator;
mod emulator_process;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod guest;
mod image;
mod init;
mod initramfs;
mod kernel;
mod kernel_spec;
mod libvirt;
mod modules;
mod order;
mod program;
mod protocol;
mod qmp;
mod setup;
mod stops;
mod vcpu_threads;

pub use architecture::Architecture;
pub use debian::{ListedKernel, debian_kernels};
pub use emulator::version as emulator_version;
pub use emulator::{Acceleration, TcgThreads, VirtualMachine};
pub use error::GuestError;
pub use guest::{Guest, GuestEvent};
pub use init::{is_inside, serve_as_init};
pub use initramfs::GuestCommand;
pub use kernel::GuestKernel;
pub use kernel_spec::{DebianKernel, DebianOrigin, Flavour, KernelSpec};
pub use libvirt::libvirt_xml;
pub use order::counterbalanced;
pub use program::GuestProgram;
pub use setup::GuestSetup;
pub use vcpu_threads::HostSettings;
