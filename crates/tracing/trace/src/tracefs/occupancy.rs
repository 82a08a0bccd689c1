//! The holders of a CPU during a wait for it, and for how long. Pure.

use std::collections::VecDeque;

use howlate_model::{CpuHolder, DeferredTimers, MonotonicTime, Occupant, Span};

use super::cpu_occupant::CpuOccupant;
use crate::irq_names::InterruptNames;
use crate::steal::SILENCE;

/// Stretches of one wait that keep their time: the latest ones, and those longer than [`SILENCE`]. The others are summed by name.
const MAX_STRETCHES: usize = 96;

/// Holders of a CPU during one wait: in order, and older ones summed by name.
#[derive(Debug, Default)]
pub(super) struct OccupancyHistory {
    /// Holder, start and length.
    stretches: VecDeque<(CpuOccupant, MonotonicTime, Span)>,
    /// Holder, total time, and whether they are several threads of one name.
    summed: Vec<(CpuOccupant, Span, bool)>,
}

impl OccupancyHistory {
    /// Adds a holder of the CPU since `from`.
    pub(super) fn add(&mut self, holder: CpuOccupant, from: MonotonicTime, ns: Span) {
        if ns.is_zero() {
            return;
        }
        match self.stretches.back_mut().filter(|(last_holder, ..)| last_holder.is_identical(&holder)) {
            Some(last) => *last = (holder, last.1, last.2.plus(ns)),
            None => self.stretches.push_back((holder, from, ns)),
        }
        if self.stretches.len() > MAX_STRETCHES
            && let Some((holder, _, ns)) = self.stretches.remove(self.oldest_short())
        {
            self.add_to_sum(holder, ns);
        }
    }

    /// Index of the oldest short stretch. A long one may be a guest that stood still: summed with others it would look like CPU time of its
    /// holder.
    fn oldest_short(&self) -> usize {
        self.stretches.iter().position(|(.., ns)| *ns <= SILENCE).unwrap_or(0)
    }

    fn add_to_sum(&mut self, holder: CpuOccupant, ns: Span) {
        match self.summed.iter_mut().find(|(summed_holder, ..)| summed_holder.has_same_name(&holder)) {
            Some((summed_holder, total, several)) => {
                *several |= !summed_holder.is_identical(&holder);
                // Its name may have become known.
                (*summed_holder, *total) = (holder, total.plus(ns));
            }
            None => self.summed.push((holder, ns, false)),
        }
    }

    /// All holders by name: first those without a time.
    pub(super) fn describe(&self, interrupts: &mut InterruptNames) -> Vec<Occupant> {
        let mut occupants = Vec::new();
        for (holder, ns, several) in &self.summed {
            let who = holder.describe(interrupts);
            let pid = who.pid.filter(|_| !several);
            occupants.push(Occupant { who: CpuHolder { pid, ..who }, ns: *ns, from: None });
        }
        for (holder, from, ns) in &self.stretches {
            // A thread whose name was not seen at first may have been seen since.
            let holders = self.stretches.iter().map(|(other, ..)| other);
            let named = holders.filter(|other| other.has_name()).find(|other| other.is_identical(holder));
            let who = named.unwrap_or(holder).describe(interrupts);
            occupants.push(Occupant { who, ns: *ns, from: Some(*from) });
        }
        occupants
    }
}

/// Stretches of a wait for a softirq; of a longer wait the first ones are dropped.
const MAX_DEFERRED: usize = 1_024;

/// An interrupt that left its timers to a softirq, and the holders of the CPU since.
#[derive(Debug)]
pub(super) struct Deferral {
    interrupt: MonotonicTime,
    interrupted: CpuOccupant,
    idle_since: Option<MonotonicTime>,
    /// Holder and end.
    stretches: VecDeque<(CpuOccupant, MonotonicTime)>,
    /// Start of the first stretch.
    known_from: MonotonicTime,
}

impl Deferral {
    /// `interrupted`: what the interrupt interrupted; idle since `idle_since`.
    pub(super) const fn from_interrupt(
        interrupt: MonotonicTime,
        interrupted: CpuOccupant,
        idle_since: Option<MonotonicTime>,
    ) -> Self {
        Self { interrupt, interrupted, idle_since, stretches: VecDeque::new(), known_from: interrupt }
    }

    /// Since when the CPU was idle that the interrupt came to.
    pub(super) const fn idle_since(&self) -> Option<MonotonicTime> {
        self.idle_since
    }

    /// `holder` had the CPU until now.
    pub(super) fn charge(&mut self, holder: CpuOccupant, until: MonotonicTime) {
        if self.stretches.len() == MAX_DEFERRED
            && let Some((_, first)) = self.stretches.pop_front()
        {
            self.known_from = first;
        }
        self.stretches.push_back((holder, until));
    }

    /// Holders since the timer was due, until it was served.
    pub(super) fn deferred_since(
        &self,
        soft: MonotonicTime,
        served: MonotonicTime,
        names: &mut InterruptNames,
    ) -> DeferredTimers {
        let mut from = self.known_from.max(soft);
        let mut history = OccupancyHistory::default();
        for (holder, until) in &self.stretches {
            let until = (*until).min(served);
            history.add(*holder, from, until.since(from));
            from = from.max(until);
        }
        let (interrupt, interrupted) = (self.interrupt, self.interrupted.describe(names));
        DeferredTimers { interrupt, interrupted, occupants: history.describe(names) }
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

    /// Three threads of one name that alternate, each for 1 ns: more stretches than are kept.
    #[test]
    fn what_is_too_long_ago_has_a_length_and_no_pid_where_it_was_several() {
        let mut history = OccupancyHistory::default();
        for number in 0..110u32 {
            let pid = 10 + number % 3;
            let from = MonotonicTime::from_nanos(i64::from(number));
            history.add(CpuOccupant::Thread { pid, comm: comm("herd") }, from, Span::from_nanos(1));
        }
        let all = history.describe(&mut InterruptNames::default());
        assert_eq!(all.len(), 1 + MAX_STRETCHES);
        assert_eq!((all[0].from, all[0].who.pid, all[0].ns), (None, None, Span::from_nanos(14)));
        assert_eq!((all[1].from, all[1].who.pid), (Some(MonotonicTime::from_nanos(14)), Some(12)));
    }

    /// The first of many stretches is longer than a running CPU is without a tick.
    #[test]
    fn what_took_longer_than_a_tick_stays_where_it_was() {
        let (mut history, mut from) = (OccupancyHistory::default(), MonotonicTime::from_nanos(0));
        for number in 0..110u32 {
            let ns = if number == 0 { Span::from_millis(30) } else { Span::from_nanos(1) };
            history.add(CpuOccupant::Thread { pid: 10 + number % 3, comm: comm("herd") }, from, ns);
            from = from.plus(ns);
        }
        let all = history.describe(&mut InterruptNames::default());
        assert_eq!((all[0].from, all[0].ns), (None, Span::from_nanos(14)));
        assert_eq!((all[1].from, all[1].ns), (Some(MonotonicTime::from_nanos(0)), Span::from_millis(30)));
        assert_eq!(all.len(), 1 + MAX_STRETCHES);
    }
}
