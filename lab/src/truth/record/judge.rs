//! Compares recorded waits with the provoked ones, with the stamps of the delayed program, and with the kernel's own events.

use std::collections::HashMap;

use super::injected::{InjectedCulprit, InjectedDelay};
use super::recorder::ReportedWait;
use super::stamped::Time;
use crate::truth::claims::{Scores, TruthClaim, score};
use crate::truth::turns::OnCpu;

/// Waits longer than this are recorded, ns. Those within the margin may or may not be: a thread's stamps are a little later than its
/// running, and events have other clock readings than the scheduler.
pub const LATE_ABOVE: i64 = 5_000_000;
const MARGIN: i64 = 500_000;
/// Largest difference of ends and of lengths between two sources for one wait, ns.
const ENDS_APART: i64 = 50_000;
const LENGTHS_APART: i64 = 150_000;

/// The recorded waits, the provoked ones, and the kernel's events of the same time.
pub struct RecordJudge<'a> {
    pub injected: &'a InjectedDelay,
    pub waits: &'a [ReportedWait],
    pub turns: &'a HashMap<u32, Vec<OnCpu>>,
    /// When each CPU was idle, at most.
    pub idle: &'a HashMap<u32, Vec<Time>>,
    /// When each thread first ran with a name that is recorded, µs.
    pub named: &'a HashMap<u32, i64>,
}

impl RecordJudge<'_> {
    /// Whether provoked waits were recorded with their causes.
    pub fn check_injected(&self, scores: &mut Scores) {
        let injected = self.injected;
        for time in injected.times.iter().filter(|time| time.length() > LATE_ABOVE + MARGIN) {
            let is_recorded = |wait: &&ReportedWait| {
                wait.tid == injected.tid && wait.waited.overlap(*time) > time.length() / 2
            };
            let found: Vec<&ReportedWait> = self.waits.iter().filter(is_recorded).collect();
            let what = || format!("{} late in {time:?}, by {:?}: {found:?}", injected.tid, injected.culprit);
            if matches!(injected.culprit, InjectedCulprit::Nobody) {
                // It may also have waited for a CPU before or afterwards.
                score(scores, TruthClaim::RecordNotLate, found.iter().all(|wait| self.is_real(wait)), what);
                continue;
            }
            score(scores, TruthClaim::RecordKept, !found.is_empty(), what);
            for wait in &found {
                score(scores, TruthClaim::RecordCulprit, is_to_blame(&injected.culprit, wait), what);
            }
        }
    }

    /// Whether no wait was recorded twice.
    pub fn check_unique(&self, scores: &mut Scores) {
        let mut all: Vec<&ReportedWait> = self.waits.iter().collect();
        all.sort_by_key(|wait| (wait.tid, wait.waited.from));
        for pair in all.windows(2) {
            let apart = pair[0].tid != pair[1].tid || pair[0].waited.until <= pair[1].waited.from;
            score(scores, TruthClaim::RecordOnce, apart, || format!("{pair:?}"));
        }
    }

    /// Whether every recorded wait is in the kernel's events, or in the stamps of the program.
    pub fn check_real(&self, scores: &mut Scores) {
        for wait in self.waits {
            score(scores, TruthClaim::RecordReal, self.is_real(wait), || {
                let near = |turn: &&OnCpu| (turn.from.1 - wait.waited.until / 1_000).abs() < 50_000;
                let near: Vec<&OnCpu> = self.turns_of(wait.tid).iter().filter(near).collect();
                format!("{wait:?}, the witness: {near:?}")
            });
        }
    }

    /// Whether CPUs that were idle during a wait were idle for so long.
    pub fn check_idle(&self, scores: &mut Scores) {
        for wait in self.waits {
            let Some((cpu, reported)) = wait.idle else { continue };
            let times = self.idle.get(&cpu).into_iter().flatten();
            let at_most = times.map(|time| time.overlap(wait.waited)).sum::<i64>();
            score(scores, TruthClaim::RecordIdle, reported <= at_most + ENDS_APART, || {
                format!("{wait:?}, the witness: CPU {cpu} for {at_most} ns at most")
            });
        }
    }

    /// Whether every late wait of these threads in the kernel's events was recorded.
    pub fn check_complete(&self, tids: &[u32], recorded: Time, scores: &mut Scores) {
        let is_late = |time: &Time| {
            time.length() > LATE_ABOVE + MARGIN && time.from >= recorded.from && time.until <= recorded.until
        };
        for tid in tids {
            let is_named = |time: &Time| self.named.get(tid).is_some_and(|named| time.from >= named * 1_000);
            let late =
                self.turns_of(*tid).iter().filter_map(ready_to_running).filter(is_late).filter(is_named);
            for time in late {
                let is_recorded =
                    |wait: &ReportedWait| wait.tid == *tid && wait.waited.overlap(time) > time.length() / 2;
                let found = self.waits.iter().any(is_recorded);
                score(scores, TruthClaim::RecordAll, found, || format!("{tid}: {time:?} was not recorded"));
            }
        }
    }

    fn turns_of(&self, tid: u32) -> &[OnCpu] {
        self.turns.get(&tid).map_or(&[], Vec::as_slice)
    }

    /// The program's stamps know two waits that no event tells of. The time until an interrupt that the hypervisor held back: events
    /// know it from its wake-up, not from when it was due. And a thread whose group has no time left, which gets a CPU on its way out:
    /// events divide its wait, although it runs none of its own code.
    fn is_real(&self, wait: &ReportedWait) -> bool {
        let is_stamped = |time: &Time| wait.tid == self.injected.tid && is_same(*time, wait.waited);
        self.is_traced(wait) || self.injected.stamped.iter().any(is_stamped)
    }

    fn is_traced(&self, wait: &ReportedWait) -> bool {
        // If the switch has no event, only a range of times is known.
        let is_within = |turn: &OnCpu| {
            let from = turn.ready.map(|ready| (ready * 1_000 - wait.waited.from).abs());
            from.is_some_and(|apart| apart <= LENGTHS_APART)
                && turn.from.1 * 1_000 + ENDS_APART >= wait.waited.until
        };
        self.turns_of(wait.tid).iter().any(|turn| {
            ready_to_running(turn).is_some_and(|time| is_same(time, wait.waited))
                || (turn.is_switch_unseen() && is_within(turn))
        })
    }
}

fn is_to_blame(culprit: &InjectedCulprit, wait: &ReportedWait) -> bool {
    let is = |name: &str, value: &str| wait.cause[name] == value;
    match culprit {
        InjectedCulprit::Thread { pid, group } => {
            let in_group = group.as_ref().is_none_or(|group| is("group", group));
            is("kind", "thread") && wait.cause["pid"] == *pid && in_group
        }
        InjectedCulprit::Quota(group) => is("kind", "throttled") && is("name", group),
        InjectedCulprit::Nobody => false,
    }
}

/// Whether two sources mean the same wait.
fn is_same(wait: Time, other: Time) -> bool {
    (wait.until - other.until).abs() <= ENDS_APART && (wait.length() - other.length()).abs() <= LENGTHS_APART
}

/// From runnable to running, ns; `None` unless both have events.
fn ready_to_running(turn: &OnCpu) -> Option<Time> {
    let ready = turn.ready.filter(|_| !turn.is_switch_unseen())?;
    Some(Time { from: ready * 1_000, until: turn.from.1 * 1_000 })
}
