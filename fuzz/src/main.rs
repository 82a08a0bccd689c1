//! `cargo xtask fuzz`: feeds every target, or those named, for a while.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a developer's command")]

use std::process::ExitCode;

use howlate_fuzz::{Extent, Target, run, targets};
use howlate_model::Span;
use rustix::process::{Resource, Rlimit, setrlimit};

/// What reading any input may need: address space, with the program and its libraries.
const MOST_MEMORY: u64 = 256 << 20;

fn main() -> ExitCode {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    match asked(&words) {
        Ok(asked) => feed(&asked),
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

/// What was typed.
struct Asked {
    time: Span,
    batch: Option<u64>,
    targets: Vec<Target>,
}

fn asked(words: &[String]) -> Result<Asked, String> {
    let mut asked = Asked { time: Span::from_secs(60), batch: None, targets: Vec::new() };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--for" => asked.time = value()?.parse().map_err(|error| format!("{error}"))?,
            "--batch" => asked.batch = Some(value()?.parse().map_err(|error| format!("{error}"))?),
            name => asked.targets.push(targets::named(name).ok_or(format!("there is no target `{name}`"))?),
        }
    }
    if asked.targets.is_empty() {
        asked.targets = targets::ALL.to_vec();
    }
    Ok(asked)
}

/// Gives each target its equal share of the time.
fn feed(asked: &Asked) -> ExitCode {
    let most = Some(MOST_MEMORY);
    if let Err(error) = setrlimit(Resource::As, Rlimit { current: most, maximum: most }) {
        eprintln!("error: memory cannot be limited: {error}");
        return ExitCode::from(2);
    }
    let share = Span::from_nanos(asked.time.as_nanos() / asked.targets.len().max(1) as u64);
    let mut inputs = 0;
    for target in &asked.targets {
        // Another beginning each time, so that hours of running are not the same hour again.
        let first = asked.batch.unwrap_or_else(|| fastrand::u64(..1 << 40));
        println!("{} from batch {first}", target.name);
        let tally = run(target, Extent::For(share), first);
        println!("{tally}");
        inputs += tally.inputs;
    }
    println!("{inputs} inputs in all, none failed");
    ExitCode::SUCCESS
}
