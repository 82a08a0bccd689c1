//! Periods in which times come back: a grid over all of them, and those that machines are known for.

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
        let off = |time: &f64| (time - first.phase - first.cycle(*time) as f64 * first.period).abs();
        let mut apart: Vec<f64> = of_it.iter().map(off).collect();
        apart.sort_unstable_by(f64::total_cmp);
        let most = apart.get(apart.len() / 2).map_or(f64::INFINITY, |median| FAR * median);
        let near: Vec<f64> = of_it.iter().copied().filter(|time| off(time) <= most).collect();
        first.through(&near)
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
    almost.max_by(|one, other| one.period.total_cmp(&other.period)).map(|one| one.fitted(times))
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
        let p = (probability(count, above_level) * tries).min(1.0);
        Rhythm { period: 1.0 / frequency, phase: mean.phase / frequency, p }
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
        rhythm(times, watched, asked(0.002))
    }

    /// The same with a coarser grid, for very many series.
    fn found_slower(times: &[f64], watched: &Watched) -> Option<Rhythm> {
        rhythm(times, watched, asked(0.05))
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

    #[test]
    fn few_times_and_short_runs_have_no_rhythm() {
        let second = watched(&[(0.0, SECOND)]);
        let steady: Vec<f64> = (0..7).map(|time| f64::from(time) * 0.1 * SECOND).collect();
        assert!(found(&steady, &second).is_none());
        assert!(found(&[], &second).is_none());
        assert!(rhythm(&[0.5; 9], &watched(&[(0.0, 1.0)]), asked(0.001)).is_none());
    }
}
