//! What a guest is made of.

use howlate_model::Span;

use crate::emulator::VirtualMachine;
use crate::initramfs::GuestCommand;
use crate::kernel::Kernel;
use crate::program::Program;
use crate::vcpu_threads::HostSettings;

/// What a guest is made of.
pub struct Setup<'a> {
    /// The virtual machine.
    pub machine: &'a VirtualMachine,
    /// The kernel that is booted.
    pub kernel: &'a Kernel,
    /// howlate, for inside.
    pub program: &'a Program,
    /// What it is to do.
    pub command: &'a GuestCommand,
    /// Settings of QEMU's threads.
    pub settings: &'a HostSettings,
    /// How long it may take until its first line.
    pub boot_deadline: Span,
    /// How long it may be silent afterwards.
    pub hang_deadline: Span,
}
