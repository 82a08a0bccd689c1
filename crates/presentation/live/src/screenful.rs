//! All that one screen can show, as values. Every text in it is legible: names of others are made so where they are taken in.

use howlate_model::Span;

/// What somebody looks at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    /// The row that the panels below are of, by its key; the first row where there is none of it.
    pub(crate) selected: Option<u64>,
    /// Each CPU has a row of its own.
    pub(crate) each: bool,
    /// Waits of those that have nothing to do have rows as well.
    pub(crate) idle: bool,
    /// What has a row, counted through.
    pub(crate) by: usize,
}

/// All that one screen can show.
#[derive(Clone, Debug, Default)]
pub(crate) struct Screenful {
    /// What this is: `howlate cyclic`.
    pub(crate) title: String,
    /// On which machine.
    pub(crate) machine: String,
    /// What makes the numbers doubtful, a sentence each.
    pub(crate) doubts: Vec<String>,
    /// How far it is; `None` where it has no end of its own.
    pub(crate) progress: Option<Progress>,
    /// What is being done.
    pub(crate) doing: String,
    /// What cannot change meanwhile: `every 1 ms`, `bpf`.
    pub(crate) fixed: Vec<String>,
    /// The table of conditions.
    pub(crate) table: Grid,
    /// What its columns mean, for the help: the heading, and a few words.
    pub(crate) legend: &'static [[&'static str; 2]],
    /// The table is what is looked at: what lies below it has one band.
    pub(crate) is_list: bool,
    /// CPUs can have rows of their own.
    pub(crate) each_cpu: bool,
    /// What has a row, where that can be chosen.
    pub(crate) by: Option<&'static str>,
    /// Maxima can begin anew.
    pub(crate) can_reset: bool,
    /// Moments can be marked.
    pub(crate) can_mark: bool,
    /// Timelines can be written.
    pub(crate) can_write_timelines: bool,
    /// What the panels below it are of: the name of a row.
    pub(crate) detail_of: String,
    /// Along the time.
    pub(crate) history: Option<History>,
    /// What the two values of a moment are; `p99, max` if it is empty.
    pub(crate) history_title: &'static str,
    /// How many were how late.
    pub(crate) histogram: Option<Histogram>,
    /// Who took the time.
    pub(crate) causes: Option<Grid>,
    /// Late wake-ups, the newest first.
    pub(crate) late: Option<Grid>,
    /// Each of them part by part, by its key.
    pub(crate) parts: Vec<(u64, Grid)>,
}

/// How far something is that has an end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    pub(crate) left: Span,
    pub(crate) whole: Span,
    /// It may be over before.
    pub(crate) is_most: bool,
}

/// A table: columns that keep their width from one moment to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grid {
    pub(crate) title: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Row>,
    /// What is said where there is no row.
    pub(crate) nothing: String,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) heading: String,
    /// Letters that it has room for at least.
    pub(crate) width: u16,
    /// Takes what the others leave, up to so many letters; nothing of it where that is no more than it has.
    pub(crate) most: u16,
    /// Numbers stand below one another.
    pub(crate) is_number: bool,
    /// The first to go where there is no room for all: the highest first; 0 stays.
    pub(crate) goes: u8,
}

impl Column {
    pub(crate) fn number(heading: &str, width: u16, goes: u8) -> Self {
        Self { heading: heading.to_owned(), width, most: width, is_number: true, goes }
    }

    pub(crate) fn text(heading: &str, width: u16, goes: u8) -> Self {
        Self { heading: heading.to_owned(), width, most: width, is_number: false, goes }
    }

    /// As wide as its longest text, of so many letters, or as there is room; at least `width`.
    pub(crate) fn growing_to(longest: usize, heading: &str, width: u16) -> Self {
        Self { most: u16::try_from(longest).unwrap_or(u16::MAX), ..Self::growing(heading, width) }
    }

    /// As wide as there is room, and at least `width`.
    pub(crate) fn growing(heading: &str, width: u16) -> Self {
        Self { heading: heading.to_owned(), width, most: u16::MAX, is_number: false, goes: 0 }
    }
}

/// A row of a table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    /// What it is, from one moment to the next.
    pub(crate) key: u64,
    pub(crate) cells: Vec<Cell>,
    /// It is what happens now.
    pub(crate) is_running: bool,
    /// How bad it is; a sign in one of its cells says the same.
    pub(crate) tone: Tone,
}

/// How bad something is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    #[default]
    Plain,
    /// It is as it should be.
    Dim,
    /// It is worth a look.
    Warn,
    /// It is bad.
    Bad,
}

/// What stands in a column of a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Cell {
    pub(crate) text: String,
    /// The same in fewer letters, for where there is no room for all.
    pub(crate) short: Option<String>,
    /// By which it is sorted; by its text where there is none.
    pub(crate) number: Option<f64>,
    /// The worst of its column.
    pub(crate) is_worst: bool,
}

impl Cell {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    pub(crate) fn number(text: impl Into<String>, number: f64) -> Self {
        Self { text: text.into(), number: Some(number), ..Self::default() }
    }

    /// What is not known.
    pub(crate) fn unknown() -> Self {
        Self::number("–", f64::NEG_INFINITY)
    }
}

/// What happened along the time that was measured, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    pub(crate) moments: Vec<Moment>,
}

/// A stretch of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moment {
    /// How long it is.
    pub(crate) lasts: Span,
    /// The 99th percentile, or the mean, and the maximum in nanoseconds; `None` where there was nothing.
    pub(crate) values: Option<[u64; 2]>,
    /// Periods that were missed: the picture has a hole there.
    pub(crate) missed: u64,
    /// How many were how late, by the lower edge, ascending.
    pub(crate) counts: Vec<(u64, u64)>,
}

/// How many were how late.
#[derive(Clone, Debug, Default)]
pub(crate) struct Histogram {
    /// Those that are not empty, ascending.
    pub(crate) buckets: Vec<Bucket>,
}

/// Latencies of about the same length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bucket {
    /// Lower edge in ns, included.
    pub(crate) from: u64,
    pub(crate) until: u64,
    pub(crate) count: u64,
}

/// A panel of the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Panel {
    #[default]
    Table,
    History,
    Histogram,
    HeatMap,
    Causes,
    Late,
    Parts,
}

impl Panel {
    /// In the order in which the tab key goes through them.
    pub(crate) const ALL: [Self; 7] =
        [Self::Table, Self::History, Self::Histogram, Self::HeatMap, Self::Causes, Self::Late, Self::Parts];
}

impl Screenful {
    /// The table in a panel, if it is one and is there; `late` is the late wake-up that is selected.
    pub(crate) fn grid(&self, panel: Panel, late: Option<u64>) -> Option<&Grid> {
        match panel {
            Panel::Table => Some(&self.table),
            Panel::Causes => self.causes.as_ref(),
            Panel::Late => self.late.as_ref(),
            Panel::Parts => {
                let selected = self.parts.iter().find(|(key, _)| Some(*key) == late);
                selected.or_else(|| self.parts.first()).map(|(_, parts)| parts)
            }
            Panel::History | Panel::Histogram | Panel::HeatMap => None,
        }
    }

    /// Whether there is something for a panel.
    pub(crate) fn has(&self, panel: Panel) -> bool {
        match panel {
            Panel::Table => true,
            Panel::History => self.history.is_some(),
            Panel::HeatMap => {
                let has_counts = |one: &Moment| !one.counts.is_empty();
                self.history.as_ref().is_some_and(|history| history.moments.iter().any(has_counts))
            }
            Panel::Histogram => self.histogram.is_some(),
            Panel::Causes => self.causes.is_some(),
            Panel::Late => self.late.is_some(),
            Panel::Parts => !self.parts.is_empty(),
        }
    }
}
