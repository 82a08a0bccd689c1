//! `cargo xtask cross`: static programs for both architectures, for images, initramfs and other machines.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::packages;

/// A target, and what links for it where this machine is another.
pub struct Target {
    pub architecture: &'static str,
    pub triple: &'static str,
    linker: &'static str,
    smaller: &'static [&'static str],
}

const TARGETS: [Target; 2] = [
    Target {
        architecture: "x86_64",
        triple: "x86_64-unknown-linux-gnu",
        linker: "x86_64-linux-gnu-gcc",
        smaller: &SMALLER,
    },
    Target {
        architecture: "aarch64",
        triple: "aarch64-unknown-linux-gnu",
        linker: "aarch64-linux-gnu-gcc",
        // Rust links for it with GNU ld, which knows neither.
        smaller: &[],
    },
];

/// Of lld, with which Rust links for x86_64: functions that are the same to the byte are there once, and what is adjusted to where
/// the program lies is a map of bits rather than 24 bytes each (start-up code of glibc 2.36 or newer reads it). A thirtieth of it.
///
/// Source: <https://lld.llvm.org/ELF/>
const SMALLER: [&str; 2] = ["-C link-arg=-Wl,--icf=all", "-C link-arg=-Wl,-z,pack-relative-relocs"];

/// Builds for the architectures named, or for all.
pub fn run(names: &[&str]) -> ExitCode {
    if let Some(unknown) = names.iter().find(|name| TARGETS.iter().all(|one| one.architecture != **name)) {
        eprintln!("error: `{unknown}` is no architecture built here; choose from x86_64, aarch64");
        return ExitCode::from(2);
    }
    packages::provide(packages::FOR_CROSS);
    let wanted = |target: &&Target| names.is_empty() || names.contains(&target.architecture);
    for target in TARGETS.iter().filter(wanted) {
        match root().and_then(|root| build(target, &root, &target_folder(&root))) {
            Ok((path, bytes)) => println!("{}: {} bytes", path.display(), bytes),
            Err(error) => {
                eprintln!("error: {}: {error}", target.triple);
                return ExitCode::from(2);
            }
        }
    }
    ExitCode::SUCCESS
}

/// Every target that static programs are made for.
pub const fn targets() -> &'static [Target] {
    &TARGETS
}

/// The target whose programs run here.
pub fn native() -> io::Result<&'static Target> {
    let here = TARGETS.iter().find(|target| target.architecture == std::env::consts::ARCH);
    here.ok_or_else(|| io::Error::other("no program is built for this machine's architecture"))
}

/// Where the repository is.
pub fn root() -> io::Result<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()
}

/// Where cargo puts what it builds of the repository at `root`.
pub fn target_folder(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// Builds the repository at `root` into `folder`: where the program is, and its size in bytes. The bytes do not
/// depend on where these folders are.
pub fn build(target: &Target, root: &Path, folder: &Path) -> io::Result<(PathBuf, u64)> {
    // It needs no more than the standard library of the target; where there is no rustup, it may be there.
    drop(Command::new("rustup").args(["target", "add", target.triple]).current_dir(root).output());
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--package", "howlate"]).args(words(target));
    cargo.envs(settings(target, root, folder)).current_dir(root);
    if !cargo.status()?.success() {
        return Err(io::Error::other("the build failed"));
    }
    let path = folder.join(target.triple).join("dist/howlate");
    if target.architecture == std::env::consts::ARCH
        && !Command::new(&path).arg("--version").output()?.status.success()
    {
        return Err(io::Error::other(
            "what was built does not start: it takes glibc 2.36 or newer to build it",
        ));
    }
    let bytes = std::fs::metadata(&path)?.len();
    Ok((path, bytes))
}

/// What is said to cargo, or to what runs it, for a program that people download.
pub fn words(target: &Target) -> Vec<&'static str> {
    vec!["--profile", "dist", "--features", "parquet", "--locked", "--target", target.triple]
}

/// The same in the environment, for the repository at `root` and what is built of it in `folder`.
pub fn settings(target: &Target, root: &Path, folder: &Path) -> Vec<(String, OsString)> {
    let mut settings = vec![
        ("RUSTFLAGS".to_owned(), flags(target, root).into()),
        ("CARGO_TARGET_DIR".to_owned(), folder.as_os_str().to_owned()),
    ];
    if target.architecture != std::env::consts::ARCH {
        let name = target.triple.to_uppercase().replace('-', "_");
        settings.push((format!("CARGO_TARGET_{name}_LINKER"), target.linker.into()));
    }
    settings
}

/// Static, and with names of folders that are the same everywhere. What unwinds stacks is left out, a fourteenth of the program:
/// one that panics ends at once.
fn flags(target: &Target, root: &Path) -> String {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo")));
    // `-C force-unwind-tables=no` leaves them in: those of the standard library, and of what is made from it.
    let tables = format!(
        "-C link-arg=-Wl,--no-eh-frame-hdr -C link-arg=-Wl,-T,{}/xtask/no-unwinding.ld",
        root.display()
    );
    let mut flags =
        format!("-C target-feature=+crt-static {tables} --remap-path-prefix={}=/howlate", root.display());
    if let Some(home) = home {
        flags.push_str(&format!(" --remap-path-prefix={}=/cargo", home.display()));
    }
    target.smaller.iter().for_each(|flag| flags.push_str(&format!(" {flag}")));
    flags
}
