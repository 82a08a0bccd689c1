//! Options `--until` and `--at-most`.

use clap::Args;
use howlate_model::{Span, StopRule};
use howlate_session::Goal;

/// Until what a measurement goes on.
#[derive(Args, Clone, Copy)]
#[command(next_help_heading = "Duration")]
pub struct MeasureUntilArgs {
    /// Measure until this is decided, such as 'p99.9 ±5%'
    ///
    /// `p99.9 ±5%` (or `+-5%`): the percentile's 95 % interval is that narrow. `max<100us: 1 per hour`: wake-ups later than that
    /// come at most that often, or do not; late ones that come together count once. `compare decided`: it is known which of two
    /// conditions is later, as with `--policy other,fifo:80`. With 95 % confidence, however often it is looked at; that of a percentile
    /// holds if changes take less than 1 % of the time measured.
    #[arg(
        long,
        value_name = "FIGURE",
        conflicts_with_all = ["duration", "samples", "rounds", "stop_above"]
    )]
    pub until: Option<StopRule>,
    /// With --until: end after this, decided or not
    #[arg(
        long,
        value_name = "LENGTH",
        allow_hyphen_values = true,
        default_value = "8h",
        requires = "until",
        // Where one of these is given, clap waives what is required.
        conflicts_with_all = ["duration", "samples", "rounds", "stop_above"],
        hide_short_help = true
    )]
    pub at_most: Span,
}

/// Until what a program is watched.
#[derive(Args, Clone, Copy, Default)]
pub struct WatchUntilArgs {
    /// Watch until this is decided for each thread, such as 'max<1ms: 1 per hour' or 'p99.9 ±5%'
    ///
    /// `max<1ms: 1 per hour`: wake-ups later than that come at most that often, or do not; late ones that come together count once.
    /// `p99.9 ±5%` (or `+-5%`): the percentile's 95 % interval is that narrow. With 95 % confidence, however often it is looked at; that
    /// of a percentile holds if changes take less than 1 % of the time measured.
    #[arg(long, value_name = "FIGURE", conflicts_with = "duration")]
    pub until: Option<StopRule>,
    /// With --until: end after this, decided or not
    #[arg(
        long,
        value_name = "LENGTH",
        allow_hyphen_values = true,
        default_value = "8h",
        requires = "until",
        conflicts_with = "duration",
        hide_short_help = true
    )]
    pub at_most: Span,
}

impl WatchUntilArgs {
    /// The stop rule, if given.
    pub fn goal(self) -> Option<Goal> {
        self.until.map(|figure| Goal { figure, at_most: self.at_most })
    }
}

impl MeasureUntilArgs {
    /// The stop rule, if given.
    pub fn goal(self) -> Option<Goal> {
        self.until.map(|figure| Goal { figure, at_most: self.at_most })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::Cli;

    #[test]
    fn a_limit_on_nothing_is_refused() {
        for line in [
            "howlate cyclic --at-most 1h",
            "howlate cyclic --at-most 1h --duration 2s",
            "howlate sleep --at-most 1h --samples 9",
            "howlate watch --at-most 1h --duration 2s 4711",
            "howlate watch --at-most 1h 4711",
        ] {
            assert!(Cli::try_parse_from(line.split(' ')).is_err(), "{line}");
        }
        let line = ["howlate", "cyclic", "--at-most", "1h", "--until", "p99 \u{b1}5%"];
        assert!(Cli::try_parse_from(line).is_ok());
    }
}
