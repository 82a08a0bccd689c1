//! Causes, parts and shares in words.

use howlate_analyse::cause::WhyCause;
use howlate_model::{CauseKind, Part, Segment};

use crate::untrusted_text::legible;

/// A share, for people.
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        none if none <= 0.0 => "0 %".to_owned(),
        little if little < 0.1 => "below 0.1 %".to_owned(),
        some if some < 9.95 || (99.5..99.95).contains(&some) => format!("{some:.1} %"),
        much => format!("{much:.0} %"),
    }
}

/// A part of the way, for people.
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
        Part::LostAgain => "preempted again",
        Part::Return => "return to the program",
        Part::PageFault => "page faults",
        Part::NotSeen => "not seen",
    }
}

/// Who it was, for people.
pub fn cause_in_words(cause: &WhyCause) -> String {
    let name = cause.name.as_deref().unwrap_or_default();
    if cause.kind == CauseKind::Kernel {
        let words = Part::ALL.into_iter().find(|part| part.name() == name).map(part_in_words);
        return format!("kernel: {}", words.unwrap_or_default());
    }
    let who = who(cause.kind, name, cause.pid);
    cause.part.map_or_else(|| who.clone(), |part| format!("{who}: {}", part_in_words(part)))
}

/// A part of one wake-up, and who it was, for people.
pub fn segment_in_words(segment: &Segment) -> String {
    let part = part_in_words(segment.cause.part);
    match segment.cause.kind {
        CauseKind::Kernel
        | CauseKind::TimerSlack
        | CauseKind::OtherTimers
        | CauseKind::PageFault
        | CauseKind::LateArming => part.to_owned(),
        kind if segment.merged => format!("{part} (among them {})", segment_who(kind, segment)),
        kind => format!("{part} ({})", segment_who(kind, segment)),
    }
}

fn segment_who(kind: CauseKind, segment: &Segment) -> String {
    who(kind, &segment.cause.name, segment.pid)
}

pub(crate) fn who(kind: CauseKind, name: &str, pid: Option<u32>) -> String {
    // Any process may call a thread what it likes.
    let name = legible(name);
    let pid = pid.map_or_else(String::new, |pid| format!(", pid {pid}"));
    match kind {
        CauseKind::LateArming => "armed late".to_owned(),
        CauseKind::LongWork => "its own long work".to_owned(),
        CauseKind::TimerSlack => "timer slack".to_owned(),
        CauseKind::IdleExit => "leaving idle".to_owned(),
        CauseKind::Interrupt => format!("interrupt {name}"),
        CauseKind::Softirq => format!("softirq {name}"),
        CauseKind::Thread if name.is_empty() => "other threads".to_owned(),
        CauseKind::Thread => format!("{name}{pid}"),
        CauseKind::OtherTimers => "other timers".to_owned(),
        CauseKind::Kernel => "kernel".to_owned(),
        CauseKind::Stopped if name.is_empty() => "stopped or frozen".to_owned(),
        CauseKind::Stopped => format!("stopped by {name}{pid}"),
        CauseKind::Throttled if name.is_empty() => "quota of the control group".to_owned(),
        CauseKind::Throttled => format!("quota of the control group {name}"),
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
/// Whom something is against: `a`, `a and b`, `a, b and 3 more`.
pub(crate) fn first_two(names: &[String]) -> String {
    match names {
        [only] => only.clone(),
        [first, second] => format!("{first} and {second}"),
        [first, second, more @ ..] => format!("{first}, {second} and {} more", more.len()),
        [] => String::new(),
    }
}
