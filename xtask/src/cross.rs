//! `cargo xtask cross`: static programs for both architectures, for images, initramfs and other machines.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::packages;

/// A target, and what links for it where this machine is another.
struct Target {
    architecture: &'static str,
    triple: &'static str,
    linker: &'static str,
}

const TARGETS: [Target; 2] = [
    Target { architecture: "x86_64", triple: "x86_64-unknown-linux-gnu", linker: "x86_64-linux-gnu-gcc" },
    Target { architecture: "aarch64", triple: "aarch64-unknown-linux-gnu", linker: "aarch64-linux-gnu-gcc" },
];

/// Builds for the architectures named, or for all.
pub fn run(names: &[&str]) -> ExitCode {
    if let Some(unknown) = names.iter().find(|name| TARGETS.iter().all(|one| one.architecture != **name)) {
        eprintln!("error: `{unknown}` is no architecture built here; choose from x86_64, aarch64");
        return ExitCode::from(2);
    }
    packages::provide(packages::FOR_CROSS);
    let wanted = |target: &&Target| names.is_empty() || names.contains(&target.architecture);
    for target in TARGETS.iter().filter(wanted) {
        match build(target) {
            Ok((path, bytes)) => println!("{}: {} bytes", path.display(), bytes),
            Err(error) => {
                eprintln!("error: {}: {error}", target.triple);
                return ExitCode::from(2);
            }
        }
    }
    ExitCode::SUCCESS
}

/// Where the program is, and its size in bytes.
fn build(target: &Target) -> io::Result<(PathBuf, u64)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?;
    // It needs no more than the standard library of the target; where there is no rustup, it may be there.
    drop(Command::new("rustup").args(["target", "add", target.triple]).current_dir(&root).output());
    let folder = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--release", "--package", "howlate", "--target", target.triple]);
    cargo.env("RUSTFLAGS", "-C target-feature=+crt-static").current_dir(&root);
    if target.architecture != std::env::consts::ARCH {
        let name = target.triple.to_uppercase().replace('-', "_");
        cargo.env(format!("CARGO_TARGET_{name}_LINKER"), target.linker);
    }
    if !cargo.status()?.success() {
        return Err(io::Error::other("the build failed"));
    }
    let path = folder.join(target.triple).join("release/howlate");
    let bytes = std::fs::metadata(&path)?.len();
    Ok((path, bytes))
}
