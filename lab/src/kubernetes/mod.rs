//! `cargo xtask test --kubernetes`: a fleet on a real cluster, all of whose parts run on this machine, in namespaces
//! of their own.

mod build;
mod cluster;
mod groups;
mod image;
mod namespaces;

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use tempfile::TempDir;

use self::cluster::Cluster;

/// Where control groups are.
const CONTROL_GROUPS: &str = "/sys/fs/cgroup";

/// Builds what is missing, and runs the tests that wait for a cluster in namespaces that end with it.
pub(crate) fn run() -> ExitCode {
    let tested = if namespaces::is_inside() { tested() } else { built().and_then(run_inside) };
    match tested {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("FAILED: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What needs the network, and the caches of the user.
fn built() -> io::Result<TempDir> {
    // Two kubelets would remove each other's pods.
    if let Some(group) = groups::all(Path::new(CONTROL_GROUPS)).first() {
        return Err(io::Error::other(format!(
            "there is a kubelet on this machine, or was: {}",
            group.display()
        )));
    }
    build::programs(&programs())?;
    succeeds(&mut cargo(&["test", "--workspace", "--test", "fleet", "--no-run"]))?;
    let folder = tempfile::Builder::new().prefix("kubernetes").tempdir()?;
    image::images(&root().join("target/debug/howlate"), folder.path())?;
    Ok(folder)
}

fn run_inside(folder: TempDir) -> io::Result<bool> {
    let status = namespaces::inside(&["kubernetes", &folder.path().display().to_string()]);
    groups::all(Path::new(CONTROL_GROUPS)).iter().for_each(|group| groups::remove(group));
    Ok(status?.success())
}

/// Starts the cluster in the folder that is named last, runs the tests, and ends it.
fn tested() -> io::Result<bool> {
    let folder = std::env::args_os().next_back().unwrap_or_default();
    namespaces::prepare()?;
    let cluster = Cluster::start(&build::programs(&programs())?, Path::new(&folder))?;
    let mut test = cargo(&["test", "--offline", "--workspace", "--test", "fleet", "--", "real_cluster"]);
    test.env("HOWLATE_KUBERNETES", &folder).env("KUBECONFIG", cluster.access());
    let is_success = test.status()?.success();
    if !is_success {
        println!("{}", cluster.last_words());
    }
    cluster.end()?;
    Ok(is_success)
}

fn programs() -> PathBuf {
    root().join("target/kubernetes")
}

fn cargo(arguments: &[&str]) -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(arguments).current_dir(root());
    cargo
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
    let arguments = std::iter::once(command.get_program()).chain(command.get_args());
    let arguments: Vec<_> = arguments.map(|word| word.to_string_lossy()).collect();
    Err(io::Error::other(format!("{}: {how}", arguments.join(" "))))
}
