//! What a tracer adds to the median of a real-time loop, from the program's own pairs of turns.

use std::io;
use std::path::Path;
use std::process::Command;

use howlate_trace::{Choice, Tier, open};

use super::limit::{BenchFigure, BenchLimits};
use crate::bench::program::json;

/// The tracers with a limit: by name, with the most that they may add, in µs.
pub(super) const TIERS: [(Tier, f64); 2] = [(Tier::Bpf, 0.8), (Tier::Tracefs, 2.5)];

const PAIRS: &str = "120";
const DURATION: &str = "3m";

/// On a CPU that never idles, as leaving idle takes tens of microseconds that differ from turn to turn.
pub(super) fn run(howlate: &Path, (tier, most): (Tier, f64), limits: &mut BenchLimits) -> io::Result<()> {
    if let Some((_, refusal)) = open(Choice::Only(tier), &[]).refused.first() {
        println!("{tier}: not measured: {refusal}");
        return Ok(());
    }
    let tracer = tier.name();
    let loops = ["cyclic", "--policy", "fifo:80", "--threads", "1", "--period", "1ms", "--load", "cpu"];
    let turns = [
        "--rounds",
        PAIRS,
        "--duration",
        DURATION,
        "--why",
        "--tracer",
        tracer,
        "--json",
        "--details",
        "--quiet",
    ];
    let result = json(Command::new(howlate).args(loops).args(turns))?;
    let effect = &result["results"][0]["why"]["probe_effect_ns"];
    let micros = |key: &str| effect[key].as_f64().map(|nanos| nanos / 1_000.0);
    let (Some(value), Some(low), Some(high)) = (micros("p50"), micros("low"), micros("high")) else {
        return Err(io::Error::other(format!("{tracer}: its effect could not be told")));
    };
    let name = format!("{tracer}: added to the median, fifo:80, 1 kHz");
    limits.judge(&BenchFigure { name: &name, value, interval: Some((low, high)), most, unit: "µs" });
    Ok(())
}
