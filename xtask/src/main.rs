//! The developer's commands. `cargo xtask` without arguments lists them.

mod book;
mod bpf;
mod cross;
mod dist;
mod fuzz;
mod house;
mod interleavings;
mod lab;
mod metadata;
mod packages;
mod python;
mod storm;
mod supply;
mod test;
mod tools;
mod tracefs;

use std::process::ExitCode;

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
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["test"] => test::run(test::Extent::Everything),
        ["test", "--all"] => by_night(),
        ["test", "--fast"] => test::run(test::Extent::Fast),
        ["test", "--consumers"] => test::run(test::Extent::Consumers),
        ["test", "--python"] => test::run(test::Extent::Python),
        ["test", "--kernels", names @ ..] => kernels(names),
        ["test", "--kubernetes"] => {
            packages::provide(packages::FOR_KUBERNETES);
            lab::run(&["kubernetes"])
        }
        ["cross", names @ ..] => cross::run(names),
        ["dist", words @ ..] => dist::run(words),
        ["fuzz", words @ ..] => fuzz::run(words),
        ["storm", words @ ..] => storm::run(words),
        ["orders"] => interleavings::run(),
        ["supply"] => supply::run(),
        ["book"] => book::run(),
        ["bpf"] => bpf::run(),
        ["house", words @ ..] => house::run(words),
        ["bench", ..] => {
            packages::provide(packages::FOR_BENCHES);
            lab::run(&words)
        }
        ["capture-kernel", ..] => {
            packages::provide(packages::FOR_KERNELS);
            lab::run(&words)
        }
        ["soak" | "truth" | "capture-traces" | "capture-system" | "capture-live", ..] => lab::run(&words),
        [] | ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => {
            eprint!("error: there is no command `{}`\n\n{USAGE}", words.join(" "));
            ExitCode::from(2)
        }
    }
}

fn kernels(names: &[&str]) -> ExitCode {
    packages::provide(packages::FOR_TESTS);
    lab::run(&[&["kernels"], names].concat())
}

/// Everything that takes hours; each part runs, whatever became of those before.
fn by_night() -> ExitCode {
    let parts: [(&str, &dyn Fn() -> ExitCode); 5] = [
        ("test", &|| test::run(test::Extent::Everything)),
        ("orders", &interleavings::run),
        ("storm", &|| storm::run(&["--kills", "1000"])),
        ("test --kernels", &|| kernels(&[])),
        ("fuzz", &|| fuzz::run(&["--for", "2h"])),
    ];
    let failed = |(name, part): &(&str, &dyn Fn() -> ExitCode)| {
        println!("== cargo xtask {name}");
        part() != ExitCode::SUCCESS
    };
    let failed: Vec<&str> = parts.iter().filter(|part| failed(part)).map(|(name, _)| *name).collect();
    failed.iter().for_each(|name| println!("FAILED: cargo xtask {name}"));
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
