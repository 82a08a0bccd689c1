//! What a guest is made of.

use howlate_model::Span;

use crate::emulator::VirtualMachine;
use crate::initramfs::GuestCommand;
use crate::kernel::GuestKernel;
use crate::program::GuestProgram;
use crate::vcpu_threads::HostSettings;

/// What a guest is made of.
pub struct GuestSetup<'a> {
    pub machine: &'a VirtualMachine,
    /// The kernel that is booted.
    pub kernel: &'a GuestKernel,
    /// The howlate that runs in the guest.
    pub program: &'a GuestProgram,
    /// What it is to do.
    pub command: &'a GuestCommand,
    /// Settings of QEMU's threads.
    pub settings: &'a HostSettings,
    /// How long it may take until its first line.
    pub boot_deadline: Span,
    /// How long it may be silent afterwards.
    pub hang_deadline: Span,
}
