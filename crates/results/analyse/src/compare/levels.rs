//! The level of each comparison among all others, and the interval that agrees with its verdict.
//!
//! A difference is shown by the two-sided test of zero. With a margin, its absence is shown by the two one-sided tests of a
//! difference as large as the margin on either side; the larger p counts. Each kind is corrected for its own number by Holm's
//! steps, so that results of one kind do not relax the other: intervals at the steps of the first would be too narrow for
//! the second as soon as everything differs.
//!
//! ```text
//!       -margin        0        margin
//! ---------|-----------|-----------|--------
//!                  [---+---]                     equivalent: both ends at the level of the one-sided tests; zero is inside
//!                      | [---]                   equivalent, and a difference: the end next to zero at the level of its test
//!                      |        [-----]          worse: the far end is still at the level of the one-sided tests
//!     [----------------+------------]            neither
//! ```
//!
//! Sources: Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15 (1987); the interval with zero in it, for the two
//! tests: Hsu, Hwang, Liu & Ruberg, Biometrika 81 (1994); Holm (1979).

use super::{CorrectedP, Criteria, holm};

/// p-values of a comparison.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PValues {
    /// Under no difference.
    pub(crate) difference: f64,
    /// Under a difference as large as the margin; `None` without a margin.
    pub(crate) equivalence: Option<f64>,
}

/// The levels of one comparison.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Levels {
    /// Level of the two-sided test of zero.
    pub(crate) difference: CorrectedP,
    /// Level of the one-sided tests of the margin; `None` without a margin.
    equivalence: Option<CorrectedP>,
}

impl From<CorrectedP> for Levels {
    fn from(difference: CorrectedP) -> Self {
        Self { difference, equivalence: None }
    }
}

impl Levels {
    /// The levels of all comparisons, in their order.
    pub(crate) fn for_all(all: &[PValues], criteria: Criteria) -> Vec<Self> {
        let corrected = |p: Vec<f64>| holm(&p, criteria.alpha()).into_iter();
        let differences = corrected(all.iter().map(|p| p.difference).collect());
        let equivalences: Option<Vec<f64>> = all.iter().map(|p| p.equivalence).collect();
        match equivalences {
            None => differences.map(Self::from).collect(),
            Some(p) => differences
                .zip(corrected(p).map(Some))
                .map(|(difference, equivalence)| Self { difference, equivalence })
                .collect(),
        }
    }

    /// The two-sided level at which an interval agrees with the tests of the margin.
    pub(crate) fn margin_level(self) -> f64 {
        self.equivalence.map_or(self.difference.level, |corrected| 2.0 * corrected.level)
    }

    /// The level that must be reachable for any conclusion.
    pub(crate) fn least(self, criteria: Criteria) -> f64 {
        let is_significant = self.difference.p <= criteria.alpha();
        if is_significant { self.difference.level } else { self.difference.level.min(self.margin_level()) }
    }

    /// The interval, from a test's intervals at given levels: it excludes zero exactly if a difference is found, and lies within the
    /// margin exactly if equivalence is.
    pub(crate) fn interval(self, at: impl Fn(f64) -> Option<(f64, f64)>) -> Option<(f64, f64)> {
        let (low, high) = at(self.difference.level)?;
        if self.equivalence.is_none() {
            return Some((low, high));
        }
        match (at(self.margin_level()), low > 0.0, high < 0.0) {
            (Some((_, most)), true, _) => Some((low, most)),
            (Some((least, _)), _, true) => Some((least, high)),
            (Some((least, most)), ..) => Some((least.min(0.0), most.max(0.0))),
            // Enough for a clear difference, and too little for the margin.
            (None, is_later, is_earlier) => (is_later || is_earlier).then_some((low, high)),
        }
    }
}

#[cfg(test)]
mod tests {
    use howlate_model::{Margin, Span};
    use proptest::prelude::*;

    use super::super::sampling_unit::SamplingUnits;
    use super::super::{Statistic, Tested, Verdict};
    use super::*;

    const MARGIN: i32 = 25;
    const CRITERIA: Criteria =
        Criteria { confidence: 0.95, margin: Some(Margin::Length(Span::from_nanos(MARGIN as u64))) };

    fn judge_all(all: &[(Vec<i32>, i32)]) -> Vec<Tested> {
        let test = |(noise, shift): &(Vec<i32>, i32)| {
            let new = noise.iter().map(|value| f64::from(value + shift)).collect();
            let units = SamplingUnits::of_pairs(vec![0.0; noise.len()], new);
            Tested::pairs(Statistic::P50, &units, Span::from_secs(1)).unwrap()
        };
        let mut all: Vec<Tested> = all.iter().map(test).collect();
        let p: Vec<PValues> = all.iter().map(|tested| tested.p_values(CRITERIA)).collect();
        let levels = Levels::for_all(&p, CRITERIA);
        all.iter_mut().zip(levels).for_each(|(tested, levels)| tested.judge(levels, CRITERIA));
        all
    }

    proptest! {
        #[test]
        fn verdict_and_interval_say_the_same_of_zero_and_of_the_margin(
            all in prop::collection::vec((prop::collection::vec(-20_i32..20, 16), -30_i32..30), 1..12),
        ) {
            for tested in judge_all(&all) {
                let (low, high) = tested.interval_ns.unwrap();
                let margin = f64::from(MARGIN);
                let is_within = -margin < low && high < margin;
                prop_assert_eq!(tested.verdict == Verdict::Equivalent, is_within, "{:?}", tested);
                prop_assert_eq!(tested.p_corrected <= 0.05, low > 0.0 || high < 0.0, "{:?}", tested);
                let differs = matches!(tested.verdict, Verdict::Worse | Verdict::Better);
                prop_assert_eq!(differs, !is_within && tested.p_corrected <= 0.05, "{:?}", tested);
                prop_assert!(low <= tested.difference_ns && tested.difference_ns <= high, "{:?}", tested);
            }
        }
    }

    /// Forty that differ by as much as the margin: with a single correction, each found to differ would relax the level of the rest.
    #[test]
    fn what_differs_by_the_margin_is_not_equivalent_however_many_differ() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut some_is_equivalent = || {
            let mut noise = || (0..20).map(|_| random.i32(-12..=12) + random.i32(-12..=12)).collect();
            let all: Vec<_> = (0..40).map(|_| (noise(), MARGIN)).collect();
            judge_all(&all).iter().any(|tested| tested.verdict == Verdict::Equivalent)
        };
        let wrong = (0..100).filter(|_| some_is_equivalent()).count();
        assert!(wrong <= 9, "{wrong} of 100");
    }

    #[test]
    fn where_all_are_equivalent_the_last_need_not_be_as_sure_as_the_first() {
        let noise = |by: usize| (0..20).map(|round| [-9, 4, 9, -4, 1][(round * by) % 5] * 2).collect();
        // One in twelve of the error would not reach from 18 to the margin.
        let all: Vec<_> = (0..12).map(|by| (noise(by % 4 + 1), if by == 7 { 18 } else { 0 })).collect();
        let verdicts: Vec<Verdict> = judge_all(&all).iter().map(|tested| tested.verdict).collect();
        assert_eq!(verdicts, [Verdict::Equivalent; 12]);
    }
}
