//! What the longest iterations of loops spent their time with.

use std::cmp::Reverse;

use howlate_analyse::Outcome;
use howlate_analyse::cause::WhyCause;
use howlate_analyse::watch::{Rhythm, SlowestIterations};
use howlate_model::{CauseKind, Latency, Ledger};

use super::rows::tid_of;
use super::{event_loops, name};
use crate::cause_words::{iteration_cause_in_words, percent};
use crate::numbers::count;
use crate::prose::wrapped;

/// Most causes that are listed, and the least share of one.
const MOST_CAUSES: usize = 4;
const LEAST_SHARE: f64 = 0.01;
/// Loops that are not marked are listed from this share of time on in which they waited for something. What delays them otherwise is
/// among the causes of their wake-ups.
const LEAST_WAITING: f64 = 0.1;

/// The longest iterations of a loop.
pub struct SlowestOfLoop {
    /// Which these are: `The longest 12 of 300 iterations of control (2.10 ms or more)`.
    pub which: String,
    /// The share of their time of each cause, and the cause; the most first.
    pub causes: Vec<(String, String)>,
}

/// A heading, and a line per cause with its share. Empty where no iteration is known part by part.
pub(super) fn of_marked(outcome: &Outcome, width: usize) -> String {
    let marked = SlowestOfLoop::of_marked(outcome);
    marked.map_or_else(String::new, |slowest| slowest.text(width))
}

/// The same for each loop that its program has not marked, whatever waited most first.
pub(super) fn of_other_loops(outcomes: &[&Outcome], width: usize) -> Vec<String> {
    other_loops(outcomes).iter().map(|slowest| slowest.text(width)).collect()
}

/// What the slowest requests of each server spent their time with.
pub(crate) fn of_requests(outcomes: &[&Outcome], width: usize) -> Vec<String> {
    requests(outcomes).map(|slowest| slowest.text(width)).collect()
}

/// The slowest requests, the longest iterations of marked loops, then of those others that waited for something.
pub fn slowest_iterations(outcomes: &[&Outcome]) -> Vec<SlowestOfLoop> {
    let marked = outcomes.iter().filter_map(|outcome| SlowestOfLoop::of_marked(outcome));
    requests(outcomes).chain(marked).chain(other_loops(outcomes)).collect()
}

fn requests(outcomes: &[&Outcome]) -> impl Iterator<Item = SlowestOfLoop> {
    let of = |outcome: &&Outcome| {
        Some(SlowestOfLoop::new("requests at", &name(outcome), &outcome.slowest_requests()?))
    };
    outcomes.iter().filter_map(of)
}

fn other_loops(outcomes: &[&Outcome]) -> Vec<SlowestOfLoop> {
    let is_marked = |outcome: &Outcome| {
        let tid = tid_of(outcome);
        outcomes.iter().any(|other| is_marked_loop(other) && tid_of(other) == tid && tid.is_some())
    };
    let waited = |slowest: &SlowestIterations| -> u64 {
        slowest.causes.iter().filter(|cause| is_wait(cause)).map(|cause| cause.late_ns).sum()
    };
    let mut all: Vec<(&Outcome, SlowestIterations)> = outcomes
        .iter()
        .filter(|outcome| !is_marked(outcome))
        .filter_map(|outcome| Some((*outcome, SlowestIterations::of(ledger_of(outcome)?)?)))
        .filter(|(_, slowest)| waited(slowest) as f64 >= LEAST_WAITING * slowest.late.total_ns as f64)
        .collect();
    all.sort_by_key(|(_, slowest)| Reverse(waited(slowest)));
    all.iter()
        .map(|(outcome, slowest)| SlowestOfLoop::new("iterations of", &name(outcome), slowest))
        .collect()
}

fn is_marked_loop(outcome: &Outcome) -> bool {
    outcome.rhythm.as_deref().and_then(Rhythm::turns).is_some()
}

/// Iterations of an event loop of its own, otherwise those between its timers.
fn ledger_of(outcome: &Outcome) -> Option<&Ledger> {
    let rhythm = outcome.rhythm.as_deref()?;
    let event_loop = rhythm.event_loop().filter(|_| event_loops::has_own_loop(outcome));
    event_loop.map(|of| &of.ledger).or_else(|| rhythm.repeated_timer_loop().map(|of| &of.ledger))
}

/// Whether it waited for something other than a CPU, or for a thread that did.
fn is_wait(cause: &WhyCause) -> bool {
    let is_call = matches!(cause.kind, CauseKind::Lock | CauseKind::SystemCall | CauseKind::PageFault);
    is_call || !cause.through.is_empty()
}

impl SlowestOfLoop {
    fn of_marked(outcome: &Outcome) -> Option<Self> {
        let turns = outcome.rhythm.as_deref()?.turns()?;
        Some(Self::new("iterations of", &name(outcome), &SlowestIterations::of(&turns.ledger)?))
    }

    /// `what`: `iterations of`.
    fn new(what: &str, name: &str, slowest: &SlowestIterations) -> Self {
        let all = slowest.decomposed.saturating_add(slowest.not_decomposed);
        let above = Latency::from_span(slowest.late.above);
        let longest = slowest.late.count;
        let which = match longest {
            _ if longest == all => format!("The {} {what} {name}", count(all)),
            1 => format!("The longest of {} {what} {name}", count(all)),
            _ => {
                format!("The longest {} of {} {what} {name} ({above} or more)", count(longest), count(all))
            }
        };
        let causes = slowest.causes.iter().filter(|cause| cause.share >= LEAST_SHARE).take(MOST_CAUSES);
        let causes = causes.map(|cause| (percent(cause.share), described(name, cause))).collect();
        Self { which, causes }
    }

    fn text(&self, width: usize) -> String {
        let lines = self.causes.iter().map(|(share, cause)| format!("  {share:>6}  {cause}\n"));
        format!(
            "{}\n{}",
            wrapped(&format!("{} spent their time:", self.which), width, 0),
            lines.collect::<String>()
        )
    }
}

/// A cause of the loop called `name`; other threads of its program may be called the same.
fn described(name: &str, cause: &WhyCause) -> String {
    let other =
        |thread: &str| if thread == name { format!("another thread {thread}") } else { thread.to_owned() };
    let (through, named) = (other(&cause.through), cause.name.as_deref().map(other));
    iteration_cause_in_words(&WhyCause { pid: None, through, name: named, ..cause.clone() })
}

#[cfg(test)]
mod tests {
    use howlate_model::{Cause, MonotonicTime, Part, Segment, Span, WakeupBreakdown};

    use super::*;

    fn iteration(parts: &[(Cause, u64)]) -> WakeupBreakdown {
        let segments: Vec<Segment> = parts
            .iter()
            .map(|(cause, ms)| {
                Segment::new(cause.clone(), None, MonotonicTime::default(), Span::from_millis(*ms))
            })
            .collect();
        let length = parts.iter().map(|(_, ms)| ms).sum();
        let latency = Latency::from_span(Span::from_millis(length));
        WakeupBreakdown { at: MonotonicTime::default(), latency, cpu: None, parts: segments }
    }

    fn cause(kind: CauseKind, name: &str, call: &str, through: &str, via: &[&str]) -> Cause {
        let via = via.iter().map(ToString::to_string).collect();
        let (call, through) = (call.to_owned(), through.to_owned());
        Cause { call, through, via, ..Cause::new(Part::Blocked, kind, name.to_owned()) }
    }

    #[test]
    fn what_took_the_time_is_listed_with_the_chain_of_waits() {
        let work = cause(CauseKind::LongWork, "", "", "", &[]);
        let mut ledger = Ledger::default();
        (0..199).for_each(|_| ledger.add(&iteration(&[(work.clone(), 1)])));
        ledger.add(&iteration(&[
            (cause(CauseKind::Thread, "hog", "read", "keeper", &["worker"]), 50),
            (cause(CauseKind::Lock, "keeper", "futex", "worker", &[]), 30),
            (cause(CauseKind::SystemCall, "", "fsync", "keeper", &["worker"]), 15),
            (work.clone(), 4),
            (cause(CauseKind::Lock, "client", "futex", "", &[]), 1),
        ]));
        let of_longest = |ledger: &Ledger| {
            let slowest = SlowestIterations::of(ledger);
            slowest.map_or_else(String::new, |slowest| {
                SlowestOfLoop::new("iterations of", "client", &slowest).text(90)
            })
        };
        assert_eq!(
            of_longest(&ledger),
            "The longest of 200 iterations of client spent their time:\n    50 %  hog, ahead of keeper, by way of worker\n    \
             30 %  worker waiting for keeper (futex)\n    15 %  keeper blocked in fsync, by way of worker\n   4.0 %  at work\n"
        );
        assert_eq!(of_longest(&Ledger::default()), "");
        let mut same = Ledger::default();
        (0..7).for_each(|_| same.add(&iteration(&[(work.clone(), 1)])));
        assert!(of_longest(&same).starts_with("The 7 iterations of client spent"));
    }
}
