//! How strongly times gather, at every frequency of a grid at once.

use std::ops::Range;

use rustfft::FftPlanner;
use rustfft::num_complex::Complex;

use super::watched::Watched;

/// Stretches that time is cut into, at most: a transform takes a millisecond. Of a longer run, shorter periods are tried only where
/// something is known to have them.
const MOST_BINS: usize = 1 << 15;
/// A period has so many stretches at least: fewer would hide a part of what gathers.
pub(super) const BINS_PER_PERIOD: f64 = 4.0;
/// Grid points around a frequency that tell how strong it is there anyway, at least.
const LEAST_AROUND: usize = 32;

/// Peaks that are looked at: those that stand out almost as much as the highest, which may lie between two points of the grid.
const PEAKS: usize = 8;
const ALMOST_ON_GRID: f64 = 0.5;

/// The power at each frequency: about 1 where there is no rhythm, the number of times where all have one phase.
pub(super) struct Spectrum {
    power: Vec<f64>,
    bands: Vec<Band>,
    /// Between neighbours, in 1/ns.
    pub(super) step: f64,
    /// How long a stretch is, in nanoseconds.
    pub(super) bin: f64,
}

impl Spectrum {
    /// Of times that may come back after `shortest` or more. What the stretches alone make of it, because nothing is seen between
    /// them, is taken off.
    pub(super) fn new(times: &[f64], watched: &Watched, shortest: f64) -> Self {
        let bin = (shortest / BINS_PER_PERIOD).max(watched.whole / MOST_BINS as f64);
        let bins = place(watched.whole, bin) + 1;
        let mut values = vec![Complex::new(0.0, 0.0); (2 * bins).next_power_of_two()];
        times.iter().for_each(|time| values[place(*time, bin)].re += 1.0);
        let rate = times.len() as f64 / watched.watched;
        watched.stretches.iter().for_each(|stretch| expected(&mut values, *stretch, bin, rate));
        let step = 1.0 / (values.len() as f64 * bin);
        FftPlanner::new().plan_fft_forward(values.len()).process(&mut values);
        let count = times.len().max(1) as f64;
        let power: Vec<f64> =
            values[..values.len() / 2].iter().map(|value| value.norm_sqr() / count).collect();
        Self { bands: bands(&power), power, step, bin }
    }

    /// The frequencies of a range that stand out, the lowest first, and the one that does most last: what comes once in a period has
    /// all its fractions too.
    pub(super) fn outstanding(&self, (low, high): (f64, f64)) -> Vec<f64> {
        let range = place(low, self.step) + 1..place(high, self.step).min(self.power.len());
        let outstanding = |(band, point): (&Band, usize)| self.power[point] / band.level;
        let points = || {
            let of_band = |band| range_of(band, &range).map(move |point| (band, point));
            self.bands.iter().flat_map(of_band)
        };
        let Some(most) = points().max_by(|one, other| outstanding(*one).total_cmp(&outstanding(*other)))
        else {
            return Vec::new();
        };
        let least = ALMOST_ON_GRID * outstanding(most);
        let is_peak = |point: usize| {
            let beside = [point.checked_sub(1), Some(point + 1)].into_iter().flatten();
            beside.filter_map(|other| self.power.get(other)).all(|other| *other <= self.power[point])
        };
        let lower =
            points().filter(|one| outstanding(*one) >= least && is_peak(one.1)).map(|(_, point)| point);
        lower.take(PEAKS).chain([most.1]).map(|point| point as f64 * self.step).collect()
    }

    /// What the power around a frequency is at any rate: 1 of times without a rhythm, more where they come in bursts.
    pub(super) fn level(&self, frequency: f64) -> f64 {
        let at = place(frequency, self.step);
        let after = self.bands.partition_point(|band| band.until <= at);
        self.bands.get(after).or(self.bands.last()).map_or(1.0, |band| band.level)
    }
}

fn range_of(band: &Band, range: &Range<usize>) -> Range<usize> {
    band.from.max(range.start)..band.until.min(range.end)
}

/// Neighbouring points of the grid, and the power that they have at any rate.
struct Band {
    from: usize,
    until: usize,
    level: f64,
}

/// Bands of a quarter of an octave; the level of each is that of the octave around it.
fn bands(power: &[f64]) -> Vec<Band> {
    let mut bands = Vec::new();
    let mut from = 1;
    while from < power.len() {
        let until = (from + from / 4).max(from + 8).min(power.len());
        let around = from / 2..(2 * until).max(from + LEAST_AROUND).min(power.len());
        bands.push(Band { from, until, level: level(&power[around.start.max(1)..around.end]) });
        from = until;
    }
    bands
}

/// The mean of what is exponentially distributed but for a few points, from its median; at least 1.
fn level(power: &[f64]) -> f64 {
    let mut power = power.to_vec();
    let middle = power.len() / 2;
    if power.is_empty() {
        return 1.0;
    }
    let (_, median, _) = power.select_nth_unstable_by(middle, f64::total_cmp);
    (*median / std::f64::consts::LN_2).max(1.0)
}

/// Which stretch of so long a time is in.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be positive")]
fn place(value: f64, step: f64) -> usize {
    (value / step).max(0.0) as usize
}

/// Takes off as many times as there are without a rhythm.
fn expected(values: &mut [Complex<f64>], (from, until): (f64, f64), bin: f64, rate: f64) {
    for index in place(from, bin)..=place(until, bin).min(values.len() - 1) {
        let begin = index as f64 * bin;
        let overlap = (until.min(begin + bin) - from.max(begin)).max(0.0);
        values[index].re -= rate * overlap;
    }
}
