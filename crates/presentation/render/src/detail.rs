//! How much of a result is shown, and the command that shows the rest.

use howlate_analyse::{Analysis, SavedAs};
use howlate_model::shell_path;

use crate::prose::wrapped;
use crate::style::{DIM, paint};
use crate::untrusted_text::legible;

/// How much of a result is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// The answer; the rest in summary, or on request.
    Brief,
    /// Like `Brief`, with a row per CPU instead of one per condition.
    PerCpu,
    /// Everything, with the evidence.
    Full,
}

/// `` `howlate show --details` ``, with the recording where that is not the last run.
pub(crate) fn show_again(analysis: &Analysis, options: &str) -> String {
    match &analysis.saved_as {
        SavedAs::LastRun => format!("`howlate show {options}`"),
        SavedAs::File(path) => format!("`howlate show {} {options}`", legible(&shell_path(path))),
        SavedAs::Nowhere => format!("the same command with `{options}`"),
    }
}

/// How much of a result is left out; each level includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Brevity {
    Whole,
    /// Without side information: versions of languages, numbers without missed periods, each boot, the cost of measuring.
    WithoutAsides,
    /// Also without the same facts in other numbers.
    WithoutRepeats,
    /// Only the first rows and sentences.
    Shortest,
}

impl Brevity {
    pub(crate) const ALL: [Self; 4] =
        [Self::Whole, Self::WithoutAsides, Self::WithoutRepeats, Self::Shortest];

    /// Whether it leaves out what `level` leaves out.
    pub(crate) fn is(self, level: Self) -> bool {
        self >= level
    }

    /// How many of `all` rows or sentences to show; `few` in the shortest form.
    pub(crate) fn of(self, all: usize, few: usize) -> usize {
        if self == Self::Shortest { all.min(few) } else { all }
    }
}

/// `and 12 more: howlate show --details`; empty if `more` is 0.
pub(crate) fn and_more(analysis: &Analysis, more: usize, indent: usize, width: usize) -> String {
    if more == 0 {
        return String::new();
    }
    let text = format!("and {more} more: {}", show_again(analysis, "--details"));
    format!("{:indent$}{}\n", "", paint(DIM, wrapped(&text, width, indent)))
}
