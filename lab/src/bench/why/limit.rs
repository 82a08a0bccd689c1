//! Figures of benches with limits.

use std::fmt;
use std::io;

/// Names of the figures above their limits.
#[derive(Debug)]
pub struct LimitExceeded(Vec<String>);

impl fmt::Display for LimitExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "above the limit: {}", self.0.join(", "))
    }
}

impl std::error::Error for LimitExceeded {}

/// A figure with its confidence interval, if any, and its limit.
pub(in crate::bench) struct BenchFigure<'a> {
    pub(in crate::bench) name: &'a str,
    pub(in crate::bench) value: f64,
    pub(in crate::bench) interval: Option<(f64, f64)>,
    pub(in crate::bench) most: f64,
    pub(in crate::bench) unit: &'a str,
}

/// Collects the names of figures above their limits.
#[derive(Default)]
pub(in crate::bench) struct BenchLimits(Vec<String>);

impl BenchLimits {
    /// Prints a figure and whether it keeps its limit.
    pub(in crate::bench) fn judge(&mut self, figure: &BenchFigure<'_>) {
        let BenchFigure { name, value, most, unit, .. } = figure;
        let interval =
            figure.interval.map_or_else(String::new, |(low, high)| format!(" [{low:.2}, {high:.2}]"));
        println!("{name:<46} {value:>8.2}{interval} {unit}; at most {most} {unit}: {}", verdict(figure));
        if value > most {
            self.0.push((*name).to_owned());
        }
    }

    /// Fails if any figure is above its limit.
    pub(in crate::bench) fn verdict(self) -> io::Result<()> {
        if self.0.is_empty() { Ok(()) } else { Err(io::Error::other(LimitExceeded(self.0))) }
    }
}

/// The value decides; the text says if its interval includes the limit.
fn verdict(figure: &BenchFigure<'_>) -> &'static str {
    let holds = figure.value <= figure.most;
    match (holds, figure.interval) {
        (true, Some((_, high))) if high > figure.most => "holds, but may be above",
        (true, _) => "holds",
        (false, Some((low, _))) if low <= figure.most => "exceeded, but may be below",
        (false, _) => "exceeded",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(value: f64, interval: (f64, f64)) -> BenchFigure<'static> {
        BenchFigure { name: "cost", value, interval: Some(interval), most: 8.0, unit: "%" }
    }

    #[test]
    fn one_figure_above_its_limit_fails_the_bench() {
        let mut limits = BenchLimits::default();
        limits.judge(&figure(7.0, (5.0, 9.0)));
        assert_eq!(verdict(&figure(7.0, (5.0, 9.0))), "holds, but may be above");
        assert_eq!(verdict(&figure(7.0, (5.0, 7.5))), "holds");
        assert_eq!(verdict(&figure(8.5, (7.5, 9.0))), "exceeded, but may be below");
        assert!(BenchLimits(Vec::new()).verdict().is_ok());
        limits.judge(&figure(9.0, (8.5, 9.5)));
        let error = limits.verdict().unwrap_err();
        assert!(error.get_ref().is_some_and(|error| error.is::<LimitExceeded>()), "{error}");
    }
}
