//! `cargo xtask bench statistics`, or `cargo bench … --bench statistics -- [TRIALS] [WORD] [seed=N] [machine=NAME]`: whether statements are true as often as their confidence promises.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot print fails")]
#![allow(clippy::disallowed_methods, reason = "a benchmark needs no named clock")]

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use howlate_analyse::sequential::progress_of;
use howlate_analyse::simulation::{
    MeasurementPlan, RhythmScenario, Series, StatementTally, blocks_of_a_run, comparisons, equivalence,
    gates, itself, merged, precision, ranking, rate, rhythms, settings, settings_that_help, single, steps,
    sweeps,
};

/// The longest run until a percentile is known, in seconds: by then most runs have ended, also on a machine that drifts. With a shorter
/// limit, the runs that ended would be a selection of quiet ones.
const THREE_HOURS: u64 = 10_800;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let trials: u64 = args.iter().find_map(|arg| arg.parse().ok()).unwrap_or(1_000);
    let first: u64 = args.iter().find_map(|arg| arg.strip_prefix("seed=")?.parse().ok()).unwrap_or(0);
    let seeds = || first..first + trials;
    let machine = args.iter().find_map(|arg| arg.strip_prefix("machine=")).unwrap_or_default();
    let machines = || Series::MACHINES.into_iter().filter(|series| series.to_string().starts_with(machine));
    let only = args.iter().find(|arg| arg.parse::<u64>().is_err() && !arg.contains('='));
    let is_selected = |name: &str| only.is_none_or(|only| name.contains(only.as_str()));
    let mut out = std::io::stdout();
    let mut broken = 0;
    let mut show_named = |name: &str, tallies: Vec<StatementTally>| {
        for tally in tallies {
            broken += u32::from(!tally.holds());
            writeln!(out, "{name:16}{}", line(&tally)).unwrap();
        }
    };
    if is_selected("rhythms") {
        RhythmScenario::all()
            .into_iter()
            .for_each(|scenario| show_named("rhythm", rhythms(scenario, seeds())));
    }
    let mut show = |series: Series, tallies: Vec<StatementTally>| show_named(&series.to_string(), tallies);
    if is_selected("margin") {
        for series in [Series::Independent, Series::Autoregressive, Series::TwoStates(2)] {
            for conditions in [1, 4, 12, 40] {
                show(series, equivalence(series, conditions, seeds()));
            }
        }
    }
    if is_selected("settings") {
        for series in machines() {
            show(series, settings(series, 8, seeds()));
            show(series, settings_that_help(series, 8, seeds()));
        }
    }
    if is_selected("steps") {
        for series in machines() {
            show(series, sweeps(series, 24, 10, seeds()));
            show(series, steps(series, seeds()));
        }
    }
    if is_selected("itself") {
        for series in machines() {
            show(series, itself(series, 80, seeds()));
        }
    }
    if is_selected("merged") {
        for series in machines() {
            show(series, merged(series, 10, 10_000, seeds()));
            show(series, merged(series, 10, 30_000, seeds()));
        }
    }
    if is_selected("gate") {
        for series in machines() {
            show(series, gates(series, 60_000, seeds()));
        }
    }
    for series in machines() {
        for plan in MeasurementPlan::ALL {
            if is_selected(&format!("{plan:?}")) {
                show(series, comparisons(series, plan, seeds()));
            }
        }
        if is_selected("single") {
            for wakeups in [10_000, 60_000, 300_000] {
                show(series, single(series, wakeups, seeds()));
            }
        }
        if is_selected("ranking") && Series::ALL.contains(&series) {
            for (rivals, rounds) in [(5, 10), (18, 15)] {
                show(series, ranking(series, rivals, rounds, seeds()));
            }
        }
    }
    for series in machines() {
        for (quantile, within) in [(0.5, 0.05), (0.5, 0.1), (0.99, 0.1), (0.999, 0.1)] {
            if is_selected(&format!("precision-{quantile}-{within}")) {
                show(series, precision(series, quantile, within, THREE_HOURS, seeds()));
            }
        }
        if is_selected("rate") {
            for quantile in [0.999_9, 0.999_99] {
                show(series, rate(series, quantile, 20.0, seeds()));
            }
        }
    }
    if is_selected("look") {
        for figure in ["p50 ±2%", "p99.9 ±2%", "max<30us: 1 per 20s"] {
            writeln!(
                out,
                "{figure}: the longest of 600 blocks with its look took {} µs",
                longest_look(figure)
            )
            .unwrap();
        }
    }
    if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The time of the slowest block in microseconds, with the look after it.
fn longest_look(figure: &str) -> u128 {
    let (mut analysis, lines) = blocks_of_a_run(figure.parse().unwrap(), 600);
    let time_block = |line: &_| {
        let start = Instant::now();
        analysis.add(line);
        std::hint::black_box(progress_of(&analysis));
        start.elapsed().as_micros()
    };
    lines.iter().map(time_block).max().unwrap_or_default()
}

fn line(tally: &StatementTally) -> String {
    let required =
        tally.required_share.map_or_else(|| "–".to_owned(), |share| format!("{:.0} %", 100.0 * share));
    let mark = if tally.holds() { "" } else { "  NOT HELD" };
    format!("{:60} {required:>5} {:6.1} %  of {}{mark}", tally.statement, 100.0 * tally.share(), tally.trials)
}
