//! `cargo xtask cross`: static programs for both architectures, for container images, initramfs and other machines.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::packages;

/// A target that static programs are built for.
pub struct CrossTarget {
    pub architecture: &'static str,
    pub triple: &'static str,
    /// Used only on a machine of another architecture.
    linker: &'static str,
    /// Compiler flags for a smaller program.
    size_flags: &'static [&'static str],
}

const TARGETS: [CrossTarget; 2] = [
    CrossTarget {
        architecture: "x86_64",
        triple: "x86_64-unknown-linux-gnu",
        linker: "x86_64-linux-gnu-gcc",
        size_flags: &LLD_FLAGS,
    },
    CrossTarget {
        architecture: "aarch64",
        triple: "aarch64-unknown-linux-gnu",
        linker: "aarch64-linux-gnu-gcc",
        // Rust links for this target with GNU ld, which has neither flag.
        size_flags: &[],
    },
];

/// For lld, with which Rust links for x86_64: identical functions are folded into one, and relocations are a bitmap rather than
/// 24 bytes each (read by the start-up code of glibc 2.36 or newer). Saves a thirtieth of the program.
///
/// Source: <https://lld.llvm.org/ELF/>
const LLD_FLAGS: [&str; 2] = ["-C link-arg=-Wl,--icf=all", "-C link-arg=-Wl,-z,pack-relative-relocs"];

/// Builds for the named architectures, or for all.
pub fn run(names: &[&str]) -> ExitCode {
    if let Some(unknown) =
        names.iter().find(|name| TARGETS.iter().all(|target| target.architecture != **name))
    {
        eprintln!("error: `{unknown}` is no architecture built here; choose from x86_64, aarch64");
        return ExitCode::from(2);
    }
    packages::provide(packages::FOR_CROSS);
    let is_selected = |target: &&CrossTarget| names.is_empty() || names.contains(&target.architecture);
    for target in TARGETS.iter().filter(is_selected) {
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

pub const fn targets() -> &'static [CrossTarget] {
    &TARGETS
}

/// The target of this machine's architecture.
pub fn native() -> io::Result<&'static CrossTarget> {
    let target = TARGETS.iter().find(|target| target.architecture == std::env::consts::ARCH);
    target.ok_or_else(|| io::Error::other("no program is built for this machine's architecture"))
}

/// The repository's folder.
pub fn root() -> io::Result<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()
}

/// cargo's target folder for the repository at `root`.
pub fn target_folder(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// Builds the repository at `root` into `folder`; returns the program's path and its size in bytes. The program is the same
/// wherever these folders are.
pub fn build(target: &CrossTarget, root: &Path, folder: &Path) -> io::Result<(PathBuf, u64)> {
    // Installs the target's standard library. Without rustup, it may be installed already.
    drop(Command::new("rustup").args(["target", "add", target.triple]).current_dir(root).output());
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--package", "howlate"]).args(cargo_arguments(target));
    cargo.envs(cargo_environment(target, root, folder)).current_dir(root);
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

/// Arguments for cargo, or for maturin, which runs cargo.
pub fn cargo_arguments(target: &CrossTarget) -> Vec<&'static str> {
    vec!["--profile", "dist", "--features", "parquet", "--locked", "--target", target.triple]
}

/// Environment variables for cargo, to build the repository at `root` into `folder`.
pub fn cargo_environment(target: &CrossTarget, root: &Path, folder: &Path) -> Vec<(String, OsString)> {
    let mut variables = vec![
        ("RUSTFLAGS".to_owned(), rust_flags(target, root).into()),
        ("CARGO_TARGET_DIR".to_owned(), folder.as_os_str().to_owned()),
    ];
    if target.architecture != std::env::consts::ARCH {
        let name = target.triple.to_uppercase().replace('-', "_");
        variables.push((format!("CARGO_TARGET_{name}_LINKER"), target.linker.into()));
    }
    variables
}

/// Flags for a static program without absolute paths of this machine, and without unwind tables, a fourteenth of the program:
/// a panic aborts.
fn rust_flags(target: &CrossTarget, root: &Path) -> String {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo")));
    // Not `-C force-unwind-tables=no`: it leaves in the tables of the standard library and of code generated from it.
    let tables = format!(
        "-C link-arg=-Wl,--no-eh-frame-hdr -C link-arg=-Wl,-T,{}/xtask/no-unwinding.ld",
        root.display()
    );
    let mut flags =
        format!("-C target-feature=+crt-static {tables} --remap-path-prefix={}=/howlate", root.display());
    if let Some(home) = home {
        flags.push_str(&format!(" --remap-path-prefix={}=/cargo", home.display()));
    }
    target.size_flags.iter().for_each(|flag| flags.push_str(&format!(" {flag}")));
    flags
}
