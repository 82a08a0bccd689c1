//! Benchmarks: `cargo xtask bench [NAME…]`. Numbers for people to read; those with a limit fail when it is exceeded.

mod build;
mod busy_machine;
mod crowd;
mod cyclic;

mod ending;
mod fleet;
mod gaps;
mod instructions;
mod live;
mod load;
mod long_recording;
mod loops;
mod memory;
mod notify;
mod paired;
mod program;
mod quick;
mod record;
mod requests;
mod servers;
mod size;
mod statistics;
mod top;
mod truth;
mod watch;
mod why;

use std::process::ExitCode;

use howlate_model::Span;

pub use paired::median;
pub use program::{KilledOnDrop, built, compiled, json, output};

type Bench = (&'static str, fn() -> std::io::Result<()>);

const BENCHES: [Bench; 26] = [
    ("build", build::run),
    ("crowd", crowd::run),
    ("cyclic", cyclic::run),
    ("cyclictest", cyclic::run_drop_in),
    ("ending", ending::run),
    ("fleet", fleet::run),
    ("gaps", gaps::run),
    ("instructions", instructions::run),
    ("live", live::run),
    ("load", load::run),
    ("loop", loops::run),
    ("memory", memory::run),
    ("notify", notify::run),
    ("quick", quick::run),
    ("record", record::run),
    ("report", long_recording::run_report),
    ("requests", requests::run),
    ("requests-planted", requests::planted),
    ("servers", servers::run),
    ("show", long_recording::run_show),
    ("size", size::run),
    ("statistics", statistics::run),
    ("top", top::run),
    ("truth", truth::run),
    ("watch", watch::run),
    ("why", why::run),
];

/// Runs the benchmarks named, or all.
pub fn run(names: &[&str]) -> ExitCode {
    if let [name @ ("crowd" | "requests" | "requests-planted"), "--for", time] = names {
        let time = time.parse::<Span>().map_err(|error| std::io::Error::other(error.to_string()));
        let run_for = match *name {
            "requests" => requests::run_for,
            "requests-planted" => requests::planted_for,
            _ => crowd::run_for,
        };
        return report(name, time.and_then(run_for)).err().unwrap_or(ExitCode::SUCCESS);
    }
    if let Some(unknown) =
        names.iter().find(|name| !BENCHES.iter().any(|(bench_name, _)| bench_name == *name))
    {
        let bench_name = BENCHES.map(|(name, _)| name).join(", ");
        eprintln!("error: there is no benchmark `{unknown}`; choose from {bench_name}");
        return ExitCode::from(2);
    }
    for (name, bench) in BENCHES.iter().filter(|(name, _)| names.is_empty() || names.contains(name)) {
        println!("== {name}");
        if let Err(status) = report(name, bench()) {
            return status;
        }
    }
    ExitCode::SUCCESS
}

/// Says what went wrong; the status to end with then.
fn report(name: &str, result: std::io::Result<()>) -> Result<(), ExitCode> {
    result.map_err(|error| {
        eprintln!("error: {name}: {error}");
        let is_limit = error.get_ref().is_some_and(|error| error.is::<why::LimitExceeded>());
        ExitCode::from(if is_limit { 1 } else { 2 })
    })
}
