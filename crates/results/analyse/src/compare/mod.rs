//! Comparison of conditions: is there a difference, how large is it, and could it have been detected?
//!
//! Neighbouring wake-ups of a run are correlated, so single ones are never compared: 56 000 of them were once worth 108. Turns
//! or batches of blocks are compared; see `docs/compare.md`.

mod block_series;
mod detectable;
mod hodges_lehmann;
mod holm;
mod levels;
mod mann_whitney;
mod margin_gate;
mod matching;
mod maximum;
mod needed_runs;
mod sampling_unit;
mod self_test;
mod signed_rank;
mod statistic;
mod test_result;
mod trial;
mod verdict;

pub use block_series::{Piece, Track};
pub(crate) use hodges_lehmann::{between, centre};
pub(crate) use holm::{CorrectedP, holm};
use levels::{Levels, PValues};
pub(crate) use mann_whitney::MannWhitney;
pub use margin_gate::MarginGate;
pub use matching::Difference;
pub use maximum::{Extrapolation, ExtrapolationRefusal, Maximum};
pub use needed_runs::Settling;
pub use self_test::{FalseAlarms, TrialShare, false_alarms};
pub(crate) use signed_rank::{SignedRank, least_pairs};
pub use statistic::Statistic;
pub use test_result::Tested;
pub use trial::{Arm, ArmState, StatisticLevel, Trial};
pub use verdict::{Inconclusive, Verdict};

use howlate_model::{Condition, Margin, Property};
use serde::Serialize;

use matching::Match;

/// Confidence and margin of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Criteria {
    /// Confidence of all statements together, such as 0.95.
    pub confidence: f64,
    /// Smaller differences are of no interest; a share is one of the base's centre.
    pub margin: Option<Margin>,
}

impl Criteria {
    fn alpha(self) -> f64 {
        1.0 - self.confidence
    }
}

/// How the conditions were measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Design {
    /// In one run, in turns: drift affects both sides alike.
    Interleaved,
    /// In two runs, or one after the other: a drift of the machine looks like an effect.
    Separate,
    /// By another program that recorded distributions only: no test is possible.
    Distributions,
}

/// The comparison of two conditions.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// Index of the new recording.
    pub recording: usize,
    /// The condition of the base (the first of its threads).
    pub base: Condition,
    /// The condition that it is compared with.
    pub new: Condition,
    /// What they differ in.
    pub differs: Vec<Difference>,
    /// How they were measured.
    pub design: Design,
    /// One comparison per statistic that the recordings support.
    pub statistics: Vec<Tested>,
    /// Statistics with too few wake-ups.
    pub left_out: Vec<LeftOut>,
    /// Bounds on the maximum of the base.
    pub base_maximum: Option<Maximum>,
    /// Bounds on the maximum of the new one.
    pub new_maximum: Option<Maximum>,
}

/// A statistic that was not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// What was compared: a quantile, or the maximum.
    pub statistic: Statistic,
    /// Wake-ups of the shortest turn, or of the shorter side.
    pub wakeups: u64,
    /// Wake-ups that it needs.
    pub needed: u64,
}

/// All comparisons of a command.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// Each pair of conditions.
    pub compared: Vec<Compared>,
    /// Conditions without a partner in the other recording.
    pub alone: usize,
}

impl Comparison {
    /// The verdicts on everything.
    pub fn verdicts(&self) -> impl Iterator<Item = Verdict> + '_ {
        self.compared.iter().flat_map(|compared| compared.statistics.iter().map(|tested| tested.verdict))
    }

    /// What settles `goal` if it is inconclusive, or else the statistic that is settled soonest: in all pairs of conditions in which it is
    /// inconclusive.
    pub fn to_settle(&self, goal: Statistic) -> Option<(&Compared, &Tested, Settling)> {
        let longest = |statistic: Statistic| {
            let each = self
                .compared
                .iter()
                .flat_map(|compared| compared.statistics.iter().map(move |tested| (compared, tested)));
            let open = each.filter(|(_, tested)| tested.statistic == statistic);
            let open = open.filter_map(|(compared, tested)| Some((compared, tested, tested.settled_by?)));
            open.max_by_key(|(_, _, settling)| settling.duration())
        };
        let soonest = || {
            let all = Statistic::ALL.into_iter().filter_map(longest);
            all.min_by_key(|(_, _, settling)| settling.duration())
        };
        longest(goal).or_else(soonest)
    }

    /// The fewest pairs of turns with which this many comparisons can show anything: each doubling of their number takes one more.
    pub fn least_pairs(&self, confidence: f64) -> usize {
        least_pairs((1.0 - confidence) / self.verdicts().count().max(1) as f64)
    }

    /// The verdict on all: worse if anything is, then inconclusive, then better, then not distinguishable.
    pub fn verdict(&self) -> Verdict {
        const FIRST: [Verdict; 4] =
            [Verdict::Worse, Verdict::Inconclusive, Verdict::Better, Verdict::NotDistinguishable];
        let occurs = |verdict: &Verdict| self.verdicts().any(|other| other == *verdict);
        match FIRST.into_iter().find(occurs) {
            Some(verdict) => verdict,
            None if self.verdicts().next().is_none() => Verdict::Inconclusive,
            None => Verdict::Equivalent,
        }
    }
}

/// Compares the conditions of `base` with the same ones of each of `news`.
pub fn recordings(base: &Track, news: &[Track], criteria: Criteria) -> Comparison {
    let mut comparison = Comparison::default();
    for (number, new) in news.iter().enumerate() {
        let (matches, alone) = matching::recordings(base, new);
        comparison.alone += alone;
        let compare =
            |matched: &Match| compare_match(number, (base, new), matched, Design::Separate, criteria);
        comparison.compared.extend(matches.iter().map(compare));
    }
    judge(comparison, criteria)
}

/// Compares the conditions of one recording that differ in `property` and nothing else.
///
/// # Errors
///
/// The values of `property`, if `base` is none of them.
pub fn within(
    track: &Track,
    property: Property,
    base: Option<&str>,
    criteria: Criteria,
) -> Result<Comparison, Vec<String>> {
    let compare =
        |matched: &Match| compare_match(0, (track, track), matched, design(track, matched), criteria);
    let matches = matching::property(track, property, base)?;
    Ok(judge(Comparison { compared: matches.iter().map(compare).collect(), alone: 0 }, criteria))
}

/// Turns that share a round were interleaved; a single one was not.
fn design(track: &Track, matched: &Match) -> Design {
    let rounds = |conditions: &[usize]| {
        track.pieces(conditions).iter().map(|piece| piece.round).collect::<std::collections::BTreeSet<_>>()
    };
    if rounds(&matched.base).intersection(&rounds(&matched.new)).count() > 1 {
        Design::Interleaved
    } else {
        Design::Separate
    }
}

fn compare_match(
    recording: usize,
    (base, new): (&Track, &Track),
    matched: &Match,
    design: Design,
    criteria: Criteria,
) -> Compared {
    let condition = |track: &Track, at: usize| track.analysis.header.conditions[at].clone();
    let (old_pieces, new_pieces) = (base.pieces(&matched.base), new.pieces(&matched.new));
    let seed = base.analysis.header.seed;
    let is_timed = |pieces: &[Piece]| !test_result::covered(pieces).is_zero();
    let design = if is_timed(&old_pieces) && is_timed(&new_pieces) { design } else { Design::Distributions };
    // The bounds of a maximum depend on the measured time.
    let maximum = |pieces: &[Piece]| {
        Maximum::from_pieces(pieces, criteria.confidence, seed).filter(|_| is_timed(pieces))
    };
    let (statistics, left_out) = test_result::all(design, &old_pieces, &new_pieces);
    Compared {
        recording,
        base: condition(base, matched.base[0]),
        new: condition(new, matched.new[0]),
        differs: matched.differs.clone(),
        design,
        statistics,
        left_out,
        base_maximum: maximum(&old_pieces),
        new_maximum: maximum(&new_pieces),
    }
}

/// Judges everything, as the number of comparisons is known now.
fn judge(mut comparison: Comparison, criteria: Criteria) -> Comparison {
    let mut all: Vec<(Design, &mut Tested)> = Vec::new();
    for Compared { design, statistics, .. } in &mut comparison.compared {
        all.extend(statistics.iter_mut().map(|tested| (*design, tested)));
    }
    let p: Vec<PValues> = all.iter().map(|(_, tested)| tested.p_values(criteria)).collect();
    for ((design, tested), levels) in all.iter_mut().zip(Levels::for_all(&p, criteria)) {
        tested.judge(levels, criteria);
        if *design == Design::Separate {
            tested.leave_open(levels.difference, criteria);
        }
    }
    comparison
}

/// A copy of the values in ascending order.
fn ordered(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let sorted = ordered(values);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(if sorted.len().is_multiple_of(2) { f64::midpoint(sorted[middle - 1], upper) } else { upper })
}

/// The standard deviation of a sample; `None` below two values.
#[cfg(test)]
fn deviation(values: &[f64]) -> Option<f64> {
    let mean = crate::autocorrelation::mean(values).filter(|_| values.len() > 1)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}
