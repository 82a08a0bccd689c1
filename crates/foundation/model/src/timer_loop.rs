//! What is known of a thread that its own timer wakes again and again: its iterations, what it waited for in them, and whether each
//! delay moves all later ones.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CauseKind, Distribution, Latency, Ledger, Span};

/// Distinct waits at most; further ones are dropped.
const WAITS_KEPT: usize = 24;

/// The iterations of a thread in one stretch of time: each from the time that its timer was set to until it slept on its timer again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimerLoopBlock {
    /// How long each took.
    pub length: Distribution,
    /// What it was blocked in within them, whatever took the most first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<IterationWait>,
    /// How each delay moves the next time.
    pub drift: Drift,
    /// What iterations went to, added up: their lengths stand for latencies. Absent in recordings of earlier versions.
    #[serde(default, skip_serializing_if = "Ledger::is_empty")]
    pub ledger: Ledger,
}

/// What a thread was blocked in within its iterations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IterationWait {
    /// A lock, another system call, or page faults.
    pub kind: CauseKind,
    /// The system call; absent for page faults, and where it was not seen.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub call: String,
    /// The thread that ended those waits; absent where none did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// Its id, where it was always the same one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tid: Option<u32>,
    /// Whether that is a thread of its own program.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own: bool,
    /// How long it was blocked so in each iteration in which it was.
    pub time: Distribution,
    /// The same of all iterations together.
    #[serde(rename = "total_ns")]
    pub total: Span,
}

impl IterationWait {
    /// Whether both are counted in the same entry.
    fn is_same(&self, other: &Self) -> bool {
        (self.kind, &self.call, &self.by, self.own) == (other.kind, &other.call, &other.by, other.own)
    }
}

/// Sums over pairs: how late a thread ran, and how long after the time that it had been to run the next one was. Who sleeps
/// until a time has steps that do not depend on that, who sleeps for a length has longer ones by as much as it was late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Drift {
    /// Pairs.
    pub pairs: u64,
    /// Of the lateness, µs,
    pub late_us: f64,
    /// of the step, µs,
    pub step_us: f64,
    /// of the squares of the lateness, µs²,
    pub late_squared_us2: f64,
    /// of the products of both, µs²,
    pub late_step_us2: f64,
    /// and of the squares of the step, µs².
    pub step_squared_us2: f64,
    /// Sleeps on its timer; absent in recordings that do not say.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sleeps: u64,
    /// Of these, from when it slept to the time that its timer was set to: µs,
    #[serde(default)]
    pub slept_us: f64,
    /// and the squares, µs². Who sleeps for a length always has the same, whatever its work takes.
    #[serde(default)]
    pub slept_squared_us2: f64,
}

const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl TimerLoopBlock {
    /// Counts an iteration with its waits.
    pub fn record_iteration(&mut self, length: Span, waits: Vec<IterationWait>) {
        self.length.record(Latency::from_span(length));
        waits.into_iter().for_each(|wait| self.record_wait(wait));
    }

    fn record_wait(&mut self, wait: IterationWait) {
        let has_room = self.waits.len() < WAITS_KEPT;
        match self.waits.iter_mut().find(|sum| sum.is_same(&wait)) {
            Some(sum) => {
                sum.tid = sum.tid.filter(|tid| Some(*tid) == wait.tid);
                sum.time.merge(&wait.time);
                sum.total = sum.total.plus(wait.total);
            }
            None if has_room => self.waits.push(wait),
            None => {}
        }
    }

    /// Adds a later block.
    pub fn merge(&mut self, later: &Self) {
        self.length.merge(&later.length);
        later.waits.iter().for_each(|wait| self.record_wait(wait.clone()));
        self.waits.sort_by_key(|wait| std::cmp::Reverse(wait.total));
        self.drift.merge(later.drift);
        self.ledger.merge(&later.ledger);
    }
}

impl Drift {
    /// Counts a wake-up that was `late`; the next timer was set `step` after its own.
    pub fn add(&mut self, late: Span, step: Span) {
        let [late_us, step_us] = [late, step].map(|span| span.as_secs_f64() * 1e6);
        self.merge(Self {
            pairs: 1,
            late_us,
            step_us,
            late_squared_us2: late_us * late_us,
            late_step_us2: late_us * step_us,
            step_squared_us2: step_us * step_us,
            ..Self::default()
        });
    }

    /// Counts a sleep: from when the thread slept to its timer's time.
    pub fn record_sleep(&mut self, length: Span) {
        let slept_us = length.as_secs_f64() * 1e6;
        self.merge(Self { sleeps: 1, slept_us, slept_squared_us2: slept_us * slept_us, ..Self::default() });
    }

    fn merge(&mut self, later: Self) {
        self.pairs = self.pairs.saturating_add(later.pairs);
        self.late_us += later.late_us;
        self.step_us += later.step_us;
        self.late_squared_us2 += later.late_squared_us2;
        self.late_step_us2 += later.late_step_us2;
        self.step_squared_us2 += later.step_squared_us2;
        self.sleeps = self.sleeps.saturating_add(later.sleeps);
        self.slept_us += later.slept_us;
        self.slept_squared_us2 += later.slept_squared_us2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(by: &str, tid: u32, micros: u64) -> IterationWait {
        let (total, mut time) = (Span::from_micros(micros), Distribution::default());
        time.record(Latency::from_span(total));
        IterationWait {
            kind: CauseKind::Lock,
            call: "futex".into(),
            by: by.into(),
            tid: Some(tid),
            own: true,
            time,
            total,
        }
    }

    #[test]
    fn waits_for_the_same_are_added_up_and_have_an_id_where_it_is_one() {
        let mut all = TimerLoopBlock::default();
        all.record_iteration(Span::from_millis(5), vec![wait("planner", 7, 300), wait("logger", 9, 10)]);
        let mut later = TimerLoopBlock::default();
        later.record_iteration(Span::from_millis(6), vec![wait("planner", 7, 200), wait("logger", 10, 900)]);
        all.merge(&later);
        let sums: Vec<_> = all
            .waits
            .iter()
            .map(|wait| (wait.by.as_str(), wait.tid, wait.total, wait.time.count()))
            .collect();
        let micros = Span::from_micros;
        assert_eq!(sums, [("logger", None, micros(910), 2), ("planner", Some(7), micros(500), 2)]);
        assert_eq!(all.length.count(), 2);
    }

    #[test]
    fn there_is_a_bound() {
        let mut all = TimerLoopBlock::default();
        (0..100)
            .for_each(|number| all.record_iteration(Span::ZERO, vec![wait(&number.to_string(), number, 1)]));
        assert_eq!(all.waits.len(), WAITS_KEPT);
    }
}
