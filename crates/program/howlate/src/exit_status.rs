//! Exit status, as of `diff`; the table is in `docs/commands.md`.

use std::process::ExitCode;

use howlate_analyse::sequential::{Decision, progress_of};
use howlate_analyse::{Analysis, Check, LimitVerdict, Outcome, checks, is_measured_as_requested};
use howlate_model::{EndReason, Limit, Work};
use howlate_render::{gate_lines, limit_lines, not_as_asked, stopped_above};

use crate::terminal::{eprint_wrapped, stdout_is_terminal};

/// Exit status of the program; the order is from good to bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ExitStatus {
    /// 0: done, within limits.
    Done,
    /// 1: a limit was exceeded, or the run stopped at a wake-up above its threshold.
    Exceeded,
    /// 2: bad request, missing file, missing permission.
    Failed,
    /// 3: ran, but not as requested or not to the end.
    NotTrustworthy,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(match status {
            ExitStatus::Done => 0,
            ExitStatus::Exceeded => 1,
            ExitStatus::Failed => 2,
            ExitStatus::NotTrustworthy => 3,
        })
    }
}

/// Status of a result with these `limits`; prints a line for each limit that is exceeded or cannot be judged.
pub(crate) fn overall(analysis: &Analysis, limits: &[Limit]) -> ExitStatus {
    let stopped = stopped_above(analysis);
    let checks = if limits.is_empty() { Vec::new() } else { checks(analysis, limits) };
    let lines = [limit_lines(analysis, &checks, limits), gate_lines(&checks)].concat();
    stopped.iter().chain(&lines).for_each(|line| eprint_wrapped(line));
    let until_status = until_status(analysis);
    let has_check = |limit: &Limit| checks.iter().any(|check| check.limit == Some(*limit));
    let limits_judged = limits.is_empty() || is_judged(analysis, &checks) && limits.iter().all(has_check);
    match stopped.is_some() || checks.iter().any(|check| check.verdict == LimitVerdict::No) {
        true => ExitStatus::Exceeded,
        false if until_status == ExitStatus::Exceeded => ExitStatus::Exceeded,
        false if limits_judged && until_status == ExitStatus::Done && is_measured_as_requested(analysis) => {
            ExitStatus::Done
        }
        false => {
            print_deviation(analysis);
            ExitStatus::NotTrustworthy
        }
    }
}

/// Status of a run that should end by itself: an interruption makes it not trustworthy.
pub(crate) fn of_whole_run(analysis: &Analysis, limits: &[Limit]) -> ExitStatus {
    let interrupted = analysis.end.as_ref().is_some_and(|end| end.how == EndReason::Interrupted);
    match overall(analysis, limits) {
        ExitStatus::Done if interrupted => {
            if !stdout_is_terminal() {
                eprint_wrapped("not to its end: it was interrupted");
            }
            ExitStatus::NotTrustworthy
        }
        status => status,
    }
}

/// Prints why a run was not as requested, where the result itself does not reach the terminal.
fn print_deviation(analysis: &Analysis) {
    if let Some(deviation) = not_as_asked(analysis).filter(|_| !stdout_is_terminal()) {
        eprint_wrapped(&format!("not as asked: {deviation}"));
    }
}

/// Status by the goal of `--until`; the result states it in words.
fn until_status(analysis: &Analysis) -> ExitStatus {
    match progress_of(analysis).map(|result| result.decision) {
        None | Some(Decision::Reached | Decision::Holds) => ExitStatus::Done,
        Some(Decision::Refuted) => ExitStatus::Exceeded,
        Some(Decision::Undecided) => ExitStatus::NotTrustworthy,
    }
}

/// Whether all limits could be judged, and at least one. Of a watched program one judged thread is enough, as most of its threads
/// hardly run; the output names the others.
fn is_judged(analysis: &Analysis, checks: &[Check<'_>]) -> bool {
    let is_within = |check: &Check<'_>| check.verdict == LimitVerdict::Yes;
    let stderr_is_terminal = |outcome: &Outcome| matches!(outcome.condition.work, Work::Watch { .. });
    match !checks.is_empty() && analysis.outcomes().iter().all(stderr_is_terminal) {
        true => checks.iter().any(is_within),
        false => !checks.is_empty() && checks.iter().all(is_within),
    }
}
