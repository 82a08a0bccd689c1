//! Splits the latency of one wake-up into its parts.
//!
//! ```text
//! expected  soft      hard       interrupt  first served    served    runnable  switched in   ran
//! |---------|---------|----------|----------|---------------|---------|---------|-------------|
//!  arming    slack     delivery   entry      other timers    wake-up   waiting   return
//! ```
//!
//! Events before the expected time make nothing late: their pieces have no length. Waiting is cut further by who had the
//! CPU, and the return by page faults and by intervals in which the CPU was lost again.

use std::borrow::Cow;

use howlate_model::{
    CauseKind, CpuHolder, Expiry, HolderKind, MonotonicTime, Occupant, Part, Segment, SleepState, Span,
    TracedSleep, WakeSource, Wakeup, WakeupBreakdown,
};

use super::hypervisor::charge_implausible_parts;
use super::past::{Past, PastSleep, cut_before_sleep};
use super::plausible_durations::PLAIN_DELIVERY;
use super::standstill::charge_standstill;
use super::time_line::{Charge, TimeLine};
use super::waiting::{blocked, charge_for_holder, charge_for_loss, share_out, wait, wake_up};

/// A wake-up split into its parts, and the number of readings that did not fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Decomposed {
    /// The parts; their sum is the latency.
    pub wakeup: WakeupBreakdown,
    /// Readings that were out of order and had to be moved.
    pub clamped: u64,
}

/// Splits `wakeup` by the traced sleeps of its thread: `seen` are all since the previous wake-up, in order, and `before` is the
/// sleep before them, since which the thread may have lost its CPU. `None` if there is nothing to split it by.
///
/// The parts begin at the expected time, end at the thread's own clock reading, and leave no gap.
pub fn decompose(
    wakeup: Wakeup,
    before: Option<&TracedSleep>,
    seen: &[TracedSleep],
    notified: bool,
) -> Option<Decomposed> {
    let sleeps: Vec<PastSleep> = before.cloned().map(PastSleep::from_sleep).into_iter().collect();
    decompose_since(wakeup, Past { sleeps: &sleeps, ..Past::NONE }, seen, notified)
}

/// Splits `wakeup` with more of the thread's past: a thread that catches up asks for times that have passed.
pub fn decompose_since(
    wakeup: Wakeup,
    past: Past<'_>,
    seen: &[TracedSleep],
    notified: bool,
) -> Option<Decomposed> {
    let (last, earlier) = seen.split_last()?;
    let last = &*without_false_wait(last, wakeup);
    let mut line = TimeLine::from_wakeup(wakeup);
    cut_before_sleep(&mut line, past, seen.first().and_then(|first| first.asleep_since));
    for (number, slept) in earlier.iter().chain([last]).enumerate() {
        cut_sleep(&mut line, slept, wakeup, number == 0, notified);
        wait(&mut line, slept);
        cut_run(&mut line, slept);
        if number + 1 < seen.len()
            && let Some(again) = slept.asleep_again
        {
            line.cut_as_far(again, arming(slept));
        }
    }
    let cpu = last.switched_in.map(|_| last.cpu);
    let (mut wakeup, clamped) = line.end(wakeup, cpu, rest(last, returning(last)));
    let stolen = seen.iter().filter_map(|one| one.stolen).reduce(Span::plus);
    let below = if stolen.is_some() { CauseKind::Hypervisor } else { CauseKind::Machine };
    // Also before it slept: a thread that asks late may have stood still with the machine.
    let before = past.sleeps.last().map(|sleep| &sleep.sleep);
    let still = before.into_iter().chain(seen).flat_map(|sleep| &sleep.others_stood_still);
    still.for_each(|still| charge_standstill(&mut wakeup.parts, *still, below));
    if let Some(stolen) = stolen {
        charge_implausible_parts(&mut wakeup.parts, stolen);
    }
    Some(Decomposed { wakeup, clamped })
}

/// If its waker was not traced, the time at which it could run follows from the run delay of the kernel's accounting. Since
/// Linux 6.12 that may include sleep: a sleeping thread kept queued for its debt (`sched_delayed`) counts as queued from when
/// it is moved. A wait for the CPU that begins before the expected time is dropped, as the part that is real is unknown.
fn without_false_wait(sleep: &TracedSleep, wakeup: Wakeup) -> Cow<'_, TracedSleep> {
    let (WakeSource::NotSeen { slack, runnable_known: true }, Some(switched_in)) =
        (&sleep.woken_by, sleep.switched_in)
    else {
        return Cow::Borrowed(sleep);
    };
    // The account's clock may differ from the monotonic one by as much as that is slewed: adjtimex(2), 500 ppm.
    let slewed = Span::from_nanos(switched_in.since(sleep.runnable).as_nanos() / 2_000);
    if sleep.runnable.plus(slewed) >= wakeup.expected {
        return Cow::Borrowed(sleep);
    }
    Cow::Owned(TracedSleep {
        waking: switched_in,
        runnable: switched_in,
        woken_by: WakeSource::NotSeen { slack: *slack, runnable_known: false },
        occupants: Vec::new(),
        ..sleep.clone()
    })
}

/// Splits the lateness of a message whose receiver had not slept since `before`: all of it is sending, except where the receiver
/// had lost its CPU.
pub(super) fn decompose_awake(wakeup: Wakeup, before: &TracedSleep) -> Decomposed {
    let mut line = TimeLine::from_wakeup(wakeup);
    for lost in &before.lost {
        line.cut_as_far(lost.from, Charge::kernel(Part::Sending));
        line.cut_as_far(lost.until, charge_for_loss(lost, before));
    }
    let sending = rest(before, Charge::kernel(Part::Sending));
    let (wakeup, clamped) = line.end(wakeup, Some(before.cpu), sending);
    Decomposed { wakeup, clamped }
}

/// Cuts up to the time at which the thread was woken and could run.
fn cut_sleep(line: &mut TimeLine, slept: &TracedSleep, wakeup: Wakeup, first: bool, notified: bool) {
    if let (true, Some(asleep)) = (first, slept.asleep_since) {
        line.cut_as_far(asleep, Charge::from_wakeup(Part::Arming, CauseKind::LateArming));
    }
    match &slept.woken_by {
        WakeSource::Timer(expiry) => timer(line, expiry),
        WakeSource::NotSeen { slack, runnable_known } => {
            let hard = wakeup.expected.plus(*slack);
            line.cut_as_far(
                hard.min(slept.waking),
                Charge::from_wakeup(Part::TimerSlack, CauseKind::TimerSlack),
            );
            // Otherwise it may include the wait for the CPU.
            let part = if *runnable_known { Part::BeforeRunnable } else { Part::NotSeen };
            line.cut_as_far(slept.waking, Charge::from_wakeup(part, CauseKind::Undetermined));
        }
        WakeSource::Other(_) if notified => line.cut_as_far(slept.waking, Charge::kernel(Part::Sending)),
        WakeSource::Other(_) => line.cut_as_far(slept.waking, blocked(&slept.asleep)),
    }
    wake_up(line, slept);
}

/// Between two sleeps of one wait the thread ran past the expected time: after a stop, it has to arm its timer again.
fn arming(sleep: &TracedSleep) -> Charge {
    match &sleep.asleep {
        SleepState::Stopped(_) => blocked(&sleep.asleep).within(Part::Arming),
        SleepState::Waiting => Charge::from_wakeup(Part::Arming, CauseKind::LateArming),
    }
}

/// Cuts from the expected time to when the timer was served.
fn timer(line: &mut TimeLine, expiry: &Expiry) {
    line.cut_as_far(expiry.soft, Charge::from_wakeup(Part::Arming, CauseKind::LateArming));
    // Another timer's interrupt may come first and serve this one with it, even before the hard time.
    let deferred = expiry.deferred.as_ref();
    let began =
        expiry.interrupt.or(deferred.map(|deferred| deferred.interrupt)).unwrap_or(expiry.first_served);
    line.cut_as_far(expiry.hard.min(began), Charge::from_wakeup(Part::TimerSlack, CauseKind::TimerSlack));
    let Some(interrupt) = expiry.interrupt else { return softirq(line, expiry) };
    // The timer device was armed again only here, and no interrupt could come earlier.
    if let Some(rearmed) = expiry.rearmed {
        line.cut_as_far(rearmed.min(interrupt), Charge::kernel(Part::InterruptDelivery));
    }
    deliver(line, &expiry.interrupted, expiry.idle_since, interrupt);
    line.cut_as_far(expiry.first_served, Charge::kernel(Part::InterruptEntry));
    line.cut_as_far(expiry.served, Charge::from_wakeup(Part::OtherTimers, CauseKind::OtherTimers));
}

/// Cuts like `timer` where a softirq served the timer: the softirq waits for its turn, on `PREEMPT_RT` in a thread of its own.
fn softirq(line: &mut TimeLine, expiry: &Expiry) {
    let Some(deferred) = &expiry.deferred else {
        return line.cut_as_far(
            expiry.served,
            Charge::from_wakeup(Part::TimerSoftirq, CauseKind::Softirq).named("HRTIMER"),
        );
    };
    deliver(line, &deferred.interrupted, expiry.idle_since, deferred.interrupt);
    let charge = |occupant: &Occupant| charge_for_holder(Part::TimerSoftirq, &occupant.who);
    share_out(line, &deferred.occupants, expiry.served, charge);
    line.cut_as_far(expiry.served, Charge::from_wakeup(Part::TimerSoftirq, CauseKind::Unexplained));
}

/// Cuts from a timer's time to its interrupt. A CPU that became idle only later was not leaving idle before.
fn deliver(
    line: &mut TimeLine,
    interrupted: &CpuHolder,
    idle_since: Option<MonotonicTime>,
    interrupt: MonotonicTime,
) {
    let idle_since = idle_since.filter(|_| interrupted.holder == HolderKind::Idle);
    if let Some(busy_until) = idle_since.map(|since| since.min(interrupt)) {
        let busy_thread = CpuHolder { holder: HolderKind::Thread, pid: None, name: String::new() };
        line.cut_as_far(busy_until, delivery(&busy_thread, busy_until.since(line.cursor())));
    }
    line.cut_as_far(interrupt, delivery(interrupted, interrupt.since(line.cursor())));
}

/// The cause of `length` between a timer's time and its interrupt.
fn delivery(interrupted: &CpuHolder, length: Span) -> Charge {
    let part = Part::InterruptDelivery;
    match interrupted.holder {
        HolderKind::Idle => Charge::from_wakeup(part, CauseKind::IdleExit),
        // Handlers run with interrupts off, so that another interrupt has to wait.
        HolderKind::Interrupt => Charge::from_wakeup(part, CauseKind::Interrupt).named(&interrupted.name),
        HolderKind::Thread | HolderKind::LazyThread | HolderKind::RealTimeThread | HolderKind::Softirq
            if length <= PLAIN_DELIVERY =>
        {
            Charge::kernel(part)
        }
        // Interrupts were off in the interrupted code, or the hypervisor or the machine was at fault: no event tells which.
        HolderKind::Thread | HolderKind::LazyThread | HolderKind::RealTimeThread | HolderKind::Softirq => {
            Charge {
                pid: interrupted.pid,
                ..Charge::from_wakeup(part, CauseKind::Undetermined).named(&interrupted.name)
            }
        }
        HolderKind::NotSeen
        | HolderKind::Quota
        | HolderKind::Budget
        | HolderKind::Server
        | HolderKind::Others => Charge::from_wakeup(part, CauseKind::Undetermined),
    }
}

/// Cuts after the switch-in: page faults, and intervals in which the CPU was lost again.
fn cut_run(line: &mut TimeLine, sleep: &TracedSleep) {
    for lost in &sleep.lost {
        line.cut_as_far(lost.from, until_lost(sleep, lost.from));
        line.cut_as_far(lost.until, charge_for_loss(lost, sleep));
    }
    if let Some(fault) = sleep.first_fault {
        line.cut_as_far(fault, Charge::kernel(Part::Return));
    }
}

fn until_lost(sleep: &TracedSleep, from: MonotonicTime) -> Charge {
    if sleep.first_fault.is_some_and(|fault| fault < from) {
        returning(sleep)
    } else {
        Charge::kernel(Part::Return)
    }
}

/// The rest, up to the thread's own clock reading.
fn returning(sleep: &TracedSleep) -> Charge {
    match sleep.first_fault {
        Some(_) => Charge::from_wakeup(Part::PageFault, CauseKind::PageFault),
        None => Charge::kernel(Part::Return),
    }
}

/// Charge for the time after the listed losses of the CPU: if there were more than are listed, their times are unknown.
fn rest(sleep: &TracedSleep, otherwise: Charge) -> Charge {
    if sleep.lost_more > 0 {
        Charge::from_wakeup(Part::LostAgain, CauseKind::Undetermined)
    } else {
        otherwise
    }
}

/// Joins the wake-up of the waker (`first`), what it did then (`work`), and the wake-up of the woken thread (`own`) into one wake-up
/// of the woken thread, which begins when the waker was due.
pub fn inherit_deadline(
    first: &WakeupBreakdown,
    work: &[Segment],
    own: &Decomposed,
    wakeup: Wakeup,
) -> Decomposed {
    let mut line = TimeLine::from_wakeup(wakeup);
    let all = first.parts.iter().chain(work).chain(&own.wakeup.parts);
    all.for_each(|part| line.cut_as_far(part.from.plus(part.ns), Charge::of(part)));
    let (wakeup, clamped) = line.end(wakeup, own.wakeup.cpu, Charge::kernel(Part::Return));
    Decomposed { wakeup, clamped: clamped + own.clamped }
}
