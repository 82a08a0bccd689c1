//! What is drawn of a result. One file per picture.

mod causes;
mod data;
mod density;
mod forest;
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
mod words;

pub(crate) use words::time as time_in_words;

use std::fmt;
use std::str::FromStr;

use howlate_model::Span;
use howlate_render::ComparisonReport;
use howlate_render::numbers::length;
use howlate_render::scale::Scale;

use crate::chart::{Along, Drawing, Mark, Named};
use crate::entry::Entry;
use crate::fleet::Fleet;
use crate::table::Table;

/// A picture that a report can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chart {
    /// Smallest, median, 99th percentile and largest of every condition, ranked.
    Overview,
    /// How thickly latencies lie, a ridge for each condition.
    Density,
    /// By how much conditions differ, with intervals.
    Forest,
    /// How late each machine of a fleet is under each condition.
    Nodes,
    /// How many wake-ups were how late on each CPU.
    Osadl,
    /// How late at most, by share of wake-ups.
    Percentiles,
    /// How late when.
    Time,
    /// Late wake-ups by where in their period they were.
    Phase,
    /// Sleeps in order and sorted.
    Sleeps,
    /// How late by length of sleep.
    Staircase,
    /// How late by pair of CPUs.
    Pairs,
    /// Who took the time of the slowest wake-ups of each condition.
    Causes,
    /// The usual wake-up, part by part.
    Usual,
    /// The worst wake-ups, whole.
    Worst,
}

impl Chart {
    /// Every picture, in the page's order.
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

    /// Its name on the command line and in the page's links.
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
        // What it was called before there were ridges.
        let text = if text == "histogram" { Self::Osadl.name() } else { text };
        let named = Self::ALL.into_iter().find(|kind| kind.name() == text);
        named.ok_or_else(|| format!("choose from {}", Self::ALL.map(Self::name).join(", ")))
    }
}

/// A picture with its words.
pub(crate) struct Picture {
    pub(crate) kind: Chart,
    /// What it shows: the finding.
    pub(crate) title: String,
    /// How to read it.
    pub(crate) about: String,
    /// What is not drawn, and where it is.
    pub(crate) left_out: Option<String>,
    pub(crate) panels: Vec<Panel>,
    /// The numbers behind it, for those who cannot see it.
    pub(crate) numbers: Option<Table>,
}

/// One of the drawings of a picture.
pub(crate) struct Panel {
    pub(crate) heading: String,
    pub(crate) drawing: Drawing,
    pub(crate) legend: Vec<Named>,
    /// What is drawn, as CSV.
    pub(crate) data: String,
}

/// What pictures are drawn from.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) entries: &'a [Entry<'a>],
    pub(crate) comparison: Option<ComparisonReport<'a>>,
    /// What the machines of each recording say, where they are several.
    pub(crate) fleets: &'a [Fleet<'a>],
}

/// The ridges of those that matter where there are too many to look at; `None` where all are few.
pub(crate) fn ridges_that_matter(source: Source<'_>) -> Option<Picture> {
    let measured: Vec<Entry<'_>> =
        source.entries.iter().copied().filter(|entry| !entry.outcome.latency().is_empty()).collect();
    density::those_that_matter(&measured)
}

/// The small picture of the first screen: the best and the worst.
pub(crate) fn glance(entries: &[Entry<'_>]) -> Drawing {
    overview::glance(entries)
}

/// The picture of this kind; `None` where there is nothing to draw.
pub(crate) fn picture(kind: Chart, source: Source<'_>) -> Option<Picture> {
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

/// A line at the deadline, where the vertical axis reaches it.
fn deadline_rule(deadline: Option<Span>, scale: Scale) -> Option<Mark> {
    let deadline = deadline?;
    let at = deadline.as_nanos() as f64;
    let text = format!("deadline {}", length(deadline));
    let rule = Mark::Rule { along: Along::Horizontal, at, text };
    (scale.from()..=scale.to()).contains(&at).then_some(rule)
}

/// The picture that says the most at a glance: a row for each condition, or a line where there are too many.
pub(crate) fn first(entries: &[Entry<'_>]) -> Chart {
    if entries.len() > density::ROWS { Chart::Overview } else { Chart::Density }
}

/// Whether the page has it among its pictures: one says what another does, where the other has room for all.
pub(crate) fn is_among_the_pictures(kind: Chart, entries: &[Entry<'_>]) -> bool {
    match kind {
        Chart::Density | Chart::Forest | Chart::Nodes | Chart::Causes | Chart::Osadl => false,
        Chart::Overview => entries.len() > density::ROWS,
        _ => true,
    }
}
