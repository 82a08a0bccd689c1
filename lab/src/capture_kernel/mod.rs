//! What the tracers assume about a kernel, from its image alone: `testdata/kernels/RELEASE/`.
//!
//! `image` unpacks it, `types` reads its type information, and `formats` writes what tracefs would say of its events. Nothing
//! is booted.

mod formats;
mod image;
mod types;

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use howlate_guest::{Architecture, GuestKernel};

use self::types::Types;

/// The programs whose relocations `types.btf` has the types for.
const OBJECTS: [&str; 3] = ["wakeups.bpf.o", "waits.bpf.o", "late.bpf.o"];

/// Writes the folders of these kernels, each named as `howlate guest --kernel` takes it; `--arch aarch64` before them: of those
/// for aarch64.
pub fn capture(arguments: &[&str]) -> io::Result<()> {
    let (architecture, kernels) = match arguments {
        ["--arch", name, kernels @ ..] => (name.parse().map_err(io::Error::other)?, kernels),
        kernels => (Architecture::X86_64, kernels),
    };
    for name in kernels {
        let wanted_kernel = name.parse().map_err(io::Error::other)?;
        let kernel = GuestKernel::find(&wanted_kernel, architecture, &mut |text| eprint!("{text}"))
            .map_err(io::Error::other)?;
        let folder = root().join("testdata/kernels").join(&kernel.release);
        std::fs::create_dir_all(&folder)?;
        write(kernel.image(), &folder)?;
        println!("{}", folder.display());
    }
    Ok(())
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn write(image: &Path, folder: &Path) -> io::Result<()> {
    let temporary = tempfile::tempdir()?;
    let all = temporary.path().join("vmlinux.btf");
    std::fs::write(&all, image::types_of(image)?)?;
    let objects = OBJECTS.map(|name| root().join("crates/tracing/trace/bpf").join(name));
    let mut smallest = Command::new("bpftool");
    smallest.args(["gen", "min_core_btf"]).arg(&all).arg(folder.join("types.btf")).args(objects);
    printed(&mut smallest)?;
    std::fs::write(folder.join("formats"), formats::of(&Types::read(&all)?)?)
}

/// Runs a program; returns what it prints.
fn printed(command: &mut Command) -> io::Result<Vec<u8>> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| io::Error::other(format!("{program}: {error}")))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("{program} ended with {}: {stderr}", output.status)))
}
