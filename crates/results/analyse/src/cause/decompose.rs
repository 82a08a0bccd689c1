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

use howlate_model::{
    CauseKind, CpuHolder, Expiry, HolderKind, MonotonicTime, Occupant, Part, SleepState, Span, TracedSleep,
    WakeSource, Wakeup, WakeupBreakdown,
};

use super::hypervisor::doubt;
use super::past::{Past, PastSleep, kept_from_asking};
use super::plausible_durations::PLAIN_DELIVERY;
use super::standstill::charge_standstill;
use super::time_line::{Charge, TimeLine};
use super::waiting::{blocked, held, lost_to, share_out, wait, wake_up};

/// A wake-up split into its parts, and how well the readings fitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Decomposed {
    /// The parts; their sum is the latency.
    pub wakeup: WakeupBreakdown,
    /// Readings that had to be moved because they were out of order.
    pub clamped: u64,
}

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
    let sleeps: Vec<PastSleep> = before.cloned().map(PastSleep::from_sleep).into_iter().collect();
    decompose_since(wakeup, Past { sleeps: &sleeps, ..Past::NONE }, seen, notified)
}

/// The same where more of its past is known: who catches up asks for times that have passed.
pub fn decompose_since(
    wakeup: Wakeup,
    past: Past<'_>,
    seen: &[TracedSleep],
    notified: bool,
) -> Option<Decomposed> {
    let (last, others) = seen.split_last()?;
    let last = &*without_false_wait(last, wakeup);
    let mut line = TimeLine::from_wakeup(wakeup);
    kept_from_asking(&mut line, past, seen.first().and_then(|first| first.asleep_since));
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
    let before = past.sleeps.last().map(|one| &one.sleep);
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
    let (WakeSource::NotSeen { slack, runnable_known: true }, Some(switched_in)) =
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
        woken_by: WakeSource::NotSeen { slack: *slack, runnable_known: false },
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

/// Until the thread was woken and could run.
fn sleep(line: &mut TimeLine, one: &TracedSleep, wakeup: Wakeup, first: bool, notified: bool) {
    if let (true, Some(asleep)) = (first, one.asleep_since) {
        line.cut_as_far(asleep, Charge::from_wakeup(Part::Arming, CauseKind::LateArming));
    }
    match &one.woken_by {
        WakeSource::Timer(expiry) => timer(line, expiry),
        WakeSource::NotSeen { slack, runnable_known } => {
            let hard = wakeup.expected.plus(*slack);
            line.cut_as_far(
                hard.min(one.waking),
                Charge::from_wakeup(Part::TimerSlack, CauseKind::TimerSlack),
            );
            // The wait for the CPU may be in it otherwise.
            let part = if *runnable_known { Part::BeforeRunnable } else { Part::NotSeen };
            line.cut_as_far(one.waking, Charge::from_wakeup(part, CauseKind::Undetermined));
        }
        WakeSource::Other(_) if notified => line.cut_as_far(one.waking, Charge::kernel(Part::Sending)),
        WakeSource::Other(_) => line.cut_as_far(one.waking, blocked(&one.asleep)),
    }
    wake_up(line, one);
}

/// Between two sleeps of one wait the thread ran past the time asked for: back from a stop, it has to arm its timer anew.
fn arming(one: &TracedSleep) -> Charge {
    match &one.asleep {
        SleepState::Stopped(_) => Charge { part: Part::Arming, ..blocked(&one.asleep) },
        SleepState::Waiting => Charge::from_wakeup(Part::Arming, CauseKind::LateArming),
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
    interrupted: &CpuHolder,
    idle_since: Option<MonotonicTime>,
    interrupt: MonotonicTime,
) {
    let idle_since = idle_since.filter(|_| interrupted.holder == HolderKind::Idle);
    if let Some(busy_until) = idle_since.map(|since| since.min(interrupt)) {
        let somebody = CpuHolder { holder: HolderKind::Thread, pid: None, name: String::new() };
        line.cut_as_far(busy_until, delivery(&somebody, busy_until.since(line.cursor())));
    }
    line.cut_as_far(interrupt, delivery(interrupted, interrupt.since(line.cursor())));
}

/// Who is to blame for `length` between a timer's time and its interrupt.
fn delivery(interrupted: &CpuHolder, length: Span) -> Charge {
    let part = Part::InterruptDelivery;
    match interrupted.holder {
        HolderKind::Idle => Charge::from_wakeup(part, CauseKind::IdleExit),
        // Interrupts are off in a handler, so that another one has to wait.
        HolderKind::Interrupt => Charge::from_wakeup(part, CauseKind::Interrupt).named(&interrupted.name),
        HolderKind::Thread | HolderKind::RealTimeThread | HolderKind::Softirq if length <= PLAIN_DELIVERY => {
            Charge::kernel(part)
        }
        // Interrupts off in what was interrupted, or the hypervisor, or the machine: no event tells.
        HolderKind::Thread | HolderKind::RealTimeThread | HolderKind::Softirq => Charge {
            pid: interrupted.pid,
            ..Charge::from_wakeup(part, CauseKind::Undetermined).named(&interrupted.name)
        },
        HolderKind::NotSeen
        | HolderKind::Quota
        | HolderKind::Budget
        | HolderKind::Server
        | HolderKind::Others => Charge::from_wakeup(part, CauseKind::Undetermined),
    }
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
