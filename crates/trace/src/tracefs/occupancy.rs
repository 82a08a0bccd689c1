//! Who had a CPU for how long, while somebody or something waited for it. Pure.

use std::collections::VecDeque;

use howlate_model::{Deferred, MonotonicTime, Occupant, Span};

use super::holder::Has;
use crate::names::Interrupts;

/// Times that add up, each with whose they were.
#[derive(Debug, Default)]
pub(super) struct Held(Vec<(Has, Span)>);

impl Held {
    /// Somebody had it for so long.
    pub(super) fn add(&mut self, holder: Has, ns: Span) {
        match self.0.iter_mut().find(|(known, _)| known.is_same(&holder)) {
            Some((known, had)) => {
                // Its name may have become known.
                (*known, *had) = (holder, had.plus(ns));
            }
            None => self.0.push((holder, ns)),
        }
    }

    /// All that took time, by name.
    pub(super) fn named(&self, interrupts: &mut Interrupts) -> Vec<Occupant> {
        let took_time = self.0.iter().filter(|(_, ns)| !ns.is_zero());
        took_time.map(|(who, ns)| Occupant { who: who.named(interrupts), ns: *ns }).collect()
    }
}

/// Stretches that are known of a wait for a softirq; of a longer one the first ones are forgotten.
const KNOWN: usize = 1_024;

/// An interrupt that left its timers to a softirq, and who has had the CPU since.
#[derive(Debug)]
pub(super) struct Deferral {
    interrupt: MonotonicTime,
    interrupted: Has,
    idle_since: Option<MonotonicTime>,
    /// Whose, until when.
    stretches: VecDeque<(Has, MonotonicTime)>,
    /// How far back they go.
    known_from: MonotonicTime,
}

impl Deferral {
    /// By that interrupt, which came upon `interrupted`, or upon nobody since then.
    pub(super) const fn from_interrupt(
        interrupt: MonotonicTime,
        interrupted: Has,
        idle_since: Option<MonotonicTime>,
    ) -> Self {
        Self { interrupt, interrupted, idle_since, stretches: VecDeque::new(), known_from: interrupt }
    }

    /// Since when nobody had the CPU that the interrupt came upon.
    pub(super) const fn idle_since(&self) -> Option<MonotonicTime> {
        self.idle_since
    }

    /// Somebody had the CPU up to now.
    pub(super) fn had(&mut self, holder: Has, until: MonotonicTime) {
        if self.stretches.len() == KNOWN
            && let Some((_, first)) = self.stretches.pop_front()
        {
            self.known_from = first;
        }
        self.stretches.push_back((holder, until));
    }

    /// What became of a timer of that time until it was served.
    pub(super) fn deferred_since(
        &self,
        soft: MonotonicTime,
        served: MonotonicTime,
        names: &mut Interrupts,
    ) -> Deferred {
        let mut from = self.known_from.max(soft);
        let mut held = Held::default();
        for (holder, until) in &self.stretches {
            let until = (*until).min(served);
            held.add(*holder, until.since(from));
            from = from.max(until);
        }
        let (interrupt, interrupted) = (self.interrupt, self.interrupted.named(names));
        Deferred { interrupt, interrupted, occupants: held.named(names) }
    }
}
