//! Blocks of wake-ups, and the start and end of a thread's turn.

#![deny(clippy::arithmetic_side_effects, reason = "numbers may be from a file that anybody wrote")]

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    AsText, Caveat, CpuSet, Distribution, IrregularMessages, Latency, LoadReport, MonotonicTime, Policy,
    Span, TurnFailure, Wakeup, WakeupGrid,
};

/// Worst wake-ups that each block and each result lists with their time.
pub const WORST_KEPT: usize = 10;

/// Wake-ups of one turn that are stored individually, in order; later ones are in the distribution only.
pub const SERIES_KEPT: usize = 100_000;

/// Length of the block that begins `since_start` after its turn: a 16th of that time, so that a short run has enough blocks
/// for confidence intervals, but at least 100 ms and at most a second: ten in the first second, about thirty in four.
pub fn block_length(since_start: Span) -> Span {
    const SHORTEST: Span = Span::from_millis(100);
    const LONGEST: Span = Span::from_secs(1);
    Span::from_nanos(since_start.as_nanos() / 16).clamp(SHORTEST, LONGEST)
}

/// A thread began to measure a condition, and this is what the kernel confirmed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Started")]
pub struct TurnStarted {
    /// Index of the condition in the recording's header.
    pub condition: u32,
    /// Which of the condition's turns this is, from 0.
    pub round: u32,
    /// When it was read back.
    #[serde(rename = "at_ns")]
    pub at: MonotonicTime,
    /// The settings, read back.
    pub in_force: EffectiveSettings,
    /// The settings of the one that notifies, read back; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_in_force: Option<EffectiveSettings>,
    /// What a program says of its language and its way to sleep; absent where a thread of howlate sleeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// Wake-ups of this turn that come first and are not counted; absent in older recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<u64>,
    /// What could not be had.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<Caveat>,
}

/// Settings of a measured thread as read back from the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "InForce")]
pub struct EffectiveSettings {
    /// Thread id, `gettid(2)`.
    pub tid: u32,
    /// Policy as read back, `sched_getattr(2)`.
    #[serde(flatten)]
    pub policy: Policy,
    /// `prctl(PR_GET_TIMERSLACK)`; 0 under a real-time policy.
    #[serde(rename = "slack_ns")]
    pub slack: Span,
    /// CPUs it may use, as read back, `sched_getaffinity(2)`.
    pub cpus: CpuSet,
    /// Whether the process's memory is locked (`mlockall(2)` succeeded).
    pub memory_locked: bool,
    /// What howlate holds in `/dev/cpu_dma_latency`, in microseconds; absent: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dma_latency_us: Option<i32>,
    /// The slice of the fair scheduler, where one was asked for; absent too on kernels that know none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "slice_ns")]
    pub slice: Option<Span>,
}

/// The wake-ups of one thread in one stretch of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Block {
    /// Index of the condition in the recording's header.
    pub condition: u32,
    /// Which of the condition's turns this belongs to, from 0.
    pub round: u32,
    /// When the stretch began.
    #[serde(rename = "from_ns")]
    pub from: MonotonicTime,
    /// When the stretch ended.
    #[serde(rename = "until_ns")]
    pub until: MonotonicTime,
    /// The latencies seen.
    pub latency: Distribution,
    /// Whole periods that passed inside a latency.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missed_periods: u64,
    /// The latencies that the missed periods would have had; absent if none was missed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swallowed: Option<Distribution>,
    /// How long each call that notifies took; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send: Option<Distribution>,
    /// Notifications that did not arrive once and in order.
    #[serde(default, skip_serializing_if = "IrregularMessages::is_none")]
    pub irregular: IrregularMessages,
    /// Wake-ups that were measured but lost, because they came faster than they could be collected.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost: u64,
    /// The worst wake-ups, the worst first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub worst: Vec<WorstWakeup>,
    /// Every wake-up in order, where there are few enough to keep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<SeriesPoint>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Block {
    /// Counts one wake-up; `grid` for periodic work.
    pub fn record(&mut self, wakeup: Wakeup, grid: Option<WakeupGrid>) {
        self.record_all(std::iter::once(wakeup), grid);
    }

    /// Counts wake-ups; `grid` for periodic work.
    #[inline]
    pub fn record_all(&mut self, wakeups: impl Iterator<Item = Wakeup>, grid: Option<WakeupGrid>) {
        let mut unusual = unusual(&self.worst, grid);
        let latencies = wakeups.map(|wakeup| {
            let latency = wakeup.latency();
            if latency >= unusual {
                keep_worst(&mut self.worst, WorstWakeup { at: wakeup.ran, latency });
                let missed = swallow(&mut self.swallowed, wakeup, grid);
                self.missed_periods = self.missed_periods.saturating_add(missed);
                unusual = self::unusual(&self.worst, grid);
            }
            latency
        });
        self.latency.record_all(latencies);
    }

    /// Returns its content in packed form, and restarts it at `at` with its buffers kept.
    pub(crate) fn cut(&mut self, at: MonotonicTime) -> Self {
        let (latency, swallowed, send) =
            (self.latency.packed(), take_packed(&mut self.swallowed), take_packed(&mut self.send));
        let mut open = std::mem::take(&mut self.latency);
        open.clear();
        let (condition, round) = (self.condition, self.round);
        let next = Self { condition, round, from: at, until: at, latency: open, ..Self::default() };
        Self { latency, swallowed, send, ..std::mem::replace(self, next) }
    }

    /// Switches its distributions to open buckets, before many blocks are merged into it.
    pub fn open(&mut self) {
        self.latency.open();
        self.swallowed.iter_mut().for_each(Distribution::open);
    }

    /// Packs its distributions to save memory. More can still be merged.
    pub fn pack(&mut self) {
        self.latency = self.latency.packed();
        self.swallowed.iter_mut().for_each(|all| *all = all.packed());
    }

    /// Adds a later block of the same condition and round.
    pub fn merge(&mut self, later: &Self) {
        self.until = self.until.max(later.until);
        self.latency.merge(&later.latency);
        self.missed_periods = self.missed_periods.saturating_add(later.missed_periods);
        if let Some(swallowed) = &later.swallowed {
            self.swallowed.get_or_insert_default().merge(swallowed);
        }
        if let Some(send) = &later.send {
            self.send.get_or_insert_default().merge(send);
        }
        self.irregular.add(later.irregular);
        self.lost = self.lost.saturating_add(later.lost);
        later.worst.iter().for_each(|wakeup| keep_worst(&mut self.worst, *wakeup));
        let shift = later.from.as_nanos().saturating_sub(self.from.as_nanos());
        self.series
            .extend(later.series.iter().map(|point| SeriesPoint(point.0.saturating_add(shift), point.1)));
    }
}

fn take_packed(open: &mut Option<Distribution>) -> Option<Distribution> {
    open.take().map(|open| open.packed())
}

/// Lowest latency of a wake-up that may be among the worst, or may have swallowed periods: one comparison serves both.
fn unusual(worst: &[WorstWakeup], grid: Option<WakeupGrid>) -> Latency {
    let enough =
        worst.get(WORST_KEPT - 1).map_or(i64::MIN, |least| least.latency.as_nanos().saturating_add(1));
    let period = grid.and_then(|grid| i64::try_from(grid.period.as_nanos()).ok()).unwrap_or(i64::MAX);
    Latency::from_nanos(enough.min(period))
}

/// Inserts `wakeup` in order if it is among the worst.
#[cold]
fn keep_worst(worst: &mut Vec<WorstWakeup>, wakeup: WorstWakeup) {
    let place = worst.partition_point(|other| other.latency >= wakeup.latency);
    if place < WORST_KEPT {
        worst.truncate(WORST_KEPT - 1);
        worst.insert(place, wakeup);
    }
}

/// Counts the wake-ups that a late one swallowed; returns how many periods were missed.
#[cold]
fn swallow(swallowed: &mut Option<Distribution>, wakeup: Wakeup, grid: Option<WakeupGrid>) -> u64 {
    let missed = grid.map(|grid| (grid, wakeup.missed(grid))).filter(|(_, missed)| *missed > 0);
    let Some((grid, missed)) = missed else { return 0 };
    swallowed.get_or_insert_default().record_swallowed(wakeup.latency(), grid.period, missed);
    missed
}

/// One of the worst wake-ups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Worst")]
pub struct WorstWakeup {
    /// When the thread ran.
    #[serde(rename = "at_ns")]
    pub at: MonotonicTime,
    /// Lateness of the wake-up.
    #[serde(rename = "latency_ns")]
    pub latency: Latency,
}

/// One wake-up kept in order: `[expected − block start, latency]`, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesPoint(#[serde(deserialize_with = "crate::time::within_36_years")] pub i64, pub Latency);

/// A thread stopped measuring a condition for this round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Finished")]
pub struct TurnFinished {
    /// Index of the condition in the recording's header.
    pub condition: u32,
    /// Which of the condition's turns this was, from 0.
    pub round: u32,
    /// When it woke.
    #[serde(rename = "at_ns")]
    pub at: MonotonicTime,
    /// What the thread used; absent when it never returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Whether it was cut before it had done what was asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unfinished: bool,
    /// What the background load did meanwhile; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadReport>,
    /// Why the waiting call failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<AsText<TurnFailure>>,
}

/// What a measured thread used while it measured: `getrusage(RUSAGE_THREAD)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Time that passed.
    #[serde(rename = "elapsed_ns")]
    pub elapsed: Span,
    /// CPU time in user mode.
    #[serde(rename = "user_ns")]
    pub user: Span,
    /// CPU time in the kernel.
    #[serde(rename = "system_ns")]
    pub system: Span,
    /// Page faults without disk access.
    pub minor_faults: u64,
    /// Page faults that read from disk.
    pub major_faults: u64,
    /// Times the thread gave up the CPU by itself.
    pub voluntary_switches: u64,
    /// Times the CPU was taken from it.
    pub involuntary_switches: u64,
}

impl Usage {
    /// Adds the usage of another turn.
    pub fn add(&mut self, other: &Self) {
        self.elapsed = self.elapsed.plus(other.elapsed);
        self.user = self.user.plus(other.user);
        self.system = self.system.plus(other.system);
        self.minor_faults = self.minor_faults.saturating_add(other.minor_faults);
        self.major_faults = self.major_faults.saturating_add(other.major_faults);
        self.voluntary_switches = self.voluntary_switches.saturating_add(other.voluntary_switches);
        self.involuntary_switches = self.involuntary_switches.saturating_add(other.involuntary_switches);
    }

    /// What was used since `before`, in the time `elapsed`.
    #[must_use]
    pub const fn since(&self, before: &Self, elapsed: Span) -> Self {
        Self {
            elapsed,
            user: self.user.minus(before.user),
            system: self.system.minus(before.system),
            minor_faults: self.minor_faults.saturating_sub(before.minor_faults),
            major_faults: self.major_faults.saturating_sub(before.major_faults),
            voluntary_switches: self.voluntary_switches.saturating_sub(before.voluntary_switches),
            involuntary_switches: self.involuntary_switches.saturating_sub(before.involuntary_switches),
        }
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    fn wakeup(expected: i64, late: i64) -> Wakeup {
        Wakeup {
            expected: MonotonicTime::from_nanos(expected),
            ran: MonotonicTime::from_nanos(expected + late),
        }
    }

    #[test]
    fn a_stall_is_counted_in_every_way() {
        // 0    100  200  300  400  500   period 100
        // |----|----|----|----|----|
        //      ^ +7 ^ +340           the second swallows 300, 400 and 500
        let grid = Some(WakeupGrid::endless(Span::from_nanos(100)));
        let mut block = Block::default();
        block.record(wakeup(100, 7), grid);
        block.record(wakeup(200, 340), grid);
        assert_eq!(block.latency.count(), 2);
        assert_eq!(block.missed_periods, 3);
        let swallowed = block.swallowed.unwrap();
        assert_eq!(swallowed.count(), 3);
        assert_eq!(swallowed.max(), Some(Latency::from_nanos(240)));
        assert_eq!(block.worst[0].at, MonotonicTime::from_nanos(540));
    }

    #[test]
    fn the_worst_are_the_latest_and_in_order() {
        let mut block = Block::default();
        for late in [5, 900, 3, 70, 900, 1, 2, 8, 9, 10, 11, 12, 4] {
            block.record(wakeup(0, late), None);
        }
        let latencies: Vec<i64> = block.worst.iter().map(|wakeup| wakeup.latency.as_nanos()).collect();
        assert_eq!(latencies, [900, 900, 70, 12, 11, 10, 9, 8, 5, 4]);
    }

    #[test]
    fn merging_blocks_adds_everything() {
        let grid = Some(WakeupGrid::endless(Span::from_nanos(100)));
        let (mut first, mut second, mut both) = (Block::default(), Block::default(), Block::default());
        first.record(wakeup(100, 250), grid);
        second.record(wakeup(500, 3), grid);
        both.record(wakeup(100, 250), grid);
        both.record(wakeup(500, 3), grid);
        first.merge(&second);
        assert_eq!(first, both);
    }
}
