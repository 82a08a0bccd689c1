//! Which threads of a watched program matter: those with a deadline first, then event loops, then the rest by how late they were.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use howlate_analyse::watch::Rhythm;
use howlate_analyse::{Outcome, percentile};
use howlate_model::{Activation, Work};

use super::event_loops::has_own_loop;
use super::runtime_threads::Helper;
use super::{late_from, name};
use crate::result_columns::P99;

/// What a row is about, what matters most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// A thread of real-time priority that is woken at equal distances.
    RealTime,
    /// One whose timers are at equal distances, or whose loop its program has marked.
    Strict,
    EventLoop,
    Other,
    /// Woken too seldom to tell how late it is.
    Seldom,
    Helper(Helper),
}

impl Rank {
    /// What a row of these threads is about.
    pub(super) fn of(one: &Outcome, all: &[&Outcome]) -> Self {
        if let Some(helper) = Helper::of(one, all) {
            return Self::Helper(helper);
        }
        let rhythm = one.rhythm.as_deref();
        let has_period = rhythm.and_then(Rhythm::period).is_some();
        let is_strict = rhythm.and_then(Rhythm::missed).is_some() && has_period;
        match one.condition.work {
            _ if one.policy_in_force().is_realtime() && has_period => Self::RealTime,
            Work::Watch { mechanism: Activation::Loop } => Self::Strict,
            _ if is_strict => Self::Strict,
            _ if has_own_loop(one) => Self::EventLoop,
            _ if one.count() < P99.least => Self::Seldom,
            _ => Self::Other,
        }
    }

    /// Whether it is not told of beside others.
    const fn is_noise(self) -> bool {
        matches!(self, Self::Seldom | Self::Helper(_))
    }
}

/// What rows of one thread have in common, also where one of them is a loop with a name of its own.
type Subject = (Option<u32>, Option<String>, u32, Option<String>);

pub(super) fn subject(outcome: &Outcome) -> Subject {
    let setting = outcome.condition.tuned.as_ref().map(ToString::to_string);
    match tid_of(outcome) {
        Some(tid) => (Some(tid), None, 0, setting),
        None => (None, outcome.condition.name.clone(), outcome.condition.thread, setting),
    }
}

/// The thread's id, where it is of one thread alone.
pub(super) fn tid_of(outcome: &Outcome) -> Option<u32> {
    let is_one = outcome.rhythm.as_deref().and_then(Rhythm::threads).is_none_or(|threads| threads == 1);
    outcome.in_force.as_ref().map(|in_force| in_force.tid).filter(|tid| is_one && *tid != 0)
}

/// How late it was, for an order.
type Lateness = (Option<howlate_model::Latency>, Option<howlate_model::Latency>);

fn lateness(one: &Outcome) -> Lateness {
    (percentile(one.latency(), 0.99), one.latency().max())
}

/// One row of each thread, the one that tells most of it, and what it is about: those that matter first. Two rows would have
/// two answers.
pub(super) fn told<'a>(outcomes: &[&'a Outcome]) -> Vec<(Rank, &'a Outcome)> {
    let mut chosen: HashMap<Subject, &Outcome> = HashMap::new();
    let tells_more = |one: &Outcome, known: &Outcome| {
        let is_marked = |one: &Outcome| {
            one.condition.work == Work::Watch { mechanism: Activation::Loop } && lateness(one).0.is_some()
        };
        (is_marked(one), lateness(one)) > (is_marked(known), lateness(known))
    };
    for one in outcomes.iter().copied().filter(|one| one.count() > 0) {
        let known = chosen.entry(subject(one)).or_insert(one);
        if tells_more(one, known) {
            *known = one;
        }
    }
    let mut all: Vec<(Rank, &Outcome)> =
        chosen.into_values().map(|one| (Rank::of(one, outcomes), one)).collect();
    all.sort_by_cached_key(|(rank, one)| (*rank, Reverse(lateness(one)), name(one)));
    let has_some = all.iter().any(|(rank, _)| !rank.is_noise());
    all.retain(|(rank, _)| !has_some || !rank.is_noise());
    all
}

/// The rows of a table, and those that are not in it.
pub(crate) struct Rows<'a> {
    pub(crate) shown: Vec<&'a Outcome>,
    folded: Vec<(Rank, &'a Outcome)>,
}

impl<'a> Rows<'a> {
    /// So many of these at most; all of them, where `is_brief` does not hold, before any is left out for what it is.
    pub(crate) fn choose(outcomes: &[&'a Outcome], most: usize, is_brief: bool) -> Self {
        let mut all: Vec<(Rank, &Outcome)> =
            outcomes.iter().map(|one| (Rank::of(one, outcomes), *one)).collect();
        all.sort_by_key(|(rank, one)| (*rank, Reverse(lateness(one))));
        let told = all.iter().filter(|(rank, _)| !is_brief || !rank.is_noise()).count();
        let kept = if told == 0 { all.len() } else { told }.min(most);
        let folded = all.split_off(kept);
        Self { shown: in_order(all), folded }
    }

    /// The others in a sentence; `None` where there are none.
    pub(crate) fn folded(&self) -> Option<String> {
        let (mut helpers, mut seldom, mut others) = (BTreeMap::<Helper, Vec<&Outcome>>::new(), 0, 0);
        for (rank, one) in &self.folded {
            match rank {
                Rank::Helper(helper) => helpers.entry(*helper).or_default().push(one),
                Rank::Seldom => seldom += 1,
                _ => others += 1,
            }
        }
        let mut parts: Vec<String> =
            helpers.iter().map(|(helper, all)| helpers_in_words(*helper, all)).collect();
        parts.extend((seldom > 0).then(|| format!("{seldom} with fewer than {} wake-ups", P99.least)));
        parts.extend((others > 0).then(|| format!("{others} that were less late")));
        (!parts.is_empty()).then(|| format!("Not shown: {}", parts.join(", ")))
    }
}

/// `4 threads of Node (V8's and libuv's)`; what only started the program by its name.
fn helpers_in_words(helper: Helper, all: &[&Outcome]) -> String {
    let mut names: Vec<String> = all.iter().map(|one| name(one)).collect();
    names.sort_unstable();
    names.dedup();
    match (helper, names.as_slice()) {
        (Helper::Launcher, names) => format!("{} ({})", Helper::Launcher.words(), names.join(", ")),
        (helper, [_]) => format!("1 thread {}", helper.words()),
        (helper, several) => format!("{} threads {}", several.len(), helper.words()),
    }
}

/// Threads that matter first; of those that matter as much the busiest, with all that made it run: one that woke once or twice
/// is not above one that did a thousand times.
fn in_order(all: Vec<(Rank, &Outcome)>) -> Vec<&Outcome> {
    let mut of: HashMap<Subject, (Rank, u64)> = HashMap::new();
    for (rank, one) in &all {
        let known = of.entry(subject(one)).or_insert((*rank, 0));
        *known = (known.0.min(*rank), known.1 + one.count());
    }
    let mut shown: Vec<&Outcome> = all.into_iter().map(|(_, one)| one).collect();
    shown.sort_by_cached_key(|one| {
        let subject = subject(one);
        let (rank, wakeups) = of[&subject];
        let condition = &one.condition;
        (rank, Reverse(wakeups), condition.name.clone(), condition.thread, subject, late_from(one))
    });
    shown
}
