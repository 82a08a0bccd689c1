//! The program under test, built as people run it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};

use serde_json::Value;

/// Builds the program as it is handed out; returns its path, or that of the program named by `HOWLATE_PROGRAM`.
pub fn built() -> io::Result<PathBuf> {
    if let Some(program) = std::env::var_os("HOWLATE_PROGRAM") {
        return Ok(program.into());
    }
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?;
    let mut cargo = Command::new(env!("CARGO"));
    let built = cargo
        .args(["build", "--profile", "dist", "--features", "parquet", "--quiet", "--package", "howlate"])
        .current_dir(&root)
        .status()?;
    if !built.success() {
        return Err(io::Error::other("howlate does not build"));
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join("dist/howlate"))
}

/// Compiles a C program below `lab/src`, which may include `howlate.h`; returns its path in `folder`.
pub fn compiled(source: &str, folder: &Path) -> io::Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = root.join("src").join(source);
    let program = folder.join(source.file_stem().unwrap_or_default());
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-pthread", "-I"]).arg(root.join("../loop")).arg(source);
    output(cc.arg("-o").arg(&program)).map(|_| program)
}

/// Runs a command that must succeed.
pub fn output(command: &mut Command) -> io::Result<Output> {
    let output = command.output()?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(io::Error::other(format!("{command:?} failed: {stderr}")));
    }
    Ok(output)
}

/// Runs a command that must succeed and print JSON.
pub fn json(command: &mut Command) -> io::Result<Value> {
    Ok(serde_json::from_slice(&output(command)?.stdout)?)
}

/// A process that is killed on drop.
pub struct KilledOnDrop(pub Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
