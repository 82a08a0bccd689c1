//! Everything that one screen shows, as values. All texts are legible: names from outside are escaped where they are read.

use howlate_model::Span;

/// What the user chose to see, as far as the content depends on it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query {
    /// Key of the row that the lower panels describe; the first row where it is missing.
    pub(crate) selected: Option<u64>,
    /// One row per CPU.
    pub(crate) each_cpu: bool,
    /// Also rows of threads that wait because they have nothing to do.
    pub(crate) idle: bool,
    /// Index into `TopBy::ALL`.
    pub(crate) group_by: usize,
}

/// Everything that one screen shows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Screenful {
    /// The command: `howlate cyclic`.
    pub(crate) title: String,
    pub(crate) machine: String,
    /// Reasons to doubt the numbers, one sentence each.
    pub(crate) doubts: Vec<String>,
    /// `None` where the run has no planned end.
    pub(crate) progress: Option<RunProgress>,
    pub(crate) doing: String,
    /// Settings that stay for the whole run: `every 1 ms`, `bpf`.
    pub(crate) fixed: Vec<String>,
    /// The main table: conditions, processes or waits.
    pub(crate) table: LiveTable,
    /// Column headings and their meaning, for the help.
    pub(crate) legend: &'static [[&'static str; 2]],
    /// The main table takes most of the screen, with one band of panels below.
    pub(crate) is_list: bool,
    /// The key for one row per CPU works.
    pub(crate) each_cpu: bool,
    /// Name of the present grouping; `None` where rows cannot be regrouped.
    pub(crate) group_by: Option<&'static str>,
    pub(crate) can_reset: bool,
    pub(crate) can_mark: bool,
    pub(crate) can_write_timelines: bool,
    /// Name of the row that the lower panels describe.
    pub(crate) detail_of: String,
    pub(crate) history: Option<LatencyHistory>,
    /// Meaning of the two values of an interval; `p99, max` where empty.
    pub(crate) history_title: &'static str,
    pub(crate) histogram: Option<LatencyHistogram>,
    pub(crate) causes: Option<LiveTable>,
    /// Late wake-ups, newest first.
    pub(crate) late: Option<LiveTable>,
    /// Parts of each late wake-up, by the key of its row.
    pub(crate) parts: Vec<(u64, LiveTable)>,
}

/// Elapsed share of a run with a planned end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunProgress {
    pub(crate) remaining: Span,
    pub(crate) total: Span,
    /// The run may end earlier.
    pub(crate) is_upper_bound: bool,
}

/// A table whose columns keep their width between updates.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiveTable {
    pub(crate) title: String,
    pub(crate) columns: Vec<LiveColumn>,
    pub(crate) rows: Vec<LiveTableRow>,
    /// Text in place of the rows where there are none.
    pub(crate) empty_text: String,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub(crate) struct LiveColumn {
    pub(crate) heading: String,
    /// Least width in terminal columns.
    pub(crate) width: u16,
    /// Greatest width. A column grows into the space that the others leave up to this; no growth where it is `width` or less.
    pub(crate) max_width: u16,
    /// Aligned to the right.
    pub(crate) is_number: bool,
    /// Columns with the highest number are left out first where the space is short; 0 always stays.
    pub(crate) drop_order: u8,
}

impl LiveColumn {
    pub(crate) fn number(heading: &str, width: u16, drop_order: u8) -> Self {
        Self { heading: heading.to_owned(), width, max_width: width, is_number: true, drop_order }
    }

    pub(crate) fn text(heading: &str, width: u16, drop_order: u8) -> Self {
        Self { heading: heading.to_owned(), width, max_width: width, is_number: false, drop_order }
    }

    /// Grows up to the longest text, of `longest` characters.
    pub(crate) fn growing_to(longest: usize, heading: &str, width: u16) -> Self {
        Self { max_width: u16::try_from(longest).unwrap_or(u16::MAX), ..Self::growing(heading, width) }
    }

    /// Grows as far as there is space, and has at least `width`.
    pub(crate) fn growing(heading: &str, width: u16) -> Self {
        Self { heading: heading.to_owned(), width, max_width: u16::MAX, is_number: false, drop_order: 0 }
    }
}

/// A row of a table.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiveTableRow {
    /// Identifies the row between updates.
    pub(crate) key: u64,
    pub(crate) cells: Vec<LiveCell>,
    /// It is being measured now.
    pub(crate) is_running: bool,
    /// Also shown by a sign in one of the cells.
    pub(crate) tone: Tone,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    #[default]
    Plain,
    /// As expected.
    Dim,
    /// Worth a look.
    Warn,
    Bad,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LiveCell {
    pub(crate) text: String,
    /// Shorter form of the text, for narrow columns.
    pub(crate) short: Option<String>,
    /// Sorts the rows; the text does where `None`.
    pub(crate) number: Option<f64>,
    /// The worst value of its column.
    pub(crate) is_worst: bool,
}

impl LiveCell {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    pub(crate) fn number(text: impl Into<String>, number: f64) -> Self {
        Self { text: text.into(), number: Some(number), ..Self::default() }
    }

    /// A missing value; sorted last.
    pub(crate) fn unknown() -> Self {
        Self::number("–", f64::NEG_INFINITY)
    }
}

/// Latencies over the measured time, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct LatencyHistory {
    pub(crate) intervals: Vec<HistoryInterval>,
}

/// A stretch of measured time.
#[derive(Clone, Debug, Default)]
pub(crate) struct HistoryInterval {
    pub(crate) length: Span,
    /// The 99th percentile or the mean, and the maximum, in ns; `None` where nothing was measured.
    pub(crate) values: Option<[u64; 2]>,
    /// Missed periods; a hole in the picture.
    pub(crate) missed: u64,
    /// Counts by the lower edge of the latency bucket in ns, ascending.
    pub(crate) counts: Vec<(u64, u64)>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct LatencyHistogram {
    /// Non-empty buckets, ascending.
    pub(crate) buckets: Vec<LatencyBucket>,
}

/// Latencies of about the same length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LatencyBucket {
    /// Lower edge in ns, inclusive.
    pub(crate) from: u64,
    /// Upper edge in ns.
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
    /// In the order of the tab key.
    pub(crate) const ALL: [Self; 7] =
        [Self::Table, Self::History, Self::Histogram, Self::HeatMap, Self::Causes, Self::Late, Self::Parts];
}

impl Screenful {
    /// The table of a panel; `late` is the key of the selected late wake-up. `None` for pictures and where there is no data.
    pub(crate) fn panel_table(&self, panel: Panel, late: Option<u64>) -> Option<&LiveTable> {
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

    /// Whether there is data for a panel.
    pub(crate) fn has(&self, panel: Panel) -> bool {
        match panel {
            Panel::Table => true,
            Panel::History => self.history.is_some(),
            Panel::HeatMap => {
                let has_counts = |interval: &HistoryInterval| !interval.counts.is_empty();
                self.history.as_ref().is_some_and(|history| history.intervals.iter().any(has_counts))
            }
            Panel::Histogram => self.histogram.is_some(),
            Panel::Causes => self.causes.is_some(),
            Panel::Late => self.late.is_some(),
            Panel::Parts => !self.parts.is_empty(),
        }
    }
}
