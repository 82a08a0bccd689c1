//! Event loops of watched programs: how long a thread stays away from the call in which it waits for events.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::long_reason;
use crate::long_reason::{ReasonTime, StallReason};
use crate::{Distribution, Latency, Ledger, MonotonicTime, Span, StallTotal};

/// The call in which an event loop waits for events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoopWait {
    /// `epoll_wait(2)`, `epoll_pwait(2)`, `epoll_pwait2(2)`.
    #[default]
    Epoll,
    /// `poll(2)`, `ppoll(2)`.
    Poll,
    /// `select(2)`, `pselect(2)`.
    Select,
    /// `io_uring_enter(2)`, where it waits.
    IoUring,
}

impl LoopWait {
    /// The name used in recordings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Epoll => "epoll",
            Self::Poll => "poll",
            Self::Select => "select",
            Self::IoUring => "io_uring",
        }
    }
}

impl fmt::Display for LoopWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One iteration as a tracer saw it: from the return of the waiting call until the thread calls it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iteration {
    /// Thread id, `gettid(2)`.
    pub tid: u32,
    /// The waiting call.
    pub wait: LoopWait,
    /// The epoll file: threads that share one serve the same events. `None` for other calls.
    pub file: Option<u32>,
    /// When the call returned.
    pub from: MonotonicTime,
    /// When the thread called it again.
    pub until: MonotonicTime,
    /// Time asleep in other calls or page faults.
    pub blocked: Span,
    /// Time ready to run, waiting for a CPU.
    pub ready: Span,
    /// The part of that in which its control group had used up its quota, as far as that was seen.
    pub quota: Span,
    /// The longest sleep, and its system call if known.
    pub longest_sleep: Option<(Span, Option<String>)>,
    /// User stack, sampled when the iteration was already long: addresses, innermost first. Empty if not sampled.
    pub stack: Vec<u64>,
}

impl Iteration {
    /// Splits the iteration into reasons. A call is named if it took most of the time asleep.
    pub(crate) fn reasons(&self) -> Vec<ReasonTime> {
        let spent = self.spent();
        let longest = self.longest_sleep.as_ref().filter(|(time, _)| time.times(2) > spent.blocked);
        let call = longest.and_then(|(_, call)| call.clone());
        let quota = self.quota.min(spent.ready);
        let all = [
            (StallReason::Ran, None, spent.running),
            (StallReason::Blocked, call, spent.blocked),
            (StallReason::WaitedForCpu, None, spent.ready.minus(quota)),
            (StallReason::Quota, None, quota),
        ];
        all.into_iter().filter(|(.., time)| !time.is_zero()).collect()
    }

    /// How long the loop stayed away from its waiting call.
    pub fn length(&self) -> Span {
        self.until.since(self.from)
    }

    /// How the time was spent.
    pub fn spent(&self) -> IterationTime {
        let Self { blocked, ready, .. } = *self;
        IterationTime { running: self.length().minus(blocked).minus(ready), blocked, ready }
    }
}

/// What a thread did within iterations; together their length, to the nanosecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Spent")]
pub struct IterationTime {
    /// It had a CPU: for itself, or for interrupts that came upon it.
    #[serde(rename = "running_ns")]
    pub running: Span,
    /// It slept in another call than the one in which its loop waits.
    #[serde(rename = "blocked_ns")]
    pub blocked: Span,
    /// It was ready, and waited for a CPU.
    #[serde(rename = "waiting_for_cpu_ns")]
    pub ready: Span,
}

impl IterationTime {
    fn add(&mut self, other: Self) {
        self.running = self.running.plus(other.running);
        self.blocked = self.blocked.plus(other.blocked);
        self.ready = self.ready.plus(other.ready);
    }

    pub fn total(&self) -> Span {
        self.running.plus(self.blocked).plus(self.ready)
    }
}

/// One of the longest iterations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LongIteration {
    /// When it began.
    #[serde(rename = "at_ns")]
    pub at: MonotonicTime,
    /// What it did.
    #[serde(flatten)]
    pub spent: IterationTime,
    /// The part of its waiting for a CPU in which its control group had used up its quota; absent where none was seen.
    #[serde(rename = "quota_ns", default, skip_serializing_if = "is_no_time")]
    pub quota: Span,
    /// The call that it slept longest in; absent where it did not sleep, or not in a call that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_in: Option<String>,
    /// The function that it was in when it was long already; absent where nobody looked, or it has no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
const fn is_no_time(span: &Span) -> bool {
    span.is_zero()
}

/// What long iterations have in common, and how many.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LongIn")]
pub struct StallSite {
    /// The function or the call.
    pub name: String,
    /// Iterations that were counted.
    pub count: u64,
    /// Their length together.
    #[serde(rename = "total_ns")]
    pub total: Span,
}

/// Longest iterations stored per block.
pub const LONGEST_KEPT: usize = 5;
/// Distinct functions, and distinct calls, per block.
pub const STALL_SITES_KEPT: usize = 32;

/// The iterations of an event loop in one stretch of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventLoopBlock {
    /// The call in which it waits; of several, the one that was seen last.
    pub wait: LoopWait,
    /// An iteration that is longer counts as one in which the loop did not come back.
    #[serde(rename = "above_ns")]
    pub above: Span,
    /// How long the loop did not come back, of each iteration.
    pub iterations: Distribution,
    /// What the thread did within them.
    pub spent: IterationTime,
    /// Iterations that were longer than that.
    pub long: u64,
    /// What the thread did within those.
    pub long_spent: IterationTime,
    /// The functions that it was in when those were long already, the most frequent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<StallSite>,
    /// The calls that it slept longest in within those.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked_in: Vec<StallSite>,
    /// What took the time of those, what took most first; absent in recordings of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<StallTotal>,
    /// The longest, the longest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub longest: Vec<LongIteration>,
    /// Threads that wait on the same events, this one with them, where it is more than one: others may have served them
    /// meanwhile. Absent where it is alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_by: Option<u64>,
    /// What iterations went to, added up: their lengths stand for latencies. Absent in recordings of earlier versions.
    #[serde(default, skip_serializing_if = "Ledger::is_empty")]
    pub ledger: Ledger,
}

impl EventLoopBlock {
    /// An empty block in which iterations longer than `above` count as long.
    pub fn with_threshold(above: Span) -> Self {
        Self { above, ..Self::default() }
    }

    /// Counts an iteration; `function` is where it was when it was already long.
    pub fn add(&mut self, iteration: &Iteration, function: Option<String>) {
        let (length, spent) = (iteration.length(), iteration.spent());
        self.wait = iteration.wait;
        self.iterations.record(Latency::from_span(length));
        self.spent.add(spent);
        if length <= self.above {
            return;
        }
        self.long += 1;
        self.long_spent.add(spent);
        long_reason::count(&mut self.reasons, iteration.reasons());
        let blocked_in = iteration.longest_sleep.as_ref().and_then(|(_, call)| call.clone());
        let slept = iteration.longest_sleep.as_ref().map_or(Span::ZERO, |(length, _)| *length);
        let is_mostly_asleep = slept.times(2) > length;
        if let Some(call) = blocked_in.as_ref().filter(|_| is_mostly_asleep) {
            count(&mut self.blocked_in, call, 1, length);
        }
        if let Some(name) = &function {
            count(&mut self.functions, name, 1, length);
        }
        let quota = iteration.quota;
        self.keep(LongIteration { at: iteration.from, spent, quota, blocked_in, function });
    }

    fn keep(&mut self, iteration: LongIteration) {
        let place = self.longest.partition_point(|other| other.spent.total() >= iteration.spent.total());
        self.longest.insert(place, iteration);
        self.longest.truncate(LONGEST_KEPT);
    }

    /// Adds a later block of the same loop.
    pub fn merge(&mut self, later: &Self) {
        (self.wait, self.above) = (later.wait, later.above);
        self.iterations.merge(&later.iterations);
        self.spent.add(later.spent);
        self.long = self.long.saturating_add(later.long);
        self.long_spent.add(later.long_spent);
        later
            .functions
            .iter()
            .for_each(|site| count(&mut self.functions, &site.name, site.count, site.total));
        later
            .blocked_in
            .iter()
            .for_each(|site| count(&mut self.blocked_in, &site.name, site.count, site.total));
        long_reason::merge(&mut self.reasons, &later.reasons);
        later.longest.iter().for_each(|iteration| self.keep(iteration.clone()));
        self.shared_by = self.shared_by.max(later.shared_by);
        self.ledger.merge(&later.ledger);
    }
}

/// Adds to the entry `name`, keeping the most frequent first; dropped if there are too many entries.
fn count(all: &mut Vec<StallSite>, name: &str, times: u64, length: Span) {
    if let Some(site) = all.iter_mut().find(|site| site.name == name) {
        site.count = site.count.saturating_add(times);
        site.total = site.total.plus(length);
    } else if all.len() < STALL_SITES_KEPT {
        all.push(StallSite { name: name.to_owned(), count: times, total: length });
    }
    all.sort_by_key(|site| std::cmp::Reverse(site.count));
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// An iteration; any sleep was in `clock_nanosleep`.
    pub(crate) fn iteration(from: i64, running: u64, blocked: u64, ready: u64) -> Iteration {
        let length = i64::try_from(running + blocked + ready).unwrap();
        Iteration {
            tid: 7,
            wait: LoopWait::Epoll,
            file: Some(3),
            from: MonotonicTime::from_nanos(from),
            until: MonotonicTime::from_nanos(from + length),
            blocked: Span::from_nanos(blocked),
            ready: Span::from_nanos(ready),
            quota: Span::ZERO,
            longest_sleep: (blocked > 0)
                .then(|| (Span::from_nanos(blocked), Some("clock_nanosleep".to_owned()))),
            stack: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::iteration;
    use super::*;

    #[test]
    fn what_an_iteration_spent_is_its_length() {
        let spent = iteration(100, 28, 0, 2).spent();
        assert_eq!((spent.running, spent.total()), (Span::from_nanos(28), Span::from_nanos(30)));
    }

    #[test]
    fn long_iterations_are_counted_and_the_longest_kept_over_stretches() {
        let mut all = EventLoopBlock::default();
        for stretch in 0..3i64 {
            let mut block = EventLoopBlock::with_threshold(Span::from_nanos(10));
            (0..4u32).for_each(|number| {
                let iteration = iteration(stretch * 1_000 + i64::from(number), 5, u64::from(number) * 3, 0);
                block.add(&iteration, Some("handler".to_owned()));
            });
            all.merge(&block);
        }
        // 5, 8, 11 and 14 ns: two of four are long.
        assert_eq!((all.iterations.count(), all.long, all.long_spent.total()), (12, 6, Span::from_nanos(75)));
        assert_eq!((all.functions[0].count, all.functions[0].name.as_str()), (6, "handler"));
        // 6 of 11 and 9 of 14 ns are more than half.
        assert_eq!((all.blocked_in[0].count, all.blocked_in[0].name.as_str()), (6, "clock_nanosleep"));
        let longest: Vec<u64> =
            all.longest.iter().map(|iteration| iteration.spent.total().as_nanos()).collect();
        assert_eq!(longest, [14, 14, 14, 11, 11]);
    }
}
