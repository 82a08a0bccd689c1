//! What can go wrong with guests.

use std::io;
use std::path::PathBuf;

use crate::Architecture;

/// Why a guest could not be booted, or did not end well.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// A kernel's image could not be read.
    #[error("cannot read the kernel {}: {source}", path.display())]
    Image {
        /// The image that was named.
        path: PathBuf,
        source: io::Error,
    },
    /// A file is no kernel.
    #[error("{} is no kernel that can be booted: found {found}, wanted {expected}", path.display())]
    NoKernel {
        /// The file that was named as one.
        path: PathBuf,
        /// What it looks like.
        found: &'static str,
        expected: &'static str,
    },
    /// A file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file that was to be read.
        path: PathBuf,
        source: io::Error,
    },
    /// A file could not be written.
    #[error("cannot write in {}: {source}", path.display())]
    Write {
        /// The file, or the folder that was to hold it.
        path: PathBuf,
        source: io::Error,
    },
    /// A file is no program.
    #[error("{} is no program: {reason}", path.display())]
    NoElf {
        /// The file that was to run in the guest.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A program cannot run in the guest.
    #[error("{} {found}; wanted a static howlate for {expected}", path.display())]
    Program {
        /// The file that was to run in the guest.
        path: PathBuf,
        /// What is wrong with it.
        found: String,
        expected: Architecture,
    },
    /// There is no howlate for the guest's architecture.
    #[error("a guest of {expected} needs a static howlate for {expected}")]
    NoProgram { expected: Architecture },
    /// There is no folder to keep fetched kernels in.
    #[error("there is no folder to keep fetched kernels in: neither XDG_CACHE_HOME nor HOME is set")]
    NoCache,
    /// Other users can write to the folder of fetched kernels.
    #[error("fetched kernels are not kept here: {0}")]
    CacheNotPrivate(#[from] howlate_safe_path::UnsafePath),
    /// Fetched files are not what the package manager vouches for, even after they were fetched again.
    #[error("the kernel kept in {} is not the one that Debian has signed", folder.display())]
    CacheDamaged {
        /// The folder of the cache that holds them.
        folder: PathBuf,
    },
    /// A package is not the one that the signed list names.
    #[error("the package {package} is damaged: found {bytes} bytes with SHA-256 {found}, wanted {expected}")]
    PackageDamaged {
        /// Its name and version.
        package: String,
        /// How many bytes were fetched.
        bytes: usize,
        /// The SHA-256 of what was fetched.
        found: String,
        /// The one that Debian has signed.
        expected: String,
    },
    /// apt's sources name no mirror of Debian.
    #[error("apt's sources name no mirror of Debian: found {}, wanted one such as http://deb.debian.org/debian", if found.is_empty() { "none".to_owned() } else { found.join(", ") })]
    NoMirror { found: Vec<String> },
    /// The keys that Debian signs with are not there.
    #[error("Debian's signatures cannot be checked: there is no {expected}")]
    NoKeyring {
        /// The file that they are in on Debian.
        expected: &'static str,
    },
    /// The mirror does not answer, and there is no list of earlier.
    #[error("Debian's lists of packages cannot be fetched from {mirror}: `apt-get update` said: {stderr}")]
    MirrorAway {
        mirror: String,
        /// The last error of apt.
        stderr: String,
    },
    /// The mirror has no such suite.
    #[error("Debian has no suite `{requested}` with kernels; it has {}", there.join(", "))]
    NoSuchSuite {
        requested: String,
        /// What may have been meant.
        nearest: Option<String>,
        there: Vec<String>,
    },
    /// No suite has a kernel of this version.
    #[error("Debian has no kernel {requested} ({kind}); it has {}", there.join(", "))]
    NoSuchVersion {
        requested: String,
        /// Of which kind: `standard`, `cloud` or `rt`.
        kind: &'static str,
        there: Vec<String>,
    },
    /// apt does not know the package.
    #[error("apt knows no package {package}")]
    NoSuchPackage { package: String },
    /// apt ended with an error.
    #[error("`{command}` failed: {stderr}")]
    Apt {
        command: String,
        /// Standard error.
        stderr: String,
    },
    /// A program could not be started.
    #[error("cannot start {program}: {source}")]
    Start {
        /// The program, as looked for on the path.
        program: String,
        source: io::Error,
    },
    /// The emulator is not installed.
    #[error("{program} is not installed")]
    NoEmulator {
        /// The program, as looked for on the path.
        program: &'static str,
        /// The Debian package it is in.
        package: &'static str,
    },
    /// `/dev/kvm` was requested and cannot be used.
    #[error("KVM cannot be used: {reason}")]
    NoKvm {
        /// What the kernel or QEMU says of it.
        reason: String,
    },
    /// The emulator ended before the guest was started.
    #[error("QEMU did not start: {stderr}")]
    Emulator {
        /// The last line of QEMU.
        stderr: String,
    },
    /// The emulator's control connection failed.
    #[error("QEMU does not answer its control connection: {0}")]
    Control(#[source] io::Error),
    /// Something could not be written as JSON, or read.
    #[error("cannot read or write JSON: {0}")]
    Json(#[source] serde_json::Error),
    /// The guest did not begin to measure in time.
    #[error("the guest did not begin to measure within {after}.{}", last_lines(console))]
    NotBooted {
        /// How long was waited.
        after: howlate_model::Span,
        /// Last lines of its console.
        console: Vec<String>,
    },
    /// The guest began to measure and then stood still.
    #[error("the guest sent nothing for {after}.{}{}", ran_meanwhile(cpus), last_lines(console))]
    Hung {
        /// How long was waited.
        after: howlate_model::Span,
        /// What its CPUs got in that time: one that ran does something without end, one that did not waits for
        /// what does not come. Empty where it is not known.
        cpus: Vec<howlate_model::VcpuTime>,
        /// Last lines of its console.
        console: Vec<String>,
    },
    /// The guest ended before it was done.
    #[error("the guest ended before it was done.{}{}{}", killed(*signal), qemu_message(stderr), last_lines(console))]
    Died {
        /// What killed the emulator; `None` where it ended by itself.
        signal: Option<i32>,
        /// The last line of the emulator.
        stderr: String,
        /// Last lines of its console.
        console: Vec<String>,
    },
    /// The command in the guest failed.
    #[error("in the guest: {stderr}")]
    Command {
        /// Standard error.
        stderr: String,
    },
    /// The guest measured something else than the others.
    #[error("{kernel} measured other conditions than the first kernel")]
    OtherConditions {
        /// The kernel that it ran on, as conditions name it.
        kernel: String,
    },
}

fn ran_meanwhile(cpus: &[howlate_model::VcpuTime]) -> String {
    let ran: Vec<String> =
        cpus.iter().map(|cpu| howlate_model::Latency::from_span(cpu.ran).to_string()).collect();
    if ran.is_empty() { String::new() } else { format!(" Its CPUs ran for {} meanwhile.", ran.join(" and ")) }
}

fn last_lines(console: &[String]) -> String {
    if console.is_empty() {
        return " It printed nothing.".to_owned();
    }
    let lines: String = console.iter().map(|line| format!("\n    {line}")).collect();
    format!(" The last lines of its console:{lines}")
}

fn killed(signal: Option<i32>) -> String {
    signal.map_or_else(String::new, |signal| format!(" QEMU was killed by signal {signal}."))
}

fn qemu_message(stderr: &str) -> String {
    if stderr.is_empty() { String::new() } else { format!(" QEMU said: {stderr}.") }
}

impl GuestError {
    /// What the user can do.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Image { path, .. } if path.starts_with("/boot") => {
                "give the path of a kernel image with `--kernel`, or one of debian:standard, debian:cloud, debian:rt, debian:trixie, …".into()
            }
            Self::Image { .. } | Self::NoKernel { .. } => {
                "give the path of a bzImage, such as `--kernel arch/x86/boot/bzImage` or `--kernel /boot/vmlinuz-…`".into()
            }
            Self::Program { .. } | Self::NoProgram { .. } => {
                "build one with `cargo xtask cross`, and name it with `--program FILE`".into()
            }
            Self::NoCache | Self::CacheNotPrivate(_) => "name a folder that is yours alone: `XDG_CACHE_HOME=/root/.cache howlate guest …`".into(),
            Self::CacheDamaged { folder } => {
                format!("remove it, and it is fetched again: `rm -r {}`", howlate_model::shell_path(folder))
            }
            Self::PackageDamaged { .. } => "start again, and it is fetched again; if it stays so, name another mirror in apt's sources".into(),
            Self::NoMirror { .. } => {
                "on Debian, name a mirror in /etc/apt/sources.list; elsewhere give the path of a kernel image with `--kernel`".into()
            }
            Self::NoKeyring { .. } => "install them: `sudo apt-get install debian-archive-keyring`".into(),
            Self::MirrorAway { .. } => {
                "try again when it answers, name another mirror in apt's sources, or give the path of a kernel image with `--kernel`".into()
            }
            Self::NoSuchSuite { nearest: Some(nearest), .. } => {
                format!("did you mean `debian:{nearest}`? `howlate guest --list` shows all kernels")
            }
            Self::NoSuchSuite { .. } | Self::NoSuchVersion { .. } => {
                "`howlate guest --list` shows all kernels, with what to type for each".into()
            }
            Self::NoSuchPackage { .. } | Self::Apt { .. } => {
                "on Debian, `sudo apt-get update` may help; elsewhere give the path of a kernel image with `--kernel`".into()
            }
            Self::Start { program, .. } if program.starts_with("apt") || program.starts_with("dpkg") => {
                "debian:… kernels need Debian's apt; elsewhere give the path of a kernel image with `--kernel`".into()
            }
            Self::NoEmulator { package, .. } => {
                format!("install it: `sudo apt-get install --no-install-recommends {package}`")
            }
            Self::NoKvm { .. } => "leave `--accel` out, and the guest's CPU is emulated where it must be".into(),
            Self::NotBooted { .. } => {
                "a slow machine may need more: `--boot-deadline 10m`; the kernel needs virtio-pci and virtio_console, built in or in /lib/modules/RELEASE".into()
            }
            Self::Hung { .. } => "if it was only slow, allow more: `--hang-deadline 10m`".into(),
            _ => return None,
        })
    }
}
