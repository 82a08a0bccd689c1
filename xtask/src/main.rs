//! The developer's commands. `cargo xtask` without arguments lists them.

mod book;
mod bpf;
mod cross;
mod dist;
mod fuzz;
mod house;
mod interleavings;
mod packages;
mod python;
mod storm;
mod supply;
mod test;
mod tracefs;

use std::process::{Command, ExitCode};

const USAGE: &str = "\
The developer's commands:

  cargo xtask test            everything: installs what the tests need, checks style, runs all tests
  cargo xtask test --fast     the everyday loop: format, lints, and tests that measure nothing
  cargo xtask test --all      by night: that, the interleavings, a thousand kills, all kernels, and two hours of hostile input
  cargo xtask test --consumers
                              the readers of results: HdrHistogram in five languages, Jenkins' schema, prove, KCIDB, …
  cargo xtask test --python   the Python package: built, installed, tested as people get it
  cargo xtask test --kernels [KERNEL…]
                              the self check in Debian's kernels from 6.1 to 7.3, ordinary and real-time, each booted in QEMU; half an
                              hour for all
  cargo xtask test --kubernetes
                              a fleet on a real cluster of this machine; builds Kubernetes, which takes long the first time
  cargo xtask bench           every benchmark; or one of: build, crowd [--for 10m], cyclic, cyclictest, fleet, gaps,
                              instructions, load, loop, memory, notify, record, report, requests [--for 30m], requests-planted [--for 30m], show, size, statistics, top, truth, watch,
                              why
  cargo xtask fuzz [--for 1h] [--blind] [TARGET…]
                              damaged and hostile input for everything that reads what others wrote
  cargo xtask soak [--for 24h] [--period 1ms]
                              one long measurement of four threads with --why, and whether anything grew that must not
  cargo xtask truth [why|watch|top|record|remedies …] [--times 3] [--for 4]
                              what the program claims, held against what the kernel itself wrote of the same wake-ups
  cargo xtask truth advice [PART OF A NAME …] [--pairs 3]
                              what the program advises for programs whose cure is known, typed as it stands, with and without by turns;
                              half an hour for all
  cargo xtask storm [--borrowed] [--kills 1000] [--seed N]
                              kills at random moments, and whether the machine is left as it was; 60 if not said
  cargo xtask orders          the ring of wake-ups in every order that loom knows, and in Miri
  cargo xtask supply          licences, sources, versions and advisories of what is built in
  cargo xtask cross [ARCH]    static programs for x86_64 and aarch64
  cargo xtask dist [--once] [ARCH]
                              what people download: programs, Debian packages, wheels, what is built in, checksums
  cargo xtask book            docs/ as pages for a browser, in target/book
  cargo xtask bpf             the programs for the kernel in crates/tracing/trace/bpf/, with clang
  cargo xtask house [--types] [--mirrored]
                              the size of the code and the plainness of its names, counted
  cargo xtask capture-system FOLDER
                              copies what howlate reads of this machine, for a bug report and a test
  cargo xtask capture-live FILE.svg
                              four captures of the live view on this machine, as one picture, with tmux
  cargo xtask capture-kernel [--arch aarch64] KERNEL…
                              what the tracers take for granted of a kernel, from its package alone, into testdata/kernels/; named as
                              `howlate guest --kernel` takes it: debian:trixie:rt, debian:7.3, a file
  cargo xtask capture-traces [standard] [rt] [standard-aarch64] [rt-aarch64]
                              short traces of this machine, printed; or of Debian's kernels, into testdata/traces/
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["test"] => test::run(test::TestScope::Everything),
        ["test", "--all"] => test_all(),
        ["test", "--fast"] => test::run(test::TestScope::Fast),
        ["test", "--consumers"] => test::run(test::TestScope::Consumers),
        ["test", "--python"] => test::run(test::TestScope::Python),
        ["test", "--kernels", names @ ..] => test_kernels(names),
        ["test", "--kubernetes"] => {
            packages::provide(packages::FOR_KUBERNETES);
            run_lab(&["kubernetes"])
        }
        ["cross", names @ ..] => cross::run(names),
        ["dist", arguments @ ..] => dist::run(arguments),
        ["fuzz", arguments @ ..] => fuzz::run(arguments),
        ["storm", arguments @ ..] => storm::run(arguments),
        ["orders"] => interleavings::run(),
        ["supply"] => supply::run(),
        ["book"] => book::run(),
        ["bpf"] => bpf::run(),
        ["house", arguments @ ..] => house::run(arguments),
        ["bench", ..] => {
            packages::provide(packages::FOR_BENCHES);
            run_lab(&arguments)
        }
        ["capture-kernel", ..] => {
            packages::provide(packages::FOR_KERNELS);
            run_lab(&arguments)
        }
        ["soak" | "truth" | "capture-traces" | "capture-system" | "capture-live", ..] => run_lab(&arguments),
        [] | ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => {
            eprint!("error: there is no command `{}`\n\n{USAGE}", arguments.join(" "));
            ExitCode::from(2)
        }
    }
}

/// The self-check in guest kernels.
fn test_kernels(names: &[&str]) -> ExitCode {
    packages::provide(packages::FOR_TESTS);
    run_lab(&[&["kernels"], names].concat())
}

/// `test --all`: everything that takes hours. A part runs even if an earlier one failed.
fn test_all() -> ExitCode {
    let parts: [(&str, &dyn Fn() -> ExitCode); 5] = [
        ("test", &|| test::run(test::TestScope::Everything)),
        ("orders", &interleavings::run),
        ("storm", &|| storm::run(&["--kills", "1000"])),
        ("test --kernels", &|| test_kernels(&[])),
        ("fuzz", &|| fuzz::run(&["--for", "2h"])),
    ];
    let fails = |(name, part): &(&str, &dyn Fn() -> ExitCode)| {
        println!("== cargo xtask {name}");
        part() != ExitCode::SUCCESS
    };
    let failed: Vec<&str> = parts.iter().filter(|part| fails(part)).map(|(name, _)| *name).collect();
    failed.iter().for_each(|name| println!("FAILED: cargo xtask {name}"));
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs a command of `lab/`, a package of its own: it needs most of howlate, which those who only run tests do not have to build.
fn run_lab(arguments: &[&str]) -> ExitCode {
    // Benches measure the tracer that reads tracefs.
    let mut command = tracefs::mount_command().to_vec();
    command.extend([env!("CARGO"), "run", "--quiet", "--package", "howlate-lab", "--"]);
    command.extend(arguments);
    match Command::new(command[0]).args(&command[1..]).status() {
        Ok(status) => ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)),
        Err(error) => {
            eprintln!("error: cargo does not start: {error}");
            ExitCode::from(2)
        }
    }
}
