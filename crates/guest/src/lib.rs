//! Other kernels, booted in QEMU with howlate as their first process.
//!
//! On the host: find a kernel, pack howlate into its first file system, boot it, and hand on the
//! lines of its recording as they come. In the guest: the same program notices that it is the
//! first process, runs the same command, and powers off.

mod architecture;
mod cpio;
mod debian;
mod emulator;
mod error;
mod guest;
mod host;
mod image;
mod init;
mod initramfs;
mod kernel;
mod libvirt;
mod merge;
mod order;
mod program;
mod qmp;
mod task;

pub use architecture::Architecture;
pub use emulator::{Acceleration, Machine};
pub use error::GuestError;
pub use guest::{Event, Guest, Setup, emulator_version};
pub use host::HostSettings;
pub use init::{is_inside, serve_as_init};
pub use initramfs::Errand;
pub use kernel::{Asked, Flavour, Kernel};
pub use libvirt::libvirt_xml;
pub use merge::{Kind, Merge, OtherConditions};
pub use order::there_and_back;
pub use program::Program;
