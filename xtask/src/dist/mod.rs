//! `cargo xtask dist`: builds the downloads: static programs, Debian packages, wheels for Python, the bill of materials, checksums.
//!
//! Everything is built twice, in two folders, and must have the same bytes.

mod deb;
mod files;
mod sbom;
mod tar;
mod wheel;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::cross::{self, CrossTarget};
use crate::packages;

/// Builds for the named architectures, or for both, into `target/downloads`.
pub fn run(arguments: &[&str]) -> ExitCode {
    let (twice, architectures) = match arguments {
        ["--once", rest @ ..] => (false, rest),
        _ => (true, arguments),
    };
    let Some(targets) = select_targets(architectures) else {
        eprintln!("usage: cargo xtask dist [--once] [x86_64|aarch64]");
        return ExitCode::from(2);
    };
    match dist(&targets, twice) {
        Ok(is_same) if is_same => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// The named targets, or all; `None` if a name is unknown.
fn select_targets(architectures: &[&str]) -> Option<Vec<&'static CrossTarget>> {
    let all = || cross::targets().iter();
    let find = |name: &&str| all().find(|target| target.architecture == *name);
    if architectures.is_empty() { Some(all().collect()) } else { architectures.iter().map(find).collect() }
}

/// Whether both builds gave the same bytes.
fn dist(targets: &[&CrossTarget], twice: bool) -> io::Result<bool> {
    packages::provide(packages::FOR_CROSS);
    let root = cross::root()?;
    let out = cross::target_folder(&root).join("downloads");
    drop(fs::remove_dir_all(&out));
    fs::create_dir_all(&out)?;
    let files = build_all(targets, &root, &cross::target_folder(&root), &out)?;
    let sums = sha256_sums(&files)?;
    fs::write(out.join("SHA256SUMS"), &sums)?;
    print!("{sums}");
    if !twice {
        return Ok(true);
    }
    let second_sums = build_in_copy(targets, &root)?;
    let is_same = second_sums == sums;
    println!("{}", if is_same { "built twice: the same bytes" } else { "built twice: OTHER BYTES" });
    if !is_same {
        print!("{second_sums}");
    }
    Ok(is_same)
}

/// The checksums of a second build, from a clone of the repository in another folder.
fn build_in_copy(targets: &[&CrossTarget], root: &Path) -> io::Result<String> {
    let folder = tempfile::tempdir()?;
    let copy = folder.path().join("another-place");
    let cloned = Command::new("git").args(["clone", "--quiet", "--local"]).arg(root).arg(&copy).status()?;
    if !cloned.success() {
        return Err(io::Error::other("git could not copy the repository"));
    }
    let out = folder.path().join("downloads");
    fs::create_dir_all(&out)?;
    sha256_sums(&build_all(targets, &copy, &copy.join("target"), &out)?)
}

/// Builds all downloads of the repository at `root` into `out`; returns their paths.
fn build_all(targets: &[&CrossTarget], root: &Path, target: &Path, out: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    let native = cross::build(cross::native()?, root, target)?.0;
    let installed = files::installed(root, &native)?;
    let tools = wheel::tools(target)?;
    for package_target in targets {
        let program = fs::read(cross::build(package_target, root, target)?.0)?;
        let files = files::all(root, &installed, program)?;
        paths.push(tar::write(out, package_target.architecture, &files)?);
        paths.push(deb::write(out, package_target.architecture, &files)?);
        paths.push(wheel::write(out, &tools, package_target, root, target)?);
        paths.push(deb::write_development(out, &files)?);
    }
    paths.push(wheel::source(out, &tools, root, target)?);
    paths.push(sbom::write(out)?);
    paths.sort();
    // The package with the header is the same for every architecture.
    paths.dedup();
    Ok(paths)
}

/// Lines for `sha256sum -c`: `SHA-256  name`.
fn sha256_sums(files: &[PathBuf]) -> io::Result<String> {
    let mut text = String::new();
    for file in files {
        let name = file.file_name().unwrap_or_default().display();
        text.push_str(&format!("{}  {name}\n", sha256(&fs::read(file)?)));
    }
    Ok(text)
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Time of the commit in seconds since 1970: the time stamp of every packaged file, so that builds are reproducible.
pub(crate) fn commit_time() -> io::Result<u64> {
    let root = cross::root()?;
    let git = Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root).output()?;
    String::from_utf8_lossy(&git.stdout).trim().parse().map_err(io::Error::other)
}

pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
