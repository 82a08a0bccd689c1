//! A piecewise constant fit: at which columns the values of all rows step.
//!
//! Rows are rounds, columns are lengths. If a value does not depend on its column, the values of a row could be in any order, as
//! turns were taken in random order: a cut is accepted if the best one of shuffled rows is as good in fewer than [`NOISE`] of
//! them. Ranks within each row are compared, so that neither an outlier nor a slow round decides.
//!
//! Sources: binary segmentation, Scott & Knott, Biometrics 30 (1974); permutation within blocks, Friedman, JASA 32 (1937).

use crate::compare::median;

/// Probability that noise alone shows a step.
pub(crate) const NOISE: f64 = 0.01;
/// Number of shuffles that a cut is compared with.
const SHUFFLES: usize = 999;
/// Least columns of a level: a single outlier is no step.
const LEAST_COLUMNS: usize = 2;
/// Bootstrap samples of rows for the confidence interval of a cut.
const BOOTSTRAPS: usize = 200;

/// Adjacent columns of one level: from the first, until before the second.
pub(crate) type ColumnRange = (usize, usize);

/// The first column of each level but the first.
pub(crate) fn cuts(rows: &[Vec<f64>], seed: u64) -> Vec<usize> {
    let columns = rows.first().map_or(0, Vec::len);
    let mut random = fastrand::Rng::with_seed(seed);
    let mut found = Vec::new();
    let mut open = vec![(0, columns)];
    while let Some(level) = open.pop() {
        // Each level gets its part of the false alarms, so that more steps do not bring more noise.
        let noise = NOISE * (level.1 - level.0) as f64 / columns as f64;
        let Some(at) = cut(rows, level, noise, &mut random) else { continue };
        found.push(at);
        open.extend([(level.0, at), (at, level.1)]);
    }
    found.sort_unstable();
    place_cuts(rows, &found, columns)
}

/// Ranks show that there is a cut, and values where it is: by least squares of the columns' medians, between its neighbours.
fn place_cuts(rows: &[Vec<f64>], cuts: &[usize], columns: usize) -> Vec<usize> {
    let all: Vec<&Vec<f64>> = rows.iter().collect();
    let mut placed: Vec<usize> = Vec::new();
    for (number, cut) in cuts.iter().enumerate() {
        let from = placed.last().copied().unwrap_or(0);
        let until = cuts.get(number + 1).copied().unwrap_or(columns);
        placed.push(best_cut(&medians(&all, (from, until))).map_or(*cut, |(at, _)| from + at));
    }
    placed
}

/// The median of each column of a level.
fn medians(rows: &[&Vec<f64>], (from, until): ColumnRange) -> Vec<f64> {
    let column = |column: usize| rows.iter().map(|row| row[column]).collect::<Vec<_>>();
    (from..until).filter_map(|number| median(&column(number))).collect()
}

/// The best cut of a level, if it is significant.
fn cut(rows: &[Vec<f64>], level: ColumnRange, noise: f64, random: &mut fastrand::Rng) -> Option<usize> {
    let mut ranked = ranks(rows, level);
    let (at, found) = best_cut(&means(&ranked))?;
    let mut as_good = 1;
    for _ in 0..SHUFFLES {
        ranked.iter_mut().for_each(|row| random.shuffle(row));
        as_good += usize::from(best_cut(&means(&ranked)).is_some_and(|(_, other)| other >= found));
    }
    let chance = as_good as f64 / (SHUFFLES + 1) as f64;
    (chance <= noise).then_some(level.0 + at)
}

/// 95 % confidence interval of the best cut of `level`, from bootstrap samples of rows.
pub(crate) fn cut_interval(rows: &[Vec<f64>], level: ColumnRange, seed: u64) -> Option<(usize, usize)> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut draw = || {
        let sample: Vec<&Vec<f64>> = (0..rows.len()).map(|_| &rows[random.usize(..rows.len())]).collect();
        best_cut(&medians(&sample, level)).map(|(at, _)| level.0 + at)
    };
    let mut places: Vec<usize> = (0..BOOTSTRAPS).filter_map(|_| draw()).collect();
    places.sort_unstable();
    Some((*places.get(BOOTSTRAPS / 40)?, *places.get(BOOTSTRAPS - 1 - BOOTSTRAPS / 40)?))
}

/// The ranks of each row's columns of a level; ties have the mean of theirs.
fn ranks(rows: &[Vec<f64>], (from, until): ColumnRange) -> Vec<Vec<f64>> {
    rows.iter().map(|row| ranks_of(&row[from..until])).collect()
}

fn ranks_of(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count() as f64;
        let equal = values.iter().filter(|other| other.total_cmp(value).is_eq()).count() as f64;
        below + (equal + 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

/// The mean of each column.
fn means(rows: &[Vec<f64>]) -> Vec<f64> {
    let columns = rows.first().map_or(0, Vec::len);
    let mean = |column: usize| rows.iter().map(|row| row[column]).sum::<f64>() / rows.len() as f64;
    (0..columns).map(mean).collect()
}

/// The cut with the largest difference between both sides, in units of its standard error by chance.
fn best_cut(means: &[f64]) -> Option<(usize, f64)> {
    let (columns, sum) = (means.len(), means.iter().sum::<f64>());
    let mut left = 0.0;
    let mut found: Option<(usize, f64)> = None;
    for (number, mean) in means.iter().enumerate() {
        left += mean;
        let before = number + 1;
        if before < LEAST_COLUMNS || columns - before < LEAST_COLUMNS {
            continue;
        }
        let (small, large) = (before as f64, (columns - before) as f64);
        let difference =
            ((sum - left) / large - left / small).abs() * (small * large / columns as f64).sqrt();
        if found.is_none_or(|(_, largest)| difference > largest) {
            found = Some((before, difference));
        }
    }
    found
}

/// The rise of each row from one level to the next.
pub(crate) fn rises(rows: &[Vec<f64>], below: ColumnRange, above: ColumnRange) -> Vec<f64> {
    let level = |row: &Vec<f64>, (from, until): ColumnRange| median(&row[from..until]);
    rows.iter().filter_map(|row| Some(level(row, above)? - level(row, below)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: usize = 34;
    const ROWS: usize = 8;

    /// Rows whose values are those of `level` plus noise: exponential, so that its medians are skewed like those of sleeps.
    fn rows(seed: u64, noise: f64, level: impl Fn(usize) -> f64) -> Vec<Vec<f64>> {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut value = |column| level(column) - noise * random.f64().max(1e-12).ln();
        (0..ROWS).map(|_| (0..COLUMNS).map(&mut value).collect()).collect()
    }

    #[test]
    fn known_steps_are_found_where_they_are() {
        let staircase = |column: usize| match column {
            0..14 => 4_600.0,
            14..27 => 11_600.0,
            _ => 40_000.0,
        };
        let found = |seed: &u64| cuts(&rows(*seed, 500.0, staircase), *seed) == [14, 27];
        let right = (0..100).filter(found).count();
        assert!(right >= 96, "{right} of 100");
    }

    #[test]
    fn the_place_of_a_step_in_noise_is_among_those_that_are_told() {
        let step = |column: usize| if column < 20 { 5_000.0 } else { 9_000.0 };
        let is_covered = |seed: &u64| {
            let rows = rows(*seed, 3_000.0, step);
            let (low, high) = cut_interval(&rows, (0, COLUMNS), *seed).unwrap();
            (low..=high).contains(&20)
        };
        let covered = (0..200).filter(is_covered).count();
        assert!(covered >= 180, "{covered} of 200");
    }

    /// The stated rate is 1 %: of 1 000 runs 10 are wrong, and more than 20 with a chance of 1 in 600.
    #[test]
    fn noise_alone_has_no_steps() {
        let wrong = (0..1_000).filter(|seed| !cuts(&rows(*seed, 2_000.0, |_| 5_000.0), *seed).is_empty());
        let wrong = wrong.count();
        assert!(wrong <= 20, "{wrong} of 1000");
    }

    #[test]
    fn rounds_that_are_slower_as_a_whole_are_no_step() {
        let mut slower = rows(3, 500.0, |_| 5_000.0);
        slower[5].iter_mut().for_each(|value| *value += 1e6);
        assert!(cuts(&slower, 3).is_empty());
        assert!(cuts(&[], 3).is_empty());
        assert!(cuts(&[vec![1.0, 2.0]], 3).is_empty());
    }

    #[test]
    fn one_wild_length_is_no_step() {
        let spike = |column: usize| if column == 17 { 90_000.0 } else { 5_000.0 };
        assert!(cuts(&rows(5, 500.0, spike), 5).is_empty());
    }

    #[test]
    fn rises_are_told_row_by_row() {
        let rows = [vec![1.0, 1.0, 4.0, 4.0], vec![2.0, 2.0, 9.0, 9.0]];
        assert_eq!(rises(&rows, (0, 2), (2, 4)), [3.0, 7.0]);
    }
}
