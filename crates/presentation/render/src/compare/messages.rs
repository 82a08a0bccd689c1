//! A comparison in words, piece by piece, for those who lay it out themselves.

use howlate_analyse::compare::{Compared, Design, Tested};

use super::{ComparisonReport, gate, headline, next_step, words};

/// A comparison in words.
#[derive(Clone, Debug)]
pub struct Messages<'a> {
    /// The whole answer in a sentence.
    pub answer: String,
    /// Each pair of conditions.
    pub pairs: Vec<ToldPair<'a>>,
    /// What to know of it, and what would settle what is open.
    pub notes: Vec<String>,
    /// How many verdicts there are of each kind.
    pub tally: String,
    /// Confidence of all intervals, as `95 %`.
    pub confidence: String,
}

/// Two conditions, and how they compare.
#[derive(Clone, Debug)]
pub struct ToldPair<'a> {
    /// What was compared.
    pub subject: String,
    /// What the sides are called.
    pub sides: [String; 2],
    /// How they were measured.
    pub design: String,
    /// One for each statistic.
    pub rows: Vec<ToldRow<'a>>,
}

/// One statistic. Texts are microseconds.
#[derive(Clone, Debug)]
pub struct ToldRow<'a> {
    /// What was compared, as `p99`.
    pub statistic: &'static str,
    /// The base, the new one, and by how much they differ.
    pub numbers: [String; 3],
    /// The difference in per cent of the base.
    pub percent: String,
    /// The interval of the difference, at the level at which it was tested.
    pub interval: String,
    /// The smallest difference that would have been found, where none was.
    pub detectable: String,
    /// How probable so large a difference is by chance, corrected for the number of comparisons.
    pub p: String,
    /// The verdict's word, as `better`.
    pub verdict: &'static str,
    /// The numbers themselves.
    pub tested: &'a Tested,
}

impl<'a> ComparisonReport<'a> {
    /// The comparison in words.
    pub fn messages(&self) -> Messages<'a> {
        let mut notes: Vec<String> = words::drift_warning(self).into_iter().collect();
        notes.extend(words::caveats(self));
        let each = self
            .comparison
            .compared
            .iter()
            .flat_map(|one| one.statistics.iter().map(move |tested| (one, tested)));
        notes.extend(each.flat_map(|(one, tested)| {
            let said = [words::sides_disagree(one, tested), words::short_pairs(tested)];
            said.into_iter().flatten().map(move |said| format!("{}: {said}", words::subject(one)))
        }));
        notes.extend(next_step::sentence(self));
        notes.extend(gate::sentence(self));
        Messages {
            answer: headline::answer(self, headline::Detectable::Shown),
            pairs: self.comparison.compared.iter().map(pair).collect(),
            notes,
            tally: crate::prose::capitalised(&words::tally(self.comparison)),
            confidence: self.confidence(),
        }
    }
}

fn pair(one: &Compared) -> ToldPair<'_> {
    ToldPair {
        subject: words::subject(one),
        sides: words::sides(one),
        design: words::design(one),
        rows: one.statistics.iter().map(|tested| row(tested, one.design)).collect(),
    }
}

fn row(tested: &Tested, design: Design) -> ToldRow<'_> {
    ToldRow {
        statistic: words::statistic(tested.statistic, design),
        numbers: [words::base(tested), words::new(tested), words::difference(tested)],
        percent: words::percent_apart(tested),
        interval: words::interval(tested.interval_ns),
        detectable: words::detectable(tested),
        p: words::probability(tested.p_corrected),
        verdict: words::verdict(tested.verdict),
        tested,
    }
}
