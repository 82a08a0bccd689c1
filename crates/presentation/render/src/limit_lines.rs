//! Exceeded limits, limits that cannot be judged, and what stopped a run: a line each.

use howlate_analyse::{Analysis, Check, LimitVerdict, UnknownReason};
use howlate_model::{Command, EndReason, Limit, LimitStatistic};

use crate::condition::condition;
use crate::export::finding;
use crate::style::{STOP, paint};

/// Lines for limits that were exceeded or cannot be judged.
pub fn limit_lines(analysis: &Analysis, checks: &[Check<'_>], limits: &[Limit]) -> Vec<String> {
    let is_judged = |limit: &&Limit| checks.iter().any(|check| check.limit == Some(**limit));
    let nothing = limits.iter().filter(|limit| !is_judged(limit)).map(|limit| nothing_to_judge(*limit));
    lines(checks).into_iter().chain(loops_not_judged(analysis, limits)).chain(nothing).collect()
}

/// The line for a limit without any measurement.
fn nothing_to_judge(limit: Limit) -> String {
    format!("{} {limit}: nothing was measured\n", paint(STOP, "cannot be judged:"))
}

/// Lines for limits that were not kept, without duplicates.
fn lines(checks: &[Check<'_>]) -> Vec<String> {
    let is_of_loops =
        |check: &&Check<'_>| check.limit.is_some_and(|limit| limit.statistic == LimitStatistic::Loop);
    let has_loop = checks.iter().filter(is_of_loops).any(|check| check.value.is_some());
    // Only threads with event loops can be judged by this limit.
    let is_relevant = |check: &&Check<'_>| !(has_loop && is_of_loops(check) && check.value.is_none());
    let mut lines: Vec<String> = Vec::new();
    for line in checks.iter().filter(is_relevant).filter_map(line) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// A note where an event loop was blocked, but no limit is about event loops.
fn loops_not_judged(analysis: &Analysis, limits: &[Limit]) -> Option<String> {
    if limits.is_empty() || limits.iter().any(|limit| limit.statistic == LimitStatistic::Loop) {
        return None;
    }
    let loops = analysis.outcomes().iter().filter_map(|outcome| outcome.rhythm.as_deref()?.event_loop());
    let longest = loops.filter_map(|event_loop| event_loop.iterations.max()).max()?;
    Some(format!(
        "not judged: an event loop did not come back for up to {longest}; `--fail-above 'loop>20ms'` judges that\n"
    ))
}

fn line(check: &Check<'_>) -> Option<String> {
    let (limit, text, name) = (check.limit?, finding(check), condition(check.outcome));
    let (heading, text) = match &check.verdict {
        LimitVerdict::Yes => return None,
        LimitVerdict::No => ("limit exceeded:", format!("{text} ({name})")),
        LimitVerdict::Unknown(UnknownReason::Spoiled(_) | UnknownReason::NotWhole(_)) => {
            ("cannot be judged:", text)
        }
        LimitVerdict::Unknown(UnknownReason::TooFew { .. }) => {
            ("cannot be judged:", format!("{} {text} ({name})", limit.statistic))
        }
        LimitVerdict::Unknown(_) => ("cannot be judged:", format!("{limit}: {text} ({name})")),
    };
    Some(format!("{} {text}\n", paint(STOP, heading)))
}

/// The wake-up that stopped the run, if any: the worst of all.
pub fn stopped_above(analysis: &Analysis) -> Option<String> {
    let end = analysis.end.as_ref().filter(|end| end.how == EndReason::StoppedAbove)?;
    // Before an action ends a watch, others may have been later than the one that it was about.
    let (option, which) = match analysis.header.command {
        Command::Watch => ("--on-late", "the worst was "),
        _ => ("--stop-above", ""),
    };
    let worst = analysis.outcomes().iter().filter_map(|outcome| Some((outcome, outcome.worst().first()?)));
    let Some((outcome, worst)) = worst.max_by_key(|(_, worst)| worst.latency) else {
        return Some(format!("{}\n", paint(STOP, format!("stopped by {option}"))));
    };
    let cpu = outcome.condition.cpu.map_or_else(|| "any CPU".to_owned(), |cpu| format!("CPU {cpu}"));
    let after = worst.at.since(analysis.header.at).as_secs_f64();
    let before_end = end.at.since(worst.at).as_secs_f64();
    Some(format!(
        "{} {which}{} late on {cpu}, {after:.3} s after the start and {before_end:.3} s before the end ({})\n",
        paint(STOP, format!("stopped by {option}:")),
        worst.latency,
        condition(outcome)
    ))
}
