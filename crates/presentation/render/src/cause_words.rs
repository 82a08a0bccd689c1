//! Names of causes and parts, and percentages.

use howlate_analyse::cause::{Family, Why, WhyCause, families};
use howlate_model::{CauseKind, Part, Segment};

use crate::control_group_name::control_group_name;
use crate::untrusted_text::legible;

/// Minimum share of a cause named in a short sentence.
const FIRST: f64 = 0.1;

/// A share in percent.
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        none if none <= 0.0 => "0 %".to_owned(),
        little if little < 0.1 => "below 0.1 %".to_owned(),
        some if some < 9.95 || (99.5..99.95).contains(&some) => format!("{some:.1} %"),
        much => format!("{much:.0} %"),
    }
}

/// Name of a part of a wake-up.
pub const fn part_in_words(part: Part) -> &'static str {
    match part {
        Part::Arming => "armed late",
        Part::Blocked => "still blocked",
        Part::TimerSlack => "timer slack",
        Part::BeforeRunnable => "before it was runnable",
        Part::InterruptDelivery => "interrupt delivery",
        Part::InterruptEntry => "interrupt entry",
        Part::OtherTimers => "other timers served first",
        Part::TimerSoftirq => "timer softirq",
        Part::Sending => "notify call",
        Part::WakeUp => "wake-up",
        Part::Called => "reschedule IPI to its idle CPU",
        Part::Waiting => "waiting for the CPU",
        Part::LazyPreemption => "after it was asked to leave the CPU",
        Part::LostAgain => "preempted again",
        Part::Return => "return to the program",
        Part::PageFault => "page faults",
        Part::AtWork => "at work",
        Part::OtherRequests => "for other requests",
        Part::NotSeen => "not seen",
    }
}

/// It lost its CPU more often than is recorded.
const INTERRUPTED_WORK: &str = "at work or without its CPU, which is undetermined";

/// Name of a cause.
pub fn cause_in_words(cause: &WhyCause) -> String {
    let name = cause.name.as_deref().unwrap_or_default();
    match (cause.kind, cause.part, name) {
        (CauseKind::LongWork, Some(Part::OtherRequests), "") => {
            return "at work for other requests".to_owned();
        }
        (CauseKind::LongWork, Some(part), "") => return part_in_words(part).to_owned(),
        (CauseKind::Undetermined, Some(Part::AtWork), "") => return INTERRUPTED_WORK.to_owned(),
        _ => {}
    }
    if cause.kind == CauseKind::Kernel {
        let text = Part::ALL.into_iter().find(|part| part.name() == name).map(part_in_words);
        return format!("kernel: {}", text.unwrap_or_default());
    }
    let who =
        within_wait(who(cause.kind, name, cause.pid), cause.kind, &cause.call, (&cause.through, &cause.via));
    match cause.part {
        None => who,
        Some(Part::OtherRequests) => format!("{who} {}", part_in_words(Part::OtherRequests)),
        Some(part) => format!("{who}: {}", part_in_words(part)),
    }
}

/// The same of an iteration, whose own work is no cause of lateness.
pub(crate) fn iteration_cause_in_words(cause: &WhyCause) -> String {
    match cause.kind {
        CauseKind::LongWork if cause.name.is_none() && cause.part.is_none() => "at work".to_owned(),
        CauseKind::Unexplained => "not seen".to_owned(),
        _ => cause_in_words(cause),
    }
}

/// Name of a family of causes; with several names how many: `opt cgu.* (4 names)`.
pub(crate) fn family_in_words(family: &Family) -> String {
    // The process id is in the details.
    let text = cause_in_words(&WhyCause { pid: None, ..family.cause.clone() });
    if family.names > 1 { format!("{text} ({} names)", family.names) } else { text }
}

/// The causes of most late time: `rustc (68 %) and timer slack (19 %)`. `None` where none is significant.
pub fn main_causes(why: &Why) -> Option<String> {
    let families = families(why);
    let significant = families.iter().take(2).filter(|family| family.cause.share >= FIRST);
    let names: Vec<String> = significant
        .map(|family| format!("{} ({})", family_in_words(family), percent(family.cause.share)))
        .collect();
    (!names.is_empty()).then(|| names.join(" and "))
}

/// A part of one wake-up with its cause.
pub fn segment_in_words(segment: &Segment) -> String {
    let part = part_in_words(segment.cause.part);
    match segment.cause.kind {
        CauseKind::Kernel | CauseKind::TimerSlack | CauseKind::OtherTimers | CauseKind::LateArming => {
            part.to_owned()
        }
        CauseKind::PageFault if segment.cause.part == Part::PageFault => part.to_owned(),
        kind if segment.cause.part == Part::Arming => {
            format!("{} before it slept", segment_who(kind, segment))
        }
        kind if segment.merged => format!("{part} (among them {})", segment_who(kind, segment)),
        kind => format!("{part} ({})", segment_who(kind, segment)),
    }
}

/// What happened to a thread that was waited for in this part: `at work`, or what kept it from that.
pub(crate) fn segment_of_waited_thread(segment: &Segment, thread: &str) -> String {
    let (kind, call) = (segment.cause.kind, &segment.cause.call);
    if segment.cause.name == thread && matches!(kind, CauseKind::Lock | CauseKind::SystemCall) {
        return "at work".to_owned();
    }
    within_wait(who(kind, &segment.cause.name, segment.pid), kind, call, ("", &[]))
}

fn segment_who(kind: CauseKind, segment: &Segment) -> String {
    // Processes of one server have one name.
    let through = match (segment.cause.through.as_str(), segment.through_pid) {
        ("", _) | (_, None) => segment.cause.through.clone(),
        (name, Some(pid)) => format!("{name} [{pid}]"),
    };
    within_wait(
        who(kind, &segment.cause.name, segment.pid),
        kind,
        &segment.cause.call,
        (&through, &segment.cause.via),
    )
}

/// Adds to a cause the call that blocked the thread, or the thread of its program for which it waited.
fn within_wait(who: String, kind: CauseKind, call: &str, (through, via): (&str, &[String])) -> String {
    let (through, by_way_of) = (legible(through), by_way_of(via));
    match kind {
        CauseKind::Lock if !through.is_empty() => format!("{through} {who} ({call}){by_way_of}"),
        CauseKind::SystemCall if !through.is_empty() => {
            format!("{through} blocked in {}{by_way_of}", call_or_wait(call))
        }
        _ if !through.is_empty() => format!("{who}, ahead of {through}{by_way_of}"),
        CauseKind::Lock => format!("{who} ({call})"),
        CauseKind::SystemCall if who.is_empty() => format!("blocked in {}", call_or_wait(call)),
        CauseKind::SystemCall => format!("blocked in {} ({who})", call_or_wait(call)),
        _ => who,
    }
}

/// The threads between it and the one that it waited for.
pub(crate) fn by_way_of(via: &[String]) -> String {
    let names: Vec<_> = via.iter().map(|name| legible(name)).collect();
    if names.is_empty() { String::new() } else { format!(", by way of {}", names.join(", ")) }
}

/// The call's name, if it was seen.
pub(crate) fn call_or_wait(call: &str) -> &str {
    if call.is_empty() { "a system call" } else { call }
}

pub(crate) fn who(kind: CauseKind, name: &str, pid: Option<u32>) -> String {
    // Names of processes and threads are untrusted.
    let name = legible(name);
    let pid = pid.map_or_else(String::new, |pid| format!(", pid {pid}"));
    match kind {
        CauseKind::LateArming => "armed late".to_owned(),
        CauseKind::LongWork if name.is_empty() => "its own long work".to_owned(),
        CauseKind::LongWork => format!("work of {name}{pid}"),
        CauseKind::Lock if name.is_empty() => "waiting for another thread".to_owned(),
        CauseKind::Lock => format!("waiting for {name}{pid}"),
        CauseKind::SystemCall => format!("{name}{pid}"),
        CauseKind::DeadlineBudget => "its deadline runtime, used up".to_owned(),
        CauseKind::TimerSlack => "timer slack".to_owned(),
        CauseKind::IdleExit => "leaving idle".to_owned(),
        CauseKind::Scheduler => "left idle by the scheduler".to_owned(),
        CauseKind::Interrupt => format!("interrupt {name}"),
        CauseKind::Softirq => format!("softirq {name}"),
        CauseKind::Thread if name.is_empty() => "other threads".to_owned(),
        CauseKind::Thread => format!("{name}{pid}"),
        CauseKind::OtherTimers => "other timers".to_owned(),
        CauseKind::Kernel => "kernel".to_owned(),
        CauseKind::Stopped if name.is_empty() => "stopped or frozen".to_owned(),
        CauseKind::Stopped => format!("stopped by {name}{pid}"),
        CauseKind::Throttled if name.is_empty() => "quota of the control group".to_owned(),
        CauseKind::Throttled => {
            format!("quota of the control group {}", control_group_name(&name))
        }
        CauseKind::RtThrottled => "real-time throttling or the fair server".to_owned(),
        CauseKind::PageFault => "page faults".to_owned(),
        CauseKind::Migration => "migration to another CPU".to_owned(),
        CauseKind::Hypervisor => "hypervisor".to_owned(),
        CauseKind::Machine => "the machine stood still".to_owned(),
        CauseKind::Others => "others (after the top ten)".to_owned(),
        CauseKind::Undetermined if name.is_empty() => "undetermined".to_owned(),
        CauseKind::Undetermined => format!("interrupts off in {name}{pid}, or the hypervisor"),
        CauseKind::Unexplained => "unexplained".to_owned(),
    }
}
/// `a`, `a and b`, `a, b and 3 more`.
pub(crate) fn first_two(names: &[String]) -> String {
    match names {
        [only] => only.clone(),
        [first, second] => format!("{first} and {second}"),
        [first, second, more @ ..] => format!("{first}, {second} and {} more", more.len()),
        [] => String::new(),
    }
}
