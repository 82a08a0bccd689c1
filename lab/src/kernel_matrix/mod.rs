//! `cargo xtask test --kernels`: the self check in every kernel that people run, booted in QEMU, by every tracer that names.
//!
//! ```text
//! kernel × tracer ──► howlate guest … -- selfcheck --json ──► found, wrong and not seen of each class ──► a table
//! ```

mod table;

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use serde_json::Value;

use self::table::{KernelCheck, markdown};

/// Debian 12, 13, its backports and unstable, ordinary and real-time, as `howlate guest --kernel` takes them.
const KERNELS: [&str; 8] = [
    "debian:standard",
    "debian:rt",
    "debian:trixie",
    "debian:trixie:rt",
    "debian:backports",
    "debian:backports:rt",
    "debian:sid",
    "debian:sid:rt",
];

/// Those that name who was late; `switches` does not.
const TRACERS: [&str; 2] = ["bpf", "tracefs"];

/// Boots each of `kernels`, or of all, and prints a table of them. What is found too little of, blamed wrongly too often, or
/// does not add up is a failure, and lazy preemption that is not seen; what cannot be booted here is skipped, and counted.
pub fn run(kernels: &[&str]) -> ExitCode {
    let kernels = if kernels.is_empty() { &KERNELS[..] } else { kernels };
    match check_kernels(kernels) {
        Ok((checked, skipped)) => {
            println!("\n{}", markdown(&checked));
            skipped.iter().for_each(|reason| println!("skipped: {reason}"));
            let mut failures: Vec<String> = checked.iter().flat_map(KernelCheck::failures).collect();
            failures.extend(missed_lazy_preemption(kernels).err());
            failures.iter().for_each(|failure| println!("FAILED: {failure}"));
            let classes: usize = checked.iter().map(KernelCheck::judged_classes).sum();
            let passed = classes.saturating_sub(failures.len());
            println!("{passed} passed, {} failed, {} skipped", failures.len(), skipped.len());
            if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            println!("FAILED: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The result for each kernel, and why some were skipped.
fn check_kernels(kernels: &[&str]) -> io::Result<(Vec<KernelCheck>, Vec<String>)> {
    let howlate = built()?;
    let (mut all, mut skipped) = (Vec::new(), Vec::new());
    for kernel in kernels {
        for tracer in TRACERS {
            eprintln!("{kernel}, {tracer} …");
            match self_check(&howlate, kernel, tracer)? {
                Ok(row) => {
                    println!("{row}");
                    all.push(row);
                }
                Err(reason) => skipped.push(format!("{kernel}, {tracer}: {reason}")),
            }
        }
    }
    Ok((all, skipped))
}

/// Has both preemption models, full and lazy, and says nothing of others.
const WITH_LAZY_PREEMPTION: &str = "debian:backports";

/// Beside a load, waits have parts of lazy preemption where the model is lazy, and only there.
fn missed_lazy_preemption(kernels: &[&str]) -> Result<(), String> {
    if !kernels.contains(&WITH_LAZY_PREEMPTION) {
        return Ok(());
    }
    let howlate = built().map_err(|error| error.to_string())?;
    for (model, is_lazy) in [("lazy", true), ("full", false)] {
        let found = lazy_parts(&howlate, model).map_err(|error| format!("preempt={model}: {error}"))?;
        let Some(found) = found else { break };
        println!("{WITH_LAZY_PREEMPTION}, preempt={model}: {found} parts of lazy preemption");
        if (found > 0) != is_lazy {
            return Err(format!("preempt={model}: {found} parts of lazy preemption"));
        }
    }
    Ok(())
}

/// Number of such parts in the recording of a guest that was booted with this preemption model; `None` where it cannot be booted
/// (status 2).
fn lazy_parts(howlate: &Path, model: &str) -> io::Result<Option<usize>> {
    let folder = tempfile::tempdir()?;
    let out = folder.path().join("run.jsonl");
    let mut guest = Command::new(howlate);
    guest.args(["guest", "--quiet", "--kernel", WITH_LAZY_PREEMPTION, "--rounds", "1", "--out"]).arg(&out);
    guest.arg(format!("--append=preempt={model}"));
    guest.args(["--", "cyclic", "--policy", "other", "--load", "cpu", "--duration", "5s", "--why"]);
    if guest.stdout(Stdio::null()).stderr(Stdio::null()).status()?.code() == Some(2) {
        return Ok(None);
    }
    let lines = std::fs::read_to_string(&out)?;
    Ok(Some(lines.matches(r#""part":"lazy_preemption""#).count()))
}

/// Builds the program as people use it, and says where it is.
fn built() -> io::Result<PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    let status = cargo.args(["build", "--quiet", "--release", "--package", "howlate"]).current_dir(root());
    if status.status()?.success() {
        return Ok(root().join("target/release/howlate"));
    }
    Err(io::Error::other("howlate cannot be built"))
}

/// Runs the guest's CPUs with real-time priority, if permitted: delays by the host are invisible inside the guest.
const FIRST: [&str; 4] = ["--vcpu-policy", "fifo:1", "--emulator-policy", "fifo:2"];

/// What one tracer found in one kernel, or what howlate said where it could not boot it (status 2).
fn self_check(howlate: &Path, kernel: &str, tracer: &str) -> io::Result<Result<KernelCheck, String>> {
    let mut guest = Command::new(howlate);
    guest.args(["guest", "--quiet", "--json", "--no-save", "--kernel", kernel]).args(FIRST);
    guest.args(["--", "selfcheck", "--tracer", tracer]);
    let output = guest.stderr(Stdio::piped()).output()?;
    if output.status.code() == Some(2) {
        let reason = String::from_utf8_lossy(&output.stderr);
        return Ok(Err(reason.split_whitespace().collect::<Vec<_>>().join(" ")));
    }
    let printed: Value = serde_json::from_slice(&output.stdout)?;
    let found = &printed["checks"][0];
    let release = found["kernel"].as_str().unwrap_or(kernel);
    KernelCheck::read(release, tracer, &found["check"])
        .map(Ok)
        .ok_or_else(|| io::Error::other(format!("{kernel}: not a self check: {printed}")))
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}
