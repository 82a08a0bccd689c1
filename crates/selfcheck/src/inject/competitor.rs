//! `competitors`: ordinary threads that never sleep. `throttled`: one that uses up the quota of its control group.

use howlate_linux::clock;
use howlate_model::{InjectedCause, MonotonicTime, Span, Stamp};
use howlate_procfs::{CpuStat, Root};

use super::clock_reader::watch;
use super::request::{InjectorReport, Stretch};
use super::work::{Work, sleep_until};

/// The kernel is asked about gaps from this length on: a shorter one ends no period of a quota.
const STOPPED: Span = Span::from_millis(1);

pub(crate) fn prepare(mut known: InjectedCause, group: Option<String>) -> Work {
    Box::new(move |stretch| {
        sleep_until(stretch.start);
        known.stamps = match group {
            Some(folder) => stops(&folder, stretch),
            None => runs(stretch),
        };
        Ok(InjectorReport { known: Some(known), ..InjectorReport::default() })
    })
}

/// When it had the CPU: between the gaps.
fn runs(stretch: Stretch) -> Vec<Stamp> {
    let mut stamps = Vec::new();
    let mut from = clock::now();
    watch(stretch.end, |gap| {
        stamps.push(Stamp { from, until: gap.from });
        // Noting it down can cost it the CPU, which nobody would notice.
        from = clock::now();
    });
    stamps.push(Stamp { from, until: clock::now() });
    stamps
}

/// When the group had no time left: gaps in which the kernel has stopped it, for as long as the kernel says.
fn stops(group: &str, stretch: Stretch) -> Vec<Stamp> {
    let mut stamps = Vec::new();
    let mut before = stopped(group);
    watch(stretch.end, |gap| {
        if gap.until.since(gap.from) < STOPPED {
            return;
        }
        let after = stopped(group);
        let lasted = after.minus(before);
        before = after;
        if !lasted.is_zero() {
            stamps.push(Stamp { from: gap.from, until: at_most(gap.from.plus(lasted), gap.until) });
        }
    });
    stamps
}

fn at_most(time: MonotonicTime, bound: MonotonicTime) -> MonotonicTime {
    time.min(bound)
}

/// How long the group was stopped so far.
fn stopped(group: &str) -> Span {
    CpuStat::in_folder(&Root::live(), group).throttled_time().unwrap_or_default()
}
