//! QEMU's command line.

use std::path::Path;
use std::process::Command;
use std::str::FromStr;

use howlate_model::{Accelerator, STOP_PORT};

use crate::protocol::PORT;
use crate::{Architecture, GuestError, GuestKernel};

/// What is to run the guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acceleration {
    /// KVM where it works, software where it does not.
    Auto,
    /// This and nothing else.
    Only(Accelerator),
}

impl FromStr for Acceleration {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "kvm" => Ok(Self::Only(Accelerator::Kvm)),
            "tcg" => Ok(Self::Only(Accelerator::Tcg)),
            _ => Err(format!("`{text}` is no accelerator; write `auto`, `kvm` or `tcg`")),
        }
    }
}

impl Acceleration {
    /// What to begin with for a guest of `architecture`.
    pub(crate) fn first(self, architecture: Architecture) -> Accelerator {
        match self {
            Self::Only(accelerator) => accelerator,
            Self::Auto if architecture == Architecture::HERE && kvm_opens().is_ok() => Accelerator::Kvm,
            Self::Auto => Accelerator::Tcg,
        }
    }
}

/// Whether `/dev/kvm` can be opened; whether guests get anywhere on it is another matter.
pub(crate) fn kvm_opens() -> Result<(), GuestError> {
    let opened = std::fs::File::options().read(true).write(true).open("/dev/kvm");
    opened.map(drop).map_err(|error| GuestError::NoKvm { reason: format!("/dev/kvm: {error}") })
}

/// How many threads of the host emulate the CPUs of a guest, where KVM does not run them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcgThreads {
    /// Each CPU has its own.
    PerCpu,
    /// Each CPU has its own, and may translate an instruction that another is changing: now and then a kernel that boots faults.
    PerCpuUnlocked,
    /// All take turns on one.
    One,
}

/// The first QEMU that translates no instruction while another CPU's thread changes it.
/// Sources: linux-kernel, July 2023, "qemu-x86_64 booting with 8.0.0 stil see int3"; QEMU 8.1, "accel/tcg: Always
/// lock pages before translation".
const LOCKS_PAGES: (u32, u32) = (8, 1);

impl TcgThreads {
    /// What a guest gets that switches the kernel's tracepoints if it `traces`, on QEMU of this `version`.
    ///
    /// Switching them changes the kernel's code while it runs, by way of a breakpoint. Where translation is not locked
    /// against that, a CPU may keep the breakpoint for ever, and the guest stands still.
    pub fn for_version(version: &str, traces: bool) -> Self {
        let mut numbers = version.split('.').map_while(|number| number.parse().ok());
        let version = numbers.next().zip(numbers.next());
        match version.is_some_and(|version| version >= LOCKS_PAGES) {
            true => Self::PerCpu,
            false if traces => Self::One,
            false => Self::PerCpuUnlocked,
        }
    }
}

/// The virtual machine to boot in.
#[derive(Clone, Debug)]
pub struct VirtualMachine {
    /// The processor that it is to have.
    pub architecture: Architecture,
    pub cpus: u32,
    /// In bytes.
    pub memory: u64,
    /// What runs its instructions.
    pub acceleration: Acceleration,
    /// The host's threads, where they are emulated.
    pub tcg_threads: TcgThreads,
    /// Added to the kernel's command line.
    pub append: String,
}

/// Where QEMU's sockets and files are.
pub(crate) struct GuestPaths<'a> {
    pub(crate) folder: &'a Path,
}

impl GuestPaths<'_> {
    pub(crate) fn results(&self) -> std::path::PathBuf {
        self.folder.join("results")
    }

    pub(crate) fn stops(&self) -> std::path::PathBuf {
        self.folder.join("stops")
    }

    pub(crate) fn control(&self) -> std::path::PathBuf {
        self.folder.join("control")
    }

    pub(crate) fn initramfs(&self) -> std::path::PathBuf {
        self.folder.join("initramfs")
    }
}

/// The emulator with all arguments; it waits for `cont` before the guest's first
/// instruction.
///
/// The results go through virtio-serial: a second port of the PC's own kind loses its
/// interrupt under `PREEMPT_RT`.
pub(crate) fn command(
    machine: &VirtualMachine,
    kernel: &GuestKernel,
    accelerator: Accelerator,
    places: &GuestPaths<'_>,
) -> Command {
    let program = machine.architecture.emulator().0;
    let mut command = Command::new(program);
    command.args(confinement(program));
    command.args(["-nodefaults", "-no-user-config", "-display", "none", "-nic", "none", "-no-reboot", "-S"]);
    let accelerate = match (accelerator, machine.tcg_threads) {
        (Accelerator::Kvm, _) => "kvm",
        (Accelerator::Tcg, TcgThreads::PerCpu | TcgThreads::PerCpuUnlocked) => "tcg,thread=multi",
        (Accelerator::Tcg, TcgThreads::One) => "tcg,thread=single",
    };
    command.args(["-accel", accelerate]);
    command.args(board(machine.architecture, accelerator));
    command.args(["-smp", &machine.cpus.to_string(), "-m", &format!("{}M", machine.memory >> 20)]);
    command.args(["-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console"]);
    let socket = |id: &str, path: &Path| format!("socket,id={id},path={},server=on,wait=off", path.display());
    command.args(["-device", "virtio-serial-pci"]);
    // In this order: where the guest sees the port for its results, it has seen the other.
    for (id, path, port) in [("stops", places.stops(), STOP_PORT), ("results", places.results(), PORT)] {
        command.args(["-chardev", &socket(id, &path)]);
        command.args(["-device", &format!("virtserialport,chardev={id},name={port}")]);
    }
    command.args(["-chardev", &socket("control", &places.control()), "-mon", "chardev=control,mode=control"]);
    command.arg("-kernel").arg(&kernel.image).arg("-initrd").arg(places.initramfs());
    command.args(["-append", &command_line(machine)]);
    command
}

/// What takes from an emulator that its guest has taken over what it never needs: other programs, other users' rights, and calls that
/// are no longer made. Nothing where it was built without seccomp.
fn confinement(program: &str) -> &'static [&'static str] {
    const CONFINED: [&str; 2] = ["-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny"];
    let tried = Command::new(program).args(CONFINED).arg("--version").output();
    if tried.is_ok_and(|output| output.status.success()) { &CONFINED } else { &[] }
}

fn board(architecture: Architecture, accelerator: Accelerator) -> [&'static str; 4] {
    match (architecture, accelerator) {
        (Architecture::X86_64, Accelerator::Kvm) => ["-machine", "pc", "-cpu", "host"],
        (Architecture::X86_64, Accelerator::Tcg) => ["-machine", "pc", "-cpu", "max"],
        (Architecture::Aarch64, Accelerator::Kvm) => ["-machine", "virt,gic-version=host", "-cpu", "host"],
        (Architecture::Aarch64, Accelerator::Tcg) => ["-machine", "virt", "-cpu", "cortex-a72"],
    }
}

/// A panic restarts at once, which ends QEMU because of `-no-reboot`.
fn command_line(machine: &VirtualMachine) -> String {
    let text = format!("console={} panic=-1 {}", machine.architecture.console(), machine.append);
    text.trim_end().to_owned()
}

/// The emulator's version: `7.2.22` of `QEMU emulator version 7.2.22 (Debian …)`.
///
/// # Errors
///
/// When it is not installed.
pub fn version(architecture: Architecture) -> Result<String, GuestError> {
    let (program, package) = architecture.emulator();
    let output = Command::new(program).arg("--version").output().map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => GuestError::NoEmulator { program, package },
        _ => GuestError::Start { program: program.into(), source },
    })?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.split(' ').skip_while(|word| *word != "version").nth(1).unwrap_or_default().trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_that_traces_has_one_thread_where_translation_is_not_locked() {
        for (version, traces, expected) in [
            ("7.2.22", true, TcgThreads::One),
            ("8.0.5", true, TcgThreads::One),
            ("8.1.0", true, TcgThreads::PerCpu),
            ("10.0.2", true, TcgThreads::PerCpu),
            ("unknown", true, TcgThreads::One),
            ("7.2.22", false, TcgThreads::PerCpuUnlocked),
            ("8.1.0", false, TcgThreads::PerCpu),
        ] {
            assert_eq!(TcgThreads::for_version(version, traces), expected, "{version}");
        }
    }
}
