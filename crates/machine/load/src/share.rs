//! Controls how much of its CPUs a part of a load uses.

use howlate_model::{CpuSet, LoadKind, LoadPart, MonotonicTime, Span};

use crate::duty_cycle::CYCLE;

/// How often the share is adjusted: whole cycles, so that none counts in part.
pub(crate) const CONTROL_INTERVAL: Span = CYCLE.times(8);
/// Minimum time to work in a cycle; each worker does at least one operation.
const MIN_WINDOW: Span = Span::from_micros(10);

/// Adjusts how long the workers of a part work in each cycle by the CPU time that they use together.
///
/// A fixed time would not do: workers wait for each other, for timers, for a CPU, and two on one CPU fill each other's rests.
pub(crate) struct ShareControl {
    /// Target share of the CPUs that its workers can keep busy, 0 to 1.
    target: f64,
    cpus: f64,
    /// Whether CPU time measures the work; a load that waits for a disk gets a fixed share of the time.
    is_controlled: bool,
    window: Span,
    last: Option<(MonotonicTime, Span)>,
}

impl ShareControl {
    /// `None` for a load at full intensity, or from an external program.
    pub(crate) fn new(part: &LoadPart, workers: usize, cpus: &CpuSet) -> Option<Self> {
        let percent = part.intensity.percent();
        if percent == 100 || part.kind.is_from_outside() {
            return None;
        }
        let target = f64::from(percent) / 100.0;
        let busy = u32::try_from(workers.min(cpus.len())).unwrap_or(u32::MAX);
        let is_controlled = !matches!(part.kind, LoadKind::Disk { .. });
        Some(Self { target, cpus: f64::from(busy), is_controlled, window: part_of_cycle(target), last: None })
    }

    /// How long to work in each cycle.
    pub(crate) const fn window(&self) -> Span {
        self.window
    }

    /// Adjusts the window, given the total CPU time `cpu` of the workers at `now`.
    pub(crate) fn update(&mut self, now: MonotonicTime, cpu: Span) {
        let before = self.last.replace((now, cpu));
        let Some((then, before)) = before.filter(|_| self.is_controlled) else { return };
        let used = cpu.as_secs_f64() - before.as_secs_f64();
        let share = used / (now.since(then).as_secs_f64() * self.cpus);
        // The square root goes half of the way, so that noise does not cause oscillation.
        let factor = (self.target / share.max(0.0)).sqrt().clamp(0.5, 2.0);
        self.window = part_of_cycle(self.window.as_secs_f64() / CYCLE.as_secs_f64() * factor);
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and a cycle")]
fn part_of_cycle(share: f64) -> Span {
    let nanos = (CYCLE.as_nanos() as f64 * share.clamp(0.0, 1.0)) as u64;
    Span::from_nanos(nanos).max(MIN_WINDOW)
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times of a test")]
mod tests {
    use super::*;

    /// The final window and share of CPU time, where `used` maps a window to the share used.
    fn settle(part: &str, used: impl Fn(f64) -> f64) -> (f64, f64) {
        let load: howlate_model::Load = part.parse().unwrap();
        let cpus: CpuSet = "0-1".parse().unwrap();
        let mut share = ShareControl::new(&load.parts()[0], 4, &cpus).unwrap();
        let (mut now, mut cpu, mut last) = (MonotonicTime::from_nanos(1), 0.0, 0.0);
        for _ in 0..60 {
            let open = share.window().as_secs_f64() / CYCLE.as_secs_f64();
            last = used(open);
            now = now.plus(CONTROL_INTERVAL);
            cpu += last * 2.0 * CONTROL_INTERVAL.as_secs_f64();
            share.update(now, Span::from_nanos((cpu * 1e9) as u64));
        }
        (share.window().as_secs_f64() / CYCLE.as_secs_f64(), last)
    }

    #[track_caller]
    fn check(part: &str, used: impl Fn(f64) -> f64, expected: f64) {
        let (_, share) = settle(part, used);
        assert!((share - expected).abs() < 0.01, "{part}: {share} instead of {expected}");
    }

    #[test]
    fn the_cpu_time_approaches_the_target() {
        check("cpu:50%", |open| open, 0.5);
        // Two workers on one CPU that rest at different times.
        check("cpu:50%", |open| 1.0 - (1.0 - open) * (1.0 - open), 0.5);
        check("timers:50%", |open| 0.64 * open, 0.5);
        check("pipe:5%", |open| open + 0.01, 0.05);
    }

    #[test]
    fn a_load_below_its_target_works_all_the_time() {
        check("timers:90%", |open| 0.64 * open, 0.64);
        let (open, _) = settle("files:30%", |_| 0.0);
        assert!(open > 0.999, "{open}");
    }

    #[test]
    fn a_disk_gets_its_share_of_the_time() {
        let (open, _) = settle("disk:30%", |open| 0.1 * open);
        assert!((open - 0.3).abs() < 0.001, "{open}");
    }
}
