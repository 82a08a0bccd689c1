//! Checks that need all options at once.

use howlate_model::Span;

use crate::cyclictest::affinity::CpuMasks;
use crate::cyclictest::draft::Draft;
use crate::cyclictest::options::{Affinity, Power};
use crate::cyclictest::request::{Refusal, Request};
use crate::cyclictest::warning::Warning;

/// Added to the interval of each further thread where nothing else is asked for, in microseconds.
const DISTANCE: i64 = 500;
/// Intervals longer than this (about a year) are a typing error.
const LONGEST_US: i64 = 31_536_000_000_000;

/// Completes the options, or says what is wrong with them.
pub(crate) fn finish(mut draft: Draft, masks: &CpuMasks) -> Result<Request, Refusal> {
    threads(&mut draft, masks);
    distance(&mut draft);
    priority(&mut draft);
    ways_to_wait(&mut draft);
    output(&mut draft);
    bound(&mut draft);
    draft.options.smp = draft.smp;
    if draft.errors.contains(&Warning::SmiWithoutAffinity) {
        Err(Refusal::Fatal(Warning::SmiWithoutAffinity))
    } else if draft.errors.is_empty() {
        Ok(Request { options: draft.options, warnings: draft.warnings })
    } else {
        draft.warnings.append(&mut draft.errors);
        Err(Refusal::Invalid(draft.options.compat, draft.warnings))
    }
}

impl Draft {
    fn refuse(&mut self, option: &'static str, found: i64, wanted: &'static str) {
        self.errors.push(Warning::OutOfRange { option, found, wanted });
    }
}

/// `-t` alone is one thread per CPU of the set, without a set per CPU that may be used.
fn threads(draft: &mut Draft, masks: &CpuMasks) {
    /// More threads than this are a typing error.
    const MOST: i64 = 10_000;
    let per_cpu = match &draft.options.affinity {
        Affinity::Set(set) => set.len(),
        Affinity::All | Affinity::Unset => masks.allowed.len(),
    };
    draft.options.threads = match draft.threads {
        None => 1,
        Some(0) => per_cpu.max(1),
        Some(count) if (1..=MOST).contains(&count) => usize::try_from(count).unwrap_or(1),
        Some(count) => {
            draft.refuse("-t", count, "a number from 1 to 10000");
            1
        }
    };
}

fn distance(draft: &mut Draft) {
    let histogram = draft.options.histogram.is_some();
    if histogram && draft.distance.is_some() {
        draft.warnings.push(Warning::DistanceIgnored);
    }
    draft.options.distance_us = if histogram { 0 } else { draft.distance.unwrap_or(DISTANCE) };
    let (first, last) = (draft.options.interval_us, draft.options.interval_of(draft.options.threads - 1));
    if !(1..=LONGEST_US).contains(&first) {
        draft.refuse("-i", first, "at least 1 (us)");
    } else if !(1..=LONGEST_US).contains(&last) {
        let distance = draft.options.distance_us;
        draft.refuse("-d", distance, "a distance that leaves every thread an interval of at least 1 us");
    }
}

fn priority(draft: &mut Draft) {
    if !(0..=99).contains(&draft.priority) {
        draft.refuse("-p", draft.priority, "a priority from 1 to 99");
    }
    let asked = u32::try_from(draft.priority).unwrap_or(0);
    let options = &mut draft.options;
    if options.policy.is_realtime() && asked == 0 && draft.errors.is_empty() {
        let threads = u32::try_from(options.threads).unwrap_or(u32::MAX);
        options.priority = threads.saturating_add(1).min(99);
        draft.warnings.push(Warning::DefaultPriority { priority: options.priority });
    } else {
        options.priority = asked;
    }
}

const CLOCKS: &str = "0 (CLOCK_MONOTONIC), 1 (CLOCK_REALTIME), 16 to 23 (CLOCK_AUX), or a name: monotonic, realtime, tai, boottime, aux0";

fn ways_to_wait(draft: &mut Draft) {
    match draft.clock {
        Ok(clock) => draft.options.clock = clock,
        Err(number) => draft.refuse("-c", number, CLOCKS),
    }
    if draft.options.system && draft.options.posix_timers {
        draft.warnings.push(Warning::SystemWithTimers);
        (draft.options.system, draft.options.posix_timers) = (false, false);
    }
    if draft.aligned && draft.secaligned {
        draft.errors.push(Warning::AlignedTwice);
    }
    match u64::try_from(draft.duration) {
        Ok(0) => {}
        Ok(seconds) if draft.duration <= LONGEST_US / 1_000_000 => {
            draft.options.duration = Some(Span::from_secs(seconds));
        }
        _ => draft.refuse("-D", draft.duration, "at least 1 (second)"),
    }
}

fn output(draft: &mut Draft) {
    if draft.oscope < 1 {
        draft.refuse("-o", draft.oscope, "at least 1");
    } else if draft.oscope > 1 && !draft.options.verbose {
        draft.errors.push(Warning::OscopeWithoutVerbose);
    }
    draft.options.oscope = draft.oscope.max(1).unsigned_abs();
    if let Some(buckets) = draft.buckets.filter(|buckets| *buckets < 1) {
        draft.refuse("-h", buckets, "at least 1");
    }
}

fn bound(draft: &mut Draft) {
    let options = &mut draft.options;
    if options.affinity == Affinity::Unset && options.compat.binds_by_default() {
        options.affinity = Affinity::All;
    }
    if options.smi && options.affinity == Affinity::Unset {
        draft.errors.push(Warning::SmiWithoutAffinity);
    }
    if matches!(options.power, Power::DeepestIdleState(_)) {
        draft.warnings.push(Warning::IdleStateInstead);
    }
}
