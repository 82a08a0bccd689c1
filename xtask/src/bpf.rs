//! `cargo xtask bpf`: makes the programs for the kernel from `crates/tracing/trace/bpf/`, to be committed.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::packages;

/// An object: its name, and what it is made from, the program first.
pub struct Object {
    /// `NAME.bpf.o`; the sum of its sources is in `NAME.bpf.sum`, which tells whether it is that of the sources.
    pub name: &'static str,
    /// Files of the folder and of those in it.
    pub sources: &'static [&'static str],
}

/// All that there are.
pub const OBJECTS: [Object; 3] = [
    Object {
        name: "wakeups",
        sources: &[
            "wakeups.bpf.c",
            "kernel.h",
            "program.h",
            "record.h",
            "occupant.h",
            "throttled.h",
            "wakeups/interrupts.h",
            "wakeups/lives.h",
            "wakeups/loops.h",
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
    Object { name: "waits", sources: &["waits.bpf.c", "kernel.h", "program.h", "throttled.h", "waits.h"] },
    Object {
        name: "late",
        sources: &["late.bpf.c", "kernel.h", "program.h", "throttled.h", "late.h", "occupant.h"],
    },
];

/// The folder `crates/tracing/trace/bpf/`.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("")).join("crates/tracing/trace/bpf")
}

/// Compiles, strips and notes what from.
pub fn run() -> ExitCode {
    packages::provide(packages::FOR_BPF);
    match OBJECTS.iter().try_for_each(make) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::from(2)
        }
    }
}

fn make(one: &Object) -> Result<(), String> {
    let (folder, object) = (folder(), format!("{}.bpf.o", one.name));
    // Where Debian has the headers of the kernel's interface.
    let headers = format!("-I/usr/include/{}-linux-gnu", std::env::consts::ARCH);
    // The folder it is made in stays out of the object, which is then the same wherever it is made.
    let here = "-fdebug-compilation-dir=.";
    let options =
        ["-g", "-O2", "-Wall", "-Werror", "-mcpu=v3", "-target", "bpf", "-D__TARGET_ARCH_x86", here];
    done(Command::new("clang").current_dir(&folder).args(options).args([
        &headers,
        "-c",
        one.sources[0],
        "-o",
        &object,
    ]))?;
    done(Command::new("llvm-strip").current_dir(&folder).args(["-g", &object]))?;
    let noted = format!("{}.bpf.sum", one.name);
    std::fs::write(folder.join(&noted), sum(&folder, one)?).map_err(|error| format!("{noted}: {error}"))
}

fn done(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{program} ended with {status}")),
        Err(error) => {
            Err(format!("cannot start {program}: {error}; install it: apt-get install clang llvm libbpf-dev"))
        }
    }
}

/// FNV-1a over all sources: enough to notice that one was changed.
pub fn sum(folder: &Path, one: &Object) -> Result<String, String> {
    let mut sum = 0xcbf2_9ce4_8422_2325u64;
    for source in one.sources {
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
        for one in &OBJECTS {
            let noted = std::fs::read_to_string(folder().join(format!("{}.bpf.sum", one.name))).unwrap();
            assert_eq!(noted, sum(&folder(), one).unwrap(), "run `cargo xtask bpf` and commit what it makes");
        }
    }
}
