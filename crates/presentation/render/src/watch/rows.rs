//! Which threads of a watched program matter: those with a deadline first, then event loops, then the rest by how late they were.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use howlate_analyse::watch::Rhythm;
use howlate_analyse::{Outcome, percentile};
use howlate_model::{Activation, Work};

use super::event_loops::has_own_loop;
use super::runtime_threads::HelperThread;
use super::{late_from, name};
use crate::result_columns::P99;

/// Importance of a row, most important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// Requests, which were asked for.
    Requests,
    /// A thread of real-time priority with a period.
    RealTime,
    /// A thread with periodic timers, or whose loop is marked by its program.
    Strict,
    EventLoop,
    Other,
    /// Too few wake-ups for a 99th percentile.
    Seldom,
    Helper(HelperThread),
}

impl Rank {
    /// The rank of a row among all rows of its program.
    pub(super) fn of(outcome: &Outcome, all: &[&Outcome]) -> Self {
        if let Some(helper) = HelperThread::of(outcome, all) {
            return Self::Helper(helper);
        }
        let rhythm = outcome.rhythm.as_deref();
        let has_period = rhythm.and_then(Rhythm::period).is_some();
        let is_strict = rhythm.and_then(Rhythm::missed).is_some() && has_period;
        match outcome.condition.work {
            _ if outcome.is_of_requests() => Self::Requests,
            _ if outcome.policy_in_force().is_realtime() && has_period => Self::RealTime,
            Work::Watch { mechanism: Activation::Loop } => Self::Strict,
            _ if is_strict => Self::Strict,
            _ if has_own_loop(outcome) => Self::EventLoop,
            _ if outcome.count() < P99.least => Self::Seldom,
            _ => Self::Other,
        }
    }

    /// Whether it is left out beside more important threads.
    const fn is_noise(self) -> bool {
        matches!(self, Self::Seldom | Self::Helper(_))
    }
}

/// What all rows of one thread have in common, even if one of them is a loop with its own name.
type Subject = (Option<u32>, Option<String>, u32, Option<String>);

pub(super) fn subject(outcome: &Outcome) -> Subject {
    let setting = outcome.condition.tuned.as_ref().map(ToString::to_string);
    // Any thread may have answered requests.
    if outcome.is_of_requests() {
        return (None, outcome.condition.name.clone(), u32::MAX, setting);
    }
    match tid_of(outcome) {
        Some(tid) => (Some(tid), None, 0, setting),
        None => (None, outcome.condition.name.clone(), outcome.condition.thread, setting),
    }
}

/// The id of the thread; `None` where the row sums up several threads.
pub(super) fn tid_of(outcome: &Outcome) -> Option<u32> {
    if outcome.is_of_requests() {
        return None;
    }
    let is_one = outcome.rhythm.as_deref().and_then(Rhythm::threads).is_none_or(|threads| threads == 1);
    outcome.in_force.as_ref().map(|in_force| in_force.tid).filter(|tid| is_one && *tid != 0)
}

/// p99 and maximum, for sorting.
type Lateness = (Option<howlate_model::Latency>, Option<howlate_model::Latency>);

fn lateness(outcome: &Outcome) -> Lateness {
    (percentile(outcome.latency(), 0.99), outcome.latency().max())
}

/// One row per thread, the most informative, in order of rank. Two rows of one thread would give two answers.
pub(super) fn ranked<'a>(outcomes: &[&'a Outcome]) -> Vec<(Rank, &'a Outcome)> {
    let mut chosen: HashMap<Subject, &Outcome> = HashMap::new();
    let is_better = |outcome: &Outcome, best: &Outcome| {
        let is_marked = |outcome: &Outcome| {
            outcome.condition.work == Work::Watch { mechanism: Activation::Loop }
                && lateness(outcome).0.is_some()
        };
        (is_marked(outcome), lateness(outcome)) > (is_marked(best), lateness(best))
    };
    for outcome in outcomes.iter().copied().filter(|outcome| outcome.count() > 0) {
        let best = chosen.entry(subject(outcome)).or_insert(outcome);
        if is_better(outcome, best) {
            *best = outcome;
        }
    }
    let mut all: Vec<(Rank, &Outcome)> =
        chosen.into_values().map(|outcome| (Rank::of(outcome, outcomes), outcome)).collect();
    all.sort_by_cached_key(|(rank, outcome)| (*rank, Reverse(lateness(outcome)), name(outcome)));
    let has_some = all.iter().any(|(rank, _)| !rank.is_noise());
    all.retain(|(rank, _)| !has_some || !rank.is_noise());
    all
}

/// The rows of a table, and those that were left out.
pub(crate) struct ThreadRows<'a> {
    pub(crate) shown: Vec<&'a Outcome>,
    folded: Vec<(Rank, &'a Outcome)>,
}

impl<'a> ThreadRows<'a> {
    /// At most `most` rows, by rank. In brief, helpers and rarely woken threads are left out first.
    pub(crate) fn choose(outcomes: &[&'a Outcome], most: usize, is_brief: bool) -> Self {
        let mut all: Vec<(Rank, &Outcome)> =
            outcomes.iter().map(|outcome| (Rank::of(outcome, outcomes), *outcome)).collect();
        all.sort_by_key(|(rank, outcome)| (*rank, Reverse(lateness(outcome))));
        let important = all.iter().filter(|(rank, _)| !is_brief || !rank.is_noise()).count();
        let shown = if important == 0 { all.len() } else { important }.min(most);
        let folded = all.split_off(shown);
        Self { shown: in_order(all), folded }
    }

    /// A sentence on the rows that were left out; `None` without any.
    pub(crate) fn folded(&self) -> Option<String> {
        let (mut helpers, mut seldom, mut less_late) = (BTreeMap::<HelperThread, Vec<&Outcome>>::new(), 0, 0);
        for (rank, outcome) in &self.folded {
            match rank {
                Rank::Helper(helper) => helpers.entry(*helper).or_default().push(outcome),
                Rank::Seldom => seldom += 1,
                _ => less_late += 1,
            }
        }
        let mut parts: Vec<String> =
            helpers.iter().map(|(helper, all)| helpers_in_words(*helper, all)).collect();
        parts.extend((seldom > 0).then(|| format!("{seldom} with fewer than {} wake-ups", P99.least)));
        parts.extend((less_late > 0).then(|| format!("{less_late} that were less late")));
        (!parts.is_empty()).then(|| format!("Not shown: {}", parts.join(", ")))
    }
}

/// `4 threads of Node (V8's and libuv's)`; launchers by name.
fn helpers_in_words(helper: HelperThread, all: &[&Outcome]) -> String {
    let mut names: Vec<String> = all.iter().map(|outcome| name(outcome)).collect();
    names.sort_unstable();
    names.dedup();
    match (helper, names.as_slice()) {
        (HelperThread::Launcher, names) => {
            format!("{} ({})", HelperThread::Launcher.description(), names.join(", "))
        }
        (helper, [_]) => format!("1 thread {}", helper.description()),
        (helper, several) => format!("{} threads {}", several.len(), helper.description()),
    }
}

/// By rank, then by the wake-ups of the whole thread, so that all rows of a thread stay together.
fn in_order(all: Vec<(Rank, &Outcome)>) -> Vec<&Outcome> {
    let mut totals: HashMap<Subject, (Rank, u64)> = HashMap::new();
    for (rank, outcome) in &all {
        let total = totals.entry(subject(outcome)).or_insert((*rank, 0));
        *total = (total.0.min(*rank), total.1 + outcome.count());
    }
    let mut shown: Vec<&Outcome> = all.into_iter().map(|(_, outcome)| outcome).collect();
    shown.sort_by_cached_key(|outcome| {
        let subject = subject(outcome);
        let (rank, wakeups) = totals[&subject];
        let condition = &outcome.condition;
        (rank, Reverse(wakeups), condition.name.clone(), condition.thread, subject, late_from(outcome))
    });
    shown
}
