//! Programs that know nothing of howlate, and stamp what they got of the CPU.

use std::io;
use std::process::{Child, Command, Stdio};

use crate::truth::sleeper::stamps;

/// A stretch of time, in nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time {
    pub from: i64,
    pub until: i64,
}

impl Time {
    pub const fn length(self) -> i64 {
        self.until - self.from
    }

    /// How much of it the other one covers.
    pub fn overlap(self, other: Self) -> i64 {
        (self.until.min(other.until) - self.from.max(other.from)).max(0)
    }
}

/// A program that runs; ends when it is dropped.
pub struct Running(Option<Child>);

impl Running {
    /// Starts the last command of a shell's line in place of the shell.
    pub fn start(line: &str) -> io::Result<Self> {
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", line]).stdin(Stdio::null()).stdout(Stdio::piped());
        Ok(Self(Some(shell.spawn()?)))
    }

    /// Its process, which has one thread of the same number.
    pub fn pid(&self) -> u32 {
        self.0.as_ref().map_or(0, Child::id)
    }

    /// What it has printed, when it has ended.
    pub fn output(mut self) -> io::Result<String> {
        let Some(child) = self.0.take() else { return Ok(String::new()) };
        let output = child.wait_with_output()?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(io::Error::other(format!("a program of the check ended with {}", output.status))),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

/// When a sleeper was late: from when it was due until it ran.
pub fn latenesses(output: &str) -> Vec<Time> {
    stamps(output)
        .into_iter()
        .map(|line_values| Time { from: line_values.due, until: line_values.ran })
        .collect()
}

/// What a burner had of its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    pub time: Time,
    /// How long its group had been kept from running before.
    pub throttled: i64,
}

/// What it has printed.
pub fn stretches(output: &str) -> Vec<Stretch> {
    let line_values = |line: &str| {
        let mut numbers = line.split(' ').map_while(|word| word.parse().ok());
        let (from, until, throttled) = (numbers.next()?, numbers.next()?, numbers.next()?);
        Some(Stretch { time: Time { from, until }, throttled })
    };
    output.lines().filter_map(line_values).collect()
}

/// The times between them in which it did not run, each with how much of it the group was kept from running.
pub fn gaps(stretches: &[Stretch]) -> Vec<(Time, i64)> {
    let gap =
        |pair: &[Stretch]| (Time { from: pair[0].time.until, until: pair[1].time.from }, pair[1].throttled);
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
