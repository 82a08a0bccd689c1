//! Names of waits and of who had the CPU.

use std::borrow::Cow;

use howlate_analyse::waits::{CpuHolderTime, WaitKind, WaitNature, WaitReason, WaitTotal};

use crate::cause_words::percent;
use crate::untrusted_text::legible;

/// How much to say about who had the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RivalDetail {
    /// The first two, with their shares.
    Two,
    /// The first, with its share.
    One,
    /// The name of the first.
    Name,
}

impl RivalDetail {
    /// From longest to shortest; the first that fits is used.
    pub(super) const ALL: [Self; 3] = [Self::Two, Self::One, Self::Name];
}

/// Name of a kind of wait.
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

/// Heading of the waits of a nature.
pub(super) const fn nature(nature: WaitNature) -> &'static str {
    match nature {
        WaitNature::HeldUp => "Blocked with work to do",
        WaitNature::ForOthers => "Waiting for another process",
        WaitNature::AsAsked => "Sleeping or idle",
    }
}

/// `disk: reading a file`, `CPU, behind hog 4711 (98 %)`.
pub(super) fn wait(wait: &WaitTotal, rivals: RivalDetail) -> String {
    let WaitReason { kind: wait_kind, at } = &wait.reason;
    let at = legible(at);
    match wait_kind {
        WaitKind::Cpu => format!("CPU{}", rivals_text(wait, rivals)),
        _ if at.is_empty() || at == kind(*wait_kind) => kind(*wait_kind).to_owned(),
        _ => format!("{}: {at}", kind(*wait_kind)),
    }
}

fn rivals_text(wait: &WaitTotal, rivals: RivalDetail) -> String {
    let time = wait.sum.time.as_secs_f64();
    let share =
        |behind: &CpuHolderTime| if time > 0.0 { (behind.time.as_secs_f64() / time).min(1.0) } else { 0.0 };
    let worth = wait.behind.iter().filter(|behind| share(behind) >= 0.05);
    let with_share = |behind: &CpuHolderTime| format!("{} ({})", rival(behind), percent(share(behind)));
    let (most, text): (usize, &dyn Fn(&CpuHolderTime) -> String) = match rivals {
        RivalDetail::Two => (2, &with_share),
        RivalDetail::One => (1, &with_share),
        RivalDetail::Name => (1, &|behind| name(behind).into_owned()),
    };
    let (quota, processes): (Vec<_>, Vec<_>) = worth.take(most).partition(|behind| behind.is_quota());
    let quota = quota.into_iter().map(|behind| format!(", {}", text(behind)));
    let processes: Vec<String> = processes.into_iter().map(text).collect();
    let processes =
        if processes.is_empty() { None } else { Some(format!(", behind {}", processes.join(", "))) };
    quota.chain(processes).collect()
}

/// `hog 4711`.
pub(super) fn rival(behind: &CpuHolderTime) -> String {
    match behind.pid {
        Some(pid) if !behind.name.is_empty() => format!("{} {pid}", legible(&behind.name)),
        _ => name(behind).into_owned(),
    }
}

/// Name of the process; or of an idle CPU, or the quota.
pub(super) fn name(behind: &CpuHolderTime) -> Cow<'_, str> {
    if behind.is_quota() {
        return Cow::Borrowed("quota of its group used up");
    }
    if behind.name.is_empty() { Cow::Borrowed("an idle CPU that woke up") } else { legible(&behind.name) }
}
