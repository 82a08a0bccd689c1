//! Is it different? By how much? Could we have seen it?
//!
//! Wake-ups of one run are alike with their neighbours, so single ones are never compared: 56 000 of them were
//! once worth 108. What is compared are turns, or stretches of recordings; see `docs/compare.md`.

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
pub(crate) use holm::{Corrected, holm};
use levels::{Levels, PValues};
pub(crate) use mann_whitney::MannWhitney;
pub use margin_gate::MarginGate;
pub use matching::Difference;
pub use maximum::{Extrapolation, Maximum, Refusal};
pub use needed_runs::Settling;
pub use self_test::{FalseAlarms, Share, false_alarms};
pub(crate) use signed_rank::{SignedRank, least_pairs};
pub use statistic::Statistic;
pub use test_result::Tested;
pub use trial::{Arm, Course, Level, Trial};
pub use verdict::{Inconclusive, Verdict};

use howlate_model::{Condition, Margin, Property};
use serde::Serialize;

use matching::Match;

/// How sure, and how much is nothing.
#[derive(Clone, Copy, Debug)]
pub struct Criteria {
    /// Confidence of all statements together, such as 0.95.
    pub confidence: f64,
    /// Differences within this are of no interest; a share is one of the base's centre.
    pub margin: Option<Margin>,
}

impl Criteria {
    fn alpha(self) -> f64 {
        1.0 - self.confidence
    }
}

/// How what is compared was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Design {
    /// In one run, in turns: what changed meanwhile hit both sides.
    Interleaved,
    /// In two runs, or one after the other: a drift of the machine looks like an effect.
    Separate,
    /// By another program that kept nothing of its course: no test has anything to go by.
    Distributions,
}

/// Two conditions, compared.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// Index of the new recording among those that were given.
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
    /// What there are too few wake-ups for.
    pub left_out: Vec<LeftOut>,
    /// What the maximum of the base is worth.
    pub base_maximum: Option<Maximum>,
    /// What that of the new one is.
    pub new_maximum: Option<Maximum>,
}

/// A statistic that was not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// What was compared: a quantile, or the maximum.
    pub statistic: Statistic,
    /// Wake-ups that there are in the shortest turn, or on the shorter side.
    pub wakeups: u64,
    /// Wake-ups that it takes.
    pub needed: u64,
}

/// Everything that was compared.
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
        self.compared.iter().flat_map(|one| one.statistics.iter().map(|tested| tested.verdict))
    }

    /// What it takes to settle `goal` where it says nothing yet, or else the number that is settled soonest: in all pairs of
    /// conditions in which it is open.
    pub fn to_settle(&self, goal: Statistic) -> Option<(&Compared, &Tested, Settling)> {
        let longest = |statistic: Statistic| {
            let each =
                self.compared.iter().flat_map(|one| one.statistics.iter().map(move |tested| (one, tested)));
            let open = each.filter(|(_, tested)| tested.statistic == statistic);
            let open = open.filter_map(|(one, tested)| Some((one, tested, tested.settled_by?)));
            open.max_by_key(|(_, _, settling)| settling.duration())
        };
        let soonest = || {
            let all = Statistic::ALL.into_iter().filter_map(longest);
            all.min_by_key(|(_, _, settling)| settling.duration())
        };
        longest(goal).or_else(soonest)
    }

    /// The fewest pairs of turns with which so many comparisons can show anything: each doubling of their number takes one more.
    pub fn least_pairs(&self, confidence: f64) -> usize {
        least_pairs((1.0 - confidence) / self.verdicts().count().max(1) as f64)
    }

    /// The verdict on all: worse if anything is, then inconclusive, then better, then not distinguishable.
    pub fn verdict(&self) -> Verdict {
        const FIRST: [Verdict; 4] =
            [Verdict::Worse, Verdict::Inconclusive, Verdict::Better, Verdict::NotDistinguishable];
        let said = |one: &Verdict| self.verdicts().any(|verdict| verdict == *one);
        match FIRST.into_iter().find(said) {
            Some(verdict) => verdict,
            None if self.verdicts().next().is_none() => Verdict::Inconclusive,
            None => Verdict::Equivalent,
        }
    }
}

/// Compares the conditions of `base` with the same ones of each of `news`.
pub fn recordings(base: &Track, news: &[Track], asked: Criteria) -> Comparison {
    let mut comparison = Comparison::default();
    for (number, new) in news.iter().enumerate() {
        let (matches, alone) = matching::recordings(base, new);
        comparison.alone += alone;
        let one = |one: &Match| compared(number, (base, new), one, Design::Separate, asked);
        comparison.compared.extend(matches.iter().map(one));
    }
    judge(comparison, asked)
}

/// Compares the conditions of one recording that differ in `property` and nothing else.
///
/// # Errors
///
/// The values that `property` has, when `base` is none of them.
pub fn within(
    track: &Track,
    property: Property,
    base: Option<&str>,
    asked: Criteria,
) -> Result<Comparison, Vec<String>> {
    let one = |one: &Match| compared(0, (track, track), one, design(track, one), asked);
    let matches = matching::property(track, property, base)?;
    Ok(judge(Comparison { compared: matches.iter().map(one).collect(), alone: 0 }, asked))
}

/// Turns that share a round were interleaved; a single one was not.
fn design(track: &Track, one: &Match) -> Design {
    let rounds = |conditions: &[usize]| {
        track.pieces(conditions).iter().map(|piece| piece.round).collect::<std::collections::BTreeSet<_>>()
    };
    if rounds(&one.base).intersection(&rounds(&one.new)).count() > 1 {
        Design::Interleaved
    } else {
        Design::Separate
    }
}

fn compared(
    recording: usize,
    (base, new): (&Track, &Track),
    one: &Match,
    design: Design,
    asked: Criteria,
) -> Compared {
    let condition = |track: &Track, at: usize| track.analysis.header.conditions[at].clone();
    let (old_pieces, new_pieces) = (base.pieces(&one.base), new.pieces(&one.new));
    let seed = base.analysis.header.seed;
    let is_timed = |pieces: &[Piece]| !test_result::covered(pieces).is_zero();
    let design = if is_timed(&old_pieces) && is_timed(&new_pieces) { design } else { Design::Distributions };
    // What a maximum is worth goes by the time that it took.
    let maximum =
        |pieces: &[Piece]| Maximum::from_pieces(pieces, asked.confidence, seed).filter(|_| is_timed(pieces));
    let (statistics, left_out) = test_result::all(design, &old_pieces, &new_pieces);
    Compared {
        recording,
        base: condition(base, one.base[0]),
        new: condition(new, one.new[0]),
        differs: one.differs.clone(),
        design,
        statistics,
        left_out,
        base_maximum: maximum(&old_pieces),
        new_maximum: maximum(&new_pieces),
    }
}

/// Judges everything, now that it is known how many comparisons there are.
fn judge(mut comparison: Comparison, asked: Criteria) -> Comparison {
    let mut all: Vec<(Design, &mut Tested)> = Vec::new();
    for Compared { design, statistics, .. } in &mut comparison.compared {
        all.extend(statistics.iter_mut().map(|tested| (*design, tested)));
    }
    let p: Vec<PValues> = all.iter().map(|(_, tested)| tested.p_values(asked)).collect();
    for ((design, tested), levels) in all.iter_mut().zip(Levels::of_all(&p, asked)) {
        tested.judge(levels, asked);
        if *design == Design::Separate {
            tested.leave_open(levels.difference, asked);
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
