//! The first look at a program: which of its wake-ups can be compared, and how long a turn has to be.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use howlate_linux::clock;
use howlate_model::{Activation, Span};
use howlate_watched_program::WatchTarget;

use super::observer::Sight;

/// So long at least, as programs begin with something else than they go on with.
const LEAST: Span = Span::from_secs(1);
/// And so long at most, where little comes.
const MOST: Span = Span::from_secs(5);
const LOOK_EVERY: Span = Span::from_millis(50);

/// Those that were to come at a time; of the others it is only known how long they took from then on.
const BY_TIME: [Activation; 2] = [Activation::Timer, Activation::HandedOn];

/// What a first look has shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FirstLook {
    /// How long it was.
    pub(super) length: Span,
    /// Wake-ups by what made the threads run.
    pub(super) counts: BTreeMap<&'static str, u64>,
    /// Those that are compared.
    pub(super) compared: Vec<Activation>,
    /// How many came of them.
    pub(super) count: u64,
}

impl FirstLook {
    /// Looks until `enough` wake-ups of one kind have come.
    pub(super) fn take(
        sight: &mut Sight,
        subject: &mut WatchTarget,
        enough: u64,
        interrupted: &AtomicBool,
    ) -> Self {
        let began = clock::now();
        let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
        loop {
            for seen in sight.look() {
                *counts.entry(seen.activation.name()).or_default() += 1;
            }
            let length = clock::now().since(began);
            let is_enough = length >= LEAST && counts.values().any(|count| *count >= enough);
            let is_over = subject.has_ended(sight.threads()) || interrupted.load(Ordering::Relaxed);
            if is_enough || is_over || length >= MOST {
                return Self::new(length, counts, enough);
            }
            drop(clock::sleep_for(LOOK_EVERY));
        }
    }

    /// Before anything was seen: of a program whose threads wait for times.
    pub(super) fn before() -> Self {
        Self { length: LEAST, counts: BTreeMap::new(), compared: vec![Activation::Timer], count: 0 }
    }

    /// Turns that the program has marked say most; then what was to come at a time, unless there is next to nothing of it.
    fn new(length: Span, counts: BTreeMap<&'static str, u64>, enough: u64) -> Self {
        let count = |of: &[Activation]| -> u64 { of.iter().filter_map(|one| counts.get(one.name())).sum() };
        let (by_time, events) = (count(&BY_TIME), count(&[Activation::Event]));
        let compared = match count(&[Activation::Loop]) {
            0 if by_time >= enough.min(events) && by_time > 0 => BY_TIME.to_vec(),
            0 if events > 0 => vec![Activation::Event],
            0 => Vec::new(),
            _ => vec![Activation::Loop],
        };
        let count = count(&compared);
        let has_any = |one: &Activation| counts.contains_key(one.name());
        let compared = compared.into_iter().filter(has_any).collect();
        Self { length, counts, compared, count }
    }

    /// How long a turn is in which about `enough` come.
    pub(super) fn turn(&self, enough: u64, least: Span) -> Span {
        /// Turns are a whole number of these.
        const STEP_MS: u64 = 10;
        let each = self.length.as_nanos() / self.count.max(1);
        let millis = (each.saturating_mul(enough) / 1_000_000).div_ceil(STEP_MS) * STEP_MS;
        Span::from_millis(millis).max(least)
    }

    /// About how many come in so long.
    pub(super) fn expected_in(&self, length: Span) -> u64 {
        let share = u128::from(self.count) * u128::from(length.as_nanos());
        u64::try_from(share / u128::from(self.length.as_nanos().max(1))).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(counts: &[(&'static str, u64)]) -> FirstLook {
        FirstLook::new(Span::from_secs(1), counts.iter().copied().collect(), 110)
    }

    #[test]
    fn what_was_to_come_at_a_time_is_compared_where_there_is_enough_of_it() {
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
        let often = look(&[("timer", 1_000)]);
        assert_eq!(often.turn(110, Span::from_millis(150)), Span::from_millis(150));
        assert_eq!(often.expected_in(Span::from_millis(150)), 150);
        let seldom = look(&[("timer", 10)]);
        assert_eq!(seldom.turn(110, Span::from_millis(150)), Span::from_secs(11));
        assert_eq!(seldom.expected_in(Span::from_secs(11)), 110);
    }
}
