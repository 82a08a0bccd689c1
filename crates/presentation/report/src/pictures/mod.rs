//! The pictures of a report, one file per picture.

mod causes;
mod density;
mod forest;
mod formats;
mod nodes;
mod osadl;
mod overview;
mod pairs;
mod percentiles;
mod phase;
mod series;
mod sleeps;
mod staircase;
mod time;
mod why;

pub(crate) use formats::time as time_in_words;

use std::fmt;
use std::str::FromStr;

use howlate_model::Span;
use howlate_render::ComparisonReport;
use howlate_render::numbers::length;
use howlate_render::scale::Scale;

use crate::chart::{Along, Drawing, LegendEntry, Mark};
use crate::entry::Entry;
use crate::fleet::FleetNodes;
use crate::table::ReportTable;

/// Kind of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chart {
    /// Minimum, median, 99th percentile and maximum of every condition, ranked.
    Overview,
    /// Density of latencies, a ridge per condition.
    Density,
    /// Differences between conditions, with intervals.
    Forest,
    /// Latency of each node of a fleet.
    Nodes,
    /// Histogram per CPU, as OSADL plots it.
    Osadl,
    Percentiles,
    Time,
    /// Late wake-ups by position in their period.
    Phase,
    /// Durations of single sleeps, in order and sorted.
    Sleeps,
    /// Latency by length of sleep.
    Staircase,
    /// Latency by pair of CPUs.
    Pairs,
    /// Causes of the slowest wake-ups.
    Causes,
    /// Median of each part of a wake-up.
    Usual,
    /// The parts of the worst wake-ups.
    Worst,
}

impl Chart {
    /// In the page's order.
    pub const ALL: [Self; 14] = [
        Self::Nodes,
        Self::Density,
        Self::Forest,
        Self::Overview,
        Self::Percentiles,
        Self::Time,
        Self::Phase,
        Self::Sleeps,
        Self::Staircase,
        Self::Pairs,
        Self::Causes,
        Self::Usual,
        Self::Worst,
        Self::Osadl,
    ];

    /// Name on the command line and in links of the page.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Overview => "overview",
            Self::Density => "density",
            Self::Forest => "forest",
            Self::Nodes => "nodes",
            Self::Osadl => "osadl",
            Self::Percentiles => "percentiles",
            Self::Time => "time",
            Self::Phase => "phase",
            Self::Sleeps => "sleeps",
            Self::Staircase => "staircase",
            Self::Pairs => "pairs",
            Self::Causes => "causes",
            Self::Usual => "usual",
            Self::Worst => "worst",
        }
    }
}

impl fmt::Display for Chart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Chart {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // Former name.
        let text = if text == "histogram" { Self::Osadl.name() } else { text };
        let named = Self::ALL.into_iter().find(|kind| kind.name() == text);
        named.ok_or_else(|| format!("choose from {}", Self::ALL.map(Self::name).join(", ")))
    }
}

/// A picture with its texts.
pub(crate) struct Picture {
    pub(crate) kind: Chart,
    pub(crate) title: String,
    pub(crate) about: String,
    /// What is not drawn, and where to find it.
    pub(crate) left_out: Option<String>,
    pub(crate) panels: Vec<ChartPanel>,
    /// Table of the numbers, for readers who cannot see the picture.
    pub(crate) numbers: Option<ReportTable>,
}

pub(crate) struct ChartPanel {
    pub(crate) heading: String,
    pub(crate) drawing: Drawing,
    pub(crate) legend: Vec<LegendEntry>,
    /// The drawn numbers as CSV; empty if too many.
    pub(crate) data: String,
}

/// Data for all pictures.
#[derive(Clone, Copy)]
pub(crate) struct PictureSource<'a> {
    pub(crate) entries: &'a [Entry<'a>],
    pub(crate) comparison: Option<ComparisonReport<'a>>,
    /// Recordings of several machines.
    pub(crate) fleets: &'a [FleetNodes<'a>],
}

/// Density of the important conditions; `None` where there are few conditions.
pub(crate) fn important_ridges(source: PictureSource<'_>) -> Option<Picture> {
    let measured: Vec<Entry<'_>> =
        source.entries.iter().copied().filter(|entry| !entry.outcome.latency().is_empty()).collect();
    density::important(&measured)
}

/// The small picture at the top of the page: the best and the worst condition.
pub(crate) fn glance(entries: &[Entry<'_>]) -> Drawing {
    overview::glance(entries)
}

/// `None` where there is no data for it.
pub(crate) fn picture(kind: Chart, source: PictureSource<'_>) -> Option<Picture> {
    let measured: Vec<Entry<'_>> =
        source.entries.iter().copied().filter(|entry| !entry.outcome.latency().is_empty()).collect();
    if measured.is_empty() {
        return None;
    }
    match kind {
        Chart::Density => Some(density::picture(&measured)),
        Chart::Forest => forest::picture(&source.comparison?),
        Chart::Nodes => nodes::picture(source),
        Chart::Overview => overview::picture(&measured),
        Chart::Osadl => Some(osadl::picture(&measured)),
        Chart::Percentiles => Some(percentiles::picture(&measured)),
        Chart::Time => time::picture(&measured),
        Chart::Phase => phase::picture(&measured),
        Chart::Sleeps => sleeps::picture(&measured),
        Chart::Staircase => staircase::picture(&measured),
        Chart::Pairs => pairs::picture(&measured),
        Chart::Causes => causes::picture(&measured),
        Chart::Usual => why::usual(&measured),
        Chart::Worst => why::worst(&measured),
    }
}

/// A rule at the deadline, if within the vertical axis.
fn deadline_rule(deadline: Option<Span>, scale: Scale) -> Option<Mark> {
    let deadline = deadline?;
    let at = deadline.as_nanos() as f64;
    let text = format!("deadline {}", length(deadline));
    let rule = Mark::Rule { along: Along::Horizontal, at, text };
    (scale.from()..=scale.to()).contains(&at).then_some(rule)
}

/// The overview picture: densities, or a ranking where there are too many conditions.
pub(crate) fn first(entries: &[Entry<'_>]) -> Chart {
    if entries.len() > density::MAX_ROWS { Chart::Overview } else { Chart::Density }
}

/// Whether the page lists the picture under `Pictures`: some have their own section or repeat another.
pub(crate) fn is_among_the_pictures(kind: Chart, entries: &[Entry<'_>]) -> bool {
    match kind {
        Chart::Density | Chart::Forest | Chart::Nodes | Chart::Causes | Chart::Osadl => false,
        Chart::Overview => entries.len() > density::MAX_ROWS,
        _ => true,
    }
}
