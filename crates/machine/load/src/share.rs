//! How much of its CPUs a part takes, and how much it is to take.

use howlate_model::{CpuSet, LoadKind, LoadPart, MonotonicTime, Span};

use crate::duty_cycle::CYCLE;

/// How often the share is looked at: whole cycles, so that none counts in part.
pub(crate) const STEP: Span = CYCLE.times(8);
/// The least time to work in a cycle; each worker does one operation at least.
const LEAST: Span = Span::from_micros(10);

/// Steers how long the workers of a part work in each cycle by the CPU time that all of them together really took.
///
/// Time alone would not do: workers wait for one another, for timers, for a CPU, and two on one CPU fill each other's rests.
pub(crate) struct Share {
    /// Of the CPUs that its workers can keep busy, 0 to 1.
    wanted: f64,
    cpus: f64,
    /// Whether the CPU time tells how much it does: what waits for a disk is given its share of the time.
    steered: bool,
    window: Span,
    last: Option<(MonotonicTime, Span)>,
}

impl Share {
    /// That of `part` with this many `workers` on `cpus`; `None` where it works all the time.
    pub(crate) fn new(part: &LoadPart, workers: usize, cpus: &CpuSet) -> Option<Self> {
        let percent = part.intensity.percent();
        if percent == 100 || part.kind.is_from_outside() {
            return None;
        }
        let wanted = f64::from(percent) / 100.0;
        let busy = u32::try_from(workers.min(cpus.len())).unwrap_or(u32::MAX);
        let steered = !matches!(part.kind, LoadKind::Disk { .. });
        Some(Self { wanted, cpus: f64::from(busy), steered, window: part_of_cycle(wanted), last: None })
    }

    /// How long to work in each cycle.
    pub(crate) const fn window(&self) -> Span {
        self.window
    }

    /// Takes in that the workers had taken `cpu` in all at `now`.
    pub(crate) fn correct(&mut self, now: MonotonicTime, cpu: Span) {
        let before = self.last.replace((now, cpu));
        let Some((then, before)) = before.filter(|_| self.steered) else { return };
        let taken = cpu.as_secs_f64() - before.as_secs_f64();
        let share = taken / (now.since(then).as_secs_f64() * self.cpus);
        // The square root takes half of the way, so that noise does not throw it to and fro.
        let factor = (self.wanted / share.max(0.0)).sqrt().clamp(0.5, 2.0);
        self.window = part_of_cycle(self.window.as_secs_f64() / CYCLE.as_secs_f64() * factor);
    }
}

/// A share of a cycle, at most the whole.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and a cycle")]
fn part_of_cycle(share: f64) -> Span {
    let nanos = (CYCLE.as_nanos() as f64 * share.clamp(0.0, 1.0)) as u64;
    Span::from_nanos(nanos).max(LEAST)
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times of a test")]
mod tests {
    use super::*;

    /// What the window becomes where the CPU time taken is `taken` of what the window gives.
    fn settled(part: &str, taken: impl Fn(f64) -> f64) -> (f64, f64) {
        let load: howlate_model::Load = part.parse().unwrap();
        let cpus: CpuSet = "0-1".parse().unwrap();
        let mut share = Share::new(&load.parts()[0], 4, &cpus).unwrap();
        let (mut now, mut cpu, mut last) = (MonotonicTime::from_nanos(1), 0.0, 0.0);
        for _ in 0..60 {
            let open = share.window().as_secs_f64() / CYCLE.as_secs_f64();
            last = taken(open);
            now = now.plus(STEP);
            cpu += last * 2.0 * STEP.as_secs_f64();
            share.correct(now, Span::from_nanos((cpu * 1e9) as u64));
        }
        (share.window().as_secs_f64() / CYCLE.as_secs_f64(), last)
    }

    #[track_caller]
    fn check(part: &str, taken: impl Fn(f64) -> f64, share: f64) {
        let (_, got) = settled(part, taken);
        assert!((got - share).abs() < 0.01, "{part}: {got} instead of {share}");
    }

    #[test]
    fn the_cpu_time_taken_becomes_what_was_asked_for() {
        check("cpu:50%", |open| open, 0.5);
        // Two on one CPU that do not rest at the same time.
        check("cpu:50%", |open| 1.0 - (1.0 - open) * (1.0 - open), 0.5);
        check("timers:50%", |open| 0.64 * open, 0.5);
        check("pipe:5%", |open| open + 0.01, 0.05);
    }

    #[test]
    fn what_cannot_take_that_much_works_all_the_time() {
        check("timers:90%", |open| 0.64 * open, 0.64);
        let (open, _) = settled("files:30%", |_| 0.0);
        assert!(open > 0.999, "{open}");
    }

    #[test]
    fn a_disk_gets_its_share_of_the_time() {
        let (open, _) = settled("disk:30%", |open| 0.1 * open);
        assert!((open - 0.3).abs() < 0.001, "{open}");
    }
}
