//! What cargo says of the crates.

use std::io;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// What `cargo metadata` says of everything that Cargo.lock holds.
pub fn metadata() -> io::Result<Value> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--locked"]);
    let output = cargo.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
