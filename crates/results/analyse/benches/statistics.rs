//! `cargo xtask bench statistics`, or `cargo bench … --bench statistics -- [TRIALS] [WORD] [seed=N]`: whether what is said with a confidence is true as often as that.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot print fails")]
#![allow(clippy::disallowed_methods, reason = "a benchmark needs no named clock")]

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use howlate_analyse::sequential::known;
use howlate_analyse::simulation::{
    Measured, Planted, Series, Tally, blocks_of_a_run, comparisons, equivalence, gates, itself, precision,
    ranking, rate, rhythms, settings, single, sweeps,
};

/// Until a percentile is known: by then, most runs are over by themselves, also on a machine that wanders. Of runs that are cut off before,
/// those that were over are the ones that looked quiet.
const THREE_HOURS: u64 = 10_800;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let trials: u64 = words.iter().find_map(|word| word.parse().ok()).unwrap_or(1_000);
    let first: u64 = words.iter().find_map(|word| word.strip_prefix("seed=")?.parse().ok()).unwrap_or(0);
    let seeds = || first..first + trials;
    let only = words.iter().find(|word| word.parse::<u64>().is_err() && !word.starts_with("seed="));
    let wanted = |name: &str| only.is_none_or(|only| name.contains(only.as_str()));
    let mut out = std::io::stdout();
    let mut broken = 0;
    let mut show_of = |of: &str, tallies: Vec<Tally>| {
        for tally in tallies {
            broken += u32::from(!tally.holds());
            writeln!(out, "{of:16}{}", line(&tally)).unwrap();
        }
    };
    if wanted("rhythms") {
        Planted::all().into_iter().for_each(|planted| show_of("rhythm", rhythms(planted, seeds())));
    }
    let mut show = |series: Series, tallies: Vec<Tally>| show_of(&series.to_string(), tallies);
    if wanted("margin") {
        for series in [Series::Independent, Series::Autoregressive, Series::TwoStates(2)] {
            for conditions in [1, 4, 12, 40] {
                show(series, equivalence(series, conditions, seeds()));
            }
        }
    }
    if wanted("settings") {
        for series in Series::MACHINES {
            show(series, settings(series, 8, seeds()));
            show(series, sweeps(series, 24, 10, seeds()));
            show(series, itself(series, 80, seeds()));
        }
    }
    if wanted("gate") {
        for series in [Series::Independent, Series::Autoregressive, Series::HeavyTail, Series::Mixture] {
            show(series, gates(series, 60_000, seeds()));
        }
    }
    for series in Series::MACHINES {
        for measured in Measured::ALL {
            if wanted(&format!("{measured:?}")) {
                show(series, comparisons(series, measured, seeds()));
            }
        }
        if wanted("single") {
            for wakeups in [10_000, 60_000] {
                show(series, single(series, wakeups, seeds()));
            }
        }
        if wanted("ranking") && Series::ALL.contains(&series) {
            for (rivals, rounds) in [(5, 10), (18, 15)] {
                show(series, ranking(series, rivals, rounds, seeds()));
            }
        }
    }
    for series in Series::MACHINES {
        for (quantile, within) in [(0.5, 0.05), (0.5, 0.1), (0.99, 0.1), (0.999, 0.1)] {
            if wanted(&format!("precision-{quantile}-{within}")) {
                show(series, precision(series, quantile, within, THREE_HOURS, seeds()));
            }
        }
        if wanted("rate") {
            for quantile in [0.999_9, 0.999_99] {
                show(series, rate(series, quantile, 20.0, seeds()));
            }
        }
    }
    if wanted("look") {
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

/// Microseconds that the slowest block took, its look included, in a run of ten minutes.
fn longest_look(figure: &str) -> u128 {
    let (mut analysis, lines) = blocks_of_a_run(figure.parse().unwrap(), 600);
    let of_one = |line: &_| {
        let began = Instant::now();
        analysis.add(line);
        std::hint::black_box(known(&analysis));
        began.elapsed().as_micros()
    };
    lines.iter().map(of_one).max().unwrap_or_default()
}

fn line(tally: &Tally) -> String {
    let stated = tally.stated.map_or_else(|| "–".to_owned(), |stated| format!("{:.0} %", 100.0 * stated));
    let mark = if tally.holds() { "" } else { "  NOT HELD" };
    format!("{:60} {stated:>5} {:6.1} %  of {}{mark}", tally.statement, 100.0 * tally.share(), tally.trials)
}
