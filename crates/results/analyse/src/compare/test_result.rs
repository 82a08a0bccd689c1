//! The test of one statistic of two conditions: the difference, its interval, p and the verdict.

use howlate_model::{Margin, Span};
use schemars::JsonSchema;
use serde::Serialize;

use super::block_series::Piece;
use super::detectable::{POWER, StandardError, pairs_to_see};
use super::holm::CorrectedP;
use super::levels::{Levels, PValues};
use super::mann_whitney::{MannWhitney, least_size};
use super::margin_gate::MarginGate;
use super::needed_runs::{Settling, neighbours_differ};
use super::sampling_unit::{self, SamplingUnits, TooShort};
use super::signed_rank::{self, SignedRank};
use super::statistic::Statistic;
use super::verdict::{Inconclusive, Verdict};
use super::{Criteria, Design, LeftOut, hodges_lehmann};

/// One comparison. Times are nanoseconds.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Tested {
    /// What was compared.
    pub statistic: Statistic,
    /// The verdict, all comparisons of the command considered.
    pub verdict: Verdict,
    /// Why it is inconclusive, if it is.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub inconclusive: Option<Inconclusive>,
    /// The base: the centre of its units (Hodges–Lehmann).
    pub base_ns: f64,
    /// The same of the new one.
    pub new_ns: f64,
    /// Whether the base is only known to be that or more, as whoever measured it told nothing beyond apart.
    #[serde(skip_serializing_if = "is_false")]
    pub base_at_least: bool,
    /// The same of the new one.
    #[serde(skip_serializing_if = "is_false")]
    pub new_at_least: bool,
    /// New minus base (Hodges–Lehmann estimate); with `new_at_least` or `base_at_least` that of the bounds.
    pub difference_ns: f64,
    /// Interval of the difference, at the level at which it was tested (Holm): it leaves zero out exactly where a
    /// difference was found, and lies within the margin exactly where equivalence was. Absent when there are too few units.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "(f64, f64)")]
    pub interval_ns: Option<(f64, f64)>,
    /// The smallest difference that would have been found with a chance of at least 80 %.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detectable_ns: Option<f64>,
    /// How probable so large a difference is by chance.
    pub p: f64,
    /// The same, corrected for the number of comparisons (Holm).
    pub p_corrected: f64,
    /// Units on each side: turns, or stretches of about `unit_wakeups`.
    pub units: (usize, usize),
    /// Wake-ups of a unit, the least.
    pub unit_wakeups: u64,
    /// Pairs of turns that were left out, because one of them had too few wake-ups for this number.
    #[serde(skip_serializing_if = "is_zero")]
    pub short_pairs: usize,
    /// What would settle it, where it is inconclusive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled_by: Option<Settling>,
    /// What the margin is worth as a gate, where one was given; absent where too little is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<MarginGate>,
    /// Measured time of a unit.
    #[serde(skip)]
    unit: Span,
    #[serde(skip)]
    test: Test,
}

const fn is_false(flag: &bool) -> bool {
    !*flag
}

const fn is_zero(pairs: &usize) -> bool {
    *pairs == 0
}

/// Shorter recordings end before a machine has shown its states: frequencies, neighbours and background jobs change within seconds to
/// a minute.
const LONG_ENOUGH: Span = Span::from_secs(60);

/// Buckets of latencies are at most this fraction of them wide.
const BUCKETS_OF_ONE: f64 = 100.0;

/// The test, kept until the number of comparisons is known.
#[derive(Clone, Debug)]
enum Test {
    Pairs(SignedRank, Vec<f64>),
    Batches(MannWhitney, SamplingUnits, Span),
}

/// Tests every statistic with enough wake-ups; also returns those without.
pub(crate) fn all(design: Design, base: &[Piece], new: &[Piece]) -> (Vec<Tested>, Vec<LeftOut>) {
    let (mut tested, mut left_out) = (Vec::new(), Vec::new());
    for statistic in Statistic::ALL {
        match Tested::compute(statistic, design, base, new) {
            Ok(result) => tested.extend(result),
            Err(TooShort { wakeups }) => {
                let needed = match design {
                    Design::Interleaved | Design::Distributions => statistic.least(),
                    Design::Separate => statistic.least_in_all(),
                };
                left_out.push(LeftOut { statistic, wakeups, needed });
            }
        }
    }
    (tested, left_out)
}

impl Tested {
    fn compute(
        statistic: Statistic,
        design: Design,
        base: &[Piece],
        new: &[Piece],
    ) -> Result<Option<Self>, TooShort> {
        let covered = covered(base).min(covered(new));
        Ok(match design {
            Design::Interleaved => {
                Self::pairs(statistic, &sampling_unit::pairs(statistic, base, new)?, covered)
            }
            Design::Distributions => {
                let units = sampling_unit::whole(statistic, base, new)?;
                let [base_at_least, new_at_least] = [base, new].map(|side| statistic.is_lower_bound(side));
                Self::batches(statistic, units, covered).map(|tested| Self {
                    base_at_least,
                    new_at_least,
                    ..tested
                })
            }
            Design::Separate => {
                Self::batches(statistic, sampling_unit::batches(statistic, base, new)?, covered)
            }
        })
    }

    pub(crate) fn pairs(statistic: Statistic, units: &SamplingUnits, covered: Span) -> Option<Self> {
        let differences: Vec<f64> = units.new.iter().zip(&units.base).map(|(new, base)| new - base).collect();
        let difference = hodges_lehmann::centre(&differences)?;
        let test = SignedRank::from_differences(&differences);
        Self::new(statistic, units, (difference, test.p()), covered, Test::Pairs(test, differences))
    }

    fn batches(statistic: Statistic, units: SamplingUnits, covered: Span) -> Option<Self> {
        let difference = hodges_lehmann::between(&units.base, &units.new)?;
        let test = MannWhitney::of_series(&units.base, &units.new, units.inflation);
        let p = test.p();
        Self::new(statistic, &units.clone(), (difference, p), covered, Test::Batches(test, units, covered))
    }

    fn new(
        statistic: Statistic,
        units: &SamplingUnits,
        (difference_ns, p): (f64, f64),
        covered: Span,
        test: Test,
    ) -> Option<Self> {
        let unit =
            Span::from_nanos(covered.as_nanos() / (units.base.len().min(units.new.len()) as u64).max(1));
        Some(Self {
            statistic,
            verdict: Verdict::Inconclusive,
            inconclusive: None,
            base_ns: hodges_lehmann::centre(&units.base)?,
            new_ns: hodges_lehmann::centre(&units.new)?,
            base_at_least: false,
            new_at_least: false,
            difference_ns,
            interval_ns: None,
            detectable_ns: None,
            p,
            p_corrected: p,
            units: (units.base.len(), units.new.len()),
            unit_wakeups: units.wakeups,
            short_pairs: units.short,
            settled_by: None,
            gate: None,
            unit,
            test,
        })
    }

    /// Measured time of a unit.
    pub const fn unit(&self) -> Span {
        self.unit
    }

    /// The difference in per cent of the base; `None` where the base is not above zero.
    pub fn percent(&self, nanos: f64) -> Option<f64> {
        (self.base_ns > 0.0).then(|| 100.0 * nanos / self.base_ns)
    }

    /// Concludes, with all comparisons taken into account.
    pub(crate) fn judge(&mut self, levels: impl Into<Levels>, criteria: Criteria) {
        let levels: Levels = levels.into();
        let level = levels.difference.level;
        self.p_corrected = levels.difference.p;
        self.inconclusive = self.test.too_little(levels.least(criteria));
        // With correlated batches, or without any, there is neither an interval nor a detectable effect.
        let has_units =
            !matches!(self.inconclusive, Some(Inconclusive::Drift { .. } | Inconclusive::TwoDistributions));
        if has_units {
            self.interval_ns = levels.interval(|level| self.test.interval(level));
            let detectable = self.test.detectable(self.difference_ns, level, criteria.alpha());
            // A difference smaller than a bucket may be invisible.
            self.detectable_ns = detectable.map(|least| least.max(self.base_ns.abs() / BUCKETS_OF_ONE));
        }
        self.verdict = match self.inconclusive {
            Some(_) => Verdict::Inconclusive,
            None => self.conclusion(criteria, levels),
        };
        self.gate = criteria.margin.and_then(|margin| {
            let margin = margin.nanos_around(self.base_ns);
            let (units, spread) = (self.units.0.min(self.units.1), self.test.spread(criteria.alpha())?);
            MarginGate::new(
                self.test.interval(levels.margin_level())?,
                margin,
                spread,
                units,
                criteria.alpha(),
            )
        });
        self.settled_by =
            has_units.then(|| self.inconclusive.map(|_| self.settling(criteria, level))).flatten();
    }

    /// Withdraws a difference between short recordings: the sides were not measured in turns, and so little time does not show how much the
    /// machine changes by itself.
    pub(crate) fn leave_open(&mut self, corrected: CorrectedP, criteria: Criteria) {
        let is_short = matches!(&self.test, Test::Batches(_, _, covered) if *covered < LONG_ENOUGH);
        if is_short && matches!(self.verdict, Verdict::Worse | Verdict::Better) {
            self.verdict = Verdict::Inconclusive;
            self.inconclusive = Some(Inconclusive::OneAfterTheOther);
            self.settled_by = Some(self.settling(criteria, corrected.level));
        }
    }

    pub(crate) fn p_values(&self, criteria: Criteria) -> PValues {
        PValues { difference: self.p, equivalence: criteria.margin.map(|margin| self.p_of_margin(margin)) }
    }

    /// p-value of a difference this close to zero, under one as large as `margin` to either side.
    fn p_of_margin(&self, margin: Margin) -> f64 {
        let margin = margin.nanos_around(self.base_ns);
        match &self.test {
            Test::Pairs(test, _) => test.p_of_margin(margin),
            Test::Batches(test, ..) => test.p_of_margin(margin),
        }
    }

    /// The interval without correction for other comparisons, missed by chance with probability `alpha`.
    pub(crate) fn interval_alone(&self, alpha: f64) -> Option<(f64, f64)> {
        self.interval_ns.and_then(|_| self.test.interval(alpha))
    }

    /// Whether the centres of the two sides disagree with the difference between them: in the other direction, or outside its interval.
    /// That happens if units were slow or quick on both sides at once.
    pub fn sides_disagree(&self) -> bool {
        let difference = self.new_ns - self.base_ns;
        // Counting in buckets may shift it by a hundredth.
        let is_more = |by: f64| by.abs() > self.base_ns.abs().max(self.new_ns.abs()) / 100.0;
        let is_outside = self.interval_ns.is_some_and(|(low, high)| {
            (difference < low && is_more(low - difference))
                || (difference > high && is_more(difference - high))
        });
        let is_opposite =
            difference * self.difference_ns < 0.0 && is_more(difference) && is_more(self.difference_ns);
        self.interval_ns.is_some() && (is_outside || is_opposite)
    }

    /// The measurement that would show a difference of the requested margin, or of the observed size, but at least a twentieth of the
    /// base.
    fn settling(&self, criteria: Criteria, level: f64) -> Settling {
        let margin = criteria.margin.map(|margin| margin.nanos_around(self.base_ns));
        let effect = margin.unwrap_or_else(|| self.difference_ns.abs().max(self.base_ns.abs() / 20.0));
        let deviation = match &self.test {
            // Each difference has the noise of two pairs.
            Test::Pairs(_, differences) => neighbours_differ(&[differences]) / std::f64::consts::SQRT_2,
            Test::Batches(_, units, _) => neighbours_differ(&[&units.base, &units.new]),
        };
        let settling = Settling::new(deviation, effect, self.unit, level);
        // With that many pairs there is some conclusion, if only the detectable size: the noise of a few pairs is no reason to measure for
        // an hour.
        if let Some(Inconclusive::TooFewPairs { needed, .. }) = self.inconclusive {
            return Settling { pairs: needed, ..settling };
        }
        Settling { pairs: settling.pairs.max(signed_rank::least_pairs(level)), ..settling }
    }

    fn conclusion(&mut self, criteria: Criteria, levels: Levels) -> Verdict {
        let margin = criteria.margin.map(|margin| margin.nanos_around(self.base_ns));
        let is_in_reach = self.test.least_p() <= levels.margin_level();
        let within = |margin: f64| {
            is_in_reach && self.interval_ns.is_some_and(|(low, high)| -margin < low && high < margin)
        };
        match (margin, self.interval_ns) {
            (Some(margin), _) if within(margin) => Verdict::Equivalent,
            (_, Some((low, _))) if low > 0.0 => Verdict::Worse,
            (_, Some((_, high))) if high < 0.0 => Verdict::Better,
            (None, _) => Verdict::NotDistinguishable,
            (Some(margin), _) => {
                self.inconclusive =
                    Some(self.test.wider_than(margin, levels.margin_level(), criteria.alpha()));
                Verdict::Inconclusive
            }
        }
    }
}

/// The measured time of all blocks.
pub(crate) fn covered(pieces: &[Piece]) -> Span {
    let nanos = pieces.iter().map(|piece| piece.until.since(piece.from).as_nanos()).sum();
    Span::from_nanos(nanos)
}

impl Test {
    fn interval(&self, alpha: f64) -> Option<(f64, f64)> {
        match self {
            Self::Pairs(test, _) => test.interval(alpha),
            Self::Batches(test, ..) => test.interval(alpha),
        }
    }

    /// Number of units; of both sides if they are not paired.
    fn units(&self) -> usize {
        match self {
            Self::Pairs(_, differences) => differences.len(),
            Self::Batches(_, units, _) => units.base.len() + units.new.len() - 1,
        }
    }

    fn spread(&self, alpha: f64) -> Option<StandardError> {
        StandardError::of_interval(self.interval(alpha)?, alpha, self.units() as f64 - 1.0)
    }

    fn least_p(&self) -> f64 {
        match self {
            Self::Pairs(_, differences) => signed_rank::least_p(differences.len()),
            Self::Batches(test, ..) => test.least_p(),
        }
    }

    /// The smallest effect that would have been found at `level`: p has steps, so the level that counts is the last step below it.
    fn detectable(&self, difference: f64, level: f64, alpha: f64) -> Option<f64> {
        let step = self.least_p();
        let reached = match self {
            Self::Pairs(test, _) => test.level(level),
            Self::Batches(..) => level,
        };
        let spread = self.spread(alpha)?;
        let least = spread.detectable(reached, POWER).filter(|_| step <= level)?;
        // Outliers widen an interval at a strict level by more than the standard error suggests.
        let wide =
            self.interval(reached).map_or(0.0, |(low, high)| (high - difference).max(difference - low));
        Some(least.max(wide + spread.beyond(POWER)))
    }

    fn too_little(&self, level: f64) -> Option<Inconclusive> {
        match self {
            Self::Batches(_, _, covered) if covered.is_zero() => Some(Inconclusive::TwoDistributions),
            Self::Batches(_, units, covered) if units.is_correlated => {
                Some(Inconclusive::Drift { covered: *covered })
            }
            _ if self.least_p() <= level => None,
            Self::Pairs(_, differences) => {
                let needed = signed_rank::least_pairs(level);
                Some(Inconclusive::TooFewPairs { pairs: differences.len(), needed })
            }
            Self::Batches(test, units, _) => {
                let needed = least_size(level, test);
                let stretches = units.base.len().min(units.new.len());
                Some(Inconclusive::TooFewStretches { stretches, needed })
            }
        }
    }

    fn wider_than(&self, margin: f64, level: f64, alpha: f64) -> Inconclusive {
        let units = match self {
            Self::Pairs(_, differences) => differences.len(),
            Self::Batches(_, units, _) => units.base.len().min(units.new.len()),
        };
        let deviation = self.spread(alpha).map_or(0.0, |spread| spread.error * (units as f64).sqrt());
        Inconclusive::WiderThanMargin {
            units,
            // Neither end may reach the margin, so the error is shared by the two.
            needed: pairs_to_see(margin, deviation, level, f64::midpoint(1.0, POWER)).max(units + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::holm;
    use super::*;

    const CRITERIA: Criteria = Criteria { confidence: 0.95, margin: None };

    fn pairs(base: Vec<f64>, new: Vec<f64>) -> Tested {
        Tested::pairs(Statistic::P99, &SamplingUnits::of_pairs(base, new), Span::from_secs(1)).unwrap()
    }

    fn judge_all(mut all: Vec<Tested>) -> Vec<Tested> {
        let ps: Vec<f64> = all.iter().map(|tested| tested.p).collect();
        for (tested, corrected) in all.iter_mut().zip(holm(&ps, CRITERIA.alpha())) {
            tested.judge(corrected, CRITERIA);
        }
        all
    }

    /// Numbers of turns, some of which are shifted; few values, so that many are equal.
    fn several() -> impl Strategy<Value = Vec<(Vec<i32>, Vec<i32>, i32)>> {
        let turns = || prop::collection::vec(0_i32..40, 14);
        prop::collection::vec((turns(), turns(), -30_i32..30), 1..8)
    }

    proptest! {
        /// The interval excludes zero exactly if a difference is found, whatever else was compared.
        #[test]
        fn verdict_interval_and_p_say_the_same(all in several(), is_paired: bool) {
            let test = |(base, new, shift): &(Vec<i32>, Vec<i32>, i32)| {
                let base: Vec<f64> = base.iter().map(|value| f64::from(*value)).collect();
                let new: Vec<f64> = new.iter().map(|value| f64::from(value + shift)).collect();
                if is_paired {
                    return pairs(base, new);
                }
                let units = SamplingUnits::of_pairs(base, new);
                Tested::batches(Statistic::P99, units, Span::from_secs(1)).unwrap()
            };
            for tested in judge_all(all.iter().map(test).collect()) {
                let (low, high) = tested.interval_ns.unwrap();
                let differs = matches!(tested.verdict, Verdict::Better | Verdict::Worse);
                prop_assert_eq!(differs, low > 0.0 || high < 0.0, "{:?}", tested);
                prop_assert_eq!(differs, tested.p_corrected <= 0.05, "{:?}", tested);
                prop_assert!(low <= tested.difference_ns && tested.difference_ns <= high, "{:?}", tested);
            }
        }
    }

    /// The machine may have changed in between.
    #[test]
    fn two_short_runs_one_after_the_other_get_no_verdict() {
        let base: Vec<f64> = (0..20).map(|value| 1_000.0 + f64::from(value)).collect();
        let new: Vec<f64> = base.iter().map(|value| 10.0 * value).collect();
        let judged_after = |seconds| {
            let units = SamplingUnits::of_pairs(base.clone(), new.clone());
            let mut tested = Tested::batches(Statistic::P99, units, Span::from_secs(seconds)).unwrap();
            let corrected = holm(&[tested.p], CRITERIA.alpha())[0];
            tested.judge(corrected, CRITERIA);
            assert_eq!(tested.verdict, Verdict::Worse);
            tested.leave_open(corrected, CRITERIA);
            (tested, corrected)
        };
        assert_eq!(
            judged_after(120).0.verdict,
            Verdict::Worse,
            "two minutes show what the machine does by itself"
        );
        let (tested, corrected) = judged_after(20);
        assert_eq!(
            (tested.verdict, tested.inconclusive),
            (Verdict::Inconclusive, Some(Inconclusive::OneAfterTheOther))
        );
        assert!(
            tested.interval_ns.is_some() && tested.settled_by.is_some(),
            "the numbers are there: {tested:?}"
        );
        let mut alike = pairs(vec![5.0; 12], vec![5.0; 12]);
        alike.judge(corrected, CRITERIA);
        alike.leave_open(corrected, CRITERIA);
        assert_eq!(alike.verdict, Verdict::NotDistinguishable);
    }

    /// With that many there is some conclusion; the noise of a few turns is no reason to take a thousand.
    #[test]
    fn too_few_pairs_are_settled_by_as_many_as_it_takes() {
        let wild = |round: i32| f64::from(1 + (round % 2) * 100_000);
        let few = |count: i32| (0..count).map(wild).collect::<Vec<f64>>();
        let eight: Vec<Tested> = (0..8).map(|_| pairs(few(6), few(6))).collect();
        for tested in judge_all(eight) {
            assert_eq!(tested.inconclusive, Some(Inconclusive::TooFewPairs { pairs: 6, needed: 9 }));
            assert_eq!(tested.settled_by.unwrap().pairs, 9);
        }
    }

    #[test]
    fn columns_that_contradict_the_pairs_are_found() {
        let base: Vec<f64> = (0..12).map(|round| if round % 2 == 0 { 1_000.0 } else { 400.0 }).collect();
        let new = base.iter().zip(0..).map(|(value, round)| value - 20.0 - f64::from(round)).collect();
        let found = judge_all(vec![pairs(base, new)]).remove(0);
        let (low, high) = found.interval_ns.unwrap();
        let disagree = |by: f64| Tested { new_ns: found.base_ns + by, ..found.clone() }.sides_disagree();
        assert!(!found.sides_disagree() && !disagree(low) && !disagree(high) && !disagree(low - 1.0));
        assert!(disagree(200.0) && disagree(low - 100.0));
    }
}
