//! How long the stages of a test run took.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// `CLOCK_MONOTONIC`.
pub(super) fn now() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default()
}

/// Stages that have ended, in their order.
#[derive(Default)]
pub(super) struct StageTimes {
    ended: Vec<(&'static str, Duration)>,
}

impl StageTimes {
    /// Runs a stage.
    pub(super) fn stage<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        let began = now();
        let result = work();
        self.ended.push((name, now().saturating_sub(began)));
        result
    }

    /// `format 3 s, lints 190 s; 193 s in all`.
    pub(super) fn summary(&self) -> String {
        let stages = self.ended.iter().map(|(name, took)| format!("{name} {:.0} s", took.as_secs_f64()));
        let all: Duration = self.ended.iter().map(|(_, took)| *took).sum();
        format!("{}; {:.0} s in all", stages.collect::<Vec<_>>().join(", "), all.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_are_listed_in_their_order() {
        let mut times = StageTimes::default();
        assert_eq!((times.stage("format", || 1), times.stage("lints", || 2)), (1, 2));
        let summary = times.summary();
        assert!(summary.starts_with("format ") && summary.contains(" s, lints "), "{summary}");
        assert!(summary.ends_with(" s in all"), "{summary}");
    }
}
