//! The power spectrum of times, at every frequency of a grid at once.

use std::ops::Range;

use rustfft::FftPlanner;
use rustfft::num_complex::Complex;

use super::measured_time::MeasuredTime;

/// Most bins of time: a transform takes a millisecond. In a longer run, shorter periods are tried only if they are known
/// ones.
const MOST_BINS: usize = 1 << 15;
/// Least bins per period: fewer would hide a part of the power.
pub(super) const BINS_PER_PERIOD: f64 = 4.0;
/// Least grid points around a frequency from which the noise level is computed.
const LEAST_AROUND: usize = 32;

/// Most peaks examined: those that stand out almost as much as the highest, which may lie between two points of the grid.
const PEAKS: usize = 8;
const ALMOST_ON_GRID: f64 = 0.5;

/// The power at each frequency: about 1 without a rhythm, the number of times if all have one phase.
pub(super) struct Spectrum {
    power: Vec<f64>,
    bands: Vec<Band>,
    /// Distance of neighbouring frequencies, in 1/ns.
    pub(super) step: f64,
    /// Length of a bin, in nanoseconds.
    pub(super) bin: f64,
}

impl Spectrum {
    /// The spectrum of times with periods of `shortest` or more. What the measured intervals alone cause, because nothing is seen between
    /// them, is subtracted.
    pub(super) fn new(times: &[f64], measured: &MeasuredTime, shortest: f64) -> Self {
        let bin = (shortest / BINS_PER_PERIOD).max(measured.whole / MOST_BINS as f64);
        let bins = bin_of(measured.whole, bin) + 1;
        let mut values = vec![Complex::new(0.0, 0.0); (2 * bins).next_power_of_two()];
        times.iter().for_each(|time| values[bin_of(*time, bin)].re += 1.0);
        let rate = times.len() as f64 / measured.total;
        measured.intervals.iter().for_each(|interval| subtract_expected(&mut values, *interval, bin, rate));
        let step = 1.0 / (values.len() as f64 * bin);
        FftPlanner::new().plan_fft_forward(values.len()).process(&mut values);
        let count = times.len().max(1) as f64;
        let power: Vec<f64> =
            values[..values.len() / 2].iter().map(|value| value.norm_sqr() / count).collect();
        Self { bands: bands(&power), power, step, bin }
    }

    /// The frequencies of a range that stand out, the lowest first, and the one that stands out most last: a rhythm has all fractions of
    /// its period too.
    pub(super) fn outstanding(&self, (low, high): (f64, f64)) -> Vec<f64> {
        let range = bin_of(low, self.step) + 1..bin_of(high, self.step).min(self.power.len());
        let outstanding = |(band, point): (&Band, usize)| self.power[point] / band.level;
        let points = || {
            let of_band = |band| range_of(band, &range).map(move |point| (band, point));
            self.bands.iter().flat_map(of_band)
        };
        let Some(most) = points().max_by(|left, right| outstanding(*left).total_cmp(&outstanding(*right)))
        else {
            return Vec::new();
        };
        let least = ALMOST_ON_GRID * outstanding(most);
        let is_peak = |point: usize| {
            let beside = [point.checked_sub(1), Some(point + 1)].into_iter().flatten();
            beside
                .filter_map(|neighbour| self.power.get(neighbour))
                .all(|neighbour| *neighbour <= self.power[point])
        };
        let lower =
            points().filter(|peak| outstanding(*peak) >= least && is_peak(peak.1)).map(|(_, point)| point);
        lower.take(PEAKS).chain([most.1]).map(|point| point as f64 * self.step).collect()
    }

    /// The noise level around a frequency: 1 for times without a rhythm, more if they come in bursts.
    pub(super) fn level(&self, frequency: f64) -> f64 {
        let at = bin_of(frequency, self.step);
        let after = self.bands.partition_point(|band| band.until <= at);
        self.bands.get(after).or(self.bands.last()).map_or(1.0, |band| band.level)
    }
}

fn range_of(band: &Band, range: &Range<usize>) -> Range<usize> {
    band.from.max(range.start)..band.until.min(range.end)
}

/// Neighbouring points of the grid, and their noise level.
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

/// Mean of exponentially distributed values, with a few outliers, from their median; at least 1.
fn level(power: &[f64]) -> f64 {
    let mut power = power.to_vec();
    let middle = power.len() / 2;
    if power.is_empty() {
        return 1.0;
    }
    let (_, median, _) = power.select_nth_unstable_by(middle, f64::total_cmp);
    (*median / std::f64::consts::LN_2).max(1.0)
}

/// Index of the bin that contains `value`.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be positive")]
fn bin_of(value: f64, step: f64) -> usize {
    (value / step).max(0.0) as usize
}

/// Subtracts the expected number of times without a rhythm.
fn subtract_expected(values: &mut [Complex<f64>], (from, until): (f64, f64), bin: f64, rate: f64) {
    for index in bin_of(from, bin)..=bin_of(until, bin).min(values.len() - 1) {
        let begin = index as f64 * bin;
        let overlap = (until.min(begin + bin) - from.max(begin)).max(0.0);
        values[index].re -= rate * overlap;
    }
}
