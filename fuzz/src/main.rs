//! `cargo xtask fuzz --blind`: runs every target, or those named, for a while.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a developer's command")]

use std::process::ExitCode;

use howlate_fuzz::{FuzzLimit, Target, run, targets};
use howlate_model::Span;
use rustix::process::{Resource, Rlimit, setrlimit};

/// Limit of the address space in bytes, program and libraries included: no input may need more.
const MOST_MEMORY: u64 = 256 << 20;

fn main() -> ExitCode {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    match read_options(&arguments) {
        Ok(options) => run_targets(&options),
        Err(error) => {
            let names: Vec<&str> = targets::ALL.iter().map(|target| target.name).collect();
            eprintln!(
                "error: {error}\nusage: cargo xtask fuzz [--for 1h] [--batch N] [TARGET…]\ntargets: {}",
                names.join(", ")
            );
            ExitCode::from(2)
        }
    }
}

/// The command line.
struct FuzzOptions {
    time: Span,
    /// First batch of mutations; `None`: a random one.
    batch: Option<u64>,
    targets: Vec<Target>,
}

fn read_options(arguments: &[String]) -> Result<FuzzOptions, String> {
    let mut options = FuzzOptions { time: Span::from_secs(60), batch: None, targets: Vec::new() };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--for" => options.time = value()?.parse().map_err(|error| format!("{error}"))?,
            "--batch" => options.batch = Some(value()?.parse().map_err(|error| format!("{error}"))?),
            name => options.targets.push(targets::find(name).ok_or(format!("there is no target `{name}`"))?),
        }
    }
    if options.targets.is_empty() {
        options.targets = targets::ALL.to_vec();
    }
    Ok(options)
}

/// Runs each target for an equal share of the time.
fn run_targets(options: &FuzzOptions) -> ExitCode {
    let limit = Some(MOST_MEMORY);
    if let Err(error) = setrlimit(Resource::As, Rlimit { current: limit, maximum: limit }) {
        eprintln!("error: memory cannot be limited: {error}");
        return ExitCode::from(2);
    }
    let share = Span::from_nanos(options.time.as_nanos() / options.targets.len().max(1) as u64);
    let mut inputs = 0;
    for target in &options.targets {
        // A random first batch, so that runs do not repeat each other.
        let first = options.batch.unwrap_or_else(|| fastrand::u64(..1 << 40));
        println!("{} from batch {first}", target.name);
        let summary = run(target, FuzzLimit::For(share), first);
        println!("{summary}");
        inputs += summary.inputs;
    }
    println!("{inputs} inputs in all, none failed");
    ExitCode::SUCCESS
}
