//! A comparison, for people and for machines.

mod gate;
mod headline;
mod json;
mod junit;
mod markdown;
mod messages;
mod next_step;
mod selection;
mod self_test;
mod summary;
mod tap;
mod text;
mod words;

use howlate_analyse::Analysis;
use howlate_analyse::compare::{Compared, Comparison, Criteria, Tested};

pub use json::comparison_json;
pub use junit::comparison_junit;
pub use markdown::comparison_markdown;
pub use messages::{Messages, ToldPair, ToldRow};
pub use self_test::{SelfTest, self_test, self_test_json};
pub use tap::comparison_tap;
pub use text::{comparison_below, comparison_text};
pub(crate) use words::short_pairs;

/// A comparison, and where it comes from.
#[derive(Clone, Copy, Debug)]
pub struct ComparisonReport<'a> {
    /// What was found.
    pub comparison: &'a Comparison,
    /// How sure, and what is nothing.
    pub asked: Criteria,
    /// The base's path and content.
    pub base: (&'a str, &'a Analysis),
    /// The same of each new recording; empty when conditions of one recording are compared.
    pub news: &'a [(&'a str, &'a Analysis)],
}

impl ComparisonReport<'_> {
    /// The path of the new side of a pair of conditions.
    fn new_path(&self, one: &Compared) -> &str {
        self.news.get(one.recording).map_or(self.base.0, |(path, _)| path)
    }

    /// Each comparison with its pair of conditions.
    fn all(&self) -> impl Iterator<Item = (&Compared, &Tested)> {
        self.comparison.compared.iter().flat_map(|one| one.statistics.iter().map(move |tested| (one, tested)))
    }

    fn confidence(&self) -> String {
        words::percent_of(self.asked.confidence)
    }
}
