//! How late the latest thread is, and why, in a sentence.

use howlate_analyse::cause::{Family, Why, families};
use howlate_analyse::{Outcome, percentile};
use howlate_model::{Activation, CauseKind, Latency, Part, Span, Work};

use super::name;
use crate::cause_words::percent;
use crate::numbers::count;
use crate::result_columns::{MEDIAN, RowNumbers};
use crate::untrusted_text::legible;
use crate::why::main_causes;

/// A cause that took as much of the late time is why.
const WHY: f64 = 0.5;
/// Timer slack that makes this share of the usual lateness is told.
const MUCH_SLACK: f64 = 0.1;

/// `python3's timers fire 86 µs late (50 µs of it timer slack); 1 in 100 more than 213 µs, because rustc had the CPU (68 %).`
/// `None` where none had enough wake-ups for a 99th percentile.
pub(super) fn latest(outcomes: &[&Outcome], late: Option<Span>) -> Option<String> {
    let p99 = |one: &Outcome| percentile(one.latency(), 0.99);
    let enough: Vec<&Outcome> = outcomes.iter().copied().filter(|one| p99(one).is_some()).collect();
    let latest = enough.iter().copied().max_by_key(|one| p99(one))?;
    let latest = its_loop(latest, &enough, late).unwrap_or(latest);
    let p50 = Latency::from_nanos(RowNumbers::supported_by(latest.latency()).nanos(&MEDIAN)?);
    let p99 = p99(latest)?;
    let why = latest.why_late(late);
    let slack = why.as_ref().and_then(|why| slack(why, p50));
    let slack = slack.map_or_else(String::new, |slack| format!(" ({slack} of it timer slack)"));
    let because = why.as_ref().map_or_else(String::new, because);
    let rare = format!("1 in 100 more than {p99}{because}");
    let (name, missed) = (name(latest), missed(latest));
    let late = match latest.condition.work {
        Work::Watch { mechanism: Activation::Event } => {
            format!("{name} runs {p50} after being woken; {rare}.")
        }
        Work::Watch { mechanism: Activation::HandedOn } => {
            format!("{name} runs {p50} after its waker's timer; {rare}.")
        }
        Work::Watch { mechanism: Activation::Loop } => {
            format!("{name}'s iterations begin {p50} late; {rare}.")
        }
        _ => format!("{name}'s timers fire {p50} late{slack}; {rare}."),
    };
    Some(late + &missed)
}

/// Periods in which a thread did not run at all.
fn missed(one: &Outcome) -> String {
    match one.known_missed().unwrap_or_default() {
        0 => String::new(),
        1 => " One of its periods passed without a wake-up.".to_owned(),
        missed => format!(" {} of its periods passed without a wake-up.", count(missed)),
    }
}

/// Of a thread that set its timers too late, its loop, where that is marked: it knows why, and the timers do not.
fn its_loop<'a>(latest: &Outcome, all: &[&'a Outcome], late: Option<Span>) -> Option<&'a Outcome> {
    let first = families(&latest.why_late(late)?).into_iter().next()?;
    let is_loop = |one: &Outcome| one.condition.work == Work::Watch { mechanism: Activation::Loop };
    let is_same = |one: &&&Outcome| is_loop(one) && name(one) == name(latest);
    (first.cause.kind == CauseKind::LateArming).then(|| all.iter().find(is_same).copied()).flatten()
}

/// Timer slack's part of the usual lateness, where it is a good one.
fn slack(why: &Why, p50: Latency) -> Option<Latency> {
    let part = why.parts.iter().find(|one| one.part == Part::TimerSlack)?;
    let usual = Latency::from_nanos(i64::try_from(part.p50_ns).unwrap_or(i64::MAX));
    let is_much = usual.as_nanos() as f64 >= MUCH_SLACK * p50.as_nanos().max(1) as f64;
    (is_much && p50.as_nanos() > 0).then_some(usual)
}

/// Why the late ones were: what took half of their time or more; otherwise what took the most.
fn because(why: &Why) -> String {
    let all = families(why);
    let threads = all.iter().filter(|one| one.cause.kind == CauseKind::Thread);
    let of_threads: f64 = threads.clone().map(|one| one.cause.share).sum();
    if let Some((first, what)) = all.first().and_then(|first| Some((first, reason(first)?)))
        && first.cause.share >= WHY
    {
        return format!(", because {what} ({})", percent(first.cause.share));
    }
    if of_threads >= WHY {
        let named = threads.take(2).filter_map(|one| one.cause.name.as_deref()).map(legible);
        let named: Vec<_> = named.filter(|name| !name.is_empty()).collect();
        let named =
            if named.is_empty() { String::new() } else { format!(", most of it {}", named.join(" and ")) };
        return format!(", because other threads had the CPU ({}{named})", percent(of_threads));
    }
    main_causes(why).map_or_else(String::new, |causes| format!("; main causes of the slowest: {causes}"))
}

/// What happened, as what follows `because`; `None` where no event says so.
fn reason(family: &Family) -> Option<String> {
    let name = legible(family.cause.name.as_deref().unwrap_or_default());
    Some(match family.cause.kind {
        CauseKind::Thread if name.is_empty() => "other threads had the CPU".to_owned(),
        CauseKind::Thread => format!("{name} had the CPU"),
        CauseKind::Interrupt => format!("interrupt {name} had the CPU"),
        CauseKind::Softirq => format!("softirq {name} had the CPU"),
        CauseKind::OtherTimers => "other timers were served first".to_owned(),
        CauseKind::IdleExit => "its CPU had to leave an idle state".to_owned(),
        CauseKind::TimerSlack => "the kernel may delay its timers by their slack".to_owned(),
        CauseKind::Throttled => "its control group had used up its quota".to_owned(),
        CauseKind::LongWork => "its own work took too long".to_owned(),
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
