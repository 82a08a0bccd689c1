//! From a thread's switches and its own account to what was seen of each sleep. Pure.
//!
//! ```text
//! switches   in       out              in         preempted   in      out
//!            |--------|----------------|----------|-----------|-------|
//! account       ^ 40            |-------|          |-----------|  ^ 70
//!                                waited: 70 - 40, less what went by while its CPU had been taken
//! ```

use std::collections::VecDeque;

use howlate_model::{CpuHolder, CpuLoss, HolderKind, MonotonicTime, Occupant, Span, TracedSleep, WakeSource};

use super::own_schedstat::Account;
use super::record::Switch;

/// Stretches without CPU of one wake-up that are listed.
const LISTED: usize = 8;
/// Readings that are kept until the switches that they belong to arrive.
const KEPT: usize = 65_536;

/// One thread on its way.
pub(super) struct Follower {
    pub(super) tid: u32,
    slack: Span,
    accounts: VecDeque<Account>,
    /// The last reading that was used, and how often the thread slept since.
    before: Option<Account>,
    sleeps: u32,
    /// Stretches since that reading in which the thread was on a run queue without having slept.
    preempted: Vec<(MonotonicTime, MonotonicTime)>,
    asleep_since: Option<MonotonicTime>,
    /// Switched in, and not asleep again yet.
    awake: Option<TracedSleep>,
    /// When its CPU was taken from it, while it has not got one back.
    off_since: Option<MonotonicTime>,
}

impl Follower {
    pub(super) fn new(tid: u32, slack: Span) -> Self {
        Self {
            tid,
            slack,
            accounts: VecDeque::new(),
            before: None,
            sleeps: 0,
            preempted: Vec::new(),
            asleep_since: None,
            awake: None,
            off_since: None,
        }
    }

    /// Takes a reading of the thread's account.
    pub(super) fn account(&mut self, reading: Account) {
        if self.accounts.len() == KEPT {
            self.accounts.pop_front();
        }
        self.accounts.push_back(reading);
    }

    /// Takes a switch, after all readings from before it; hands on the sleep that it completes. Returns how many switches
    /// were lost before it.
    pub(super) fn switch(&mut self, switch: Switch, seen: &mut dyn FnMut(TracedSleep)) -> u64 {
        match switch {
            Switch::In { at, cpu } => self.gets_a_cpu(at, cpu),
            Switch::Preempted { at } => self.off_since = Some(at),
            Switch::Out { at } => {
                self.finish(Some(at), seen);
                self.asleep_since = Some(at);
            }
            Switch::Lost(count) => {
                let (tid, slack, accounts) = (self.tid, self.slack, std::mem::take(&mut self.accounts));
                *self = Self { accounts, ..Self::new(tid, slack) };
                return count;
            }
        }
        0
    }

    /// Nothing more will come: hands on what has not slept again.
    pub(super) fn end(&mut self, seen: &mut dyn FnMut(TracedSleep)) {
        self.finish(None, seen);
    }

    fn gets_a_cpu(&mut self, at: MonotonicTime, cpu: u32) {
        if let Some(from) = self.off_since.take() {
            self.preempted.push((from, at));
            if let Some(one) = &mut self.awake {
                add_lost(one, from, at);
            }
        } else if let Some(asleep_since) = self.asleep_since.take() {
            self.sleeps += 1;
            self.awake = Some(self.woken(asleep_since, at, cpu));
        }
    }

    /// A sleep whose wait is not known yet: it is as if the thread had been switched in as soon as it could run.
    fn woken(&self, asleep_since: MonotonicTime, at: MonotonicTime, cpu: u32) -> TracedSleep {
        let woken_by = WakeSource::NotSeen { slack: self.slack, runnable_known: false };
        TracedSleep {
            asleep_since: Some(asleep_since),
            switched_in: Some(at),
            cpu,
            ..TracedSleep::new(self.tid, at, woken_by)
        }
    }

    /// The thread sleeps again, `at` that time if it is known.
    fn finish(&mut self, at: Option<MonotonicTime>, seen: &mut dyn FnMut(TracedSleep)) {
        let waited = self.waited(at);
        let Some(mut one) = self.awake.take() else { return };
        one.asleep_again = at;
        if let (Some(waited), Some(switched_in)) = (waited, one.switched_in) {
            wait(&mut one, waited, switched_in, self.slack);
        }
        seen(one);
    }

    /// How long the thread was on a run queue after its one sleep between two readings of its account: what the account
    /// grew by, less the stretches in which its CPU had been taken from it. `None` where that cannot be told.
    fn waited(&mut self, until: Option<MonotonicTime>) -> Option<Span> {
        let is_from_before = |one: &Account| until.is_none_or(|until| one.from <= until);
        let mut reading = None;
        while self.accounts.front().is_some_and(is_from_before) {
            reading = self.accounts.pop_front();
        }
        let reading = reading?;
        let (before, sleeps) = (self.before.replace(reading), std::mem::take(&mut self.sleeps));
        let all = std::mem::take(&mut self.preempted);
        // Whether the reading was before or after such a stretch cannot be told.
        let blurred = |one: &Account| all.iter().any(|(from, to)| *from < one.until && *to > one.from);
        let clear = before.filter(|before| sleeps == 1 && !blurred(before) && !blurred(&reading));
        // Stretches after the reading are the next one's.
        let (mine, next): (Vec<_>, Vec<_>) = all.into_iter().partition(|(from, _)| *from < reading.from);
        self.preempted = next;
        let other: Span = mine.iter().fold(Span::ZERO, |sum, (from, to)| sum.plus(to.since(*from)));
        Some(reading.waited.minus(clear?.waited).minus(other))
    }
}

/// Enters a wait for the CPU into a sleep. It cannot have begun before the sleep did.
fn wait(one: &mut TracedSleep, waited: Span, switched_in: MonotonicTime, slack: Span) {
    let earliest = one.asleep_since.unwrap_or(switched_in);
    let runnable = switched_in.minus(waited).max(earliest);
    (one.waking, one.runnable) = (runnable, runnable);
    one.woken_by = WakeSource::NotSeen { slack, runnable_known: true };
    let ns = switched_in.since(runnable);
    if !ns.is_zero() {
        one.occupants.push(Occupant { who: nobody_knows(), ns, from: None });
    }
}

fn add_lost(one: &mut TracedSleep, from: MonotonicTime, until: MonotonicTime) {
    if one.lost.len() < LISTED {
        one.lost.push(CpuLoss { from, until, to: nobody_knows(), throttled: false, merged: false });
    } else {
        one.lost_more += 1;
    }
}

const fn nobody_knows() -> CpuHolder {
    CpuHolder { holder: HolderKind::NotSeen, pid: None, name: String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: i64) -> MonotonicTime {
        MonotonicTime::from_nanos(nanos)
    }

    fn account(from: i64, waited: u64) -> Account {
        Account { from: at(from), until: at(from + 2), waited: Span::from_nanos(waited) }
    }

    /// Follows `switches` after `accounts` have arrived; returns what was seen and how many were lost.
    fn follow(accounts: &[Account], switches: &[Switch]) -> (Vec<TracedSleep>, u64) {
        let mut follower = Follower::new(7, Span::from_nanos(50));
        accounts.iter().for_each(|one| follower.account(*one));
        let mut seen = Vec::new();
        let lost = switches.iter().map(|one| follower.switch(*one, &mut |one| seen.push(one))).sum();
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

    /// When it could run, as far as that is known.
    fn runnable(one: &TracedSleep) -> Option<i64> {
        let WakeSource::NotSeen { runnable_known, .. } = one.woken_by else { unreachable!() };
        runnable_known.then_some(one.runnable.as_nanos())
    }

    #[test]
    fn the_wait_is_what_the_account_grew_by() {
        // 90 read  100 sleeps  1000 runs  1010 read  1020 sleeps
        let (seen, _) =
            follow(&[account(90, 500), account(1_010, 530)], &[out(100), into(1_000), out(1_020)]);
        assert_eq!(seen.len(), 1, "the first reading has no sleep before it");
        let one = &seen[0];
        assert_eq!((runnable(one), one.switched_in, one.cpu), (Some(970), Some(at(1_000)), 1));
        assert_eq!((one.asleep_since, one.asleep_again), (Some(at(100)), Some(at(1_020))));
        assert_eq!(one.occupants, [Occupant { who: nobody_knows(), ns: Span::from_nanos(30), from: None }]);
    }

    #[test]
    fn a_stretch_without_cpu_after_the_switch_is_no_part_of_the_wait() {
        let switches = [out(100), into(1_000), preempted(1_003), into(1_103), out(1_200)];
        let (seen, _) = follow(&[account(90, 0), account(1_110, 130)], &switches);
        assert_eq!(runnable(&seen[0]), Some(970));
        assert_eq!(seen[0].lost[0].until, at(1_103));
        // Lost before it slept: known, and none of the wait either.
        let switches = [preempted(93), into(98), out(100), into(1_000), out(1_200)];
        let (seen, _) = follow(&[account(90, 0), account(1_110, 35)], &switches);
        assert_eq!((runnable(&seen[0]), seen[0].lost.len()), (Some(970), 0));
    }

    #[test]
    fn what_cannot_be_told_is_not_known() {
        // No reading before; lost while the account was read; slept twice between two readings.
        let slept = [out(100), into(1_000), out(1_020)];
        assert_eq!(runnable(&follow(&[account(1_010, 30)], &slept).0[0]), None);
        let lost = [out(100), into(1_000), preempted(1_011), into(1_100), out(1_200)];
        assert_eq!(runnable(&follow(&[account(90, 0), account(1_010, 30)], &lost).0[0]), None);
        let twice = [out(100), into(500), out(600), into(1_000), out(1_020)];
        let (seen, _) = follow(&[account(90, 0), account(1_010, 30)], &twice);
        assert_eq!(seen.iter().map(runnable).collect::<Vec<_>>(), [None, None]);
    }

    #[test]
    fn the_next_wait_is_known_again() {
        let accounts = [account(90, 0), account(1_010, 30), account(2_010, 40)];
        let switches =
            [out(100), into(1_000), preempted(1_011), into(1_100), out(1_200), into(2_000), out(2_020)];
        let (seen, _) = follow(&accounts, &switches);
        assert_eq!(runnable(&seen[0]), None);
        assert_eq!(runnable(&seen[1]), None, "the account before it is as blurred");
        let accounts = [account(90, 0), account(1_010, 30), account(2_010, 140)];
        let switches =
            [out(100), into(1_000), preempted(1_050), into(1_150), out(1_200), into(2_000), out(2_020)];
        let (seen, _) = follow(&accounts, &switches);
        assert_eq!(seen.iter().map(runnable).collect::<Vec<_>>(), [Some(970), Some(1_990)]);
    }

    #[test]
    fn losses_are_counted_and_nothing_is_made_up_around_them() {
        let switches = [out(100), Switch::Lost(3), into(1_000), out(1_020), into(2_000), out(2_020)];
        let (seen, lost) = follow(&[account(90, 0), account(1_010, 30), account(2_010, 40)], &switches);
        assert_eq!((lost, seen.len()), (3, 1));
        assert_eq!((seen[0].switched_in, runnable(&seen[0])), (Some(at(2_000)), Some(1_990)));
    }
}
