//! Exit status, as with `diff`; `docs/commands.md` has it as a table.

use std::process::ExitCode;

use howlate_analyse::sequential::{Decision, known};
use howlate_analyse::{Analysis, Judgement, Outcome, is_as_asked, judge};
use howlate_model::{HowEnded, Latency, Limit, Statistic, Work};
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
    let judged: Vec<Judged> = analysis.outcomes().iter().flat_map(|one| judge_outcome(one, limits)).collect();
    judged.iter().filter_map(|one| one.line.as_ref()).for_each(|line| tell(line));
    if judged.is_empty() {
        limits.iter().for_each(|limit| tell(&nothing_to_judge(*limit)));
    }
    let until = until(analysis);
    let whole = analysis.end.as_ref().is_some_and(|end| end.how == HowEnded::Done);
    // Only a whole run can show that a limit was kept.
    let conclusive = limits.is_empty() || (whole && is_judged(analysis, &judged));
    match stopped.is_some() || judged.iter().any(|one| one.status == Status::Exceeded) {
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
fn is_judged(analysis: &Analysis, judged: &[Judged]) -> bool {
    let is_done = |one: &Judged| one.status == Status::Done;
    let is_watched = |one: &Outcome| matches!(one.condition.work, Work::Watch { .. });
    match !judged.is_empty() && analysis.outcomes().iter().all(is_watched) {
        true => judged.iter().any(is_done),
        false => !judged.is_empty() && judged.iter().all(is_done),
    }
}

/// One limit, judged by one condition.
struct Judged {
    status: Status,
    line: Option<String>,
}

fn judge_outcome(outcome: &Outcome, limits: &[Limit]) -> Vec<Judged> {
    let line = |what: &str, found: String| {
        Some(format!("{} {found} ({})\n", paint(ERROR, what), render::condition(outcome)))
    };
    let one = |limit: &Limit| match judge(outcome, *limit) {
        Judgement::Kept => Judged { status: Status::Done, line: None },
        Judgement::Exceeded(value) => {
            let found = format!(
                "{} is {}, limit {}",
                limit.statistic,
                render::numbers::at_least(
                    is_lower_bound(outcome, *limit, value),
                    &shown(limit.statistic, value)
                ),
                shown(limit.statistic, limit.above)
            );
            Judged { status: Status::Exceeded, line: line("limit exceeded:", found) }
        }
        Judgement::TooFew { needed, count } => {
            let why = format!(
                "{} needs {} wake-ups; only {} were measured",
                limit.statistic,
                render::numbers::count(needed),
                render::numbers::count(count)
            );
            Judged { status: Status::NotTrustworthy, line: line("cannot be judged:", why) }
        }
        Judgement::Clipped(from) => {
            let why = format!(
                "{limit}: the program that measured it tells no latencies from {} on apart",
                shown(limit.statistic, from)
            );
            Judged { status: Status::NotTrustworthy, line: line("cannot be judged:", why) }
        }
        Judgement::NotSaid => {
            let why = match outcome.condition.work {
                Work::Watch { .. } => format!("{limit}: without a strict rhythm no period can be missed"),
                _ => format!("{limit}: another program does not say how many periods were missed"),
            };
            Judged { status: Status::NotTrustworthy, line: line("cannot be judged:", why) }
        }
    };
    limits.iter().map(one).collect()
}

/// Whether the program that measured it did not tell what lies beyond that apart.
fn is_lower_bound(outcome: &Outcome, limit: Limit, value: u64) -> bool {
    let from = outcome.planned().clipped().map(|from| from.as_nanos().max(0).unsigned_abs());
    limit.statistic != Statistic::Missed && from == Some(value)
}

fn shown(statistic: Statistic, value: u64) -> String {
    match statistic {
        Statistic::Missed => value.to_string(),
        _ => Latency::from_nanos(i64::try_from(value).unwrap_or(i64::MAX)).to_string(),
    }
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
