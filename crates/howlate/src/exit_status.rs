//! Exit status, as with `diff`; `docs/commands.md` has it as a table.

use std::process::ExitCode;

use howlate_analyse::sequential::{Decision, known};
use howlate_analyse::{Analysis, Check, LimitVerdict, Outcome, Unknown, checks, is_as_asked};
use howlate_model::{HowEnded, Limit, Statistic, Work};
use howlate_render as render;

use crate::terminal::{ERROR, paint, tell};

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
    let stopped = stopped(analysis);
    stopped.iter().for_each(|line| tell(line));
    let checks = if limits.is_empty() { Vec::new() } else { checks(analysis, limits) };
    lines(&checks).iter().for_each(|line| tell(line));
    loops_not_judged(analysis, limits).iter().for_each(|line| tell(line));
    if checks.is_empty() {
        limits.iter().for_each(|limit| tell(&nothing_to_judge(*limit)));
    }
    let until = until(analysis);
    let conclusive = limits.is_empty() || is_judged(analysis, &checks);
    match stopped.is_some() || checks.iter().any(|check| check.kept == LimitVerdict::No) {
        true => Status::Exceeded,
        false if until == Status::Exceeded => Status::Exceeded,
        false if conclusive && until == Status::Done && is_as_asked(analysis) => Status::Done,
        false => Status::NotTrustworthy,
    }
}

/// How it ends by that which it was to go on until; the result has it as a sentence.
fn until(analysis: &Analysis) -> Status {
    match known(analysis).map(|found| found.decision) {
        None | Some(Decision::Reached | Decision::Holds) => Status::Done,
        Some(Decision::Refuted) => Status::Exceeded,
        Some(Decision::Undecided) => Status::NotTrustworthy,
    }
}

/// Nothing that was measured can keep a limit, or exceed it.
fn nothing_to_judge(limit: Limit) -> String {
    format!("{} {limit}: nothing was measured\n", paint(ERROR, "cannot be judged:"))
}

/// Whether every limit was judged, and there was something to judge. A program has threads that hardly run: of what was watched it is enough that one thread
/// could be judged, and the others are named.
fn is_judged(analysis: &Analysis, checks: &[Check<'_>]) -> bool {
    let is_kept = |check: &Check<'_>| check.kept == LimitVerdict::Yes;
    let is_watched = |one: &Outcome| matches!(one.condition.work, Work::Watch { .. });
    match !checks.is_empty() && analysis.outcomes().iter().all(is_watched) {
        true => checks.iter().any(is_kept),
        false => !checks.is_empty() && checks.iter().all(is_kept),
    }
}

/// What became of limits that were not kept. What several of them have in common is said once.
fn lines(checks: &[Check<'_>]) -> Vec<String> {
    let of_loops = |check: &&Check<'_>| check.limit.is_some_and(|limit| limit.statistic == Statistic::Loop);
    let has_loop = checks.iter().filter(of_loops).any(|check| check.value.is_some());
    // Where one thread has an event loop, others need none.
    let is_said = |check: &&Check<'_>| !(has_loop && of_loops(check) && check.value.is_none());
    let mut lines: Vec<String> = Vec::new();
    for line in checks.iter().filter(is_said).filter_map(line) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// That wake-ups say nothing of a loop that does not come back, where only they were held against limits.
fn loops_not_judged(analysis: &Analysis, limits: &[Limit]) -> Option<String> {
    if limits.is_empty() || limits.iter().any(|limit| limit.statistic == Statistic::Loop) {
        return None;
    }
    let loops = analysis.outcomes().iter().filter_map(|one| one.rhythm.as_deref()?.event_loop());
    let longest = loops.filter_map(|one| one.iterations.max()).max()?;
    Some(format!(
        "not judged: an event loop did not come back for up to {longest}; `--fail-above 'loop>20ms'` judges that\n"
    ))
}

fn line(check: &Check<'_>) -> Option<String> {
    let (limit, found, of) = (check.limit?, render::finding(check), render::condition(check.outcome));
    let (what, text) = match &check.kept {
        LimitVerdict::Yes => return None,
        LimitVerdict::No => ("limit exceeded:", format!("{found} ({of})")),
        LimitVerdict::Unknown(Unknown::Spoiled(_) | Unknown::NotWhole(_)) => ("cannot be judged:", found),
        LimitVerdict::Unknown(Unknown::TooFew { .. }) => {
            ("cannot be judged:", format!("{} {found} ({of})", limit.statistic))
        }
        LimitVerdict::Unknown(_) => ("cannot be judged:", format!("{limit}: {found} ({of})")),
    };
    Some(format!("{} {text}\n", paint(ERROR, what)))
}

/// Which wake-up stopped the run, if one did: the worst of all.
fn stopped(analysis: &Analysis) -> Option<String> {
    let end = analysis.end.as_ref().filter(|end| end.how == HowEnded::StoppedAbove)?;
    let worst = analysis.outcomes().iter().filter_map(|outcome| Some((outcome, outcome.worst().first()?)));
    let Some((outcome, worst)) = worst.max_by_key(|(_, worst)| worst.latency) else {
        return Some(format!("{}\n", paint(ERROR, "stopped by --stop-above")));
    };
    let cpu = outcome.condition.cpu.map_or_else(|| "any CPU".to_owned(), |cpu| format!("CPU {cpu}"));
    let after = worst.at.since(analysis.header.at).as_secs_f64();
    let before_end = end.at.since(worst.at).as_secs_f64();
    Some(format!(
        "{} {} late on {cpu}, {after:.3} s after the start and {before_end:.3} s before the end ({})\n",
        paint(ERROR, "stopped by --stop-above:"),
        worst.latency,
        render::condition(outcome)
    ))
}
