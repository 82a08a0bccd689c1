//! How much of a result is left out, so that it fits a screen and a half with its answer on the last screen.

use howlate_analyse::Analysis;

use crate::ask_again::show_again;
use crate::prose::wrapped;
use crate::style::{DIM, paint};

/// How much of it is left out; each leaves out what those before it do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Brevity {
    /// Nothing.
    Whole,
    /// What is aside of the question: versions of languages, the numbers once more without missed periods, each boot, what measuring
    /// costs.
    WithoutAsides,
    /// What says the same in other numbers.
    WithoutRepeats,
    /// All but the first rows and sentences.
    Shortest,
}

impl Brevity {
    pub(crate) const ALL: [Self; 4] =
        [Self::Whole, Self::WithoutAsides, Self::WithoutRepeats, Self::Shortest];

    /// Whether it leaves out what `by` leaves out.
    pub(crate) fn is(self, by: Self) -> bool {
        self >= by
    }

    /// How many of `all` rows or sentences are shown, of which `few` say enough.
    pub(crate) fn of(self, all: usize, few: usize) -> usize {
        if self == Self::Shortest { all.min(few) } else { all }
    }
}

/// `and 12 more: howlate show --details`; empty where there are no more.
pub(crate) fn and_more(analysis: &Analysis, more: usize, indent: usize, width: usize) -> String {
    if more == 0 {
        return String::new();
    }
    let text = format!("and {more} more: {}", show_again(analysis, "--details"));
    format!("{:indent$}{}\n", "", paint(DIM, wrapped(&text, width, indent)))
}
