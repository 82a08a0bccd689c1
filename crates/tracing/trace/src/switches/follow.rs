//! Reconstructs the sleeps of a thread from its switches and its schedstat. Pure.
//!
//! ```text
//! switches   in       out              in         preempted   in      out
//!            |--------|----------------|----------|-----------|-------|
//! schedstat     ^ 40            |-------|          |-----------|  ^ 70
//!                                waited: 70 - 40, less the time of the preemption
//! ```

use std::collections::VecDeque;

use howlate_model::{CpuLoss, HolderKind, MonotonicTime, Occupant, Span, TracedSleep, WakeSource};

use super::record::Switch;
use super::schedstat::SchedstatReading;
use crate::occupant::nameless;

/// Preemptions of one wake-up that are listed.
const MAX_LISTED: usize = 8;
/// Readings that are kept until their switches arrive.
const MAX_READINGS: usize = 65_536;

/// The state of one thread.
pub(super) struct SwitchFollower {
    pub(super) tid: u32,
    slack: Span,
    readings: VecDeque<SchedstatReading>,
    /// The last reading that was used, and the number of sleeps since.
    before: Option<SchedstatReading>,
    sleeps: u32,
    /// Preemptions since that reading.
    preempted: Vec<(MonotonicTime, MonotonicTime)>,
    asleep_since: Option<MonotonicTime>,
    /// Switched in, and not asleep again yet.
    awake: Option<TracedSleep>,
    /// Start of the current preemption.
    off_since: Option<MonotonicTime>,
}

impl SwitchFollower {
    pub(super) fn new(tid: u32, slack: Span) -> Self {
        Self {
            tid,
            slack,
            readings: VecDeque::new(),
            before: None,
            sleeps: 0,
            preempted: Vec::new(),
            asleep_since: None,
            awake: None,
            off_since: None,
        }
    }

    pub(super) fn add_reading(&mut self, reading: SchedstatReading) {
        if self.readings.len() == MAX_READINGS {
            self.readings.pop_front();
        }
        self.readings.push_back(reading);
    }

    /// Adds a switch, after all readings from before it, and passes on the sleep that it completes. Returns how many switches were lost
    /// before it.
    pub(super) fn add_switch(&mut self, switch: Switch, seen: &mut dyn FnMut(TracedSleep)) -> u64 {
        match switch {
            Switch::In { at, cpu } => self.switch_in(at, cpu),
            Switch::Preempted { at } => self.off_since = Some(at),
            Switch::Out { at } => {
                self.finish(Some(at), seen);
                self.asleep_since = Some(at);
            }
            Switch::Lost(count) => {
                let (tid, slack, readings) = (self.tid, self.slack, std::mem::take(&mut self.readings));
                *self = Self { readings, ..Self::new(tid, slack) };
                return count;
            }
        }
        0
    }

    /// No more switches will come: passes on a sleep that is not complete.
    pub(super) fn end(&mut self, seen: &mut dyn FnMut(TracedSleep)) {
        self.finish(None, seen);
    }

    fn switch_in(&mut self, at: MonotonicTime, cpu: u32) {
        if let Some(from) = self.off_since.take() {
            self.preempted.push((from, at));
            if let Some(sleep) = &mut self.awake {
                add_lost(sleep, from, at);
            }
        } else if let Some(asleep_since) = self.asleep_since.take() {
            self.sleeps += 1;
            self.awake = Some(self.woken(asleep_since, at, cpu));
        }
    }

    /// A sleep whose wait is not known yet: as if the thread had been switched in as soon as it was runnable.
    fn woken(&self, asleep_since: MonotonicTime, at: MonotonicTime, cpu: u32) -> TracedSleep {
        let woken_by = WakeSource::NotSeen { slack: self.slack, runnable_known: false };
        TracedSleep {
            asleep_since: Some(asleep_since),
            switched_in: Some(at),
            cpu,
            ..TracedSleep::new(self.tid, at, woken_by)
        }
    }

    /// The thread sleeps again, at `at` if that is known.
    fn finish(&mut self, at: Option<MonotonicTime>, seen: &mut dyn FnMut(TracedSleep)) {
        let waited = self.waited(at);
        let Some(mut sleep) = self.awake.take() else { return };
        sleep.asleep_again = at;
        if let (Some(waited), Some(switched_in)) = (waited, sleep.switched_in) {
            add_wait(&mut sleep, waited, switched_in, self.slack);
        }
        seen(sleep);
    }

    /// Wait for the CPU after the only sleep between two readings: the growth of schedstat, less preemptions. `None` if it is ambiguous.
    fn waited(&mut self, until: Option<MonotonicTime>) -> Option<Span> {
        let is_from_before = |reading: &SchedstatReading| until.is_none_or(|until| reading.from <= until);
        let mut reading = None;
        while self.readings.front().is_some_and(is_from_before) {
            reading = self.readings.pop_front();
        }
        let reading = reading?;
        let (before, sleeps) = (self.before.replace(reading), std::mem::take(&mut self.sleeps));
        let all = std::mem::take(&mut self.preempted);
        // A reading during a preemption may or may not include it.
        let is_ambiguous = |reading: &SchedstatReading| {
            all.iter().any(|(from, to)| *from < reading.until && *to > reading.from)
        };
        let clear = before.filter(|before| sleeps == 1 && !is_ambiguous(before) && !is_ambiguous(&reading));
        // Preemptions after the reading belong to the next one.
        let (current, next): (Vec<_>, Vec<_>) = all.into_iter().partition(|(from, _)| *from < reading.from);
        self.preempted = next;
        let other: Span = current.iter().fold(Span::ZERO, |sum, (from, to)| sum.plus(to.since(*from)));
        Some(reading.waited.minus(clear?.waited).minus(other))
    }
}

/// Adds a wait for the CPU to a sleep. It cannot have begun before the sleep did.
fn add_wait(sleep: &mut TracedSleep, waited: Span, switched_in: MonotonicTime, slack: Span) {
    let earliest = sleep.asleep_since.unwrap_or(switched_in);
    let runnable = switched_in.minus(waited).max(earliest);
    (sleep.waking, sleep.runnable) = (runnable, runnable);
    sleep.woken_by = WakeSource::NotSeen { slack, runnable_known: true };
    let ns = switched_in.since(runnable);
    if !ns.is_zero() {
        sleep.occupants.push(Occupant { who: nameless(HolderKind::NotSeen), ns, from: None });
    }
}

fn add_lost(sleep: &mut TracedSleep, from: MonotonicTime, until: MonotonicTime) {
    if sleep.lost.len() < MAX_LISTED {
        sleep.lost.push(CpuLoss {
            from,
            until,
            to: nameless(HolderKind::NotSeen),
            throttled: false,
            merged: false,
        });
    } else {
        sleep.lost_more += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: i64) -> MonotonicTime {
        MonotonicTime::from_nanos(nanos)
    }

    fn reading(from: i64, waited: u64) -> SchedstatReading {
        SchedstatReading { from: at(from), until: at(from + 2), waited: Span::from_nanos(waited) }
    }

    /// Follows `switches` after `readings`; returns the sleeps and the number of lost switches.
    fn follow(readings: &[SchedstatReading], switches: &[Switch]) -> (Vec<TracedSleep>, u64) {
        let mut follower = SwitchFollower::new(7, Span::from_nanos(50));
        readings.iter().for_each(|reading| follower.add_reading(*reading));
        let mut seen = Vec::new();
        let lost =
            switches.iter().map(|switch| follower.add_switch(*switch, &mut |sleep| seen.push(sleep))).sum();
        (seen, lost)
    }

    fn into(time: i64) -> Switch {
        Switch::In { at: at(time), cpu: 1 }
    }

    fn out(time: i64) -> Switch {
        Switch::Out { at: at(time) }
    }

    fn preempted(time: i64) -> Switch {
        Switch::Preempted { at: at(time) }
    }

    /// When the thread became runnable, if known.
    fn runnable(sleep: &TracedSleep) -> Option<i64> {
        let WakeSource::NotSeen { runnable_known, .. } = sleep.woken_by else { unreachable!() };
        runnable_known.then_some(sleep.runnable.as_nanos())
    }

    #[test]
    fn the_wait_is_the_growth_of_schedstat() {
        // 90 read  100 sleeps  1000 runs  1010 read  1020 sleeps
        let (seen, _) =
            follow(&[reading(90, 500), reading(1_010, 530)], &[out(100), into(1_000), out(1_020)]);
        assert_eq!(seen.len(), 1, "the first reading has no sleep before it");
        let sleep = &seen[0];
        assert_eq!((runnable(sleep), sleep.switched_in, sleep.cpu), (Some(970), Some(at(1_000)), 1));
        assert_eq!((sleep.asleep_since, sleep.asleep_again), (Some(at(100)), Some(at(1_020))));
        assert_eq!(
            sleep.occupants,
            [Occupant { who: nameless(HolderKind::NotSeen), ns: Span::from_nanos(30), from: None }]
        );
    }

    #[test]
    fn a_stretch_without_cpu_after_the_switch_is_no_part_of_the_wait() {
        let switches = [out(100), into(1_000), preempted(1_003), into(1_103), out(1_200)];
        let (seen, _) = follow(&[reading(90, 0), reading(1_110, 130)], &switches);
        assert_eq!(runnable(&seen[0]), Some(970));
        assert_eq!(seen[0].lost[0].until, at(1_103));
        // A preemption before the sleep is no part of the wait either.
        let switches = [preempted(93), into(98), out(100), into(1_000), out(1_200)];
        let (seen, _) = follow(&[reading(90, 0), reading(1_110, 35)], &switches);
        assert_eq!((runnable(&seen[0]), seen[0].lost.len()), (Some(970), 0));
    }

    #[test]
    fn an_ambiguous_wait_is_unknown() {
        // No reading before; preempted during a reading; two sleeps between two readings.
        let slept = [out(100), into(1_000), out(1_020)];
        assert_eq!(runnable(&follow(&[reading(1_010, 30)], &slept).0[0]), None);
        let lost = [out(100), into(1_000), preempted(1_011), into(1_100), out(1_200)];
        assert_eq!(runnable(&follow(&[reading(90, 0), reading(1_010, 30)], &lost).0[0]), None);
        let twice = [out(100), into(500), out(600), into(1_000), out(1_020)];
        let (seen, _) = follow(&[reading(90, 0), reading(1_010, 30)], &twice);
        assert_eq!(seen.iter().map(runnable).collect::<Vec<_>>(), [None, None]);
    }

    #[test]
    fn the_next_wait_is_known_again() {
        let readings = [reading(90, 0), reading(1_010, 30), reading(2_010, 40)];
        let switches =
            [out(100), into(1_000), preempted(1_011), into(1_100), out(1_200), into(2_000), out(2_020)];
        let (seen, _) = follow(&readings, &switches);
        assert_eq!(runnable(&seen[0]), None);
        assert_eq!(runnable(&seen[1]), None, "the account before it is as blurred");
        let readings = [reading(90, 0), reading(1_010, 30), reading(2_010, 140)];
        let switches =
            [out(100), into(1_000), preempted(1_050), into(1_150), out(1_200), into(2_000), out(2_020)];
        let (seen, _) = follow(&readings, &switches);
        assert_eq!(seen.iter().map(runnable).collect::<Vec<_>>(), [Some(970), Some(1_990)]);
    }

    #[test]
    fn losses_are_counted_and_reset_the_state() {
        let switches = [out(100), Switch::Lost(3), into(1_000), out(1_020), into(2_000), out(2_020)];
        let (seen, lost) = follow(&[reading(90, 0), reading(1_010, 30), reading(2_010, 40)], &switches);
        assert_eq!((lost, seen.len()), (3, 1));
        assert_eq!((seen[0].switched_in, runnable(&seen[0])), (Some(at(2_000)), Some(1_990)));
    }
}
