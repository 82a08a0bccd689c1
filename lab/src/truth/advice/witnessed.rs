//! What a program says of itself at its end, and what was seen of others meanwhile.

use serde_json::Value;

/// The figure of a program that is judged: less is better.
#[derive(Clone, Copy, Debug)]
pub enum Figure {
    P99,
    Mean,
}

impl Figure {
    pub const fn name(self) -> &'static str {
        match self {
            Self::P99 => "p99",
            Self::Mean => "mean",
        }
    }
}

/// Its own stamps: results, and how late they were in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Witness {
    pub done: f64,
    pub late_us: f64,
}

impl Witness {
    /// The last line `witness {…}` of an output.
    pub fn read(output: &str, figure: Figure) -> Option<Self> {
        let line = output.lines().rev().find_map(|line| line.split_once("witness {"))?;
        let all: Value = serde_json::from_str(&format!("{{{}", line.1)).ok()?;
        Some(Self { done: all["done"].as_f64()?, late_us: all[figure.name()].as_f64()? })
    }
}

/// A run of a program in a cell.
#[derive(Clone, Debug)]
pub struct Turn {
    pub witness: Option<Witness>,
    /// How late a bystander was at most, in microseconds.
    pub beat_us: f64,
    /// Why the cell had to be ended, if it had.
    pub ended: Option<String>,
    /// What was said that may explain the rest.
    pub complaint: String,
}

impl Turn {
    pub fn done(&self) -> f64 {
        self.witness.map_or(0.0, |one| one.done)
    }

    pub fn late_us(&self) -> f64 {
        self.witness.map_or(f64::INFINITY, |one| one.late_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_counts() {
        let output = "hello\nwitness {\"done\":1,\"p99\":2}\nnoise witness {\"done\": 300, \"mean\": 4.5, \"p99\": 81.5}\n";
        let read = Witness::read(output, Figure::P99);
        assert_eq!(read, Some(Witness { done: 300.0, late_us: 81.5 }));
        assert_eq!(Witness::read(output, Figure::Mean).unwrap().late_us, 4.5);
        assert_eq!(Witness::read("witness {\"done\":", Figure::P99), None);
    }
}
