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

use std::borrow::Cow;
use std::collections::VecDeque;

use howlate_model::{
    Asleep, CauseKind, Expiry, Explained, Holder, Lost, MonotonicTime, Occupant, Part, Span, TracedSleep,
    Wakeup, Who, WokenBy,
};

use super::hypervisor::doubt;
use super::plausible_durations::{OWN_WAY, PLAIN_DELIVERY};
use super::standstill::charge_standstill;
use super::time_line::{Charge, TimeLine};

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
    decompose_since_stop(wakeup, None, before, seen, notified)
}

/// The same of a thread that was `stopped`, at any time before `before`: who then catches up asks for times that have passed.
pub fn decompose_since_stop(
    wakeup: Wakeup,
    stopped: Option<&TracedSleep>,
    before: Option<&TracedSleep>,
    seen: &[TracedSleep],
    notified: bool,
) -> Option<Decomposed> {
    let (last, others) = seen.split_last()?;
    let last = &*without_false_wait(last, wakeup);
    let mut line = TimeLine::from_wakeup(wakeup);
    stopped.iter().for_each(|stopped| stopped_before_asking(&mut line, stopped));
    kept_from_asking(&mut line, before, seen.first().and_then(|first| first.asleep_since));
    for (number, one) in others.iter().chain([last]).enumerate() {
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
    let stolen = seen.iter().filter_map(|one| one.stolen).reduce(Span::plus);
    let below = if stolen.is_some() { CauseKind::Hypervisor } else { CauseKind::Machine };
    // Before it slept as well: who asks late may have stood still with the machine.
    let still = before.into_iter().chain(seen).flat_map(|one| &one.others_stood_still);
    still.for_each(|still| charge_standstill(&mut wakeup.parts, *still, below));
    if let Some(stolen) = stolen {
        doubt(&mut wakeup.parts, stolen);
    }
    Some(Decomposed { wakeup, clamped })
}

/// Where nobody saw what woke it, when it could run follows from how long the kernel's account says that it waited. Since Linux
/// 6.12 that may count sleep: a thread that sleeps, kept queued for its debt (`sched_delayed`), is queued by its account from when
/// it is moved. A wait for the CPU that begins before the time asked for is none: how much of it is so, nobody knows.
fn without_false_wait(one: &TracedSleep, wakeup: Wakeup) -> Cow<'_, TracedSleep> {
    let (WokenBy::NotSeen { slack, runnable_known: true }, Some(switched_in)) =
        (&one.woken_by, one.switched_in)
    else {
        return Cow::Borrowed(one);
    };
    // The account's clock may differ from the monotonic one by as much as that is slewed: adjtimex(2), 500 ppm.
    let slewed = Span::from_nanos(switched_in.since(one.runnable).as_nanos() / 2_000);
    if one.runnable.plus(slewed) >= wakeup.expected {
        return Cow::Borrowed(one);
    }
    Cow::Owned(TracedSleep {
        waking: switched_in,
        runnable: switched_in,
        woken_by: WokenBy::NotSeen { slack: *slack, runnable_known: false },
        occupants: Vec::new(),
        ..one.clone()
    })
}

/// Splits the lateness of a message whose receiver had not gone to sleep since `before`: sending is all of it, but for where
/// it had lost its CPU.
pub(super) fn found_awake(wakeup: Wakeup, before: &TracedSleep) -> Decomposed {
    let mut line = TimeLine::from_wakeup(wakeup);
    for lost in &before.lost {
        line.cut_as_far(lost.from, Charge::kernel(Part::Sending));
        line.cut_as_far(lost.until, lost_to(lost, &before.lost));
    }
    let sending = rest(before, Charge::kernel(Part::Sending));
    let (wakeup, clamped) = line.end(wakeup, Some(before.cpu), sending);
    Decomposed { wakeup, clamped }
}

/// While it was stopped it could not ask.
fn stopped_before_asking(line: &mut TimeLine, stopped: &TracedSleep) {
    let (Some(from), Some(until)) = (stopped.asleep_since, stopped.switched_in) else { return };
    line.cut_as_far(from, Charge::from_wakeup(Part::Arming, CauseKind::LateArming));
    line.cut_as_far(until, arming(stopped));
}

/// Before it slept: it asked too late, but not where others had its CPU.
fn kept_from_asking(line: &mut TimeLine, before: Option<&TracedSleep>, asleep: Option<MonotonicTime>) {
    let Some((before, asleep)) = before.zip(asleep) else { return };
    for lost in before.lost.iter().filter(|lost| lost.until <= asleep) {
        line.cut_as_far(lost.from, Charge::from_wakeup(Part::Arming, CauseKind::LateArming));
        line.cut_as_far(lost.until, Charge { part: Part::Arming, ..lost_to(lost, &before.lost) });
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
    let of = |occupant: &Occupant| held(Part::TimerSoftirq, &occupant.who);
    share_out(line, &deferred.occupants, expiry.served, of);
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
        Holder::Thread | Holder::RealTimeThread | Holder::Softirq if length <= PLAIN_DELIVERY => {
            Charge::kernel(part)
        }
        // Interrupts off in what was interrupted, or the hypervisor, or the machine: no event tells.
        Holder::Thread | Holder::RealTimeThread | Holder::Softirq => Charge {
            pid: interrupted.pid,
            ..Charge::from_wakeup(part, CauseKind::Undetermined).named(&interrupted.name)
        },
        Holder::NotSeen | Holder::Quota | Holder::Server | Holder::Others => {
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
    if let Some(switched_in) = one.switched_in {
        // The record goes back from the switch: what it lost came first.
        let lost = line.cursor().plus(one.unnamed).min(switched_in);
        line.cut_as_far(lost, Charge::from_wakeup(Part::Waiting, CauseKind::Unexplained));
        let ahead = one.occupants.iter().filter(|one| one.who.holder == Holder::Server);
        let ahead = ahead.map(|one| one.ns).fold(Span::ZERO, Span::plus);
        share_out(line, &one.occupants, switched_in, |occupant| occupied(occupant, one, ahead));
        line.cut(switched_in, Charge::from_wakeup(Part::Waiting, CauseKind::Unexplained));
    }
}

/// Cuts as far as `until` by who had the CPU. Stretches lie where they were; of what is only known together, as much as there is
/// room for lies before, between and after them.
fn share_out(
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
        && one.occupants.iter().all(|occupant| occupant.who.holder == Holder::Idle)
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
fn held_for(part: Part, who: &Who, ahead: Span) -> Charge {
    match who.holder {
        Holder::Server if ahead > TO_SWITCH => Charge::from_wakeup(part, CauseKind::RtThrottled),
        _ => held(part, who),
    }
}

/// Whoever had the CPU is the cause.
fn held(part: Part, who: &Who) -> Charge {
    match who.holder {
        Holder::Idle => Charge::from_wakeup(part, CauseKind::IdleExit),
        Holder::Thread | Holder::Server | Holder::RealTimeThread => thread(part, who),
        Holder::Interrupt => Charge::from_wakeup(part, CauseKind::Interrupt).named(&who.name),
        Holder::Softirq => Charge::from_wakeup(part, CauseKind::Softirq).named(&who.name),
        Holder::Quota => quota(part, who),
        Holder::Others => Charge::from_wakeup(part, CauseKind::Others),
        Holder::NotSeen => Charge::from_wakeup(part, CauseKind::Undetermined),
    }
}

fn thread(part: Part, who: &Who) -> Charge {
    let real_time = who.holder == Holder::RealTimeThread;
    Charge { pid: who.pid, real_time, ..Charge::from_wakeup(part, CauseKind::Thread).named(&who.name) }
}

/// What happened after the switch: page faults, and the CPU lost again.
fn runs(line: &mut TimeLine, one: &TracedSleep) {
    for lost in &one.lost {
        line.cut_as_far(lost.from, until_lost(one, lost.from));
        line.cut_as_far(lost.until, lost_to(lost, &one.lost));
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

/// One of the stretches `all` in which the CPU was lost.
pub(super) fn lost_to(lost: &Lost, all: &[Lost]) -> Charge {
    Charge { merged: lost.merged, ..taken_by(lost, all) }
}

fn taken_by(lost: &Lost, all: &[Lost]) -> Charge {
    let who = &lost.to;
    if lost.throttled || who.holder == Holder::Quota {
        return quota(Part::LostAgain, who);
    }
    if who.holder == Holder::Server {
        return held_for(Part::LostAgain, who, ahead_in(lost, all));
    }
    let kind = match who.holder {
        Holder::Idle | Holder::NotSeen | Holder::Quota => CauseKind::Undetermined,
        Holder::Thread | Holder::Server | Holder::RealTimeThread => return thread(Part::LostAgain, who),
        Holder::Interrupt => CauseKind::Interrupt,
        Holder::Softirq => CauseKind::Softirq,
        Holder::Others => CauseKind::Others,
    };
    Charge::from_wakeup(Part::LostAgain, kind).named(&who.name)
}

/// What ordinary threads had of the CPU ahead of real-time ones, from when it was lost until it was had again: the stretches
/// that follow each other without a gap.
fn ahead_in(lost: &Lost, all: &[Lost]) -> Span {
    let losses = all.chunk_by(|one, next| one.until == next.from);
    let mine = losses.into_iter().find(|loss| loss.contains(lost)).unwrap_or_default();
    let ahead = mine.iter().filter(|one| one.to.holder == Holder::Server);
    ahead.map(|one| one.until.since(one.from)).fold(Span::ZERO, Span::plus)
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
