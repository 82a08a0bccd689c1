//! What had the CPU while a thread waited for it, and what it was blocked in: the pieces common to all sleeps.

use std::collections::VecDeque;

use howlate_model::{
    CauseKind, CpuHolder, CpuLoss, HolderKind, MonotonicTime, Occupant, Part, SleepState, Span, TracedSleep,
};

use super::plausible_durations::{LEAVING_IDLE, OWN_WAY};
use super::time_line::{Charge, TimeLine};

/// A normal thread that got the CPU ahead of a real-time one gives way to the next as to any other, if the kernel has moved the
/// real-time thread elsewhere: within the time for which the kernel disables preemption, part of its own path.
const SWITCH_TIME: Span = OWN_WAY;

/// Cuts from being woken until it could run. The interrupt that woke it goes on with the timers due after its own: no event tells
/// when the last of them is done, only when the interrupt is.
pub(super) fn wake_up(line: &mut TimeLine, sleep: &TracedSleep) {
    let moved = if sleep.migrated { CauseKind::Migration } else { CauseKind::Kernel };
    let next_timer = sleep.next_timer.map_or(sleep.runnable, |next| next.min(sleep.runnable));
    line.cut_as_far(next_timer, Charge::from_wakeup(Part::WakeUp, moved));
    line.cut_as_far(sleep.runnable, Charge::from_wakeup(Part::WakeUp, CauseKind::OtherTimers));
}

/// What kept a thread asleep that no timer woke.
pub(super) fn blocked(asleep: &SleepState) -> Charge {
    match asleep {
        SleepState::Waiting => Charge::from_wakeup(Part::Blocked, CauseKind::Unexplained),
        SleepState::Stopped(by) => {
            let pid = by.as_ref().and_then(|who| who.pid);
            let name = by.as_ref().map_or("", |who| who.name.as_str());
            Charge { pid, ..Charge::from_wakeup(Part::Blocked, CauseKind::Stopped).named(name) }
        }
    }
}

/// Cuts from being runnable to being switched in, by what had the CPU.
pub(super) fn wait(line: &mut TimeLine, sleep: &TracedSleep) {
    if let (Some(called), Some(switched_in), true) = (sleep.called, sleep.switched_in, was_idle(sleep)) {
        line.cut_as_far(called, idle(Part::Called, sleep, called.since(line.cursor()), true));
        line.cut_as_far(switched_in, Charge::kernel(Part::Waiting));
    }
    if let Some(switched_in) = sleep.switched_in {
        // The switch record goes back from the switch-in: lost entries are the earliest.
        let lost = line.cursor().plus(sleep.unnamed).min(switched_in);
        line.cut_as_far(lost, Charge::from_wakeup(Part::Waiting, CauseKind::Unexplained));
        let ahead = sleep.occupants.iter().filter(|occupant| occupant.who.holder == HolderKind::Server);
        let ahead = ahead.map(|occupant| occupant.ns).fold(Span::ZERO, Span::plus);
        share_out(line, &sleep.occupants, switched_in, |occupant| {
            charge_for_occupant(occupant, sleep, ahead)
        });
        line.cut(switched_in, Charge::from_wakeup(Part::Waiting, CauseKind::Unexplained));
    }
}

/// Cuts as far as `until` by what had the CPU. Occupants with known times lie where they were; those of known length only fill the
/// room before, between and after them.
pub(super) fn share_out(
    line: &mut TimeLine,
    occupants: &[Occupant],
    until: MonotonicTime,
    charge: impl Fn(&Occupant) -> Charge,
) {
    let (timed, untimed): (Vec<_>, Vec<_>) = occupants.iter().partition(|occupant| occupant.from.is_some());
    let merged = untimed.len() > 1 || !timed.is_empty();
    let mut untimed: VecDeque<_> =
        untimed.into_iter().map(|occupant| (Charge { merged, ..charge(occupant) }, occupant.ns)).collect();
    for occupant in timed {
        let from = occupant.from.map_or(until, |from| from.min(until));
        fill(line, &mut untimed, from);
        line.cut_as_far(from, Charge::from_wakeup(charge(occupant).cause.part, CauseKind::Unexplained));
        line.cut_as_far(from.plus(occupant.ns).min(until), charge(occupant));
    }
    fill(line, &mut untimed, until);
}

/// Cuts up to `until` by the next occupants of known length only, while there are any.
fn fill(line: &mut TimeLine, untimed: &mut VecDeque<(Charge, Span)>, until: MonotonicTime) {
    while let Some((charge, remaining)) = untimed.front_mut().filter(|_| line.cursor() < until) {
        let from = line.cursor();
        let end = from.plus(*remaining).min(until);
        line.cut_as_far(end, charge.clone());
        *remaining = remaining.minus(end.since(from));
        // The line may end before that.
        if remaining.is_zero() || line.cursor() < end {
            untimed.pop_front();
        }
    }
}

/// Whether the CPU that it waited for was idle.
fn was_idle(sleep: &TracedSleep) -> bool {
    !sleep.throttled
        && !sleep.rt_throttled
        && !sleep.out_of_runtime
        && sleep.unnamed.is_zero()
        && sleep.occupants.iter().all(|occupant| occupant.who.holder == HolderKind::Idle)
}

/// Cause of an occupant's time; `ahead` is the time that normal threads had the CPU ahead of a real-time one.
fn charge_for_occupant(occupant: &Occupant, waiting: &TracedSleep, ahead: Span) -> Charge {
    let is_last = |from: MonotonicTime| {
        waiting.switched_in.is_none_or(|switched_in| from.plus(occupant.ns).plus(OWN_WAY) >= switched_in)
    };
    // A thread without CPU budget waits for time, whatever has the CPU meanwhile.
    if waiting.rt_throttled {
        Charge::from_wakeup(Part::Waiting, CauseKind::RtThrottled)
    } else if waiting.out_of_runtime {
        Charge::from_wakeup(Part::Waiting, CauseKind::DeadlineBudget)
    } else if waiting.throttled {
        quota(Part::Waiting, &occupant.who)
    } else if occupant.who.holder == HolderKind::Idle {
        idle(Part::Waiting, waiting, occupant.ns, occupant.from.is_none_or(is_last))
    } else {
        charge_for_ordinary(Part::Waiting, &occupant.who, ahead)
    }
}

/// Cause of idle time in the wait for the CPU. The kernel's own schedulers let no CPU run idle that has a thread ready, so that all
/// of it is for leaving idle. A scheduler of BPF may: of its threads, only the last stretch can be that, unless it is too long.
fn idle(part: Part, waiting: &TracedSleep, length: Span, is_last: bool) -> Charge {
    let leaves = is_last && length <= LEAVING_IDLE;
    let kind = if waiting.bpf_scheduled && !leaves { CauseKind::Scheduler } else { CauseKind::IdleExit };
    Charge::from_wakeup(part, kind)
}

/// What had the CPU is the cause, unless normal threads kept a real-time one waiting for longer than a switch takes, `ahead` in
/// all: then the kernel let them, and that is throttling.
fn charge_for_ordinary(part: Part, who: &CpuHolder, ahead: Span) -> Charge {
    match who.holder {
        HolderKind::Server if ahead > SWITCH_TIME => Charge::from_wakeup(part, CauseKind::RtThrottled),
        _ => charge_for_holder(part, who),
    }
}

/// What had the CPU is the cause.
pub(super) fn charge_for_holder(part: Part, who: &CpuHolder) -> Charge {
    match who.holder {
        HolderKind::Idle => Charge::from_wakeup(part, CauseKind::IdleExit),
        HolderKind::Thread | HolderKind::Server | HolderKind::RealTimeThread => thread(part, who),
        HolderKind::LazyThread => thread(Part::LazyPreemption, who),
        HolderKind::Interrupt => Charge::from_wakeup(part, CauseKind::Interrupt).named(&who.name),
        HolderKind::Softirq => Charge::from_wakeup(part, CauseKind::Softirq).named(&who.name),
        HolderKind::Quota => quota(part, who),
        HolderKind::Budget => Charge::from_wakeup(part, CauseKind::DeadlineBudget),
        HolderKind::Others => Charge::from_wakeup(part, CauseKind::Others),
        HolderKind::NotSeen => Charge::from_wakeup(part, CauseKind::Undetermined),
    }
}

fn thread(part: Part, who: &CpuHolder) -> Charge {
    let mut charge = Charge::from_wakeup(part, CauseKind::Thread).named(&who.name);
    charge.cause.real_time = who.holder == HolderKind::RealTimeThread;
    Charge { pid: who.pid, ..charge }
}

/// Time taken by the quota of a control group, which is named if known.
fn quota(part: Part, who: &CpuHolder) -> Charge {
    let group = if who.holder == HolderKind::Quota { &who.name } else { "" };
    Charge::from_wakeup(part, CauseKind::Throttled).named(group)
}

/// Cause of `lost`, one of the intervals in which `sleep` says that the CPU was lost again.
pub(super) fn charge_for_loss(lost: &CpuLoss, sleep: &TracedSleep) -> Charge {
    Charge { merged: lost.merged, ..charge_for_taker(lost, sleep) }
}

fn charge_for_taker(lost: &CpuLoss, sleep: &TracedSleep) -> Charge {
    let who = &lost.to;
    if lost.throttled || who.holder == HolderKind::Quota {
        return quota(Part::LostAgain, who);
    }
    if who.holder == HolderKind::Server {
        return charge_for_ordinary(Part::LostAgain, who, ahead_in(lost, &sleep.lost));
    }
    let kind = match who.holder {
        HolderKind::Idle if sleep.bpf_scheduled => CauseKind::Scheduler,
        HolderKind::Idle | HolderKind::NotSeen | HolderKind::Quota => CauseKind::Undetermined,
        HolderKind::Budget => CauseKind::DeadlineBudget,
        HolderKind::Thread | HolderKind::Server | HolderKind::RealTimeThread => {
            return thread(Part::LostAgain, who);
        }
        HolderKind::LazyThread => return thread(Part::LazyPreemption, who),
        HolderKind::Interrupt => CauseKind::Interrupt,
        HolderKind::Softirq => CauseKind::Softirq,
        HolderKind::Others => CauseKind::Others,
    };
    Charge::from_wakeup(Part::LostAgain, kind).named(&who.name)
}

/// CPU time of normal threads ahead of real-time ones within one loss of the CPU: the intervals that follow each other without a
/// gap.
fn ahead_in(lost: &CpuLoss, all: &[CpuLoss]) -> Span {
    let losses = all.chunk_by(|loss, next| loss.until == next.from);
    let whole_loss = losses.into_iter().find(|loss| loss.contains(lost)).unwrap_or_default();
    let ahead = whole_loss.iter().filter(|loss| loss.to.holder == HolderKind::Server);
    ahead.map(|loss| loss.until.since(loss.from)).fold(Span::ZERO, Span::plus)
}
