//! Short traces of real wake-ups, as `crates/results/analyse` replays them: `testdata/traces/TRACER[-KERNEL].json`.
//!
//! Of this machine, or of Debian's kernels, also of those for aarch64: this program is then the guest's only one.

use std::io;
use std::path::PathBuf;
use std::process::Command;

use howlate_guest::{
    Acceleration, Architecture, Guest, GuestCommand, GuestEvent, GuestKernel, GuestProgram, GuestSetup,
    HostSettings, TcgThreads, VirtualMachine,
};
use howlate_linux::{clock, thread};
use howlate_model::{Accelerator, Span, Wakeup};
use howlate_trace::{Choice, Tier, Tracer, open};
use rustix::thread::{ClockId, clock_nanosleep_absolute};
use serde_json::{Value, json};

const PERIOD: Span = Span::from_millis(2);
/// Wake-ups that are traced, and those of them that are kept.
const SLEEPS: usize = 50;
const KEPT: usize = 10;
/// What the names of kernels for it end with.
const AARCH64: &str = "-aarch64";
const TRIPLE: &str = "aarch64-unknown-linux-gnu";

/// Prints the traces of this machine, one object with each tracer that can be had.
pub fn print_here() -> io::Result<()> {
    let mut all = serde_json::Map::new();
    for tier in Tier::ALL {
        match open(Choice::Only(tier), &[std::process::id()]).tracer {
            Some(mut tracer) => drop(all.insert(tier.name().to_owned(), capture(tracer.as_mut())?)),
            None => eprintln!("tracer {tier} cannot be had here"),
        }
    }
    println!("{}", Value::Object(all));
    Ok(())
}

/// Writes the traces of those of Debian's kernels.
pub fn of_guests(kernels: &[&str]) -> io::Result<()> {
    for name in kernels {
        let printed = match name.strip_suffix(AARCH64) {
            Some(kernel) => in_guest(kernel, Architecture::Aarch64)?,
            None => in_guest(name, Architecture::HERE)?,
        };
        let all: serde_json::Map<String, Value> = serde_json::from_str(&printed)?;
        for (tier, trace) in all {
            let path = folder().join(format!("{tier}-{name}.json"));
            std::fs::write(&path, serde_json::to_string_pretty(&trace)? + "\n")?;
            println!("{}", path.display());
        }
    }
    Ok(())
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testdata/traces")
}

/// This program, built for the guest.
fn program(architecture: Architecture) -> io::Result<GuestProgram> {
    if architecture == Architecture::HERE {
        return GuestProgram::running().map_err(io::Error::other);
    }
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?;
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--package", "howlate-lab", "--target", TRIPLE]).current_dir(&root);
    cargo.env("RUSTFLAGS", "-C target-feature=+crt-static");
    cargo.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc");
    if !cargo.status()?.success() {
        return Err(io::Error::other(
            "it does not build; `cargo xtask cross aarch64` installs what it takes",
        ));
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    GuestProgram::from_file(&target.join(TRIPLE).join("debug/howlate-lab"), architecture)
        .map_err(io::Error::other)
}

/// What this program prints in a guest with that kernel.
fn in_guest(name: &str, architecture: Architecture) -> io::Result<String> {
    let machine = VirtualMachine {
        architecture,
        cpus: 2,
        // The first file system, with this program and all it has for debuggers, is held twice while it is unpacked.
        memory: 1 << 30,
        acceleration: Acceleration::Only(Accelerator::Tcg),
        tcg_threads: TcgThreads::One,
        append: String::new(),
    };
    let wanted_kernel = format!("debian:{name}").parse().map_err(io::Error::other)?;
    let kernel = GuestKernel::find(&wanted_kernel, machine.architecture, &mut |text| eprint!("{text}"))
        .map_err(io::Error::other)?;
    let command =
        GuestCommand { arguments: vec!["capture-traces".to_owned()], files: Vec::new(), prints: true };
    let program = program(architecture)?;
    let settings = HostSettings { vcpu_policy: None, emulator_policy: None, vcpu_pin: Vec::new() };
    let mut guest = Guest::boot(GuestSetup {
        machine: &machine,
        kernel: &kernel,
        program: &program,
        command: &command,
        settings: &settings,
        boot_deadline: Span::from_secs(180),
        hang_deadline: Span::from_secs(60),
    })
    .map_err(io::Error::other)?;
    loop {
        match guest.wait().map_err(io::Error::other)? {
            GuestEvent::Over { exit_status: 0, printed, stderr } => {
                eprintln!("{stderr}");
                return Ok(printed);
            }
            GuestEvent::Over { stderr, .. } => return Err(io::Error::other(stderr)),
            _ => {}
        }
    }
}

/// A thread's last wake-ups, and what the tracer saw of them.
fn capture(tracer: &mut dyn Tracer) -> io::Result<Value> {
    tracer.start().map_err(io::Error::other)?;
    let tid = thread::id();
    tracer.follow(tid, Span::from_micros(50)).map_err(io::Error::other)?;
    let mut noted = tracer.after_each().map(|after_each| after_each.create());
    let mut expected = clock::now().plus(PERIOD);
    let mut woken = Vec::new();
    for _ in 0..SLEEPS {
        clock_nanosleep_absolute(ClockId::Monotonic, &clock::timespec_at(expected))?;
        let wakeup = Wakeup { expected, ran: clock::now() };
        woken.push(wakeup);
        noted.iter_mut().for_each(|noted| noted(wakeup));
        expected = clock::now().plus(PERIOD);
    }
    // The last one is known when the next sleep has begun.
    clock::sleep_for(PERIOD)?;
    tracer.stop();
    let mut seen = Vec::new();
    tracer.read(&mut |sleep| seen.push(sleep));
    let woken = &woken[SLEEPS - KEPT..];
    seen.retain(|sleep| sleep.tid == tid && sleep.asleep_again.is_none_or(|again| again >= woken[0].ran));
    let wakeups: Vec<_> = woken.iter().map(|sleep| [sleep.expected, sleep.ran]).collect();
    Ok(json!({ "tracer": tracer.tier().name(), "wakeups": wakeups, "seen": seen }))
}
