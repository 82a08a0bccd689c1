//! What was recorded, held against what was made, and against the switches that the kernel wrote.

use std::collections::HashMap;

use super::injected::{Culprit, Injected};
use super::recorder::ReportedWait;
use super::stamped::Time;
use crate::truth::claims::{Claim, Scores, score};
use crate::truth::turns::OnCpu;

/// Above which waits are recorded, and how far from it those are that have to be on their side of it: the stamps of a thread come
/// a little after it runs, and those of an event apart from the scheduler's own clock.
pub const LATE_ABOVE: i64 = 5_000_000;
const MARGIN: i64 = 500_000;
/// Nanoseconds that the ends, and the lengths, of one wait may differ in the two.
const ENDS_APART: i64 = 50_000;
const LENGTHS_APART: i64 = 150_000;

/// What was recorded, and what of it the kernel's events have as well.
pub struct RecordJudge<'a> {
    pub waits: &'a [ReportedWait],
    pub turns: &'a HashMap<u32, Vec<OnCpu>>,
    /// When each thread first ran under a name that is recorded, in microseconds.
    pub named: &'a HashMap<u32, i64>,
}

impl RecordJudge<'_> {
    /// Holds what was made against what was recorded.
    pub fn made(&self, injected: &Injected, scores: &mut Scores) {
        for time in injected.times.iter().filter(|time| time.length() > LATE_ABOVE + MARGIN) {
            let is_it = |wait: &&ReportedWait| {
                wait.tid == injected.tid && wait.waited.overlap(*time) > time.length() / 2
            };
            let found: Vec<&ReportedWait> = self.waits.iter().filter(is_it).collect();
            let what = || format!("{} late in {time:?}, by {:?}: {found:?}", injected.tid, injected.culprit);
            if matches!(injected.culprit, Culprit::Nobody) {
                // It may have waited for a CPU as well, after that or before.
                score(scores, Claim::RecordNotLate, found.iter().all(|wait| self.is_real(wait)), what);
                continue;
            }
            score(scores, Claim::RecordKept, !found.is_empty(), what);
            for wait in &found {
                score(scores, Claim::RecordCulprit, is_to_blame(&injected.culprit, wait), what);
            }
        }
    }

    /// Whether no two of them are of one wait.
    pub fn each_once(&self, scores: &mut Scores) {
        let mut all: Vec<&ReportedWait> = self.waits.iter().collect();
        all.sort_by_key(|wait| (wait.tid, wait.waited.from));
        for pair in all.windows(2) {
            let apart = pair[0].tid != pair[1].tid || pair[0].waited.until <= pair[1].waited.from;
            score(scores, Claim::RecordOnce, apart, || format!("{pair:?}"));
        }
    }

    /// Whether nothing was recorded that was not.
    pub fn each_is_real(&self, scores: &mut Scores) {
        for wait in self.waits {
            score(scores, Claim::RecordReal, self.is_real(wait), || {
                let near = |turn: &&OnCpu| (turn.from.1 - wait.waited.until / 1_000).abs() < 50_000;
                let near: Vec<&OnCpu> = self.turns_of(wait.tid).iter().filter(near).collect();
                format!("{wait:?}, the witness: {near:?}")
            });
        }
    }

    /// Whether every late wait of these threads was recorded, from one time to another.
    pub fn all_are_there(&self, tids: &[u32], recorded: Time, scores: &mut Scores) {
        let is_late = |time: &Time| {
            time.length() > LATE_ABOVE + MARGIN && time.from >= recorded.from && time.until <= recorded.until
        };
        for tid in tids {
            let is_named = |time: &Time| self.named.get(tid).is_some_and(|named| time.from >= named * 1_000);
            let late =
                self.turns_of(*tid).iter().filter_map(ready_to_running).filter(is_late).filter(is_named);
            for time in late {
                let is_it =
                    |wait: &ReportedWait| wait.tid == *tid && wait.waited.overlap(time) > time.length() / 2;
                let found = self.waits.iter().any(is_it);
                score(scores, Claim::RecordAll, found, || format!("{tid}: {time:?} was not recorded"));
            }
        }
    }

    fn turns_of(&self, tid: u32) -> &[OnCpu] {
        self.turns.get(&tid).map_or(&[], Vec::as_slice)
    }

    fn is_real(&self, wait: &ReportedWait) -> bool {
        // Where the kernel's events do not say when a thread got its CPU, they say in what time it did.
        let is_within = |turn: &OnCpu| {
            let from = turn.ready.map(|ready| (ready * 1_000 - wait.waited.from).abs());
            from.is_some_and(|apart| apart <= LENGTHS_APART)
                && turn.from.1 * 1_000 + ENDS_APART >= wait.waited.until
        };
        self.turns_of(wait.tid).iter().any(|turn| {
            ready_to_running(turn).is_some_and(|time| is_same(time, wait.waited))
                || (turn.is_untold() && is_within(turn))
        })
    }
}

fn is_to_blame(culprit: &Culprit, wait: &ReportedWait) -> bool {
    let is = |name: &str, value: &str| wait.cause[name] == value;
    match culprit {
        Culprit::Thread { pid, group } => {
            let in_group = group.as_ref().is_none_or(|group| is("group", group));
            is("kind", "thread") && wait.cause["pid"] == *pid && in_group
        }
        Culprit::Quota(group) => is("kind", "throttled") && is("name", group),
        Culprit::Nobody => false,
    }
}

/// Whether the two are one wait, seen by two.
fn is_same(wait: Time, other: Time) -> bool {
    (wait.until - other.until).abs() <= ENDS_APART && (wait.length() - other.length()).abs() <= LENGTHS_APART
}

/// From ready to running, in nanoseconds, where both were told.
fn ready_to_running(turn: &OnCpu) -> Option<Time> {
    let ready = turn.ready.filter(|_| !turn.is_untold())?;
    Some(Time { from: ready * 1_000, until: turn.from.1 * 1_000 })
}
