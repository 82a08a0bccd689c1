//! Exit status, as with `diff`; `docs/commands.md` has it as a table.

use std::process::ExitCode;

use howlate_analyse::sequential::{Decision, progress_of};
use howlate_analyse::{Analysis, Check, LimitVerdict, Outcome, checks, is_measured_as_requested};
use howlate_model::{EndReason, Limit, Work};
use howlate_render::{gate_lines, limit_lines, not_as_asked, stopped_above};

use crate::terminal::{shows_results, tell};

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Status {
    /// Done, within limits.
    Done,
    /// A limit was exceeded, or the run stopped because of a wake-up that was too late.
    Exceeded,
    /// Could not: bad request, missing file, missing permission.
    CouldNot,
    /// Ran, but not as asked, or not to the end.
    NotTrustworthy,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(match status {
            Status::Done => 0,
            Status::Exceeded => 1,
            Status::CouldNot => 2,
            Status::NotTrustworthy => 3,
        })
    }
}

/// How a run with these `limits` ends, with a line for each of them that was exceeded or cannot be judged.
pub(crate) fn overall(analysis: &Analysis, limits: &[Limit]) -> Status {
    let stopped = stopped_above(analysis);
    let checks = if limits.is_empty() { Vec::new() } else { checks(analysis, limits) };
    let lines = [limit_lines(analysis, &checks, limits), gate_lines(&checks)].concat();
    stopped.iter().chain(&lines).for_each(|line| tell(line));
    let until = until(analysis);
    let conclusive = limits.is_empty() || is_judged(analysis, &checks);
    match stopped.is_some() || checks.iter().any(|check| check.verdict == LimitVerdict::No) {
        true => Status::Exceeded,
        false if until == Status::Exceeded => Status::Exceeded,
        false if conclusive && until == Status::Done && is_measured_as_requested(analysis) => Status::Done,
        false => {
            say_why_not_as_asked(analysis);
            Status::NotTrustworthy
        }
    }
}

/// How a run ends that was to go on until its end: where somebody ended it before, it has not done what was asked.
pub(crate) fn of_whole_run(analysis: &Analysis, limits: &[Limit]) -> Status {
    let interrupted = analysis.end.as_ref().is_some_and(|end| end.how == EndReason::Interrupted);
    match overall(analysis, limits) {
        Status::Done if interrupted => {
            if !shows_results() {
                tell("not to its end: it was interrupted");
            }
            Status::NotTrustworthy
        }
        status => status,
    }
}

/// Where the result goes to a program or a file, it does not say why to whoever reads the log.
fn say_why_not_as_asked(analysis: &Analysis) {
    if let Some(why) = not_as_asked(analysis).filter(|_| !shows_results()) {
        tell(&format!("not as asked: {why}"));
    }
}

/// How it ends by that which it was to go on until; the result has it as a sentence.
fn until(analysis: &Analysis) -> Status {
    match progress_of(analysis).map(|found| found.decision) {
        None | Some(Decision::Reached | Decision::Holds) => Status::Done,
        Some(Decision::Refuted) => Status::Exceeded,
        Some(Decision::Undecided) => Status::NotTrustworthy,
    }
}

/// Whether every limit was judged, and there was something to judge. A program has threads that hardly run: of what was watched it is enough that one thread
/// could be judged, and the others are named.
fn is_judged(analysis: &Analysis, checks: &[Check<'_>]) -> bool {
    let is_kept = |check: &Check<'_>| check.verdict == LimitVerdict::Yes;
    let is_watched = |one: &Outcome| matches!(one.condition.work, Work::Watch { .. });
    match !checks.is_empty() && analysis.outcomes().iter().all(is_watched) {
        true => checks.iter().any(is_kept),
        false => !checks.is_empty() && checks.iter().all(is_kept),
    }
}
