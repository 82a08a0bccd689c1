//! `cargo xtask test --kubernetes`: a fleet on a real cluster, all of whose parts run on this machine, and end with it.

mod build;
mod cluster;
mod image;
mod leftovers;

use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};

use xtask::packages;

use self::cluster::Cluster;

/// Builds what is missing, starts it, runs the tests that wait for it, and ends it.
pub fn run() -> ExitCode {
    packages::provide(packages::FOR_KUBERNETES);
    match tested() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("FAILED: {error}");
            ExitCode::FAILURE
        }
    }
}

fn tested() -> io::Result<bool> {
    let programs = build::programs(&root().join("target/kubernetes"))?;
    let cargo = |words: &[&str]| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(words).current_dir(root());
        cargo
    };
    succeeds(&mut cargo(&["test", "--workspace", "--test", "fleet", "--no-run"]))?;
    let cluster = Cluster::start(&programs, &root().join("target/debug/howlate"))?;
    let mut test = cargo(&["test", "--workspace", "--test", "fleet", "--", "real_cluster", "--nocapture"]);
    test.env("HOWLATE_KUBERNETES", cluster.folder()).env("KUBECONFIG", cluster.access());
    let is_success = test.status()?.success();
    if !is_success {
        println!("{}", cluster.last_words());
    }
    cluster.end()?;
    Ok(is_success)
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// Runs a command that must end well.
fn succeeds(command: &mut Command) -> io::Result<()> {
    let how = match command.status() {
        Ok(status) if status.success() => return Ok(()),
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    };
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    Err(io::Error::other(format!("{}: {how}", words.join(" "))))
}
