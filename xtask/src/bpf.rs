//! `cargo xtask bpf`: compiles the BPF programs in `crates/tracing/trace/bpf/`; the objects are committed.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::packages;

/// A BPF object.
struct BpfObject {
    /// Of `NAME.bpf.o`, and of `NAME.bpf.sum`: a hash of the sources, to notice an object that is out of date.
    name: &'static str,
    /// Paths below `crates/tracing/trace/bpf/`, the program first.
    sources: &'static [&'static str],
}

const OBJECTS: [BpfObject; 3] = [
    BpfObject {
        name: "wakeups",
        sources: &[
            "wakeups.bpf.c",
            "kernel.h",
            "program.h",
            "record.h",
            "occupant.h",
            "resched.h",
            "throttled.h",
            "wakeups/interrupts.h",
            "wakeups/lives.h",
            "wakeups/loops.h",
            "wakeups/requests.h",
            "wakeups/ring.h",
            "wakeups/sleeps.h",
            "wakeups/state.h",
            "wakeups/stillness.h",
            "wakeups/stops.h",
            "wakeups/switches.h",
            "wakeups/throttling.h",
            "wakeups/waiting.h",
            "wakeups/waking.h",
        ],
    },
    BpfObject { name: "waits", sources: &["waits.bpf.c", "kernel.h", "program.h", "throttled.h", "waits.h"] },
    BpfObject {
        name: "late",
        sources: &["late.bpf.c", "kernel.h", "program.h", "throttled.h", "late.h", "occupant.h", "resched.h"],
    },
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("")).join("crates/tracing/trace/bpf")
}

/// Compiles and strips all objects, and writes the hashes of their sources.
pub fn run() -> ExitCode {
    packages::provide(packages::FOR_BPF);
    match OBJECTS.iter().try_for_each(compile) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::from(2)
        }
    }
}

fn compile(object: &BpfObject) -> Result<(), String> {
    let (folder, output) = (folder(), format!("{}.bpf.o", object.name));
    // Debian's folder of the kernel's headers for user space.
    let headers = format!("-I/usr/include/{}-linux-gnu", std::env::consts::ARCH);
    // Without the absolute path, so that the object has the same bytes wherever it is compiled.
    let reproducible = "-fdebug-compilation-dir=.";
    let options =
        ["-g", "-O2", "-Wall", "-Werror", "-mcpu=v3", "-target", "bpf", "-D__TARGET_ARCH_x86", reproducible];
    run_command(Command::new("clang").current_dir(&folder).args(options).args([
        &headers,
        "-c",
        object.sources[0],
        "-o",
        &output,
    ]))?;
    run_command(Command::new("llvm-strip").current_dir(&folder).args(["-g", &output]))?;
    let sum_file = format!("{}.bpf.sum", object.name);
    std::fs::write(folder.join(&sum_file), sum(&folder, object)?)
        .map_err(|error| format!("{sum_file}: {error}"))
}

fn run_command(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{program} ended with {status}")),
        Err(error) => {
            Err(format!("cannot start {program}: {error}; install it: apt-get install clang llvm libbpf-dev"))
        }
    }
}

/// FNV-1a over all sources: enough to notice a change.
fn sum(folder: &Path, object: &BpfObject) -> Result<String, String> {
    let mut sum = 0xcbf2_9ce4_8422_2325u64;
    for source in object.sources {
        let bytes = std::fs::read(folder.join(source)).map_err(|error| format!("{source}: {error}"))?;
        for byte in bytes {
            sum = (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    Ok(format!("{sum:016x}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_of_an_object() {
        for below in ["", "wakeups/"] {
            for entry in std::fs::read_dir(folder().join(below)).unwrap() {
                let name = format!("{below}{}", entry.unwrap().file_name().to_str().unwrap());
                let is_source = name.ends_with(".c") || name.ends_with(".h");
                let is_listed = OBJECTS.iter().any(|object| object.sources.contains(&name.as_str()));
                assert!(!is_source || is_listed, "{name}: changes of it go unnoticed");
            }
        }
    }

    #[test]
    fn the_committed_objects_are_those_of_the_sources() {
        for object in &OBJECTS {
            let committed =
                std::fs::read_to_string(folder().join(format!("{}.bpf.sum", object.name))).unwrap();
            assert_eq!(
                committed,
                sum(&folder(), object).unwrap(),
                "run `cargo xtask bpf` and commit what it makes"
            );
        }
    }
}
