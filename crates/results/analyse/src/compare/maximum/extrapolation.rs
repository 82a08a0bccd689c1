//! Extrapolates the maximum of an hour, only where that is sound.
//!
//! Latencies of a computer are mixtures of causes, some of them rare. A fit contains nothing of a cause
//! that did not occur, so even a fit that passes every check is no bound.
//! Sources: Griffin & Burns, WCET 2010; Santinelli et al., WCET 2014; TailID, ECRTS 2025.

use serde::Serialize;

use super::late_wakeups::LateWakeups;
use super::pareto::Pareto;
use crate::compare::block_series::Piece;
use crate::compare::mann_whitney::MannWhitney;
use crate::compare::ordered;

/// Fewer clusters do not determine a tail.
const LEAST_CLUSTERS: usize = 50;
/// From this shape on, the variance is infinite.
const MOST_SHAPE: f64 = 0.5;
/// Halves with a smaller p value of their difference are not one population.
const LEAST_HALVES_P: f64 = 0.05;
/// Bootstrap samples for the interval.
const BOOTSTRAP_SAMPLES: usize = 500;

/// The extrapolated maximum of an hour, and the fit behind it.
#[derive(Clone, Debug, Serialize)]
pub struct Extrapolation {
    /// The latency that an hour exceeds once on average, in nanoseconds.
    pub hourly_ns: f64,
    /// 95 % interval of `hourly_ns`, by parametric bootstrap.
    pub interval_ns: (f64, f64),
    /// Shape of the fitted generalised Pareto distribution.
    pub shape: f64,
    /// Scale of the distribution, in nanoseconds.
    pub scale_ns: f64,
    /// The threshold above which it was fitted, in nanoseconds.
    pub threshold_ns: f64,
    /// Number of clusters of late wake-ups in the fit.
    pub clusters: usize,
    /// Measured latencies, and the fitted ones of the same rank (the points of a QQ plot).
    pub seen_and_fitted_ns: Vec<(f64, f64)>,
}

/// Why a maximum is not extrapolated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum ExtrapolationRefusal {
    /// There are too few clusters of late wake-ups.
    TooFewClusters { clusters: usize, needed: usize },
    /// The first half of the run differs from the second: the machine changed.
    HalvesDiffer {
        /// The probability of such a difference by chance.
        p: f64,
    },
    /// The tail may be so heavy that any large value fits it.
    HeavyTail {
        /// Upper end of the 95 % interval of its shape.
        shape_at_most: f64,
    },
    /// No tail of this kind fits.
    NoFit,
}

/// Extrapolates the maximum of an hour from the late wake-ups of `hours`, after comparing the maxima of `pieces`.
pub(crate) fn extrapolate(
    late: &LateWakeups,
    pieces: &[Piece],
    hours: f64,
    seed: u64,
) -> Result<Extrapolation, ExtrapolationRefusal> {
    let clusters = late.clusters();
    if clusters.len() < LEAST_CLUSTERS {
        return Err(ExtrapolationRefusal::TooFewClusters {
            clusters: clusters.len(),
            needed: LEAST_CLUSTERS,
        });
    }
    check_halves(pieces)?;
    let excesses: Vec<f64> = clusters.iter().map(|largest| largest - late.threshold).collect();
    let fit = Pareto::fit(&excesses).ok_or(ExtrapolationRefusal::NoFit)?;
    let shape_at_most = fit.shape + 1.96 * fit.shape_error(excesses.len());
    if shape_at_most >= MOST_SHAPE {
        return Err(ExtrapolationRefusal::HeavyTail { shape_at_most });
    }
    let per_hour = clusters.len() as f64 / hours;
    Ok(Extrapolation {
        hourly_ns: fit.level(late.threshold, per_hour),
        interval_ns: bootstrap(fit, late.threshold, per_hour, excesses.len(), seed),
        shape: fit.shape,
        scale_ns: fit.scale,
        threshold_ns: late.threshold,
        clusters: clusters.len(),
        seen_and_fitted_ns: quantile_pairs(fit, late.threshold, &clusters),
    })
}

/// Refuses if the maxima of blocks of the first half differ from those of the second.
fn check_halves(pieces: &[Piece]) -> Result<(), ExtrapolationRefusal> {
    let maxima: Vec<f64> =
        pieces.iter().filter_map(|piece| piece.latency.max()).map(|max| max.as_nanos() as f64).collect();
    let (first, second) = maxima.split_at(maxima.len() / 2);
    let p = MannWhitney::from_samples(first, second).p();
    if p < LEAST_HALVES_P { Err(ExtrapolationRefusal::HalvesDiffer { p }) } else { Ok(()) }
}

/// 95 % interval of the hourly level, from fits to samples of the fit itself.
fn bootstrap(fit: Pareto, threshold: f64, per_hour: f64, n: usize, seed: u64) -> (f64, f64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut level = || {
        let sample: Vec<f64> = (0..n).map(|_| fit.quantile(random.f64())).collect();
        Some(Pareto::fit(&sample)?.level(threshold, per_hour))
    };
    let levels = ordered(&(0..BOOTSTRAP_SAMPLES).filter_map(|_| level()).collect::<Vec<_>>());
    let cut = levels.len() / 40;
    match levels.as_slice() {
        [] => (threshold, threshold),
        levels => (levels[cut], levels[levels.len() - 1 - cut]),
    }
}

/// The measured values and the fitted ones of the same rank.
fn quantile_pairs(fit: Pareto, threshold: f64, clusters: &[f64]) -> Vec<(f64, f64)> {
    let n = clusters.len() as f64;
    let fitted = |rank: usize| (threshold + fit.quantile((rank as f64 + 0.5) / n)).round();
    ordered(clusters).into_iter().enumerate().map(|(rank, measured)| (measured, fitted(rank))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::block_series::testing::piece;

    /// Blocks of a second whose worst wake-ups are distributed as `tail` above 1 000 ns.
    fn blocks(seconds: u32, tail: impl Fn(u32, f64) -> f64) -> Vec<Piece> {
        // Every share of the tail once, in an order without a pattern.
        let share = |second: u32| (f64::from(second * 7_919 % seconds) + 0.5) / f64::from(seconds);
        let block = |second| {
            let late: Vec<i64> = vec![1_000; 20];
            #[allow(clippy::cast_possible_truncation)]
            let largest = 1_000 + tail(second, share(second)) as i64;
            // Every second block is two seconds on, so that clusters stay apart.
            piece(0, second * 2, &[&late[..], &[largest]].concat())
        };
        (0..seconds).map(block).collect()
    }

    fn extrapolate_pieces(pieces: &[Piece]) -> Result<Extrapolation, ExtrapolationRefusal> {
        extrapolate(
            &LateWakeups::from_pieces(pieces),
            pieces,
            f64::from(u32::try_from(pieces.len()).unwrap()) / 3_600.0,
            1,
        )
    }

    #[test]
    fn a_light_tail_is_extrapolated_to_what_it_is() {
        // Exponential with a mean of 10 µs: an hour exceeds 1 µs + 10 µs · ln 3600 = 82.9 µs once.
        let found = extrapolate_pieces(&blocks(400, |_, u| -10_000.0 * u.ln())).unwrap();
        assert!(found.interval_ns.0 < 82_900.0 && 82_900.0 < found.interval_ns.1, "{found:?}");
        assert_eq!((found.clusters, found.seen_and_fitted_ns.len()), (400, 400));
    }

    #[test]
    fn unsound_extrapolations_are_refused_with_the_reason() {
        let exponential = |_, u: f64| -10_000.0 * u.ln();
        assert_eq!(
            extrapolate_pieces(&blocks(49, exponential)).unwrap_err(),
            ExtrapolationRefusal::TooFewClusters { clusters: 49, needed: 50 }
        );
        let drifting = blocks(200, |second, u| exponential(second, u) * if second < 100 { 1.0 } else { 3.0 });
        assert!(matches!(extrapolate_pieces(&drifting), Err(ExtrapolationRefusal::HalvesDiffer { .. })));
        let heavy = blocks(200, |_, u| 10_000.0 * (u.powf(-0.8) - 1.0));
        assert!(matches!(extrapolate_pieces(&heavy), Err(ExtrapolationRefusal::HeavyTail { .. })));
    }
}
