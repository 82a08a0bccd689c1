//! What threads wait for, in words.

use std::borrow::Cow;

use howlate_analyse::waits::{CpuHolderTime, WaitKind, WaitNature, WaitReason, WaitTotal};

use crate::cause_words::percent;
use crate::untrusted_text::legible;

/// How much is told of those who had the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rivals {
    /// Two of them, with their shares.
    Two,
    /// The foremost, with its share.
    One,
    /// The name of the foremost.
    Name,
}

impl Rivals {
    /// Most first: the first that fits is taken.
    pub(super) const ALL: [Self; 3] = [Self::Two, Self::One, Self::Name];
}

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
        WaitKind::NotSeen => "not sampled",
        WaitKind::Timer => "timer",
        WaitKind::Event => "event",
        WaitKind::Signal => "signal",
        WaitKind::Terminal => "terminal",
        WaitKind::Idle => "work",
    }
}

/// What waits of a nature have in common.
pub(super) const fn nature(nature: WaitNature) -> &'static str {
    match nature {
        WaitNature::HeldUp => "Blocked with work to do",
        WaitNature::ForOthers => "Waiting for another process",
        WaitNature::AsAsked => "Waiting as asked, or with nothing to do",
    }
}

/// `disk: reading a file`, `CPU, behind hog 4711 (98 %)`.
pub(super) fn wait(wait: &WaitTotal, rivals: Rivals) -> String {
    let WaitReason { kind: what, at } = &wait.reason;
    let at = legible(at);
    match what {
        WaitKind::Cpu => format!("CPU{}", behind(wait, rivals)),
        _ if at.is_empty() || at == kind(*what) => kind(*what).to_owned(),
        _ => format!("{}: {at}", kind(*what)),
    }
}

fn behind(wait: &WaitTotal, rivals: Rivals) -> String {
    let time = wait.sum.time.as_secs_f64();
    let share = |one: &CpuHolderTime| if time > 0.0 { (one.time.as_secs_f64() / time).min(1.0) } else { 0.0 };
    let worth = wait.behind.iter().filter(|one| share(one) >= 0.05);
    let with_share = |one: &CpuHolderTime| format!("{} ({})", rival(one), percent(share(one)));
    let (most, words): (usize, &dyn Fn(&CpuHolderTime) -> String) = match rivals {
        Rivals::Two => (2, &with_share),
        Rivals::One => (1, &with_share),
        Rivals::Name => (1, &|one| name(one).into_owned()),
    };
    let (quota, others): (Vec<_>, Vec<_>) = worth.take(most).partition(|one| one.is_quota());
    let quota = quota.into_iter().map(|one| format!(", {}", words(one)));
    let others: Vec<String> = others.into_iter().map(words).collect();
    let others = if others.is_empty() { None } else { Some(format!(", behind {}", others.join(", "))) };
    quota.chain(others).collect()
}

/// `hog 4711`.
pub(super) fn rival(behind: &CpuHolderTime) -> String {
    match behind.pid {
        Some(pid) if !behind.name.is_empty() => format!("{} {pid}", legible(&behind.name)),
        _ => name(behind).into_owned(),
    }
}

/// A process, or what stands for a CPU that was idle, or for a quota.
pub(super) fn name(behind: &CpuHolderTime) -> Cow<'_, str> {
    if behind.is_quota() {
        return Cow::Borrowed("quota of its group used up");
    }
    if behind.name.is_empty() { Cow::Borrowed("an idle CPU that woke up") } else { legible(&behind.name) }
}
