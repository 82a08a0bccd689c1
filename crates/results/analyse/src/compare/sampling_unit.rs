//! Sampling units of a comparison: never single wake-ups, which are correlated with their neighbours, but whole turns or batches.

use std::collections::BTreeMap;

use howlate_model::Distribution;

use super::block_series::Piece;
use super::mann_whitney::MannWhitney;
use super::statistic::{LEAST, Statistic, merge_blocks};
use crate::autocorrelation::{is_too_correlated, lag_one, variance_inflation};

/// Most units, roughly, of the shorter recording and of the longer one.
const MOST: usize = 32;
const MOST_OF_THE_LONGER: usize = 256;
/// Units with a higher autocorrelation are joined, while there are enough of them.
const MOST_CORRELATION: f64 = 0.3;

/// One value of a statistic per unit, of base and new.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SamplingUnits {
    pub(crate) base: Vec<f64>,
    pub(crate) new: Vec<f64>,
    /// Wake-ups of one unit.
    pub(crate) wakeups: u64,
    /// Autocorrelation of neighbours.
    correlation: f64,
    /// Whether neighbours are still correlated, so that nothing can be concluded.
    pub(crate) is_correlated: bool,
    /// Variance inflation of ranks compared with independent values.
    pub(crate) inflation: f64,
    /// Whether the medians of the two halves of a side differ.
    halves_differ: bool,
    /// Pairs that were left out, because one of their turns has too few wake-ups.
    pub(crate) short: usize,
}

/// Why a statistic has no units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooShort {
    /// Wake-ups of the shortest turn.
    pub(crate) wakeups: u64,
}

#[cfg(test)]
impl SamplingUnits {
    /// One value for each turn.
    pub(crate) fn of_pairs(base: Vec<f64>, new: Vec<f64>) -> Self {
        Self {
            base,
            new,
            wakeups: 200,
            correlation: 0.0,
            is_correlated: false,
            inflation: 1.0,
            halves_differ: false,
            short: 0,
        }
    }
}

/// Turns as units: those of the same round are a pair. A pair with a turn that has too few wake-ups for the statistic is left out, but
/// never half of them or more: the rest would be turns of another kind.
///
/// # Errors
///
/// If at least as many pairs are left out as remain.
pub(crate) fn pairs(statistic: Statistic, base: &[Piece], new: &[Piece]) -> Result<SamplingUnits, TooShort> {
    let (base, new) = (turns(base), turns(new));
    let both = base.iter().filter_map(|(round, old)| Some((old, new.get(round)?)));
    let wakeups = |(old, new): &(&Distribution, &Distribution)| old.count().min(new.count());
    let (long, short): (Vec<_>, Vec<_>) = both.partition(|pair| wakeups(pair) >= statistic.least());
    if !short.is_empty() && short.len() >= long.len() {
        return Err(TooShort { wakeups: short.iter().map(wakeups).min().unwrap_or(0) });
    }
    let (base, new) =
        long.iter().filter_map(|(old, new)| statistic.value_in(old).zip(statistic.value_in(new))).unzip();
    let wakeups = long.iter().map(wakeups).min().unwrap_or(0);
    Ok(SamplingUnits {
        base,
        new,
        wakeups,
        correlation: 0.0,
        is_correlated: false,
        inflation: 1.0,
        halves_differ: false,
        short: short.len(),
    })
}

/// The wake-ups of each turn.
fn turns(pieces: &[Piece]) -> BTreeMap<u32, Distribution> {
    let mut turns: BTreeMap<u32, Distribution> = BTreeMap::new();
    for piece in pieces {
        turns.entry(piece.round).or_default().merge(&piece.latency);
    }
    turns
}

/// Batches of two recordings as units: blocks, joined until neighbours are no longer correlated.
///
/// # Errors
///
/// If a side has too few wake-ups for the statistic.
pub(crate) fn batches(
    statistic: Statistic,
    base: &[Piece],
    new: &[Piece],
) -> Result<SamplingUnits, TooShort> {
    let count = |pieces: &[Piece]| pieces.iter().map(|piece| piece.latency.count()).sum::<u64>();
    let least = count(base).min(count(new));
    if least < statistic.least_in_all() {
        return Err(TooShort { wakeups: least });
    }
    let block = |pieces: &[Piece]| count(pieces) / (pieces.len() as u64).max(1);
    // The shorter one decides, so that a longer base does not reduce the number of units.
    let longest = count(base).max(count(new)).div_ceil(MOST_OF_THE_LONGER as u64);
    let most = least.div_ceil(MOST as u64).max(longest);
    let mut wakeups = most.max(statistic.least()).max(block(base)).max(block(new)).max(1);
    let mut units = join_sides(statistic, base, new, wakeups);
    while units.correlation > MOST_CORRELATION {
        wakeups *= 2;
        let longer = join_sides(statistic, base, new, wakeups);
        if longer.base.len().min(longer.new.len()) < LEAST {
            break;
        }
        units = longer;
    }
    units.is_correlated =
        is_too_correlated(units.correlation, units.base.len() + units.new.len()) || units.halves_differ;
    Ok(units)
}

/// Units of `wakeups` wake-ups. A noisy statistic, such as a maximum, hides how slowly it drifts: the autocorrelation is taken from the
/// medians if these show more of it.
fn join_sides(statistic: Statistic, base: &[Piece], new: &[Piece], wakeups: u64) -> SamplingUnits {
    let (old_units, new_units) = (join(base, wakeups), join(new, wakeups));
    let values = |units: &[Distribution], statistic: Statistic| -> Vec<f64> {
        units.iter().filter_map(|unit| statistic.value_in(unit)).collect()
    };
    let both = |statistic: Statistic| (values(&old_units, statistic), values(&new_units, statistic));
    let ((base, new), level) = (both(statistic), both(Statistic::P50));
    let (own, level) = ([&base[..], &new[..]], [&level.0[..], &level.1[..]]);
    let correlation = lag_one(&own).max(lag_one(&level));
    let inflation = variance_inflation(&own, &level);
    let level_inflation = variance_inflation(&level, &level);
    let halves_differ = level.iter().any(|side| halves_differ(side, level_inflation));
    SamplingUnits {
        base,
        new,
        wakeups,
        correlation,
        is_correlated: false,
        inflation,
        halves_differ,
        short: 0,
    }
}

/// Probability that the halves of a run on an unchanging machine seem to differ.
const HALVES_DIFFER: f64 = 0.01;

/// Whether the values of the two halves differ, by more than autocorrelation explains.
fn halves_differ(values: &[f64], inflation: f64) -> bool {
    let (first, second) = values.split_at(values.len() / 2);
    !first.is_empty() && MannWhitney::of_series(first, second, inflation).p() < HALVES_DIFFER
}

/// Each side as one unit, for distributions without a course over time.
///
/// # Errors
///
/// If a side has too few wake-ups for the statistic.
pub(crate) fn whole(statistic: Statistic, base: &[Piece], new: &[Piece]) -> Result<SamplingUnits, TooShort> {
    let (base, new) = (merge_blocks(base), merge_blocks(new));
    let wakeups = base.count().min(new.count());
    if wakeups < statistic.least() {
        return Err(TooShort { wakeups });
    }
    let unit = |all: &Distribution| statistic.value_in(all).into_iter().collect();
    Ok(SamplingUnits {
        base: unit(&base),
        new: unit(&new),
        wakeups,
        correlation: 0.0,
        is_correlated: false,
        inflation: 1.0,
        halves_differ: false,
        short: 0,
    })
}

/// Joins neighbouring blocks until each unit has about `wakeups`; the remainder joins the last.
fn join(pieces: &[Piece], wakeups: u64) -> Vec<Distribution> {
    let mut units: Vec<Distribution> = Vec::new();
    let mut open = Distribution::default();
    for piece in pieces {
        open.merge(&piece.latency);
        // A block that ended a little early counts as full.
        if open.count() + wakeups / 16 >= wakeups {
            units.push(std::mem::take(&mut open));
        }
    }
    match units.last_mut() {
        Some(last) => last.merge(&open),
        None => units.push(open),
    }
    units
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::block_series::testing::piece;

    fn blocks(levels: impl IntoIterator<Item = i64>) -> Vec<Piece> {
        levels.into_iter().zip(0..).map(|(level, second)| piece(0, second, &[level; 20])).collect()
    }

    #[test]
    fn turns_of_the_same_round_are_pairs() {
        let base =
            [piece(0, 0, &[1; 20]), piece(0, 1, &[2; 20]), piece(1, 4, &[5; 20]), piece(2, 9, &[7; 20])];
        let new = [piece(2, 8, &[70; 20]), piece(0, 2, &[10; 20]), piece(5, 3, &[9; 20])];
        let units = pairs(Statistic::P50, &base, &new).unwrap();
        assert_eq!((units.base, units.new, units.wakeups), (vec![1.0, 7.0], vec![10.0, 70.0], 20));
        assert_eq!(pairs(Statistic::P99, &base, &new), Err(TooShort { wakeups: 20 }));
    }

    // round   0    1    2    3
    // base  120  120  120   20
    // new   120   20  120  120    pairs 1 and 3 are too short for p99
    #[test]
    fn a_pair_that_is_too_short_is_left_out_and_counted() {
        let turns = |level: i64, counts: [usize; 4]| -> Vec<Piece> {
            let turn =
                |(count, round): (usize, u32)| piece(round, round, &vec![level + i64::from(round); count]);
            counts.into_iter().zip(0..).map(turn).collect()
        };
        let (base, new) = (turns(10, [120; 4]), turns(50, [120, 20, 120, 120]));
        let units = pairs(Statistic::P99, &base, &new).unwrap();
        assert_eq!((units.base, units.new, units.short), (vec![10.0, 12.0, 13.0], vec![50.0, 52.0, 53.0], 1));
        assert_eq!(units.wakeups, 120);
        let all = pairs(Statistic::P50, &base, &new).unwrap();
        assert_eq!((all.base.len(), all.short, all.wakeups), (4, 0, 20), "a median takes fewer");
        let half = turns(10, [120, 120, 120, 20]);
        assert_eq!(pairs(Statistic::P99, &half, &new), Err(TooShort { wakeups: 20 }), "the half of them");
    }

    #[test]
    fn blocks_that_are_alike_are_joined_until_they_are_not() {
        let noise = |second: i64| (second * 7919) % 101;
        let independent = blocks((0..20).map(noise));
        let units = batches(Statistic::P50, &independent, &independent).unwrap();
        assert_eq!((units.base.len(), units.wakeups, units.is_correlated), (20, 20, false));
        // Each level lasts for four seconds.
        let slow = blocks((0..64).map(|second| 100 * noise(second / 4)));
        let units = batches(Statistic::P50, &slow, &slow).unwrap();
        assert!((LEAST..=16).contains(&units.base.len()), "{units:?}");
        // A trend never ends.
        let trend = blocks(0..40);
        assert!(batches(Statistic::P50, &trend, &trend).unwrap().is_correlated);
    }

    #[test]
    fn a_longer_base_says_more_and_not_less() {
        let noise = |seconds: i64| blocks((0..seconds).map(|second| (second * 7_919) % 101));
        let units = batches(Statistic::P99, &noise(6_000), &noise(600)).unwrap();
        let equal_length = batches(Statistic::P99, &noise(600), &noise(600)).unwrap();
        assert!(units.wakeups < 2 * equal_length.wakeups, "{} {}", units.wakeups, equal_length.wakeups);
        assert!((24..=32).contains(&units.new.len()), "{}", units.new.len());
        assert!((200..=290).contains(&units.base.len()), "{}", units.base.len());
    }

    // second   0 ... 31 | 32 ... 63      neighbours are as different in both halves, and the second lies a little higher
    #[test]
    fn a_machine_that_changed_in_the_middle_says_nothing() {
        let noise = |second: i64| (second * 7_919) % 101;
        let changed = blocks((0..64).map(|second| noise(second) + if second < 32 { 0 } else { 40 }));
        let steady = blocks((0..64).map(noise));
        let units = |new: &[Piece]| batches(Statistic::P50, &steady, new).unwrap();
        assert!(units(&changed).is_correlated && units(&changed).halves_differ, "{:?}", units(&changed));
        assert!(!is_too_correlated(units(&changed).correlation, 64), "by their neighbours it does not show");
        assert!(!units(&steady).is_correlated);
    }

    #[test]
    fn many_blocks_are_joined_to_few_units_and_none_is_lost() {
        let many = blocks((0..1_000).map(|second| (second * 7919) % 101));
        let units = batches(Statistic::P99, &many, &many).unwrap();
        assert!((16..=MOST + 2).contains(&units.base.len()), "{}", units.base.len());
        let joined = join(&many, units.wakeups);
        assert_eq!(joined.iter().map(Distribution::count).sum::<u64>(), 20_000);
    }

    #[test]
    fn a_unit_holds_enough_for_its_statistic() {
        let few = blocks((0..60).map(|second| (second * 7919) % 101));
        assert_eq!(batches(Statistic::P999, &few, &few), Err(TooShort { wakeups: 1_200 }));
        assert_eq!(batches(Statistic::P99, &few, &few).unwrap().wakeups % 100, 0);
        assert_eq!(batches(Statistic::P50, &few[..2], &few[..2]).unwrap().base.len(), 2);
    }
}
