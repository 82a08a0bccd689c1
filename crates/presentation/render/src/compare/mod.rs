//! A comparison as text, Markdown, JSON, JUnit and TAP.

mod gate;
mod headline;
mod json;
mod junit;
mod markdown;
mod messages;
mod next_step;
mod self_test;
mod summary;
mod tap;
mod text;
mod wording;

use howlate_analyse::Analysis;
use howlate_analyse::compare::{Compared, Comparison, Criteria, Tested, Verdict};
pub use json::comparison_json;
pub use junit::comparison_junit;
pub use markdown::comparison_markdown;
pub use messages::{ComparisonTexts, PairTexts, StatisticTexts};
pub use self_test::{ComparisonSelfTest, self_test, self_test_json};
use std::borrow::Cow;
pub use tap::comparison_tap;
pub use text::{comparison_below, comparison_text};
pub(crate) use wording::short_pairs;

use crate::numbers::count;

/// A comparison and the recordings it is about.
#[derive(Clone, Copy, Debug)]
pub struct ComparisonReport<'a> {
    pub comparison: &'a Comparison,
    /// Confidence level and margin.
    pub criteria: Criteria,
    /// The base's path and content.
    pub base: (&'a str, &'a Analysis),
    /// Path and content of each new recording; empty when conditions of one recording are compared.
    pub news: &'a [(&'a str, &'a Analysis)],
}

impl ComparisonReport<'_> {
    /// The path of the new side of a pair of conditions.
    fn new_path(&self, pair: &Compared) -> &str {
        self.news.get(pair.recording).map_or(self.base.0, |(path, _)| path)
    }

    /// Each tested statistic with its pair of conditions.
    fn all(&self) -> impl Iterator<Item = (&Compared, &Tested)> {
        self.comparison
            .compared
            .iter()
            .flat_map(|pair| pair.statistics.iter().map(move |tested| (pair, tested)))
    }

    fn confidence(&self) -> String {
        wording::percent_of(self.criteria.confidence)
    }
}

/// Most pairs shown in texts; the JSON output has all of them.
const MOST: usize = 200;

/// The pairs that are shown, in their order. If there are too many, those that differ have precedence.
pub(super) fn worth_reading(comparison: &Comparison) -> Cow<'_, Comparison> {
    let Comparison { compared, alone } = comparison;
    if compared.len() <= MOST {
        return Cow::Borrowed(comparison);
    }
    let mut places: Vec<usize> = (0..compared.len()).collect();
    // The sort is stable, so the first of equal pairs stay.
    places.sort_by_key(|place| !differs(&compared[*place]));
    places.truncate(MOST);
    places.sort_unstable();
    let compared = places.into_iter().map(|place| compared[place].clone()).collect();
    Cow::Owned(Comparison { compared, alone: *alone })
}

fn differs(pair: &Compared) -> bool {
    pair.statistics.iter().any(|tested| matches!(tested.verdict, Verdict::Better | Verdict::Worse))
}

/// A note on the pairs that are not shown.
pub(super) fn omitted_pairs(comparison: &Comparison, shown: &Comparison) -> Option<String> {
    let omitted = comparison.compared.len() - shown.compared.len();
    let number = |comparison: &Comparison| comparison.compared.iter().filter(|pair| differs(pair)).count();
    let differ = match number(comparison) - number(shown) {
        0 => "none".to_owned(),
        more => count(more as u64),
    };
    (omitted > 0).then(|| {
        let omitted = count(omitted as u64);
        format!(
            "{omitted} more pairs of conditions, of which {differ} differ: `--format json` has all of them."
        )
    })
}
