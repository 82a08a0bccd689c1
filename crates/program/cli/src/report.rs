//! What `howlate report` takes.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use howlate_model::{Margin, Property, Span, TimeUnit};
use howlate_report::{Chart, ChartTheme};

use super::completion_values;
use super::time_range::{GroupingArgs, TimeRangeArgs};
use super::value_parsers::prometheus_file;
use super::value_parsers::time_unit;

/// Write one page of saved recordings, with tables and pictures
///
/// The page holds everything it needs: it opens from a disk, asks no network for anything, prints, and can
/// be read without its script. Several recordings stand side by side.
#[derive(Args, Default)]
#[command(after_help = "Examples:\n  \
howlate report run.jsonl\n  \
howlate report stock.jsonl rt.jsonl -o kernels.html\n  \
howlate report run.jsonl --open\n  \
howlate report run.jsonl --by policy --deadline 500us\n  \
howlate report run.jsonl --chart percentiles -o percentiles.png\n  \
howlate report run.jsonl -o run.md                    # and run.svg\n  \
howlate report run.jsonl --format md >> \"$GITHUB_STEP_SUMMARY\"\n  \
howlate report /var/lib/howlate --since 24h -o night.html")]
pub struct ReportArgs {
    /// Recordings [default: the most recent run]
    #[arg(value_name = "RECORDING")]
    pub recordings: Vec<PathBuf>,
    /// Where to write; `-` is standard output
    ///
    /// By default a page goes to RECORDING.html in this folder, a picture to RECORDING-PICTURE.svg or .png where standard
    /// output is a terminal, everything else to standard output. Markdown that goes to X.md has a picture beside it, X.svg.
    /// An existing file is never written over.
    #[arg(long, short, alias = "output", value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Show what was written in the browser, or whatever else shows such files here (xdg-open)
    #[arg(long)]
    pub open: bool,
    /// Output format [default: by the file's extension, else a page (html), or a picture (svg) with --chart]
    #[arg(long, value_enum)]
    format: Option<ReportFormat>,
    /// Compare conditions of one recording by this, such as policy or load; what differs in a single choice is
    /// compared by it without being asked. Several recordings are compared with the first
    #[arg(long, value_name = "PROPERTY", value_parser = completion_values::completable::<Property>(completion_values::properties), hide_possible_values = true)]
    pub by: Option<Property>,
    /// Differences within this, such as 5us or 5% of the base, do not count [default between machines: a tenth of their middle]
    #[arg(long, value_name = "LENGTH|SHARE", allow_hyphen_values = true, hide_short_help = true)]
    pub margin: Option<Margin>,
    /// Later wake-ups are missed deadlines, and marked in the pictures [default: the period]
    #[arg(long, value_name = "LENGTH", allow_hyphen_values = true, value_parser = deadline)]
    pub deadline: Option<Span>,
    /// Also write this file for Prometheus' node_exporter, replacing what it held
    #[arg(long, value_name = "FILE", value_parser = prometheus_file())]
    pub prometheus: Option<PathBuf>,
    /// One picture (svg or png) instead of the page: nodes, density, forest, overview, percentiles, time, sleeps, staircase, pairs,
    /// causes, usual, worst or osadl
    #[arg(long, value_name = "PICTURE", value_parser = completion_values::completable::<Chart>(completion_values::charts), hide_possible_values = true)]
    pub chart: Option<Chart>,
    /// Colours of the picture: light or dark [default: svg follows the viewer's setting, and png is light]
    #[arg(long, value_name = "THEME", requires = "chart", value_parser = completion_values::completable::<ChartTheme>(completion_values::themes), hide_possible_values = true, hide_short_help = true)]
    pub theme: Option<ChartTheme>,
    /// Unit in files of other programs that do not state one: ns, us, ms or s
    #[arg(long, value_name = "UNIT", value_parser = time_unit, hide_short_help = true)]
    pub unit: Option<TimeUnit>,
    /// Of when.
    #[command(flatten, next_help_heading = "For a howlate record folder")]
    pub moments: TimeRangeArgs,
    /// What is shown together.
    #[command(flatten)]
    pub together: GroupingArgs,
}

impl ReportArgs {
    /// Whether only the file for Prometheus is to be written.
    pub fn is_for_prometheus_alone(&self) -> bool {
        let page = self.out.is_some() || self.format.is_some() || self.chart.is_some() || self.open;
        self.prometheus.is_some() && !page
    }

    /// The output file's extension if it is unknown and no format was given.
    pub fn unknown_ending(&self) -> Option<&str> {
        let ending = self.out.as_ref()?.extension()?.to_str()?;
        let is_known = ReportFormat::from_str(ending, true).is_ok() || ending.eq_ignore_ascii_case("htm");
        (self.format.is_none() && !is_known).then_some(ending)
    }

    /// The format as given, or by the file's extension.
    pub fn format(&self) -> ReportFormat {
        let usual = if self.chart.is_some() { ReportFormat::Svg } else { ReportFormat::Html };
        let ending = || self.out.as_ref()?.extension()?.to_str();
        let by_ending = || ReportFormat::from_str(ending()?, true).ok();
        self.format.or_else(by_ending).unwrap_or(usual)
    }
}

impl ReportFormat {
    pub const fn is_picture(self) -> bool {
        matches!(self, Self::Svg | Self::Png)
    }

    /// File extension.
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Svg => "svg",
            Self::Png => "png",
            Self::Md => "md",
            Self::Csv => "csv",
        }
    }
}

/// What a report can be.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// One page with everything
    Html,
    /// One picture, to be enlarged as one likes
    Svg,
    /// One picture in pixels
    Png,
    /// Verdict, tables and causes as Markdown, with a picture beside the file
    Md,
    /// One row per condition
    Csv,
}

/// Every wake-up is later than 0.
fn deadline(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|error: howlate_model::SpanError| error.to_string())?;
    if span.is_zero() {
        Err("every wake-up comes after that; write a length such as `500us`".to_owned())
    } else {
        Ok(span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ending(out: &str, format: Option<ReportFormat>) -> Option<String> {
        let report = ReportArgs { out: Some(out.into()), format, ..ReportArgs::default() };
        report.unknown_ending().map(str::to_owned)
    }

    #[test]
    fn what_is_not_written_is_not_taken_for_a_page() {
        assert_eq!(ending("x.pdf", None), Some("pdf".to_owned()));
        assert_eq!(ending("x.json", None), Some("json".to_owned()));
        for written in ["x.html", "x.HTM", "x.svg", "x.md", "x", "-", "/dev/stdout"] {
            assert_eq!(ending(written, None), None, "{written}");
        }
        assert_eq!(ending("x.txt", Some(ReportFormat::Md)), None, "that is what was asked for");
    }
}
