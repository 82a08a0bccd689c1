//! What is compared: never single wake-ups, which are alike with their neighbours, but whole stretches of them.

use std::collections::BTreeMap;

use howlate_model::Distribution;

use super::block_series::Piece;
use super::mann_whitney::MannWhitney;
use super::statistic::{LEAST, Statistic, per_loop};
use crate::autocorrelation::{is_too_correlated, lag_one, variance_inflation};

/// About as many units are made at most, of the shorter recording and of the longer one.
const MOST: usize = 32;
const MOST_OF_THE_LONGER: usize = 256;
/// Units whose neighbours are more alike than this are joined, while there are enough of them.
const ALIKE: f64 = 0.3;

/// One value of a statistic per unit, of base and new.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Units {
    pub(crate) base: Vec<f64>,
    pub(crate) new: Vec<f64>,
    /// What one unit is made of.
    pub(crate) wakeups: u64,
    /// How alike neighbours are.
    likeness: f64,
    /// Whether neighbours are still alike, so that nothing can be said.
    pub(crate) alike: bool,
    /// By how much the variance of ranks is larger than that of independent values.
    pub(crate) inflation: f64,
    /// Whether the medians of one half of a side are not those of the other.
    halves_differ: bool,
    /// Pairs that were left out, because one of their turns has too few wake-ups.
    pub(crate) short: usize,
}

/// Why a statistic has no units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooShort {
    /// Wake-ups that the shortest turn has.
    pub(crate) wakeups: u64,
}

#[cfg(test)]
impl Units {
    /// One value for each turn.
    pub(crate) fn of_pairs(base: Vec<f64>, new: Vec<f64>) -> Self {
        Self {
            base,
            new,
            wakeups: 200,
            likeness: 0.0,
            alike: false,
            inflation: 1.0,
            halves_differ: false,
            short: 0,
        }
    }
}

/// Turns as units: those of the same round are a pair. One with a turn that has too few wake-ups for the statistic is left out, but
/// not the half of them: those that are left would be turns of another kind.
///
/// # Errors
///
/// When as many pairs are left out as stay.
pub(crate) fn pairs(statistic: Statistic, base: &[Piece], new: &[Piece]) -> Result<Units, TooShort> {
    let (base, new) = (turns(base), turns(new));
    let both = base.iter().filter_map(|(round, one)| Some((one, new.get(round)?)));
    let wakeups = |(one, other): &(&Distribution, &Distribution)| one.count().min(other.count());
    let (long, short): (Vec<_>, Vec<_>) = both.partition(|pair| wakeups(pair) >= statistic.least());
    if !short.is_empty() && short.len() >= long.len() {
        return Err(TooShort { wakeups: short.iter().map(wakeups).min().unwrap_or(0) });
    }
    let (base, new) =
        long.iter().filter_map(|(one, new)| statistic.value_in(one).zip(statistic.value_in(new))).unzip();
    let wakeups = long.iter().map(wakeups).min().unwrap_or(0);
    Ok(Units {
        base,
        new,
        wakeups,
        likeness: 0.0,
        alike: false,
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

/// Stretches of two recordings as units: blocks, joined until neighbours are no longer alike.
///
/// # Errors
///
/// When a whole side has too few wake-ups for the statistic.
pub(crate) fn stretches(statistic: Statistic, base: &[Piece], new: &[Piece]) -> Result<Units, TooShort> {
    let count = |pieces: &[Piece]| pieces.iter().map(|piece| piece.latency.count()).sum::<u64>();
    let least = count(base).min(count(new));
    if least < statistic.least_in_all() {
        return Err(TooShort { wakeups: least });
    }
    let block = |pieces: &[Piece]| count(pieces) / (pieces.len() as u64).max(1);
    // The shorter one decides, so that a longer base says more and not less.
    let longest = count(base).max(count(new)).div_ceil(MOST_OF_THE_LONGER as u64);
    let most = least.div_ceil(MOST as u64).max(longest);
    let mut wakeups = most.max(statistic.least()).max(block(base)).max(block(new)).max(1);
    let mut units = joined(statistic, base, new, wakeups);
    while units.likeness > ALIKE {
        wakeups *= 2;
        let longer = joined(statistic, base, new, wakeups);
        if longer.base.len().min(longer.new.len()) < LEAST {
            break;
        }
        units = longer;
    }
    units.alike =
        is_too_correlated(units.likeness, units.base.len() + units.new.len()) || units.halves_differ;
    Ok(units)
}

/// Units of so many wake-ups. What is mostly noise, as a maximum is, hides how slowly it wanders: how alike
/// neighbours are is taken from the medians where these show more of it.
fn joined(statistic: Statistic, base: &[Piece], new: &[Piece], wakeups: u64) -> Units {
    let (old_units, new_units) = (join(base, wakeups), join(new, wakeups));
    let values = |units: &[Distribution], of: Statistic| -> Vec<f64> {
        units.iter().filter_map(|unit| of.value_in(unit)).collect()
    };
    let of = |of: Statistic| (values(&old_units, of), values(&new_units, of));
    let ((base, new), level) = (of(statistic), of(Statistic::P50));
    let (own, level) = ([&base[..], &new[..]], [&level.0[..], &level.1[..]]);
    let likeness = lag_one(&own).max(lag_one(&level));
    let inflation = variance_inflation(&own, &level);
    let worth = variance_inflation(&level, &level);
    let halves_differ = level.iter().any(|side| halves_differ(side, worth));
    Units { base, new, wakeups, likeness, alike: false, inflation, halves_differ, short: 0 }
}

/// Of machines that do not change, so few look as if the halves of a run differed.
const HALVES_DIFFER: f64 = 0.01;

/// Whether the values of one half are not those of the other, by more than neighbours that are alike explain.
fn halves_differ(values: &[f64], inflation: f64) -> bool {
    let (first, second) = values.split_at(values.len() / 2);
    !first.is_empty() && MannWhitney::of_series(first, second, inflation).p() < HALVES_DIFFER
}

/// Each side as one unit, where nothing is known of its course: threads side by side are no stretches.
///
/// # Errors
///
/// When a side has too few wake-ups for the statistic.
pub(crate) fn whole(statistic: Statistic, base: &[Piece], new: &[Piece]) -> Result<Units, TooShort> {
    let (base, new) = (per_loop(base), per_loop(new));
    let wakeups = base.count().min(new.count());
    if wakeups < statistic.least() {
        return Err(TooShort { wakeups });
    }
    let unit = |all: &Distribution| statistic.value_in(all).into_iter().collect();
    Ok(Units {
        base: unit(&base),
        new: unit(&new),
        wakeups,
        likeness: 0.0,
        alike: false,
        inflation: 1.0,
        halves_differ: false,
        short: 0,
    })
}

/// Neighbouring blocks joined until each has about `wakeups`; what is left over joins the last.
fn join(pieces: &[Piece], wakeups: u64) -> Vec<Distribution> {
    let mut units: Vec<Distribution> = Vec::new();
    let mut open = Distribution::default();
    for piece in pieces {
        open.merge(&piece.latency);
        // A block cut a little early is a block all the same.
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
        let units = stretches(Statistic::P50, &independent, &independent).unwrap();
        assert_eq!((units.base.len(), units.wakeups, units.alike), (20, 20, false));
        // Each level lasts for four seconds.
        let slow = blocks((0..64).map(|second| 100 * noise(second / 4)));
        let units = stretches(Statistic::P50, &slow, &slow).unwrap();
        assert!((LEAST..=16).contains(&units.base.len()), "{units:?}");
        // A trend never ends.
        let trend = blocks(0..40);
        assert!(stretches(Statistic::P50, &trend, &trend).unwrap().alike);
    }

    #[test]
    fn a_longer_base_says_more_and_not_less() {
        let noise = |seconds: i64| blocks((0..seconds).map(|second| (second * 7_919) % 101));
        let units = stretches(Statistic::P99, &noise(6_000), &noise(600)).unwrap();
        let alike = stretches(Statistic::P99, &noise(600), &noise(600)).unwrap();
        assert!(units.wakeups < 2 * alike.wakeups, "{} {}", units.wakeups, alike.wakeups);
        assert!((24..=32).contains(&units.new.len()), "{}", units.new.len());
        assert!((200..=290).contains(&units.base.len()), "{}", units.base.len());
    }

    // second   0 ... 31 | 32 ... 63      neighbours are as different in both halves, and the second lies a little higher
    #[test]
    fn a_machine_that_changed_in_the_middle_says_nothing() {
        let noise = |second: i64| (second * 7_919) % 101;
        let changed = blocks((0..64).map(|second| noise(second) + if second < 32 { 0 } else { 40 }));
        let steady = blocks((0..64).map(noise));
        let units = |new: &[Piece]| stretches(Statistic::P50, &steady, new).unwrap();
        assert!(units(&changed).alike && units(&changed).halves_differ, "{:?}", units(&changed));
        assert!(!is_too_correlated(units(&changed).likeness, 64), "by their neighbours it does not show");
        assert!(!units(&steady).alike);
    }

    #[test]
    fn many_blocks_are_joined_to_few_units_and_none_is_lost() {
        let many = blocks((0..1_000).map(|second| (second * 7919) % 101));
        let units = stretches(Statistic::P99, &many, &many).unwrap();
        assert!((16..=MOST + 2).contains(&units.base.len()), "{}", units.base.len());
        let joined = join(&many, units.wakeups);
        assert_eq!(joined.iter().map(Distribution::count).sum::<u64>(), 20_000);
    }

    #[test]
    fn a_unit_holds_enough_for_its_statistic() {
        let few = blocks((0..60).map(|second| (second * 7919) % 101));
        assert_eq!(stretches(Statistic::P999, &few, &few), Err(TooShort { wakeups: 1_200 }));
        assert_eq!(stretches(Statistic::P99, &few, &few).unwrap().wakeups % 100, 0);
        assert_eq!(stretches(Statistic::P50, &few[..2], &few[..2]).unwrap().base.len(), 2);
    }
}
