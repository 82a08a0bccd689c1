//! `cargo xtask orders`: the ring of wake-ups in every order that loom knows, and in Miri.

use std::path::Path;
use std::process::{Command, ExitCode};

/// Runs loom's model; then the same tests in Miri, where a nightly toolchain has it.
pub fn run() -> ExitCode {
    let mut loom = cargo(&[]);
    loom.args(["test", "--package", "howlate-measure", "--lib", "ring::model"]);
    loom.env("RUSTFLAGS", "--cfg loom").env("CARGO_TARGET_DIR", "target/loom");
    let mut is_well = succeeds(&mut loom);
    if succeeds(cargo(&["+nightly"]).args(["miri", "--version"])) {
        is_well &= succeeds(cargo(&["+nightly"]).args([
            "miri",
            "test",
            "--package",
            "howlate-measure",
            "--lib",
            "ring::",
        ]));
    } else {
        println!("skipped: Miri; `rustup component add miri --toolchain nightly` installs it");
    }
    if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The one that rustup starts, which knows toolchains.
fn cargo(words: &[&str]) -> Command {
    let mut cargo = Command::new("cargo");
    // Set by the cargo that has started this; it would choose the toolchain.
    cargo.args(words).env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO").env_remove("RUSTC");
    cargo.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    cargo
}

fn succeeds(command: &mut Command) -> bool {
    command.status().is_ok_and(|status| status.success())
}
