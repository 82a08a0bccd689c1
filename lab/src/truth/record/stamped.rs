//! Programs independent of howlate that stamp their own running times.

use std::io;
use std::process::{Child, Command, Stdio};

use crate::truth::sleeper::stamps;

/// An interval, ns of `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time {
    pub from: i64,
    pub until: i64,
}

impl Time {
    pub const fn length(self) -> i64 {
        self.until - self.from
    }

    /// Length of the overlap with `other`.
    pub fn overlap(self, other: Self) -> i64 {
        (self.until.min(other.until) - self.from.max(other.from)).max(0)
    }
}

/// A running program, killed on drop.
pub struct RunningProgram(Option<Child>);

impl RunningProgram {
    /// Starts a shell command, whose last part is an `exec`.
    pub fn start(line: &str) -> io::Result<Self> {
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", line]).stdin(Stdio::null()).stdout(Stdio::piped());
        Ok(Self(Some(shell.spawn()?)))
    }

    /// The process ID, which is also that of its only thread.
    pub fn pid(&self) -> u32 {
        self.0.as_ref().map_or(0, Child::id)
    }

    /// Waits for the end; returns the standard output.
    pub fn output(mut self) -> io::Result<String> {
        let Some(child) = self.0.take() else { return Ok(String::new()) };
        let output = child.wait_with_output()?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(io::Error::other(format!("a program of the check ended with {}", output.status))),
        }
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

/// The sleeper's latenesses: from when it was due until it ran.
pub fn latenesses(output: &str) -> Vec<Time> {
    stamps(output).into_iter().map(|stamp| Time { from: stamp.due, until: stamp.ran }).collect()
}

/// A period in which the burner ran without interruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BurnerStretch {
    pub time: Time,
    /// How long its group was throttled before, ns.
    pub throttled: i64,
}

/// Parses the burner's output.
pub fn stretches(output: &str) -> Vec<BurnerStretch> {
    let stretch = |line: &str| {
        let mut numbers = line.split(' ').map_while(|number| number.parse().ok());
        let (from, until, throttled) = (numbers.next()?, numbers.next()?, numbers.next()?);
        Some(BurnerStretch { time: Time { from, until }, throttled })
    };
    output.lines().filter_map(stretch).collect()
}

/// The times between the stretches, and how long the group was throttled in each, ns.
pub fn gaps(stretches: &[BurnerStretch]) -> Vec<(Time, i64)> {
    let gap = |pair: &[BurnerStretch]| {
        (Time { from: pair[0].time.until, until: pair[1].time.from }, pair[1].throttled)
    };
    stretches.windows(2).map(gap).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_between_stretches_was_not_had() {
        let found = stretches("100 200 0\nnothing\n900 1000 650\n1500 1600 0\n");
        let time = |from, until| Time { from, until };
        assert_eq!(gaps(&found), [(time(200, 900), 650), (time(1_000, 1_500), 0)]);
        assert_eq!(time(200, 900).overlap(time(100, 300)), 100);
        assert_eq!(time(200, 900).overlap(time(1_000, 1_100)), 0);
    }
}
