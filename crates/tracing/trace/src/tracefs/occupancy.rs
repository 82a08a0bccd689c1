//! Who had a CPU for how long, while somebody or something waited for it. Pure.

use std::collections::VecDeque;

use howlate_model::{CpuHolder, DeferredTimers, MonotonicTime, Occupant, Span};

use super::cpu_occupant::Has;
use crate::irq_names::Interrupts;
use crate::steal::SILENCE;

/// Stretches of one wait that are kept in order, the most recent ones and those longer than [`SILENCE`]; of the others, only how long
/// each name had.
const KEPT: usize = 96;

/// Who had a CPU in one wait: in order, and what was longer ago by name.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// Whose, since when.
    stretches: VecDeque<(Has, MonotonicTime, Span)>,
    /// Whose, and whether they are several threads of one name.
    together: Vec<(Has, Span, bool)>,
}

impl Held {
    /// Somebody had it since `from` for so long.
    pub(super) fn add(&mut self, holder: Has, from: MonotonicTime, ns: Span) {
        if ns.is_zero() {
            return;
        }
        match self.stretches.back_mut().filter(|(known, ..)| known.is_one_with(&holder)) {
            Some(last) => *last = (holder, last.1, last.2.plus(ns)),
            None => self.stretches.push_back((holder, from, ns)),
        }
        if self.stretches.len() > KEPT
            && let Some((holder, _, ns)) = self.stretches.remove(self.least_told())
        {
            self.forget_when(holder, ns);
        }
    }

    /// Where the oldest stretch is that nothing more can be told of. A longer one may be a guest that stood still: added to others,
    /// it would be time that its holder had.
    fn least_told(&self) -> usize {
        self.stretches.iter().position(|(.., ns)| *ns <= SILENCE).unwrap_or(0)
    }

    fn forget_when(&mut self, holder: Has, ns: Span) {
        match self.together.iter_mut().find(|(known, ..)| known.is_same(&holder)) {
            Some((known, had, several)) => {
                *several |= !known.is_one_with(&holder);
                // Its name may have become known.
                (*known, *had) = (holder, had.plus(ns));
            }
            None => self.together.push((holder, ns, false)),
        }
    }

    /// All of them, by name: first those of which it is not kept when they were.
    pub(super) fn named(&self, interrupts: &mut Interrupts) -> Vec<Occupant> {
        let mut all = Vec::new();
        for (holder, ns, several) in &self.together {
            let who = holder.named(interrupts);
            let pid = who.pid.filter(|_| !several);
            all.push(Occupant { who: CpuHolder { pid, ..who }, ns: *ns, from: None });
        }
        for (holder, from, ns) in &self.stretches {
            // A thread whose name was not seen at first may have been seen since.
            let known = self.stretches.iter().map(|(other, ..)| other);
            let named = known.filter(|other| other.has_name()).find(|other| other.is_one_with(holder));
            let who = named.unwrap_or(holder).named(interrupts);
            all.push(Occupant { who, ns: *ns, from: Some(*from) });
        }
        all
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
    ) -> DeferredTimers {
        let mut from = self.known_from.max(soft);
        let mut held = Held::default();
        for (holder, until) in &self.stretches {
            let until = (*until).min(served);
            held.add(*holder, from, until.since(from));
            from = from.max(until);
        }
        let (interrupt, interrupted) = (self.interrupt, self.interrupted.named(names));
        DeferredTimers { interrupt, interrupted, occupants: held.named(names) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comm(name: &str) -> [u8; 16] {
        let mut comm = [0; 16];
        comm[..name.len()].copy_from_slice(name.as_bytes());
        comm
    }

    /// A herd of three by turns, each 1 ns: more stretches than are kept.
    #[test]
    fn what_is_too_long_ago_has_a_length_and_no_pid_where_it_was_several() {
        let mut held = Held::default();
        for number in 0..110u32 {
            let pid = 10 + number % 3;
            let from = MonotonicTime::from_nanos(i64::from(number));
            held.add(Has::Thread { pid, comm: comm("herd") }, from, Span::from_nanos(1));
        }
        let all = held.named(&mut Interrupts::default());
        assert_eq!(all.len(), 1 + KEPT);
        assert_eq!((all[0].from, all[0].who.pid, all[0].ns), (None, None, Span::from_nanos(14)));
        assert_eq!((all[1].from, all[1].who.pid), (Some(MonotonicTime::from_nanos(14)), Some(12)));
    }

    /// The first of many stretches is longer than a CPU that runs goes without a tick.
    #[test]
    fn what_took_longer_than_a_tick_stays_where_it_was() {
        let (mut held, mut from) = (Held::default(), MonotonicTime::from_nanos(0));
        for number in 0..110u32 {
            let ns = if number == 0 { Span::from_millis(30) } else { Span::from_nanos(1) };
            held.add(Has::Thread { pid: 10 + number % 3, comm: comm("herd") }, from, ns);
            from = from.plus(ns);
        }
        let all = held.named(&mut Interrupts::default());
        assert_eq!((all[0].from, all[0].ns), (None, Span::from_nanos(14)));
        assert_eq!((all[1].from, all[1].ns), (Some(MonotonicTime::from_nanos(0)), Span::from_millis(30)));
        assert_eq!(all.len(), 1 + KEPT);
    }
}
