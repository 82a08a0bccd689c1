//! The result of a test program's run: its own statistics, and the lateness of bystanders.

use serde_json::Value;

/// The statistic of a program's lateness that is judged.
#[derive(Clone, Copy, Debug)]
pub enum JudgedFigure {
    P99,
    Mean,
}

impl JudgedFigure {
    pub const fn name(self) -> &'static str {
        match self {
            Self::P99 => "p99",
            Self::Mean => "mean",
        }
    }
}

/// The program's own statistics: number of results, and their lateness in µs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProgramStamps {
    pub done: f64,
    pub late_us: f64,
}

impl ProgramStamps {
    /// Parses the last line `witness {…}` of the output.
    pub fn read(output: &str, figure: JudgedFigure) -> Option<Self> {
        let line = output.lines().rev().find_map(|line| line.split_once("witness {"))?;
        let statistics: Value = serde_json::from_str(&format!("{{{}", line.1)).ok()?;
        Some(Self { done: statistics["done"].as_f64()?, late_us: statistics[figure.name()].as_f64()? })
    }
}

/// A run of a program in a cell.
#[derive(Clone, Debug)]
pub struct CellRun {
    pub witness: Option<ProgramStamps>,
    /// Largest lateness of a bystander, µs.
    pub beat_us: f64,
    /// Why the cell had to be ended, if it had.
    pub ended: Option<String>,
    /// Error message that may explain a missing result.
    pub complaint: String,
}

impl CellRun {
    pub fn done(&self) -> f64 {
        self.witness.map_or(0.0, |stamps| stamps.done)
    }

    pub fn late_us(&self) -> f64 {
        self.witness.map_or(f64::INFINITY, |stamps| stamps.late_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_counts() {
        let output = "hello\nwitness {\"done\":1,\"p99\":2}\nnoise witness {\"done\": 300, \"mean\": 4.5, \"p99\": 81.5}\n";
        let read = ProgramStamps::read(output, JudgedFigure::P99);
        assert_eq!(read, Some(ProgramStamps { done: 300.0, late_us: 81.5 }));
        assert_eq!(ProgramStamps::read(output, JudgedFigure::Mean).unwrap().late_us, 4.5);
        assert_eq!(ProgramStamps::read("witness {\"done\":", JudgedFigure::P99), None);
    }
}
