//! The initial observation of a program: which wake-ups can be compared, and how long a turn must be.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use howlate_linux::clock;
use howlate_model::{Activation, Span};
use howlate_watched_program::WatchTarget;

use super::observer::ProgramObserver;

/// Least duration: programs behave differently at their start.
const LEAST: Span = Span::from_secs(1);
/// Most duration, for programs with few wake-ups.
const MOST: Span = Span::from_secs(5);
const LOOK_EVERY: Span = Span::from_millis(50);

/// Wake-ups with a planned time; of others only the delay after the event is known.
const PLANNED: [Activation; 2] = [Activation::Timer, Activation::HandedOn];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InitialObservation {
    pub(super) duration: Span,
    /// Wake-ups by activation.
    pub(super) counts: BTreeMap<&'static str, u64>,
    /// The activations that are compared.
    pub(super) compared: Vec<Activation>,
    /// Number of wake-ups with these activations.
    pub(super) count: u64,
}

impl InitialObservation {
    /// Looks until `wanted` wake-ups of one kind have come.
    pub(super) fn take(
        observer: &mut ProgramObserver,
        subject: &mut WatchTarget,
        wanted: u64,
        interrupted: &AtomicBool,
    ) -> Self {
        let began = clock::now();
        let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
        loop {
            for wakeup in observer.look() {
                *counts.entry(wakeup.activation.name()).or_default() += 1;
            }
            let duration = clock::now().since(began);
            let is_enough = duration >= LEAST && counts.values().any(|count| *count >= wanted);
            let is_over = subject.has_ended(observer.threads()) || interrupted.load(Ordering::Relaxed);
            if is_enough || is_over || duration >= MOST {
                return Self::new(duration, counts, wanted);
            }
            drop(clock::sleep_for(LOOK_EVERY));
        }
    }

    /// For a program that was not observed: its threads are assumed to wait for timers.
    pub(super) fn assumed() -> Self {
        Self { duration: LEAST, counts: BTreeMap::new(), compared: vec![Activation::Timer], count: 0 }
    }

    /// Compares loops that the program has marked; otherwise wake-ups with a planned time, unless there are hardly any.
    fn new(duration: Span, counts: BTreeMap<&'static str, u64>, wanted: u64) -> Self {
        let count = |activations: &[Activation]| -> u64 {
            activations.iter().filter_map(|activation| counts.get(activation.name())).sum()
        };
        let (planned, events) = (count(&PLANNED), count(&[Activation::Event]));
        let compared = match count(&[Activation::Loop]) {
            0 if planned >= wanted.min(events) && planned > 0 => PLANNED.to_vec(),
            0 if events > 0 => vec![Activation::Event],
            0 => Vec::new(),
            _ => vec![Activation::Loop],
        };
        let count = count(&compared);
        let was_seen = |activation: &Activation| counts.contains_key(activation.name());
        let compared = compared.into_iter().filter(was_seen).collect();
        Self { duration, counts, compared, count }
    }

    /// Length of a turn with about `wanted` wake-ups.
    pub(super) fn turn(&self, wanted: u64, least: Span) -> Span {
        /// Turns are multiples of this.
        const STEP_MS: u64 = 10;
        let interval = self.duration.as_nanos() / self.count.max(1);
        let millis = (interval.saturating_mul(wanted) / 1_000_000).div_ceil(STEP_MS) * STEP_MS;
        Span::from_millis(millis).max(least)
    }

    /// Expected number of wake-ups in `length`.
    pub(super) fn expected_in(&self, length: Span) -> u64 {
        let share = u128::from(self.count) * u128::from(length.as_nanos());
        u64::try_from(share / u128::from(self.duration.as_nanos().max(1))).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(counts: &[(&'static str, u64)]) -> InitialObservation {
        InitialObservation::new(Span::from_secs(1), counts.iter().copied().collect(), 110)
    }

    #[test]
    fn planned_wakeups_are_compared_where_there_are_enough() {
        let compared = |counts: &[(&'static str, u64)]| look(counts).compared;
        assert_eq!(compared(&[("timer", 900), ("event", 9_000)]), [Activation::Timer]);
        assert_eq!(compared(&[("timer", 1), ("event", 9_000)]), [Activation::Event]);
        assert_eq!(compared(&[("timer", 3), ("event", 2)]), [Activation::Timer]);
        assert_eq!(
            compared(&[("timer", 90), ("handed_on", 90), ("event", 1)]),
            [Activation::Timer, Activation::HandedOn]
        );
        assert_eq!(compared(&[("timer", 900), ("loop", 9)]), [Activation::Loop]);
        assert_eq!(compared(&[("event", 9)]), [Activation::Event]);
        assert_eq!(compared(&[]), []);
    }

    #[test]
    fn a_turn_is_as_long_as_it_takes() {
        let frequent = look(&[("timer", 1_000)]);
        assert_eq!(frequent.turn(110, Span::from_millis(150)), Span::from_millis(150));
        assert_eq!(frequent.expected_in(Span::from_millis(150)), 150);
        let rare = look(&[("timer", 10)]);
        assert_eq!(rare.turn(110, Span::from_millis(150)), Span::from_secs(11));
        assert_eq!(rare.expected_in(Span::from_secs(11)), 110);
    }
}
