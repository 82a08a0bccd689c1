//! A C program that stamps its own wake-ups.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::{compiled, output};

/// The path of the compiled program.
pub struct SleeperProgram(PathBuf);

/// One wake-up, in nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug)]
pub struct Stamp {
    pub due: i64,
    pub ran: i64,
}

impl Stamp {
    pub const fn lateness(&self) -> i64 {
        self.ran - self.due
    }
}

impl SleeperProgram {
    pub fn compile(folder: &Path) -> io::Result<Self> {
        compiled("truth/sleeper.c", folder).map(Self)
    }

    /// Shell command for `wakeups` with this period in µs.
    pub fn command(&self, period_us: u64, wakeups: u64, options: &[&str]) -> String {
        format!("{} {period_us} {wakeups} {}", self.0.display(), options.join(" "))
    }
}

/// Runs a shell command that prints stamps.
pub fn run(line: &str) -> io::Result<Vec<Stamp>> {
    let output = output(Command::new("sh").args(["-c", line]))?;
    Ok(stamps(&String::from_utf8_lossy(&output.stdout)))
}

/// Parses the program's output.
pub fn stamps(text: &str) -> Vec<Stamp> {
    let stamp = |line: &str| {
        let mut numbers = line.split(' ').map_while(|number| number.parse().ok());
        let mut next = || numbers.next();
        Some(Stamp { due: next()?, ran: next()? })
    };
    text.lines().filter_map(stamp).collect()
}

/// How late each planned wake-up was, in nanoseconds: those that were missed with what they would have had.
pub fn latenesses(stamps: &[Stamp], period_us: u64) -> Vec<f64> {
    let period = i64::try_from(period_us).unwrap_or(i64::MAX) * 1_000;
    let planned = |late: i64| {
        std::iter::successors(Some(late), move |stamp| Some(stamp - period).filter(|stamp| *stamp > 0))
    };
    stamps.iter().flat_map(|stamp| planned(stamp.lateness())).map(|late| late as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missed_ones_count_with_what_they_would_have_had() {
        let found = stamps("1000 3500\nnothing\n6000 6100\n");
        assert_eq!((found.len(), found[0].lateness()), (2, 2_500));
        assert_eq!(latenesses(&found, 1), [2_500.0, 1_500.0, 500.0, 100.0]);
    }
}
