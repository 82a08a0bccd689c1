//! One wake-up, split into its parts.
//!
//! ```text
//! expected  soft      hard       interrupt  first served    served    runnable  switched in   ran
//! |---------|---------|----------|----------|---------------|---------|---------|-------------|
//!  arming    slack     delivery   entry      other timers    wake-up   waiting   return
//! ```
//!
//! What happened before the time asked for makes nothing late: its piece has no length. Waiting is cut further by who had
//! the CPU, and the return by page faults and by stretches in which the CPU was lost again.

use howlate_model::{
    Asleep, CauseKind, Expiry, Explained, Holder, Lost, MonotonicTime, Occupant, Part, Span, TracedSleep,
    Wakeup, Who, WokenBy,
};

use super::bounds::{OWN_WAY, PLAIN_DELIVERY};
use super::hypervisor::doubt;
use super::line::{Charge, TimeLine};

/// A wake-up split into its parts, and how well the readings fitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Decomposed {
    /// The parts; their sum is the latency.
    pub wakeup: Explained,
    /// Readings that had to be moved because they were out of order.
    pub clamped: u64,
}

/// An ordinary thread that got the CPU ahead of a real-time one gives way to the next as to any other, where the kernel has
/// moved the one that it had kept off elsewhere: within the time that the kernel keeps preemption off, which is part of its
/// own way.
const TO_SWITCH: Span = OWN_WAY;

/// Splits `wakeup` by what was seen of its thread: all its sleeps since the wake-up before, in order; and the sleep `before`
/// them, since which it may have lost its CPU. `None` when there is nothing to split it by.
///
/// The parts begin at the time asked for, end at the thread's own reading of the clock, and leave no gap.
pub fn decompose(
    wakeup: Wakeup,
    before: Option<&TracedSleep>,
    seen: &[TracedSleep],
    notified: bool,
) -> Option<Decomposed> {
    let last = seen.last()?;
    let mut line = TimeLine::from_wakeup(wakeup);
    kept_from_asking(&mut line, before, seen.first().and_then(|first| first.asleep_since));
    for (number, one) in seen.iter().enumerate() {
        sleep(&mut line, one, wakeup, number == 0, notified);
        wait(&mut line, one);
        runs(&mut line, one);
        if number + 1 < seen.len()
            && let Some(again) = one.asleep_again
        {
            line.cut_as_far(again, arming(one));
        }
    }
    let cpu = last.switched_in.map(|_| last.cpu);
    let (mut wakeup, clamped) = line.end(wakeup, cpu, rest(last, returning(last)));
    if let Some(stolen) = seen.iter().filter_map(|one| one.stolen).reduce(Span::plus) {
        doubt(&mut wakeup.parts, stolen);
    }
    Some(Decomposed { wakeup, clamped })
}

/// Splits the lateness of a message whose receiver had not gone to sleep since `before`: sending is all of it, but for where
/// it had lost its CPU.
pub(super) fn found_awake(wakeup: Wakeup, before: &TracedSleep) -> Decomposed {
    let mut line = TimeLine::from_wakeup(wakeup);
    for lost in &before.lost {
        line.cut_as_far(lost.from, Charge::kernel(Part::Sending));
        line.cut_as_far(lost.until, lost_to(lost));
    }
    let sending = rest(before, Charge::kernel(Part::Sending));
    let (wakeup, clamped) = line.end(wakeup, Some(before.cpu), sending);
    Decomposed { wakeup, clamped }
}

/// Before it slept: it asked too late, but not where others had its CPU.
fn kept_from_asking(line: &mut TimeLine, before: Option<&TracedSleep>, asleep: Option<MonotonicTime>) {
    let Some((before, asleep)) = before.zip(asleep) else { return };
    for lost in before.lost.iter().filter(|lost| lost.until <= asleep) {
        line.cut_as_far(lost.from, Charge::from_wakeup(Part::Arming, CauseKind::LateArming));
        line.cut_as_far(lost.until, Charge { part: Part::Arming, ..lost_to(lost) });
    }
    // Others had its CPU as well, and nobody knows when.
    if before.lost_more > 0 {
        line.cut_as_far(asleep, Charge::from_wakeup(Part::Arming, CauseKind::Undetermined));
    }
}

/// Until the thread was woken and could run.
fn sleep(line: &mut TimeLine, one: &TracedSleep, wakeup: Wakeup, first: bool, notified: bool) {
    if let (true, Some(asleep)) = (first, one.asleep_since) {
        line.cut_as_far(asleep, Charge::from_wakeup(Part::Arming, CauseKind::LateArming));
    }
    match &one.woken_by {
        WokenBy::Timer(expiry) => timer(line, expiry),
        WokenBy::NotSeen { slack, runnable_known } => {
            let hard = wakeup.expected.plus(*slack);
            line.cut_as_far(
                hard.min(one.waking),
                Charge::from_wakeup(Part::TimerSlack, CauseKind::TimerSlack),
            );
            // The wait for the CPU may be in it otherwise.
            let part = if *runnable_known { Part::BeforeRunnable } else { Part::NotSeen };
            line.cut_as_far(one.waking, Charge::from_wakeup(part, CauseKind::Undetermined));
        }
        WokenBy::Other(_) if notified => line.cut_as_far(one.waking, Charge::kernel(Part::Sending)),
        WokenBy::Other(_) => line.cut_as_far(one.waking, blocked(&one.asleep)),
    }
    wake_up(line, one);
}

/// From being woken until it could run. The interrupt that woke it goes on with the timers that are due after its own: no
/// event tells when the last of them is done, only when the interrupt is.
fn wake_up(line: &mut TimeLine, one: &TracedSleep) {
    let moved = if one.migrated { CauseKind::Migration } else { CauseKind::Kernel };
    let others = one.next_timer.map_or(one.runnable, |next| next.min(one.runnable));
    line.cut_as_far(others, Charge::from_wakeup(Part::WakeUp, moved));
    line.cut_as_far(one.runnable, Charge::from_wakeup(Part::WakeUp, CauseKind::OtherTimers));
}

/// What kept a thread asleep that no timer woke.
fn blocked(asleep: &Asleep) -> Charge {
    match asleep {
        Asleep::Waiting => Charge::from_wakeup(Part::Blocked, CauseKind::Unexplained),
        Asleep::Stopped(by) => {
            let pid = by.as_ref().and_then(|who| who.pid);
            let name = by.as_ref().map_or("", |who| who.name.as_str());
            Charge { pid, ..Charge::from_wakeup(Part::Blocked, CauseKind::Stopped).named(name) }
        }
    }
}

/// Between two sleeps of one wait the thread ran past the time asked for: back from a stop, it has to arm its timer anew.
fn arming(one: &TracedSleep) -> Charge {
    match &one.asleep {
        Asleep::Stopped(_) => Charge { part: Part::Arming, ..blocked(&one.asleep) },
        Asleep::Waiting => Charge::from_wakeup(Part::Arming, CauseKind::LateArming),
    }
}

/// From the time asked for until the timer was served.
fn timer(line: &mut TimeLine, expiry: &Expiry) {
    line.cut_as_far(expiry.soft, Charge::from_wakeup(Part::Arming, CauseKind::LateArming));
    // Another timer's interrupt may come first and serve this one with it, even before the hard time.
    let deferred = expiry.deferred.as_ref();
    let came = expiry.interrupt.or(deferred.map(|one| one.interrupt)).unwrap_or(expiry.first_served);
    line.cut_as_far(expiry.hard.min(came), Charge::from_wakeup(Part::TimerSlack, CauseKind::TimerSlack));
    let Some(interrupt) = expiry.interrupt else { return softirq(line, expiry) };
    // Before that no interrupt could come, whoever had the CPU.
    if let Some(rearmed) = expiry.rearmed {
        line.cut_as_far(rearmed.min(interrupt), Charge::kernel(Part::InterruptDelivery));
    }
    deliver(line, &expiry.interrupted, expiry.idle_since, interrupt);
    line.cut_as_far(expiry.first_served, Charge::kernel(Part::InterruptEntry));
    line.cut_as_far(expiry.served, Charge::from_wakeup(Part::OtherTimers, CauseKind::OtherTimers));
}

/// The same where a softirq served the timer: it waits for its turn, on `PREEMPT_RT` in a thread of its own.
fn softirq(line: &mut TimeLine, expiry: &Expiry) {
    let Some(deferred) = &expiry.deferred else {
        return line.cut_as_far(
            expiry.served,
            Charge::from_wakeup(Part::TimerSoftirq, CauseKind::Softirq).named("HRTIMER"),
        );
    };
    deliver(line, &deferred.interrupted, expiry.idle_since, deferred.interrupt);
    for occupant in &deferred.occupants {
        let until = line.cursor().plus(occupant.ns).min(expiry.served);
        line.cut_as_far(until, held(Part::TimerSoftirq, &occupant.who));
    }
    line.cut_as_far(expiry.served, Charge::from_wakeup(Part::TimerSoftirq, CauseKind::Unexplained));
}

/// From a timer's time until its interrupt. A CPU that came to be idle only then was not leaving idle before.
fn deliver(
    line: &mut TimeLine,
    interrupted: &Who,
    idle_since: Option<MonotonicTime>,
    interrupt: MonotonicTime,
) {
    let idle_since = idle_since.filter(|_| interrupted.holder == Holder::Idle);
    if let Some(busy_until) = idle_since.map(|since| since.min(interrupt)) {
        let somebody = Who { holder: Holder::Thread, pid: None, name: String::new() };
        line.cut_as_far(busy_until, delivery(&somebody, busy_until.since(line.cursor())));
    }
    line.cut_as_far(interrupt, delivery(interrupted, interrupt.since(line.cursor())));
}

/// Who is to blame for `length` between a timer's time and its interrupt.
fn delivery(interrupted: &Who, length: Span) -> Charge {
    let part = Part::InterruptDelivery;
    match interrupted.holder {
        Holder::Idle => Charge::from_wakeup(part, CauseKind::IdleExit),
        // Interrupts are off in a handler, so that another one has to wait.
        Holder::Interrupt => Charge::from_wakeup(part, CauseKind::Interrupt).named(&interrupted.name),
        Holder::Thread | Holder::Softirq if length <= PLAIN_DELIVERY => Charge::kernel(part),
        // Interrupts off in what was interrupted, or the hypervisor, or the machine: no event tells.
        Holder::Thread | Holder::Softirq => Charge {
            pid: interrupted.pid,
            ..Charge::from_wakeup(part, CauseKind::Undetermined).named(&interrupted.name)
        },
        Holder::NotSeen | Holder::Quota | Holder::Server => {
            Charge::from_wakeup(part, CauseKind::Undetermined)
        }
    }
}

/// What the quota of a control group took; the group is named where it is known.
fn quota(part: Part, who: &Who) -> Charge {
    let group = if who.holder == Holder::Quota { &who.name } else { "" };
    Charge::from_wakeup(part, CauseKind::Throttled).named(group)
}

/// From being able to run until being switched in, by who had the CPU.
fn wait(line: &mut TimeLine, one: &TracedSleep) {
    if let (Some(called), Some(switched_in), true) = (one.called, one.switched_in, had_nothing_to_do(one)) {
        line.cut_as_far(called, Charge::from_wakeup(Part::Called, CauseKind::IdleExit));
        line.cut_as_far(switched_in, Charge::kernel(Part::Waiting));
    }
    for occupant in &one.occupants {
        let until = line.cursor().plus(occupant.ns);
        line.cut_as_far(one.switched_in.map_or(until, |at| until.min(at)), occupied(occupant, one));
    }
    if let Some(switched_in) = one.switched_in {
        line.cut(switched_in, Charge::from_wakeup(Part::Waiting, CauseKind::Unexplained));
    }
}

/// Whether nobody had the CPU that it waited for.
fn had_nothing_to_do(one: &TracedSleep) -> bool {
    !one.throttled
        && !one.rt_throttled
        && one.unnamed.is_zero()
        && one.occupants.iter().all(|occupant| occupant.who.holder == Holder::Idle)
}

fn occupied(occupant: &Occupant, waiting: &TracedSleep) -> Charge {
    // Who had the CPU meanwhile is no cause of a wait for time.
    if waiting.rt_throttled {
        Charge::from_wakeup(Part::Waiting, CauseKind::RtThrottled)
    } else if waiting.throttled {
        quota(Part::Waiting, &occupant.who)
    } else {
        held_for(Part::Waiting, &occupant.who, occupant.ns)
    }
}

/// Whoever had the CPU is the cause, but an ordinary thread that kept a real-time one waiting for longer than it takes to
/// switch: the kernel let it.
fn held_for(part: Part, who: &Who, length: Span) -> Charge {
    match who.holder {
        Holder::Server if length > TO_SWITCH => Charge::from_wakeup(part, CauseKind::RtThrottled),
        _ => held(part, who),
    }
}

/// Whoever had the CPU is the cause.
fn held(part: Part, who: &Who) -> Charge {
    match who.holder {
        Holder::Idle => Charge::from_wakeup(part, CauseKind::IdleExit),
        Holder::Thread | Holder::Server => {
            Charge { pid: who.pid, ..Charge::from_wakeup(part, CauseKind::Thread).named(&who.name) }
        }
        Holder::Interrupt => Charge::from_wakeup(part, CauseKind::Interrupt).named(&who.name),
        Holder::Softirq => Charge::from_wakeup(part, CauseKind::Softirq).named(&who.name),
        Holder::Quota => quota(part, who),
        Holder::NotSeen => Charge::from_wakeup(part, CauseKind::Undetermined),
    }
}

/// What happened after the switch: page faults, and the CPU lost again.
fn runs(line: &mut TimeLine, one: &TracedSleep) {
    for lost in &one.lost {
        line.cut_as_far(lost.from, until_lost(one, lost.from));
        line.cut_as_far(lost.until, lost_to(lost));
    }
    if let Some(fault) = one.first_fault {
        line.cut_as_far(fault, Charge::kernel(Part::Return));
    }
}

fn until_lost(one: &TracedSleep, from: MonotonicTime) -> Charge {
    if one.first_fault.is_some_and(|fault| fault < from) {
        returning(one)
    } else {
        Charge::kernel(Part::Return)
    }
}

pub(super) fn lost_to(lost: &Lost) -> Charge {
    let who = &lost.to;
    if lost.throttled || who.holder == Holder::Quota {
        return quota(Part::LostAgain, who);
    }
    if who.holder == Holder::Server {
        return held_for(Part::LostAgain, who, lost.until.since(lost.from));
    }
    let kind = match who.holder {
        Holder::Idle | Holder::NotSeen | Holder::Quota => CauseKind::Undetermined,
        Holder::Thread | Holder::Server => CauseKind::Thread,
        Holder::Interrupt => CauseKind::Interrupt,
        Holder::Softirq => CauseKind::Softirq,
    };
    Charge { pid: who.pid, ..Charge::from_wakeup(Part::LostAgain, kind).named(&who.name) }
}

/// The rest, up to the thread's own reading.
fn returning(one: &TracedSleep) -> Charge {
    match one.first_fault {
        Some(_) => Charge::from_wakeup(Part::PageFault, CauseKind::PageFault),
        None => Charge::kernel(Part::Return),
    }
}

/// What is left after the listed stretches without CPU: where there were more, nobody knows what it had in between.
fn rest(one: &TracedSleep, otherwise: Charge) -> Charge {
    if one.lost_more > 0 { Charge::from_wakeup(Part::LostAgain, CauseKind::Undetermined) } else { otherwise }
}
