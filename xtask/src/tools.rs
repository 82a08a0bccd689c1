//! Programs of others that developers need: those of this machine, or installed once in `target/tools`.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program that cargo can install.
pub(crate) struct Tool {
    /// Its name, and that of its crate.
    pub(crate) name: &'static str,
    /// The version that is installed where there is no other.
    pub(crate) version: &'static str,
    /// More words for `cargo install`.
    pub(crate) options: &'static [&'static str],
}

impl Tool {
    /// Where it is, if it is anywhere.
    pub(crate) fn find(&self, target: &Path) -> Option<PathBuf> {
        let is_there = |program: &PathBuf| Command::new(program).arg("--version").output().is_ok();
        [PathBuf::from(self.name), self.ours(target)].into_iter().find(is_there)
    }

    /// Where it is, or is by now.
    pub(crate) fn provide(&self, target: &Path) -> io::Result<PathBuf> {
        if let Some(found) = self.find(target) {
            return Ok(found);
        }
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["install", self.name, "--version", self.version, "--locked"]).args(self.options);
        match cargo.arg("--root").arg(target.join("tools")).status()?.success() {
            true => Ok(self.ours(target)),
            false => Err(io::Error::other(format!(
                "{} is not on the path and could not be installed by cargo",
                self.name
            ))),
        }
    }

    fn ours(&self, target: &Path) -> PathBuf {
        target.join("tools/bin").join(self.name)
    }
}
