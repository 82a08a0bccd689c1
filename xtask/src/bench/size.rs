//! The size of the static release binary.

use std::io;
use std::path::PathBuf;
use std::process::Command;

const TARGET: &str =
    if cfg!(target_arch = "aarch64") { "aarch64-unknown-linux-gnu" } else { "x86_64-unknown-linux-gnu" };

/// Builds with `+crt-static` into a folder of its own and looks.
pub fn run() -> io::Result<()> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?;
    let folder = root.join("target/static");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--release", "--quiet", "--package", "howlate", "--target", TARGET, "--target-dir"]);
    cargo.arg(&folder).env("RUSTFLAGS", "-C target-feature=+crt-static").current_dir(&root);
    if !cargo.status()?.success() {
        return Err(io::Error::other("the static build failed"));
    }
    let bytes = std::fs::metadata(folder.join(TARGET).join("release/howlate"))?.len();
    println!("static binary: {:.2} MB", bytes as f64 / 1e6);
    Ok(())
}
