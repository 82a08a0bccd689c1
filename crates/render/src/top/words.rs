//! What threads wait for, in words.

use howlate_analyse::waits::{Behind, Nature, Reason, Wait, WaitKind};

use crate::legible::legible;
use crate::why::percent;

/// Rivals that are told by name.
const RIVALS_TOLD: usize = 2;

/// A kind of waiting.
pub(super) const fn kind(kind: WaitKind) -> &'static str {
    match kind {
        WaitKind::Cpu => "CPU",
        WaitKind::Disk => "disk",
        WaitKind::PageFault => "page fault",
        WaitKind::Memory => "memory",
        WaitKind::Lock => "lock",
        WaitKind::Kernel => "kernel",
        WaitKind::Pipe => "pipe",
        WaitKind::Socket => "socket",
        WaitKind::Futex => "futex",
        WaitKind::Child => "child",
        WaitKind::Stopped => "stopped",
        WaitKind::Other => "other",
        WaitKind::NotSeen => "nobody looked",
        WaitKind::Timer => "timer",
        WaitKind::Event => "event",
        WaitKind::Signal => "signal",
        WaitKind::Terminal => "terminal",
        WaitKind::Idle => "work",
    }
}

/// What waits of a nature have in common.
pub(super) const fn nature(nature: Nature) -> &'static str {
    match nature {
        Nature::HeldUp => "Held up: there was work to do",
        Nature::ForOthers => "Waiting for others: whether those were late, only the program knows",
        Nature::AsAsked => "Waiting as asked, or with nothing to do",
    }
}

/// `disk: reading a file`, `CPU, behind hog 4711 (98 %)`.
pub(super) fn wait(wait: &Wait) -> String {
    let Reason { kind: what, at } = &wait.reason;
    let at = legible(at);
    match what {
        WaitKind::Cpu => format!("CPU{}", behind(wait)),
        _ if at.is_empty() || at == kind(*what) => kind(*what).to_owned(),
        _ => format!("{}: {at}", kind(*what)),
    }
}

fn behind(wait: &Wait) -> String {
    let time = wait.sum.time.as_secs_f64();
    let share = |one: &Behind| if time > 0.0 { (one.time.as_secs_f64() / time).min(1.0) } else { 0.0 };
    let worth = wait.behind.iter().filter(|one| share(one) >= 0.05).take(RIVALS_TOLD);
    let told: Vec<String> = worth.map(|one| format!("{} ({})", rival(one), percent(share(one)))).collect();
    if told.is_empty() { String::new() } else { format!(", behind {}", told.join(", ")) }
}

fn rival(behind: &Behind) -> String {
    match behind.pid {
        _ if behind.name.is_empty() => "an idle CPU that woke up".to_owned(),
        Some(pid) => format!("{} {pid}", legible(&behind.name)),
        None => legible(&behind.name).into_owned(),
    }
}
