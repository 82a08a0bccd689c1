//! Periods in which times come back: a grid over all of them, and those that machines are known for.

use std::collections::BTreeMap;

use statrs::distribution::{Binomial, DiscreteCDF as _};

use super::rayleigh::{Mean, directions, mean, probability};
use super::spectrum::{BINS_PER_PERIOD, Spectrum};
use super::watched::Watched;

/// Fewer times have no rhythm.
pub(super) const LEAST_TIMES: usize = 8;
/// The longest period comes back so often.
const LEAST_CYCLES: f64 = 4.0;
/// A period is tried if it would come so many times as often as anything was seen: of what comes back, most is no late wake-up.
const RARELY: f64 = 16.0;
/// A longer period that is almost as strong is what the others are fractions of.
const ALMOST: f64 = 0.7;
/// Times that lie so many times as far from a line as the median are not of it.
const FAR: f64 = 4.0;
/// The share of a period around its phase that belongs to it, on either side.
const AROUND: f64 = 0.1;
/// Times that follow each other within this share of a period may have one reason: a burst.
const ONE_BURST: f64 = 0.25;
/// A period may be found as a fraction of another, down to so small a one: 100 ms as the 137th of 13.7 s. And how often chance alone may
/// make one longer.
const SMALLEST_FRACTION: i64 = 1_000;
const OF_FRACTIONS: f64 = 0.001;

/// What is asked of times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question<'a> {
    /// The shortest period that is tried, in nanoseconds.
    pub(super) shortest: f64,
    /// Periods that are tried each for itself.
    pub(super) known: &'a [f64],
    /// How many such questions are asked.
    pub(super) tries: usize,
    /// How often, all of them together, chance alone may be taken for a rhythm.
    pub(super) false_alarms: f64,
}

/// Times that come back.
#[derive(Clone, Debug)]
pub(super) struct Rhythm {
    /// In nanoseconds.
    pub(super) period: f64,
    /// When it is due, from the begin of what was watched.
    pub(super) phase: f64,
    /// How probable it is by chance, corrected for all periods that were tried.
    pub(super) p: f64,
}

impl Rhythm {
    /// Whether a time is of it.
    pub(super) fn has(&self, time: f64) -> bool {
        let apart = ((time - self.phase) / self.period).rem_euclid(1.0);
        apart.min(1.0 - apart) <= AROUND
    }

    /// Its period and phase as a line through its times: the grid knows both only as well as its points lie close. Those that are much
    /// further from the line than most are there by chance, and drawn through it once only.
    fn fitted(self, times: &[f64]) -> Self {
        let of_it: Vec<f64> = times.iter().copied().filter(|time| self.has(*time)).collect();
        let first = self.through(&of_it);
        let near = first.near(&of_it);
        first.through(&near)
    }

    /// Those of its times that are not much further from its line than most.
    fn near(&self, of_it: &[f64]) -> Vec<f64> {
        let off = |time: &f64| (time - self.phase - self.cycle(*time) as f64 * self.period).abs();
        let mut apart: Vec<f64> = of_it.iter().map(off).collect();
        apart.sort_unstable_by(f64::total_cmp);
        let most = apart.get(apart.len() / 2).map_or(f64::INFINITY, |median| FAR * median);
        of_it.iter().copied().filter(|time| off(time) <= most).collect()
    }

    /// The period of which this one is a fraction, if it is: among as many that come by chance, a fraction may be as strong.
    fn whole(self, times: &[f64], watched: &Watched) -> Self {
        let mut rhythm = self;
        while let Some(multiple) = rhythm.multiple(times, watched) {
            let longer = multiple.clone().fitted(times);
            // A line through other times than these would be another rhythm.
            if longer.period < 1.5 * rhythm.period {
                return multiple;
            }
            rhythm = longer;
        }
        rhythm
    }

    /// So many times its period, if its times come in one of so many cycles: more often than chance, and so often that no few bursts
    /// look like it.
    fn multiple(&self, times: &[f64], watched: &Watched) -> Option<Self> {
        let of_it: Vec<f64> = times.iter().copied().filter(|time| self.has(*time)).collect();
        let cycles: Vec<i64> = self.near(&of_it).iter().map(|time| self.cycle(*time)).collect();
        let is_long = |prime: &i64| watched.whole >= LEAST_CYCLES * self.period * *prime as f64;
        let primes: Vec<i64> = primes(SMALLEST_FRACTION).take_while(is_long).collect();
        let of_prime = |prime: &i64| {
            let class = fullest_class(&cycles, *prime)?;
            let is_own = |cycle: &i64| cycle.rem_euclid(*prime) == class;
            let mut own: Vec<i64> = cycles.iter().copied().filter(is_own).collect();
            let count = own.len();
            own.dedup();
            let p = |share: f64| by_chance(count, cycles.len(), share) * *prime as f64 * primes.len() as f64;
            // Counting what was watched takes long, and in most it need not be.
            if own.len() < LEAST_TIMES || p(1.0 / *prime as f64) >= OF_FRACTIONS {
                return None;
            }
            let p = p(self.share_watched(*prime, class, watched));
            (p < OF_FRACTIONS).then_some((p, *prime, class))
        };
        let all = primes.iter().filter_map(of_prime);
        let (_, prime, class) = all.min_by(|one, other| one.0.total_cmp(&other.0))?;
        let period = self.period * prime as f64;
        let phase = (self.phase + class as f64 * self.period).rem_euclid(period);
        Some(Self { period, phase, ..self.clone() })
    }

    /// The share of its cycles that are of this class, of those that lie in what was watched.
    #[allow(clippy::cast_possible_truncation, reason = "of a run")]
    fn share_watched(&self, prime: i64, class: i64, watched: &Watched) -> f64 {
        let cycles_until = |time: f64| (time - self.phase) / self.period;
        let in_stretch = |(from, until): &(f64, f64)| {
            let (first, last) = (cycles_until(*from) - AROUND, cycles_until(*until) + AROUND);
            first.ceil() as i64..=last.floor() as i64
        };
        let cycles = watched.stretches.iter().flat_map(in_stretch);
        let (own, all) = cycles.fold((0_u64, 0_u64), |(own, all), cycle| {
            (own + u64::from(cycle.rem_euclid(prime) == class), all + 1)
        });
        own as f64 / all.max(1) as f64
    }

    /// A line through times, by how often it had come.
    fn through(self, times: &[f64]) -> Self {
        let points: Vec<(f64, f64)> = times.iter().map(|time| (self.cycle(*time) as f64, *time)).collect();
        let count = points.len().max(1) as f64;
        let sum = points.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let (cycle, time) = (sum.0 / count, sum.1 / count);
        let products = points.iter().fold((0.0, 0.0), |sum, one| {
            let apart = one.0 - cycle;
            (sum.0 + apart * (one.1 - time), sum.1 + apart * apart)
        });
        if products.1 <= 0.0 {
            return self;
        }
        let period = products.0 / products.1;
        Self { period, phase: (time - cycle * period).rem_euclid(period), ..self }
    }

    /// How often it had come when a time was.
    #[allow(clippy::cast_possible_truncation, reason = "of a run")]
    pub(super) fn cycle(&self, time: f64) -> i64 {
        ((time - self.phase) / self.period).round() as i64
    }
}

/// The class of numbers, by what a division leaves, in which most of them are.
fn fullest_class(cycles: &[i64], divisor: i64) -> Option<i64> {
    let mut classes: BTreeMap<i64, usize> = BTreeMap::new();
    cycles.iter().for_each(|cycle| *classes.entry(cycle.rem_euclid(divisor)).or_default() += 1);
    classes.into_iter().max_by_key(|(_, count)| *count).map(|(class, _)| class)
}

fn primes(most: i64) -> impl Iterator<Item = i64> {
    let is_prime =
        |number: &i64| (2..*number).take_while(|less| less * less <= *number).all(|less| number % less != 0);
    (2..=most).filter(is_prime)
}

/// How probable it is that so many of all, or more, are of a class that has this share.
fn by_chance(own: usize, of: usize, share: f64) -> f64 {
    let Ok(binomial) = Binomial::new(share, of as u64) else { return 1.0 };
    own.checked_sub(1).map_or(1.0, |fewer| binomial.sf(fewer as u64))
}

/// The longest of the most certain rhythms of `times`.
pub(super) fn rhythm(times: &[f64], watched: &Watched, asked: Question<'_>) -> Option<Rhythm> {
    let Question { shortest, known, tries, false_alarms } = asked;
    let is_long = watched.watched > 0.0 && watched.whole > LEAST_CYCLES * shortest;
    if times.len() < LEAST_TIMES || !is_long {
        return None;
    }
    let scan = Scan { times, watched, spectrum: Spectrum::new(times, watched, shortest) };
    let lowest = LEAST_CYCLES / watched.whole;
    let often = RARELY * times.len() as f64 / watched.watched;
    let highest = often.min(1.0 / (BINS_PER_PERIOD * scan.spectrum.bin));
    // Half of the false alarms are for what is known, which takes few tries, and half for the grid; it has two points for each
    // frequency that tells something of its own.
    let grid = 2.0 * 2.0 * watched.whole * (highest - lowest) * tries as f64;
    let of_grid = scan.spectrum.outstanding((lowest, highest)).into_iter();
    let of_grid = of_grid.map(|near| scan.judged(scan.refined(near), grid));
    let of_known = known.iter().filter(|period| **period >= shortest && 1.0 / **period > lowest);
    let few = 2.0 * known.len() as f64 * tries as f64;
    let all = of_grid.chain(of_known.map(|period| scan.judged(1.0 / period, few)));
    let found: Vec<Rhythm> = all.filter(|one| one.p < false_alarms && scan.comes_often(one)).collect();
    // What comes once in a period has all its fractions too, and is almost as strong in each.
    let power = |one: &Rhythm| scan.power(1.0 / one.period);
    let most = found.iter().map(power).fold(0.0, f64::max);
    let almost = found.into_iter().filter(|one| power(one) >= ALMOST * most);
    let longest = almost.max_by(|one, other| one.period.total_cmp(&other.period))?;
    Some(longest.fitted(times).whole(times, watched))
}

struct Scan<'a> {
    times: &'a [f64],
    watched: &'a Watched,
    spectrum: Spectrum,
}

impl Scan<'_> {
    /// The mean direction of the times, less what the stretches alone would have.
    fn mean(&self, frequency: f64) -> Mean {
        let (cosines, sines) = directions(self.times, frequency);
        let (count, turn) = (self.times.len() as f64, std::f64::consts::TAU * frequency);
        let share = count / self.watched.watched / turn;
        let (mut off_cosines, mut off_sines) = (0.0, 0.0);
        for (from, until) in &self.watched.stretches {
            let (from, until) = (turn * from, turn * until);
            off_cosines += share * (until.sin() - from.sin());
            off_sines += share * (from.cos() - until.cos());
        }
        mean((cosines - off_cosines, sines - off_sines), count)
    }

    fn power(&self, frequency: f64) -> f64 {
        self.times.len() as f64 * self.mean(frequency).length.powi(2)
    }

    /// The strongest frequency within a step of the grid.
    fn refined(&self, near: f64) -> f64 {
        const POINTS: i32 = 8;
        let (mut best, mut step) = (near, self.spectrum.step);
        for _ in 0..3 {
            let around = (-POINTS..=POINTS).map(|point| best + f64::from(point) * step / f64::from(POINTS));
            best =
                around.max_by(|one, other| self.power(*one).total_cmp(&self.power(*other))).unwrap_or(best);
            step /= f64::from(POINTS);
        }
        best
    }

    fn judged(&self, frequency: f64, tries: f64) -> Rhythm {
        let (count, mean) = (self.times.len() as f64, self.mean(frequency));
        let above_level = mean.length / self.spectrum.level(frequency).sqrt();
        let of_bursts = (-(count * above_level).powi(2) / self.power_of_bursts(frequency)).exp();
        let p = (probability(count, above_level).max(of_bursts) * tries).min(1.0);
        Rhythm { period: 1.0 / frequency, phase: mean.phase / frequency, p }
    }

    /// How strong the times would be on average if each burst of them came at any time: as many times as there are, where each is one by
    /// itself.
    fn power_of_bursts(&self, frequency: f64) -> f64 {
        let is_one = |one: &f64, next: &f64| (next - one) * frequency <= ONE_BURST;
        let powers = self.times.chunk_by(is_one).map(|burst| {
            let (cosines, sines) = directions(burst, frequency);
            cosines.powi(2) + sines.powi(2)
        });
        powers.sum::<f64>().max(f64::MIN_POSITIVE)
    }

    /// Whether it came so often that no few bursts look like it.
    fn comes_often(&self, rhythm: &Rhythm) -> bool {
        let mut cycles: Vec<i64> =
            self.times.iter().filter(|time| rhythm.has(**time)).map(|time| rhythm.cycle(*time)).collect();
        cycles.sort_unstable();
        cycles.dedup();
        cycles.len() >= LEAST_TIMES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: f64 = 1e9;
    const KNOWN: [f64; 4] = [0.004 * SECOND, SECOND, 4.0 * SECOND, 5.0 * SECOND];

    #[allow(clippy::cast_possible_truncation, reason = "whole nanoseconds of a minute")]
    fn watched(stretches: &[(f64, f64)]) -> Watched {
        let nanos = |(from, until): &(f64, f64)| (*from as i64, *until as i64);
        Watched::new(stretches.iter().map(nanos)).unwrap()
    }

    fn asked(shortest: f64) -> Question<'static> {
        Question { shortest: shortest * SECOND, known: &KNOWN, tries: 1, false_alarms: 0.01 }
    }

    fn found(times: &[f64], watched: &Watched) -> Option<Rhythm> {
        rhythm(&in_order(times), watched, asked(0.002))
    }

    fn in_order(times: &[f64]) -> Vec<f64> {
        let mut times = times.to_vec();
        times.sort_unstable_by(f64::total_cmp);
        times
    }

    /// The same with a coarser grid, for very many series.
    fn found_slower(times: &[f64], watched: &Watched) -> Option<Rhythm> {
        rhythm(&in_order(times), watched, asked(0.05))
    }

    /// Anywhere in what was watched.
    fn any(random: &mut fastrand::Rng, watched: &Watched) -> f64 {
        loop {
            let time = random.f64() * watched.whole;
            if watched.stretches.iter().any(|(from, until)| (*from..*until).contains(&time)) {
                return time;
            }
        }
    }

    #[test]
    fn what_comes_back_is_found_among_as_much_that_does_not() {
        let minute = watched(&[(0.0, 60.0 * SECOND)]);
        // How often each comes in a minute.
        let all =
            [(1, 1.0, 60), (2, 0.142_857, 420), (3, 0.004, 15_000), (4, 4.7013, 12), (5, 0.0517, 1_160)];
        for (seed, period, cycles) in all {
            let mut random = fastrand::Rng::with_seed(seed);
            // Of what comes often, some.
            let count = cycles.min(100);
            let mut time = |number| {
                let cycle = if cycles > count { random.u32(..cycles) } else { number };
                (0.3 * period + f64::from(cycle) * period) * SECOND + random.f64() * 0.0004 * SECOND
            };
            let mut times: Vec<f64> = (0..count).map(&mut time).collect();
            let others = if count > 20 { count / 2 } else { 0 };
            times.extend((0..others).map(|_| any(&mut random, &minute)));
            let rhythm = found(&times, &minute).unwrap_or_else(|| panic!("nothing for {period}"));
            assert!((rhythm.period / (period * SECOND) - 1.0).abs() < 1e-3, "{period}: {rhythm:?}");
            assert!(times[..count as usize].iter().all(|time| rhythm.has(*time)), "{rhythm:?}");
        }
    }

    /// The stated rate is 1 %: of 1 000 runs 10 are wrong, and more than 20 with a chance of 1 in 600.
    #[test]
    fn chance_has_no_rhythm_whether_watched_in_turns_or_not() {
        let whole = watched(&[(0.0, 10.0 * SECOND)]);
        let turns: Vec<(f64, f64)> = (0..8)
            .map(|turn| (f64::from(turn) * 1.5 * SECOND, (f64::from(turn) * 1.5 + 0.5) * SECOND))
            .collect();
        for watched in [whole, watched(&turns)] {
            let is_wrong = |seed: &u64| {
                let mut random = fastrand::Rng::with_seed(*seed);
                let times: Vec<f64> = (0..60).map(|_| any(&mut random, &watched)).collect();
                found_slower(&times, &watched).is_some()
            };
            let wrong = (0..1_000).filter(is_wrong).count();
            assert!(wrong <= 20, "{wrong} of 1000");
        }
    }

    /// A compiler that runs now and then makes bursts of late ones.
    #[test]
    fn bursts_have_no_rhythm() {
        let minute = watched(&[(0.0, 60.0 * SECOND)]);
        let is_wrong = |seed: &u64| {
            let mut random = fastrand::Rng::with_seed(*seed);
            let bursts: Vec<f64> = (0..10).map(|_| random.f64() * 57.0 * SECOND).collect();
            let mut time = || bursts[random.usize(..bursts.len())] + random.f64() * 3.0 * SECOND;
            let times: Vec<f64> = (0..200).map(|_| time()).collect();
            found_slower(&times, &minute).is_some()
        };
        let wrong = (0..300).filter(is_wrong).count();
        assert!(wrong <= 9, "{wrong} of 300");
    }

    /// As much again comes at any time: of the many fractions of the period one may be the strongest.
    #[test]
    fn a_period_is_told_as_a_whole_and_not_by_a_fraction() {
        let minute = watched(&[(0.0, 60.0 * SECOND)]);
        for (period, others) in [(1.0, 180), (2.5, 20), (0.250, 180)] {
            for seed in 0..10 {
                let mut random = fastrand::Rng::with_seed(seed);
                let cycles = (0..1_000).map(|cycle| (0.2 + f64::from(cycle)) * period * SECOND);
                let late = |random: &mut fastrand::Rng| random.f64() * 0.0009 * SECOND;
                let mut times: Vec<f64> = cycles
                    .take_while(|time| *time < 59.9 * SECOND)
                    .map(|time| time + late(&mut random))
                    .collect();
                times.extend((0..others).map(|_| any(&mut random, &minute)));
                let rhythm = found(&times, &minute).unwrap_or_else(|| panic!("nothing for {period}"));
                assert!((rhythm.period / (period * SECOND) - 1.0).abs() < 1e-3, "{period}: {rhythm:?}");
            }
        }
    }

    /// What is watched in every third cycle alone comes in one class, whatever its rhythm is.
    #[test]
    fn turns_make_no_fraction() {
        let turns: Vec<(f64, f64)> = (0..40)
            .map(|turn| (1.5 * f64::from(turn) * SECOND, (1.5 * f64::from(turn) + 0.5) * SECOND))
            .collect();
        let watched = watched(&turns);
        let times: Vec<f64> = (0..40).map(|turn| (1.5 * f64::from(turn) + 0.2) * SECOND).collect();
        let half = Rhythm { period: 0.5 * SECOND, phase: 0.2 * SECOND, p: 1e-9 };
        let whole = half.whole(&times, &watched);
        assert!((whole.period / SECOND - 0.5).abs() < 1e-9, "{whole:?}");
    }

    #[test]
    fn few_times_and_short_runs_have_no_rhythm() {
        let second = watched(&[(0.0, SECOND)]);
        let steady: Vec<f64> = (0..7).map(|time| f64::from(time) * 0.1 * SECOND).collect();
        assert!(found(&steady, &second).is_none());
        assert!(found(&[], &second).is_none());
        assert!(rhythm(&[0.5; 9], &watched(&[(0.0, 1.0)]), asked(0.001)).is_none());
    }
}
