//! Who had the CPU while a thread waited for it, and what it was blocked in: the pieces of every sleep.

use std::collections::VecDeque;

use howlate_model::{
    CauseKind, CpuHolder, CpuLoss, HolderKind, MonotonicTime, Occupant, Part, SleepState, Span, TracedSleep,
};

use super::plausible_durations::OWN_WAY;
use super::time_line::{Charge, TimeLine};

/// An ordinary thread that got the CPU ahead of a real-time one gives way to the next as to any other, where the kernel has
/// moved the one that it had kept off elsewhere: within the time that the kernel keeps preemption off, which is part of its
/// own way.
const TO_SWITCH: Span = OWN_WAY;

/// From being woken until it could run. The interrupt that woke it goes on with the timers that are due after its own: no
/// event tells when the last of them is done, only when the interrupt is.
pub(super) fn wake_up(line: &mut TimeLine, one: &TracedSleep) {
    let moved = if one.migrated { CauseKind::Migration } else { CauseKind::Kernel };
    let others = one.next_timer.map_or(one.runnable, |next| next.min(one.runnable));
    line.cut_as_far(others, Charge::from_wakeup(Part::WakeUp, moved));
    line.cut_as_far(one.runnable, Charge::from_wakeup(Part::WakeUp, CauseKind::OtherTimers));
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

/// From being able to run until being switched in, by who had the CPU.
pub(super) fn wait(line: &mut TimeLine, one: &TracedSleep) {
    if let (Some(called), Some(switched_in), true) = (one.called, one.switched_in, had_nothing_to_do(one)) {
        line.cut_as_far(called, Charge::from_wakeup(Part::Called, CauseKind::IdleExit));
        line.cut_as_far(switched_in, Charge::kernel(Part::Waiting));
    }
    if let Some(switched_in) = one.switched_in {
        // The record goes back from the switch: what it lost came first.
        let lost = line.cursor().plus(one.unnamed).min(switched_in);
        line.cut_as_far(lost, Charge::from_wakeup(Part::Waiting, CauseKind::Unexplained));
        let ahead = one.occupants.iter().filter(|one| one.who.holder == HolderKind::Server);
        let ahead = ahead.map(|one| one.ns).fold(Span::ZERO, Span::plus);
        share_out(line, &one.occupants, switched_in, |occupant| occupied(occupant, one, ahead));
        line.cut(switched_in, Charge::from_wakeup(Part::Waiting, CauseKind::Unexplained));
    }
}

/// Cuts as far as `until` by who had the CPU. Stretches lie where they were; of what is only known together, as much as there is
/// room for lies before, between and after them.
pub(super) fn share_out(
    line: &mut TimeLine,
    occupants: &[Occupant],
    until: MonotonicTime,
    charge: impl Fn(&Occupant) -> Charge,
) {
    let (placed, together): (Vec<_>, Vec<_>) = occupants.iter().partition(|one| one.from.is_some());
    let merged = together.len() > 1 || !placed.is_empty();
    let mut together: VecDeque<_> =
        together.into_iter().map(|one| (Charge { merged, ..charge(one) }, one.ns)).collect();
    for one in placed {
        let from = one.from.map_or(until, |from| from.min(until));
        fill(line, &mut together, from);
        line.cut_as_far(from, Charge::from_wakeup(charge(one).part, CauseKind::Unexplained));
        line.cut_as_far(from.plus(one.ns).min(until), charge(one));
    }
    fill(line, &mut together, until);
}

/// Cuts as far as `until`, or as long as there are any.
fn fill(line: &mut TimeLine, together: &mut VecDeque<(Charge, Span)>, until: MonotonicTime) {
    while let Some((charge, left)) = together.front_mut().filter(|_| line.cursor() < until) {
        let from = line.cursor();
        let end = from.plus(*left).min(until);
        line.cut_as_far(end, charge.clone());
        *left = left.minus(end.since(from));
        // The line may end before that.
        if left.is_zero() || line.cursor() < end {
            together.pop_front();
        }
    }
}

/// Whether nobody had the CPU that it waited for.
fn had_nothing_to_do(one: &TracedSleep) -> bool {
    !one.throttled
        && !one.rt_throttled
        && one.unnamed.is_zero()
        && one.occupants.iter().all(|occupant| occupant.who.holder == HolderKind::Idle)
}

/// Ordinary threads had the CPU `ahead` of it, in all.
fn occupied(occupant: &Occupant, waiting: &TracedSleep, ahead: Span) -> Charge {
    // Who had the CPU meanwhile is no cause of a wait for time.
    if waiting.rt_throttled {
        Charge::from_wakeup(Part::Waiting, CauseKind::RtThrottled)
    } else if waiting.throttled {
        quota(Part::Waiting, &occupant.who)
    } else {
        held_for(Part::Waiting, &occupant.who, ahead)
    }
}

/// Whoever had the CPU is the cause, but ordinary threads that kept a real-time one waiting for longer than it takes to switch,
/// `ahead` in all: the kernel let them.
fn held_for(part: Part, who: &CpuHolder, ahead: Span) -> Charge {
    match who.holder {
        HolderKind::Server if ahead > TO_SWITCH => Charge::from_wakeup(part, CauseKind::RtThrottled),
        _ => held(part, who),
    }
}

/// Whoever had the CPU is the cause.
pub(super) fn held(part: Part, who: &CpuHolder) -> Charge {
    match who.holder {
        HolderKind::Idle => Charge::from_wakeup(part, CauseKind::IdleExit),
        HolderKind::Thread | HolderKind::Server | HolderKind::RealTimeThread => thread(part, who),
        HolderKind::Interrupt => Charge::from_wakeup(part, CauseKind::Interrupt).named(&who.name),
        HolderKind::Softirq => Charge::from_wakeup(part, CauseKind::Softirq).named(&who.name),
        HolderKind::Quota => quota(part, who),
        HolderKind::Budget => Charge::from_wakeup(part, CauseKind::DeadlineBudget),
        HolderKind::Others => Charge::from_wakeup(part, CauseKind::Others),
        HolderKind::NotSeen => Charge::from_wakeup(part, CauseKind::Undetermined),
    }
}

fn thread(part: Part, who: &CpuHolder) -> Charge {
    let real_time = who.holder == HolderKind::RealTimeThread;
    Charge { pid: who.pid, real_time, ..Charge::from_wakeup(part, CauseKind::Thread).named(&who.name) }
}

/// What the quota of a control group took; the group is named where it is known.
fn quota(part: Part, who: &CpuHolder) -> Charge {
    let group = if who.holder == HolderKind::Quota { &who.name } else { "" };
    Charge::from_wakeup(part, CauseKind::Throttled).named(group)
}

/// One of the stretches `all` in which the CPU was lost.
pub(super) fn lost_to(lost: &CpuLoss, all: &[CpuLoss]) -> Charge {
    Charge { merged: lost.merged, ..taken_by(lost, all) }
}

fn taken_by(lost: &CpuLoss, all: &[CpuLoss]) -> Charge {
    let who = &lost.to;
    if lost.throttled || who.holder == HolderKind::Quota {
        return quota(Part::LostAgain, who);
    }
    if who.holder == HolderKind::Server {
        return held_for(Part::LostAgain, who, ahead_in(lost, all));
    }
    let kind = match who.holder {
        HolderKind::Idle | HolderKind::NotSeen | HolderKind::Quota => CauseKind::Undetermined,
        HolderKind::Budget => CauseKind::DeadlineBudget,
        HolderKind::Thread | HolderKind::Server | HolderKind::RealTimeThread => {
            return thread(Part::LostAgain, who);
        }
        HolderKind::Interrupt => CauseKind::Interrupt,
        HolderKind::Softirq => CauseKind::Softirq,
        HolderKind::Others => CauseKind::Others,
    };
    Charge::from_wakeup(Part::LostAgain, kind).named(&who.name)
}

/// What ordinary threads had of the CPU ahead of real-time ones, from when it was lost until it was had again: the stretches
/// that follow each other without a gap.
fn ahead_in(lost: &CpuLoss, all: &[CpuLoss]) -> Span {
    let losses = all.chunk_by(|one, next| one.until == next.from);
    let mine = losses.into_iter().find(|loss| loss.contains(lost)).unwrap_or_default();
    let ahead = mine.iter().filter(|one| one.to.holder == HolderKind::Server);
    ahead.map(|one| one.until.since(one.from)).fold(Span::ZERO, Span::plus)
}
