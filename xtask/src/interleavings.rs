//! `cargo xtask orders`: tests the ring of wake-ups in every interleaving, by loom, and in Miri.

use std::path::Path;
use std::process::{Command, ExitCode};

/// Runs loom's model, then the tests in Miri if a nightly toolchain has it.
pub fn run() -> ExitCode {
    let mut loom = cargo(&[]);
    loom.args(["test", "--package", "howlate-measure", "--lib", "ring::model"]);
    loom.env("RUSTFLAGS", "--cfg loom").env("CARGO_TARGET_DIR", "target/loom");
    let mut is_success = succeeds(&mut loom);
    if succeeds(cargo(&["+nightly"]).args(["miri", "--version"])) {
        is_success &= succeeds(cargo(&["+nightly"]).args([
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
    if is_success { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// cargo through rustup, which takes `+nightly`.
fn cargo(arguments: &[&str]) -> Command {
    let mut cargo = Command::new("cargo");
    // Set by the cargo that runs xtask; they would select its toolchain.
    cargo.args(arguments).env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO").env_remove("RUSTC");
    cargo.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    cargo
}

fn succeeds(command: &mut Command) -> bool {
    command.status().is_ok_and(|status| status.success())
}
