//! How late the latest thread was, and why, in a sentence.

use howlate_analyse::cause::{Family, Why, WhyCause, families};
use howlate_analyse::watch::Rhythm;
use howlate_analyse::{Outcome, percentile};
use howlate_model::{Activation, CauseKind, Latency, OmittedAnswers, Part, Span, Work};

use super::rows::{Rank, ranked};
use super::{name, overdue};
use crate::cause_words::{by_way_of, call_or_wait, cause_in_words, main_causes, percent};
use crate::numbers::count;
use crate::result_columns::{MEDIAN, RowNumbers};
use crate::untrusted_text::legible;

/// A cause with at least this share of the late time follows "because".
const WHY: f64 = 0.5;
/// Timer slack with at least this share of the typical lateness is mentioned.
const MUCH_SLACK: f64 = 0.1;

/// A thread at least this many times later is mentioned beside the one with a deadline.
const MUCH_LATER: i64 = 10;

/// A sentence on the most important thread, and on one that was much later; each with whether it has a deadline. Empty where none had
/// enough wake-ups for a 99th percentile.
pub(super) fn latest(outcomes: &[&Outcome], late: Option<Span>) -> Vec<(bool, String)> {
    let p99 = |outcome: &Outcome| percentile(outcome.latency(), 0.99);
    let all: Vec<(Rank, &Outcome)> =
        ranked(outcomes).into_iter().filter(|(_, outcome)| p99(outcome).is_some()).collect();
    let Some(((rank, first), less_important)) = all.split_first() else { return Vec::new() };
    let of_first = p99(first).map_or(0, Latency::as_nanos).max(1);
    let is_much_later = |outcome: &Outcome| {
        p99(outcome).is_some_and(|p99| p99.as_nanos() > of_first.saturating_mul(MUCH_LATER))
    };
    let latest = less_important
        .iter()
        .max_by_key(|(_, outcome)| p99(outcome))
        .filter(|(_, outcome)| is_much_later(outcome));
    let has_deadline = |rank: Rank| matches!(rank, Rank::Requests | Rank::RealTime | Rank::Strict);
    let sentence = |rank: Rank, outcome: &Outcome| Some((has_deadline(rank), describe(outcome, late)?));
    let first = sentence(*rank, first);
    first.into_iter().chain(latest.and_then(|(rank, outcome)| sentence(*rank, outcome))).collect()
}

/// `python3 runs 86 µs after its timer (50 µs of it timer slack); 1 in 100 more than 213 µs, because rustc had the CPU (68 %).`
fn describe(outcome: &Outcome, late: Option<Span>) -> Option<String> {
    let p50 = Latency::from_nanos(RowNumbers::supported_by(outcome.latency()).nanos(&MEDIAN)?);
    let p99 = percentile(outcome.latency(), 0.99)?;
    let why = outcome.why_late(late);
    let slack = why.as_ref().and_then(|why| slack(why, p50));
    let slack = slack.map_or_else(String::new, |slack| format!(" ({slack} of it timer slack)"));
    let because = why.as_ref().map_or_else(String::new, because);
    let rare = format!("1 in 100 more than {p99}{because}");
    let name = name(outcome);
    let late = match outcome.condition.work {
        Work::Watch { mechanism: Activation::Event } => {
            format!("{name} runs {p50} after being woken; {rare}.")
        }
        Work::Watch { mechanism: Activation::HandedOn } => {
            format!("{name} runs {p50} after the timer of the thread that wakes it; {rare}.")
        }
        Work::Watch { mechanism: Activation::Loop } if p50.as_nanos() <= 0 => {
            format!("{name}'s iterations usually begin on time; 1 in 100 more than {p99} late{because}.")
        }
        Work::Watch { mechanism: Activation::Loop } => {
            format!("{name}'s iterations begin {p50} late; {rare}.")
        }
        Work::Watch { mechanism: Activation::Request } => requests(outcome, &name, p50, &rare),
        _ => format!("{name} runs {p50} after its timer{slack}; {rare}."),
    };
    Some(late + &after_the_next(outcome) + &missed(outcome))
}

/// `1 204 requests at port 6379 took 279 µs at the median; 1 in 100 more than 2.90 ms, because hog had the CPU (71 %).`
fn requests(outcome: &Outcome, name: &str, p50: Latency, rare: &str) -> String {
    let omitted = outcome.rhythm.as_deref().and_then(Rhythm::omitted_answers).map(omitted_answers);
    let omitted = omitted.flatten().map_or_else(String::new, |omitted| format!(" {omitted}"));
    format!("{} requests at {name} took {p50} at the median; {rare}.{omitted}", count(outcome.count()))
}

/// Answers that are not among the requests, and why.
pub fn omitted_answers(omitted: &OmittedAnswers) -> Option<String> {
    let reasons = [
        (omitted.http2, "of HTTP/2, which answers several requests at once"),
        (omitted.more_data, "begun after more data had arrived, whose request is unknown"),
        (omitted.arrival_not_seen, "to requests whose arrival was not seen"),
    ];
    let answers =
        |number: u64| if number == 1 { "1 answer".to_owned() } else { format!("{} answers", count(number)) };
    let reasons = reasons.iter().filter(|(number, _)| *number > 0);
    let reasons: Vec<String> =
        reasons.map(|(number, reason)| format!("{} {reason}", answers(*number))).collect();
    (!reasons.is_empty()).then(|| format!("Not among them: {}.", reasons.join("; ")))
}

/// Iterations that began after the next was due. A loop that catches up misses no period.
fn after_the_next(outcome: &Outcome) -> String {
    let all = count(outcome.count());
    overdue(outcome)
        .map_or_else(String::new, |late| format!(" {} of {all} began after the next was due.", count(late)))
}

/// Periods without a run.
fn missed(outcome: &Outcome) -> String {
    match outcome.missed().unwrap_or_default() {
        0 => String::new(),
        1 => " One of its periods passed without a wake-up.".to_owned(),
        missed => format!(" {} of its periods passed without a wake-up.", count(missed)),
    }
}

/// Timer slack's part of the typical lateness, if significant.
fn slack(why: &Why, p50: Latency) -> Option<Latency> {
    let part = why.parts.iter().find(|part| part.part == Part::TimerSlack)?;
    let usual = Latency::from_nanos(i64::try_from(part.p50_ns).unwrap_or(i64::MAX));
    let is_much = usual.as_nanos() as f64 >= MUCH_SLACK * p50.as_nanos().max(1) as f64;
    (is_much && p50.as_nanos() > 0).then_some(usual)
}

/// The cause with at least half of the late time, otherwise the main causes.
fn because(why: &Why) -> String {
    let all = families(why);
    let threads = all.iter().filter(|family| family.cause.kind == CauseKind::Thread);
    let of_threads: f64 = threads.clone().map(|family| family.cause.share).sum();
    if let Some((first, what)) = all.first().and_then(|first| Some((first, reason(first)?)))
        && first.cause.share >= WHY
    {
        return format!(", because {what} ({})", percent(first.cause.share));
    }
    if of_threads >= WHY {
        let names = threads.take(2).filter_map(|family| family.cause.name.as_deref()).map(legible);
        let names: Vec<_> = names.filter(|name| !name.is_empty()).collect();
        let names =
            if names.is_empty() { String::new() } else { format!(", most of it {}", names.join(" and ")) };
        return format!(", because other threads had the CPU ({}{names})", percent(of_threads));
    }
    main_causes(why).map_or_else(String::new, |causes| format!("; main causes of the slowest: {causes}"))
}

/// The clause after `because`; `None` where no event proves it.
fn reason(family: &Family) -> Option<String> {
    let name = legible(family.cause.name.as_deref().unwrap_or_default());
    Some(match family.cause.kind {
        CauseKind::Thread if name.is_empty() => "other threads had the CPU".to_owned(),
        CauseKind::Thread if family.cause.part == Some(Part::LazyPreemption) => {
            format!("{name} kept the CPU after it was asked to leave (lazy preemption)")
        }
        CauseKind::Thread if !family.cause.through.is_empty() => {
            format!(
                "it waited for {}, kept off its CPU by {name}{}",
                legible(&family.cause.through),
                by_way_of(&family.cause.via)
            )
        }
        CauseKind::Thread => format!("{name} had the CPU"),
        CauseKind::Interrupt => format!("interrupt {name} had the CPU"),
        CauseKind::Softirq => format!("softirq {name} had the CPU"),
        CauseKind::OtherTimers => "other timers were served first".to_owned(),
        CauseKind::IdleExit => "its CPU had to leave an idle state".to_owned(),
        CauseKind::Scheduler => "the scheduler let its CPU run idle while it was ready".to_owned(),
        CauseKind::TimerSlack => "the kernel may delay its timers by their slack".to_owned(),
        CauseKind::Throttled => "its control group had used up its quota".to_owned(),
        CauseKind::LongWork if family.cause.part == Some(Part::AtWork) => {
            "the thread that answers was at work".to_owned()
        }
        CauseKind::LongWork if family.cause.part == Some(Part::OtherRequests) => {
            "the thread that answers was at work for other requests".to_owned()
        }
        CauseKind::LongWork if name.is_empty() => "its own work took too long".to_owned(),
        CauseKind::LongWork => format!("{name}, which wakes it, was at work"),
        CauseKind::Lock | CauseKind::SystemCall if !family.cause.through.is_empty() => {
            format!(
                "it waited for another thread: {}",
                cause_in_words(&WhyCause { pid: None, ..family.cause.clone() })
            )
        }
        CauseKind::Lock if name.is_empty() => "it waited for another thread of its program".to_owned(),
        CauseKind::Lock => format!("it waited for {name} ({})", family.cause.call),
        CauseKind::SystemCall if family.cause.part == Some(Part::OtherRequests) => {
            format!(
                "the thread that answers was {}",
                cause_in_words(&WhyCause { pid: None, ..family.cause.clone() })
            )
        }
        CauseKind::SystemCall if name.is_empty() => {
            format!("it was blocked in {}", call_or_wait(&family.cause.call))
        }
        CauseKind::SystemCall => {
            format!("it was blocked in {}, waiting for {name}", call_or_wait(&family.cause.call))
        }
        CauseKind::DeadlineBudget => "it had used up its deadline runtime".to_owned(),
        CauseKind::LateArming => "it set its timer too late".to_owned(),
        CauseKind::Stopped => "it was stopped".to_owned(),
        CauseKind::PageFault => "page faults delayed it".to_owned(),
        CauseKind::Hypervisor => "the hypervisor had the CPU".to_owned(),
        CauseKind::Machine => "the machine stood still".to_owned(),
        CauseKind::Others => "many other threads had the CPU".to_owned(),
        CauseKind::Kernel
        | CauseKind::RtThrottled
        | CauseKind::Migration
        | CauseKind::Undetermined
        | CauseKind::Unexplained => return None,
    })
}
