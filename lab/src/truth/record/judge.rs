//! What was recorded, held against what was made, and against the switches that the kernel wrote.

use std::collections::{HashMap, HashSet};

use super::injected::{Culprit, Injected};
use super::recorder::Told;
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

/// Holds what was made against what was recorded.
pub fn made(injected: &Injected, told: &[Told], scores: &mut Scores) {
    for time in injected.times.iter().filter(|time| time.length() > LATE_ABOVE + MARGIN) {
        let is_it = |one: &&Told| one.tid == injected.tid && one.waited.overlap(*time) > time.length() / 2;
        let found: Vec<&Told> = told.iter().filter(is_it).collect();
        let what = || format!("{} late in {time:?}, by {:?}: {found:?}", injected.tid, injected.culprit);
        if matches!(injected.culprit, Culprit::Nobody) {
            score(scores, Claim::RecordNotLate, found.is_empty(), what);
            continue;
        }
        score(scores, Claim::RecordKept, !found.is_empty(), what);
        for one in &found {
            score(scores, Claim::RecordCulprit, is_to_blame(&injected.culprit, one), what);
        }
    }
}

fn is_to_blame(culprit: &Culprit, told: &Told) -> bool {
    let is = |name: &str, value: &str| told.cause[name] == value;
    match culprit {
        Culprit::Thread { pid, group } => {
            let in_group = group.as_ref().is_none_or(|group| is("group", group));
            is("kind", "thread") && told.cause["pid"] == *pid && in_group
        }
        Culprit::Quota(group) => is("kind", "throttled") && is("name", group),
        Culprit::Nobody => false,
    }
}

/// Whether no two of them are of one wait.
pub fn each_once(told: &[Told], scores: &mut Scores) {
    let mut all: Vec<&Told> = told.iter().collect();
    all.sort_by_key(|one| (one.tid, one.waited.from));
    for pair in all.windows(2) {
        let apart = pair[0].tid != pair[1].tid || pair[0].waited.until <= pair[1].waited.from;
        score(scores, Claim::RecordOnce, apart, || format!("{pair:?}"));
    }
}

/// Holds what was recorded of any thread from `begin` to `end` against the kernel's events.
pub fn all(
    told: &[Told],
    turns: &HashMap<u32, Vec<OnCpu>>,
    recorded: (i64, i64),
    own: &HashSet<u32>,
    scores: &mut Scores,
) {
    let waits = turns.iter().filter(|(tid, _)| **tid > 0 && !own.contains(tid));
    let waits: Vec<(u32, Time)> =
        waits.flat_map(|(tid, all)| all.iter().filter_map(|one| Some((*tid, wait(one)?)))).collect();
    let is = |(tid, time): &(u32, Time), one: &Told| {
        *tid == one.tid
            && (time.until - one.waited.until).abs() <= ENDS_APART
            && (time.length() - one.waited.length()).abs() <= LENGTHS_APART
    };
    for one in told {
        let known = waits.iter().any(|wait| is(wait, one));
        let near = || {
            turns
                .get(&one.tid)
                .into_iter()
                .flatten()
                .filter(|turn| (turn.from - one.waited.until / 1_000).abs() < 50_000)
        };
        score(scores, Claim::RecordReal, known, || format!("{one:?}: {:?}", near().collect::<Vec<_>>()));
    }
    let is_late = |(_, time): &&(u32, Time)| {
        time.length() > LATE_ABOVE + MARGIN && time.from >= recorded.0 && time.until <= recorded.1
    };
    for wait in waits.iter().filter(is_late) {
        let found = told.iter().any(|one| is(wait, one));
        score(scores, Claim::RecordAll, found, || format!("{wait:?} was not recorded"));
    }
}

/// From ready to running, in nanoseconds.
fn wait(turn: &OnCpu) -> Option<Time> {
    turn.ready.map(|ready| Time { from: ready * 1_000, until: turn.from * 1_000 })
}
