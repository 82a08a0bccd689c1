//! The texts of a comparison, piece by piece, for the HTML report.

use howlate_analyse::compare::{Compared, Design, Tested};

use super::{ComparisonReport, gate, headline, next_step, wording};

/// A comparison as texts.
#[derive(Clone, Debug)]
pub struct ComparisonTexts<'a> {
    /// The whole answer in a sentence.
    pub answer: String,
    /// Each pair of conditions.
    pub pairs: Vec<PairTexts<'a>>,
    /// Caveats, and the next step for what is inconclusive.
    pub notes: Vec<String>,
    /// Number of verdicts of each kind.
    pub tally: String,
    /// Confidence of all intervals, as `95 %`.
    pub confidence: String,
}

/// Two conditions and their comparison.
#[derive(Clone, Debug)]
pub struct PairTexts<'a> {
    /// The conditions that were compared.
    pub subject: String,
    /// Names of the two sides.
    pub sides: [String; 2],
    /// How the sides were measured.
    pub design: String,
    /// One row per statistic.
    pub rows: Vec<StatisticTexts<'a>>,
}

/// One statistic. Texts are microseconds.
#[derive(Clone, Debug)]
pub struct StatisticTexts<'a> {
    /// The statistic, such as `p99`.
    pub statistic: &'static str,
    /// Base, new, and their difference.
    pub numbers: [String; 3],
    /// The difference in per cent of the base.
    pub percent: String,
    /// The interval of the difference, at the level at which it was tested.
    pub interval: String,
    /// The smallest difference that would have been found, where none was.
    pub detectable: String,
    /// p, corrected for the number of comparisons.
    pub p: String,
    /// The verdict as text, such as `better`.
    pub verdict: &'static str,
    pub tested: &'a Tested,
}

impl<'a> ComparisonReport<'a> {
    /// The comparison as texts.
    pub fn messages(&self) -> ComparisonTexts<'a> {
        let mut notes: Vec<String> = wording::drift_warning(self).into_iter().collect();
        notes.extend(wording::caveats(self));
        let tested_pairs = self
            .comparison
            .compared
            .iter()
            .flat_map(|pair| pair.statistics.iter().map(move |tested| (pair, tested)));
        notes.extend(tested_pairs.flat_map(|(pair, tested)| {
            let pair_notes = [wording::sides_disagree(pair, tested), wording::short_pairs(tested)];
            pair_notes.into_iter().flatten().map(move |note| format!("{}: {note}", wording::subject(pair)))
        }));
        notes.extend(next_step::sentence(self));
        notes.extend(gate::sentence(self));
        ComparisonTexts {
            answer: headline::answer(self, headline::Detectable::Shown),
            pairs: self.comparison.compared.iter().map(pair_texts).collect(),
            notes,
            tally: crate::prose::capitalised(&wording::tally(self.comparison)),
            confidence: self.confidence(),
        }
    }
}

fn pair_texts(pair: &Compared) -> PairTexts<'_> {
    PairTexts {
        subject: wording::subject(pair),
        sides: wording::sides(pair),
        design: wording::design(pair),
        rows: pair.statistics.iter().map(|tested| statistic_texts(tested, pair.design)).collect(),
    }
}

fn statistic_texts(tested: &Tested, design: Design) -> StatisticTexts<'_> {
    StatisticTexts {
        statistic: wording::statistic(tested.statistic, design),
        numbers: [wording::base(tested), wording::new(tested), wording::difference(tested)],
        percent: wording::percent_apart(tested),
        interval: wording::interval(tested.interval_ns),
        detectable: wording::detectable(tested),
        p: wording::probability(tested.p_corrected),
        verdict: wording::verdict(tested.verdict),
        tested,
    }
}
