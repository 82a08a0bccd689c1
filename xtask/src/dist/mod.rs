//! `cargo xtask dist`: what people download: static programs, Debian packages, wheels for Python, what is built in, checksums.
//!
//! Everything is built twice, from two folders, and must have the same bytes.

mod deb;
mod files;
mod sbom;
mod tar;
mod wheel;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::cross::{self, Target};
use crate::packages;

/// Builds for the architectures named, both if none is, into `target/downloads`.
pub fn run(words: &[&str]) -> ExitCode {
    let (twice, architectures) = match words {
        ["--once", rest @ ..] => (false, rest),
        _ => (true, words),
    };
    let Some(targets) = chosen(architectures) else {
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

/// The targets that are named, all if none is; `None` if there is no such.
fn chosen(architectures: &[&str]) -> Option<Vec<&'static Target>> {
    let all = || cross::targets().iter();
    let named = |name: &&str| all().find(|one| one.architecture == *name);
    if architectures.is_empty() { Some(all().collect()) } else { architectures.iter().map(named).collect() }
}

/// Whether both builds gave the same bytes.
fn dist(targets: &[&Target], twice: bool) -> io::Result<bool> {
    packages::provide(packages::FOR_CROSS);
    let root = cross::root()?;
    let out = cross::target_folder(&root).join("downloads");
    drop(fs::remove_dir_all(&out));
    fs::create_dir_all(&out)?;
    let made = built(targets, &root, &cross::target_folder(&root), &out)?;
    let sums = sums(&made)?;
    fs::write(out.join("SHA256SUMS"), &sums)?;
    print!("{sums}");
    if !twice {
        return Ok(true);
    }
    let again = again(targets, &root)?;
    let is_same = again == sums;
    println!("{}", if is_same { "built twice: the same bytes" } else { "built twice: OTHER BYTES" });
    if !is_same {
        print!("{again}");
    }
    Ok(is_same)
}

/// The same from a copy of what git knows, in another folder with another target.
fn again(targets: &[&Target], root: &Path) -> io::Result<String> {
    let folder = tempfile::tempdir()?;
    let copy = folder.path().join("another-place");
    let cloned = Command::new("git").args(["clone", "--quiet", "--local"]).arg(root).arg(&copy).status()?;
    if !cloned.success() {
        return Err(io::Error::other("git could not copy the repository"));
    }
    let out = folder.path().join("downloads");
    fs::create_dir_all(&out)?;
    sums(&built(targets, &copy, &copy.join("target"), &out)?)
}

/// Builds everything of a copy of the repository into `out`.
fn built(targets: &[&Target], root: &Path, target: &Path, out: &Path) -> io::Result<Vec<PathBuf>> {
    let mut made = Vec::new();
    let native = cross::build(cross::native()?, root, target)?.0;
    let beside = files::beside(root, &native)?;
    let tools = wheel::tools(target)?;
    for one in targets {
        let program = fs::read(cross::build(one, root, target)?.0)?;
        let files = files::all(root, &beside, program)?;
        made.push(tar::write(out, one.architecture, &files)?);
        made.push(deb::write(out, one.architecture, &files)?);
        made.push(wheel::write(out, &tools, one, root, target)?);
        made.push(deb::write_development(out, &files)?);
    }
    made.push(wheel::source(out, &tools, root, target)?);
    made.push(sbom::write(out)?);
    made.sort();
    // The package with the header is that of every architecture.
    made.dedup();
    Ok(made)
}

/// `SHA-256  name`, as `sha256sum -c` reads it.
fn sums(files: &[PathBuf]) -> io::Result<String> {
    let mut text = String::new();
    for file in files {
        let name = file.file_name().unwrap_or_default().display();
        text.push_str(&format!("{}  {name}\n", sum(&fs::read(file)?)));
    }
    Ok(text)
}

fn sum(bytes: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Seconds since 1970 that stand in everything that is made: those of the commit.
pub(crate) fn moment() -> io::Result<u64> {
    let root = cross::root()?;
    let git = Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root).output()?;
    String::from_utf8_lossy(&git.stdout).trim().parse().map_err(io::Error::other)
}

pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
