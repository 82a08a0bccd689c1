//! What this kernel has no event for, and what of a wake-up is not told then. Pure.
//!
//! Events that tell one thing only together are one gap: a handler that begins and is not seen to end would have the CPU for
//! ever. Where one of them is missing, none is used.

use std::collections::HashMap;

use howlate_model::{CpuHolder, Expiry, HolderKind, Span, TracedSleep, TracerGap, WakeSource};

/// What a tracer can do without an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Without {
    /// Nothing at all.
    Nothing,
    /// All but this.
    AllBut(TracerGap),
    /// All: a kernel that lacks it does nothing that it would tell, or tells it otherwise.
    All,
}

/// The timer's interrupt has a handler like any other where it has no events of its own.
pub(crate) const TIMER_INTERRUPTS: Without =
    if cfg!(target_arch = "x86_64") { Without::AllBut(TracerGap::TimerInterrupts) } else { Without::All };

/// An event that this kernel lacks, and what that costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The event, without its group.
    pub event: &'static str,
    /// What is not seen.
    pub costs: TracerGap,
}

/// All that this kernel has no event for.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    all: Vec<Gap>,
    /// The slack of each thread that is followed.
    slack: HashMap<u32, Span>,
}

impl Gaps {
    /// An event is missing; the first one of a gap stands for it.
    pub(crate) fn add(&mut self, event: &'static str, costs: TracerGap) {
        if !self.has(costs) {
            self.all.push(Gap { event, costs });
        }
    }

    pub(crate) fn all(&self) -> &[Gap] {
        &self.all
    }

    pub(crate) fn has(&self, costs: TracerGap) -> bool {
        self.all.iter().any(|gap| gap.costs == costs)
    }

    /// Whether an event that a tracer could do without is of no use, as another one of its gap is missing.
    pub(crate) fn takes(&self, without: Without) -> bool {
        matches!(without, Without::AllBut(costs) if self.has(costs))
    }

    /// A thread is followed that has this slack.
    pub(crate) fn follow(&mut self, tid: u32, slack: Span) {
        self.slack.insert(tid, slack);
    }

    /// Leaves out of a sleep what would only seem to have been seen.
    pub(crate) fn doubt(&self, one: &mut TracedSleep) {
        if self.has(TracerGap::Timers) && matches!(one.woken_by, WakeSource::Other(_)) && !one.is_stopped() {
            let slack = self.slack.get(&one.tid).copied().unwrap_or(Span::ZERO);
            one.woken_by = WakeSource::NotSeen { slack, runnable_known: true };
        }
        if self.has(TracerGap::TimerInterrupts)
            && let WakeSource::Timer(expiry) = &mut one.woken_by
            && expiry.deferred.is_none()
        {
            expiry.interrupt = expiry.interrupt.or(Some(expiry.first_served));
        }
        if self.has(TracerGap::Interrupts) || self.has(TracerGap::Softirqs) {
            blame_no_thread(one);
        }
    }
}

/// An interrupt or softirq that is not seen has the CPU in the name of whom it came upon.
fn blame_no_thread(one: &mut TracedSleep) {
    let deferred = match &mut one.woken_by {
        WakeSource::Timer(Expiry { deferred: Some(deferred), .. }) => &mut deferred.occupants[..],
        _ => &mut [],
    };
    let occupants = one.occupants.iter_mut().chain(deferred).map(|occupant| &mut occupant.who);
    let all = occupants.chain(one.lost.iter_mut().map(|lost| &mut lost.to));
    for who in all.filter(|who| {
        matches!(who.holder, HolderKind::Thread | HolderKind::RealTimeThread | HolderKind::Idle)
    }) {
        *who = CpuHolder { holder: HolderKind::NotSeen, pid: None, name: String::new() };
    }
}

#[cfg(test)]
mod tests {
    use howlate_model::{CpuLoss, DeferredTimers, MonotonicTime, Occupant, SleepState};

    use super::*;

    fn who(holder: HolderKind, name: &str) -> CpuHolder {
        CpuHolder { holder, pid: None, name: name.into() }
    }

    /// Woken at 100 by a timer that a softirq served; a thread and an interrupt had the CPU.
    fn woken() -> TracedSleep {
        let at = MonotonicTime::from_nanos;
        let had = |who: CpuHolder| Occupant { who, ns: Span::from_nanos(5), from: None };
        let hog = || who(HolderKind::Thread, "hog");
        let occupants = vec![had(hog())];
        let deferred = Some(DeferredTimers { interrupt: at(50), interrupted: hog(), occupants });
        let expiry = Expiry {
            soft: at(40),
            hard: at(40),
            interrupt: None,
            interrupted: hog(),
            idle_since: None,
            rearmed: None,
            first_served: at(80),
            served: at(90),
            deferred,
        };
        TracedSleep {
            occupants: vec![had(hog()), had(who(HolderKind::Interrupt, "eth0"))],
            lost: vec![CpuLoss {
                from: at(150),
                until: at(160),
                to: who(HolderKind::Idle, ""),
                throttled: false,
                merged: false,
            }],
            ..TracedSleep::new(7, at(100), WakeSource::Timer(expiry))
        }
    }

    fn doubted(costs: TracerGap, mut one: TracedSleep) -> TracedSleep {
        let mut gaps = Gaps::default();
        gaps.follow(7, Span::from_nanos(50));
        let before = one.clone();
        gaps.doubt(&mut one);
        assert_eq!(one, before, "nothing is missing yet");
        gaps.add("event", costs);
        gaps.doubt(&mut one);
        one
    }

    #[test]
    fn threads_are_not_blamed_where_interrupts_or_softirqs_are_not_seen() {
        for costs in [TracerGap::Interrupts, TracerGap::Softirqs] {
            let one = doubted(costs, woken());
            let holders: Vec<_> = one.occupants.iter().map(|one| one.who.holder).collect();
            assert_eq!(holders, [HolderKind::NotSeen, HolderKind::Interrupt]);
            assert_eq!(one.lost[0].to.holder, HolderKind::NotSeen);
            let WakeSource::Timer(Expiry { deferred: Some(deferred), .. }) = &one.woken_by else { panic!() };
            assert_eq!(deferred.occupants[0].who.holder, HolderKind::NotSeen);
        }
        assert_eq!(doubted(TracerGap::PageFaults, woken()), woken());
    }

    #[test]
    fn what_woke_a_thread_is_not_told_where_timers_are_not_seen() {
        let by = |asleep| {
            let other = WakeSource::Other(who(HolderKind::Idle, ""));
            let one = TracedSleep { asleep, ..TracedSleep::new(7, MonotonicTime::from_nanos(9), other) };
            doubted(TracerGap::Timers, one).woken_by
        };
        let slack = Span::from_nanos(50);
        assert_eq!(by(SleepState::Waiting), WakeSource::NotSeen { slack, runnable_known: true });
        assert!(matches!(by(SleepState::Stopped(None)), WakeSource::Other(_)), "a signal ends a stop");
    }

    #[test]
    fn a_timers_interrupt_that_is_not_seen_had_come_by_its_first_timer() {
        let interrupt = |deferred: bool| {
            let mut one = woken();
            if let (false, WakeSource::Timer(expiry)) = (deferred, &mut one.woken_by) {
                expiry.deferred = None;
            }
            let one = doubted(TracerGap::TimerInterrupts, one);
            if let WakeSource::Timer(expiry) = one.woken_by { expiry.interrupt } else { panic!() }
        };
        assert_eq!(interrupt(false), Some(MonotonicTime::from_nanos(80)));
        assert_eq!(interrupt(true), None, "it left the timer to a softirq");
    }

    #[test]
    fn events_that_tell_one_thing_go_together() {
        let mut gaps = Gaps::default();
        gaps.add("softirq_entry", TracerGap::Softirqs);
        gaps.add("softirq_exit", TracerGap::Softirqs);
        assert_eq!(gaps.all(), [Gap { event: "softirq_entry", costs: TracerGap::Softirqs }]);
        assert!(gaps.takes(Without::AllBut(TracerGap::Softirqs)));
        assert!(!gaps.takes(Without::AllBut(TracerGap::Signals)) && !gaps.takes(Without::Nothing));
    }
}
