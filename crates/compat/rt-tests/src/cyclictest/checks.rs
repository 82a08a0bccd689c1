//! Checks that need all options at once.

use howlate_model::Span;

use crate::cyclictest::affinity::CpuMasks;
use crate::cyclictest::options::{Affinity, CyclictestEarlyExit, CyclictestRequest, PowerManagement};
use crate::cyclictest::raw_options::RawCyclictestOptions;
use crate::cyclictest::warning::CyclictestWarning;

/// Default difference between the intervals of consecutive threads.
const DEFAULT_DISTANCE_US: i64 = 500;
/// Longest interval and duration: a year. Longer ones are taken for typing errors.
const MAX_LENGTH_US: i64 = 31_536_000_000_000;

/// Completes the options, or returns all errors in them.
pub(crate) fn check(
    mut raw: RawCyclictestOptions,
    masks: &CpuMasks,
) -> Result<CyclictestRequest, CyclictestEarlyExit> {
    threads(&mut raw, masks);
    distance(&mut raw);
    priority(&mut raw);
    clocks_and_duration(&mut raw);
    output(&mut raw);
    affinity_and_power(&mut raw);
    raw.options.smp = raw.smp;
    if raw.errors.contains(&CyclictestWarning::SmiWithoutAffinity) {
        Err(CyclictestEarlyExit::Fatal(CyclictestWarning::SmiWithoutAffinity))
    } else if raw.errors.is_empty() {
        Ok(CyclictestRequest { options: raw.options, warnings: raw.warnings })
    } else {
        raw.warnings.append(&mut raw.errors);
        Err(CyclictestEarlyExit::Invalid(raw.options.compat, raw.warnings))
    }
}

impl RawCyclictestOptions {
    fn out_of_range(&mut self, option: &'static str, value: i64, valid: &'static str) {
        self.errors.push(CyclictestWarning::OutOfRange { option, value, valid });
    }
}

/// `-t` alone means one thread per CPU of `-a`, or of the inherited mask without `-a`.
fn threads(raw: &mut RawCyclictestOptions, masks: &CpuMasks) {
    /// More threads are taken for a typing error.
    const MAX: i64 = 10_000;
    let per_cpu = match &raw.options.affinity {
        Affinity::Set(set) => set.len(),
        Affinity::All | Affinity::Unset => masks.allowed.len(),
    };
    raw.options.threads = match raw.threads {
        None => 1,
        Some(0) => per_cpu.max(1),
        Some(count) if (1..=MAX).contains(&count) => usize::try_from(count).unwrap_or(1),
        Some(count) => {
            raw.out_of_range("-t", count, "a number from 1 to 10000");
            1
        }
    };
}

fn distance(raw: &mut RawCyclictestOptions) {
    let histogram = raw.options.histogram.is_some();
    if histogram && raw.distance.is_some() {
        raw.warnings.push(CyclictestWarning::DistanceIgnored);
    }
    raw.options.distance_us = if histogram { 0 } else { raw.distance.unwrap_or(DEFAULT_DISTANCE_US) };
    let (first, last) = (raw.options.interval_us, raw.options.interval_of(raw.options.threads - 1));
    if !(1..=MAX_LENGTH_US).contains(&first) {
        raw.out_of_range("-i", first, "at least 1 (us)");
    } else if !(1..=MAX_LENGTH_US).contains(&last) {
        let distance = raw.options.distance_us;
        raw.out_of_range("-d", distance, "a distance that leaves every thread an interval of at least 1 us");
    }
}

fn priority(raw: &mut RawCyclictestOptions) {
    if !(0..=99).contains(&raw.priority) {
        raw.out_of_range("-p", raw.priority, "a priority from 1 to 99");
    }
    let priority = u32::try_from(raw.priority).unwrap_or(0);
    let options = &mut raw.options;
    if options.policy.is_realtime() && priority == 0 && raw.errors.is_empty() {
        let threads = u32::try_from(options.threads).unwrap_or(u32::MAX);
        options.priority = threads.saturating_add(1).min(99);
        raw.warnings.push(CyclictestWarning::DefaultPriority { priority: options.priority });
    } else {
        options.priority = priority;
    }
}

const CLOCKS: &str = "0 (CLOCK_MONOTONIC), 1 (CLOCK_REALTIME), 16 to 23 (CLOCK_AUX), or a name: monotonic, realtime, tai, boottime, aux0";

fn clocks_and_duration(raw: &mut RawCyclictestOptions) {
    match raw.clock {
        Ok(clock) => raw.options.clock = clock,
        Err(number) => raw.out_of_range("-c", number, CLOCKS),
    }
    if raw.options.system && raw.options.posix_timers {
        raw.warnings.push(CyclictestWarning::SystemWithTimers);
        (raw.options.system, raw.options.posix_timers) = (false, false);
    }
    if raw.aligned && raw.secaligned {
        raw.errors.push(CyclictestWarning::AlignedTwice);
    }
    match u64::try_from(raw.duration) {
        Ok(0) => {}
        Ok(seconds) if raw.duration <= MAX_LENGTH_US / 1_000_000 => {
            raw.options.duration = Some(Span::from_secs(seconds));
        }
        _ => raw.out_of_range("-D", raw.duration, "at least 1 (second)"),
    }
}

fn output(raw: &mut RawCyclictestOptions) {
    if raw.oscope < 1 {
        raw.out_of_range("-o", raw.oscope, "at least 1");
    } else if raw.oscope > 1 && !raw.options.verbose {
        raw.errors.push(CyclictestWarning::OscopeWithoutVerbose);
    }
    raw.options.oscope = raw.oscope.max(1).unsigned_abs();
    if let Some(buckets) = raw.buckets.filter(|buckets| *buckets < 1) {
        raw.out_of_range("-h", buckets, "at least 1");
    }
}

fn affinity_and_power(raw: &mut RawCyclictestOptions) {
    let options = &mut raw.options;
    if options.affinity == Affinity::Unset && options.compat.binds_by_default() {
        options.affinity = Affinity::All;
    }
    if options.smi && options.affinity == Affinity::Unset {
        raw.errors.push(CyclictestWarning::SmiWithoutAffinity);
    }
    if matches!(options.power, PowerManagement::DeepestIdleState(_)) {
        raw.warnings.push(CyclictestWarning::IdleStateInstead);
    }
}
