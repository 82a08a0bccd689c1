//! Options of `howlate compare`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use howlate_model::{Margin, Property, Span, TimeUnit};

use super::completion_values;
use super::value_parsers::time_unit;

/// Say whether two measurements differ, and by how much
///
/// Recordings, or conditions of one: whether they differ, by how much, and which difference could have been seen.
#[derive(Args)]
#[command(
    after_help = "Exit status: 0 nothing is worse, 1 something is worse, 2 could not, 3 inconclusive.\n\nExamples:\n  \
howlate compare before.jsonl after.jsonl\n  \
howlate compare run.jsonl --by policy\n  \
howlate compare before.jsonl after.jsonl --margin 5us --format md\n  \
howlate compare --with-itself -- --policy fifo:80 --load cpu"
)]
pub struct CompareArgs {
    /// Recordings made with --out: the base, then what is compared with it
    #[arg(value_name = "RECORDING", required_unless_present = "with_itself")]
    pub recordings: Vec<PathBuf>,
    /// Compare conditions of one recording: policy, load, mechanism, kernel, slack, cpu, length, receiver, …
    #[arg(long, value_name = "PROPERTY", value_parser = completion_values::completable::<Property>(completion_values::properties), hide_possible_values = true)]
    pub by: Option<Property>,
    /// The value of --by that is the base [default: the first measured]
    #[arg(long, value_name = "VALUE", requires = "by", allow_hyphen_values = true)]
    pub base: Option<String>,
    /// Ignore differences within this, such as 5us or 5% of the base; what is certain to be within it is equivalent
    #[arg(long, value_name = "LENGTH|SHARE", allow_hyphen_values = true)]
    pub margin: Option<Margin>,
    /// Joint confidence level of all statements, in per cent
    #[arg(long, value_name = "PER CENT", default_value = "95", allow_hyphen_values = true)]
    pub confidence: Confidence,
    /// Print everything: each pair of conditions, and the maxima
    #[arg(long, conflicts_with_all = ["json", "format"])]
    pub details: bool,
    /// What to print
    #[arg(long, value_enum, default_value_t = ComparisonFormat::Text, conflicts_with = "json")]
    format: ComparisonFormat,
    /// Print the result for programs, as JSON
    #[arg(long)]
    json: bool,
    /// Compare a condition with itself on this machine, to see how often that shows a difference
    #[arg(long, alias = "self-test", conflicts_with_all = ["recordings", "by", "margin"])]
    pub with_itself: bool,
    /// Unit in files of other programs that do not state one: ns, us, ms or s
    #[arg(long, value_name = "UNIT", value_parser = time_unit, hide_short_help = true)]
    pub unit: Option<TimeUnit>,
    /// With --with-itself: how long it may take
    #[arg(
        long,
        value_name = "LENGTH",
        default_value = "30s",
        allow_hyphen_values = true,
        conflicts_with = "recordings"
    )]
    pub duration: Span,
    /// With --with-itself: what `howlate cyclic` would take
    #[arg(
        last = true,
        value_name = "OPTIONS OF CYCLIC",
        conflicts_with = "recordings",
        allow_hyphen_values = true
    )]
    pub cyclic: Vec<String>,
}

impl CompareArgs {
    /// The output format; `--json` is short for one of them.
    pub const fn output_format(&self) -> ComparisonFormat {
        if self.json { ComparisonFormat::Json } else { self.format }
    }
}

/// A confidence level, given in per cent, stored as a share.
#[derive(Clone, Copy)]
pub struct Confidence(pub f64);

impl FromStr for Confidence {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim().trim_end_matches('%').trim_end().parse() {
            Ok(percent) if (50.0..=99.999).contains(&percent) => Ok(Self(percent / 100.0)),
            _ => Err("write per cent from 50 to 99.999, such as `95`".to_owned()),
        }
    }
}

/// What a comparison can be printed as.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ComparisonFormat {
    /// Tables for people
    Text,
    /// One object with everything
    Json,
    /// JUnit XML: worse is a failure, inconclusive is skipped
    Junit,
    /// Test Anything Protocol
    Tap,
    /// GitHub-flavoured Markdown, for a pull request
    Md,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidence_is_per_cent() {
        let share = |text: &str| text.parse::<Confidence>().map(|confidence| format!("{:.3}", confidence.0));
        assert_eq!(share("95"), Ok("0.950".to_owned()));
        assert_eq!(share("99.9 %"), Ok("0.999".to_owned()));
        for wrong in ["0.95", "100", "", "much", "-95", "NaN"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}
