//! Events that this kernel lacks, and what is not seen of a wake-up for lack of them. Pure.
//!
//! Events that are only useful together are one gap: a handler whose end is not seen would seem to use the CPU for ever. Where one
//! of them is missing, none is used.

use std::collections::HashMap;

use howlate_model::{CpuHolder, Expiry, HolderKind, Span, TracedSleep, TracerGap, WakeSource};

/// How much a tracer needs an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventNeed {
    /// There is no tracing without it.
    Required,
    /// Without it, this is not seen.
    Costs(TracerGap),
    /// Nothing is lost without it: a kernel that lacks it also lacks what it reports, or reports it otherwise.
    Optional,
}

/// On other architectures the timer interrupt has a handler like any other.
pub(crate) const TIMER_INTERRUPTS: EventNeed = if cfg!(target_arch = "x86_64") {
    EventNeed::Costs(TracerGap::TimerInterrupts)
} else {
    EventNeed::Optional
};

/// An event that this kernel lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingEvent {
    /// Name without its group.
    pub event: &'static str,
    /// What is not seen for lack of it.
    pub costs: TracerGap,
}

/// All events that this kernel lacks.
#[derive(Debug, Default)]
pub(crate) struct MissingEvents {
    all: Vec<MissingEvent>,
    /// Timer slack of each followed thread.
    slack: HashMap<u32, Span>,
}

impl MissingEvents {
    /// Adds a missing event; the first one of a gap stands for it.
    pub(crate) fn add(&mut self, event: &'static str, costs: TracerGap) {
        if !self.has(costs) {
            self.all.push(MissingEvent { event, costs });
        }
    }

    pub(crate) fn all(&self) -> &[MissingEvent] {
        &self.all
    }

    pub(crate) fn has(&self, costs: TracerGap) -> bool {
        self.all.iter().any(|gap| gap.costs == costs)
    }

    /// Whether an optional event is useless, since another one of its gap is missing.
    pub(crate) fn makes_useless(&self, need: EventNeed) -> bool {
        matches!(need, EventNeed::Costs(costs) if self.has(costs))
    }

    pub(crate) fn follow(&mut self, tid: u32, slack: Span) {
        self.slack.insert(tid, slack);
    }

    /// Removes conclusions from a sleep that the missing events would contradict.
    pub(crate) fn correct(&self, sleep: &mut TracedSleep) {
        if self.has(TracerGap::Timers)
            && matches!(sleep.woken_by, WakeSource::Other(_))
            && !sleep.is_stopped()
        {
            let slack = self.slack.get(&sleep.tid).copied().unwrap_or(Span::ZERO);
            sleep.woken_by = WakeSource::NotSeen { slack, runnable_known: true };
        }
        if self.has(TracerGap::TimerInterrupts)
            && let WakeSource::Timer(expiry) = &mut sleep.woken_by
            && expiry.deferred.is_none()
        {
            expiry.interrupt = expiry.interrupt.or(Some(expiry.first_served));
        }
        if self.has(TracerGap::Interrupts) || self.has(TracerGap::Softirqs) {
            hide_threads(sleep);
        }
    }
}

/// The CPU time of an unseen interrupt or softirq looks like that of the thread it interrupted.
fn hide_threads(sleep: &mut TracedSleep) {
    let deferred = match &mut sleep.woken_by {
        WakeSource::Timer(Expiry { deferred: Some(deferred), .. }) => &mut deferred.occupants[..],
        _ => &mut [],
    };
    let occupants = sleep.occupants.iter_mut().chain(deferred).map(|occupant| &mut occupant.who);
    let all = occupants.chain(sleep.lost.iter_mut().map(|lost| &mut lost.to));
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

    /// Woken at 100 by a timer that a softirq served; a thread and an interrupt used the CPU.
    fn woken() -> TracedSleep {
        let at = MonotonicTime::from_nanos;
        let occupant = |who: CpuHolder| Occupant { who, ns: Span::from_nanos(5), from: None };
        let hog = || who(HolderKind::Thread, "hog");
        let occupants = vec![occupant(hog())];
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
            occupants: vec![occupant(hog()), occupant(who(HolderKind::Interrupt, "eth0"))],
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

    fn corrected(costs: TracerGap, mut sleep: TracedSleep) -> TracedSleep {
        let mut gaps = MissingEvents::default();
        gaps.follow(7, Span::from_nanos(50));
        let before = sleep.clone();
        gaps.correct(&mut sleep);
        assert_eq!(sleep, before, "nothing is missing yet");
        gaps.add("event", costs);
        gaps.correct(&mut sleep);
        sleep
    }

    #[test]
    fn threads_are_not_named_where_interrupts_or_softirqs_are_not_seen() {
        for costs in [TracerGap::Interrupts, TracerGap::Softirqs] {
            let sleep = corrected(costs, woken());
            let holders: Vec<_> = sleep.occupants.iter().map(|occupant| occupant.who.holder).collect();
            assert_eq!(holders, [HolderKind::NotSeen, HolderKind::Interrupt]);
            assert_eq!(sleep.lost[0].to.holder, HolderKind::NotSeen);
            let WakeSource::Timer(Expiry { deferred: Some(deferred), .. }) = &sleep.woken_by else {
                panic!()
            };
            assert_eq!(deferred.occupants[0].who.holder, HolderKind::NotSeen);
        }
        assert_eq!(corrected(TracerGap::PageFaults, woken()), woken());
    }

    #[test]
    fn what_woke_a_thread_is_not_told_where_timers_are_not_seen() {
        let by = |asleep| {
            let other = WakeSource::Other(who(HolderKind::Idle, ""));
            let sleep = TracedSleep { asleep, ..TracedSleep::new(7, MonotonicTime::from_nanos(9), other) };
            corrected(TracerGap::Timers, sleep).woken_by
        };
        let slack = Span::from_nanos(50);
        assert_eq!(by(SleepState::Waiting), WakeSource::NotSeen { slack, runnable_known: true });
        assert!(matches!(by(SleepState::Stopped(None)), WakeSource::Other(_)), "a signal ends a stop");
    }

    #[test]
    fn a_timers_interrupt_that_is_not_seen_had_come_by_its_first_timer() {
        let interrupt = |deferred: bool| {
            let mut sleep = woken();
            if let (false, WakeSource::Timer(expiry)) = (deferred, &mut sleep.woken_by) {
                expiry.deferred = None;
            }
            let sleep = corrected(TracerGap::TimerInterrupts, sleep);
            if let WakeSource::Timer(expiry) = sleep.woken_by { expiry.interrupt } else { panic!() }
        };
        assert_eq!(interrupt(false), Some(MonotonicTime::from_nanos(80)));
        assert_eq!(interrupt(true), None, "it left the timer to a softirq");
    }

    #[test]
    fn events_that_tell_one_thing_go_together() {
        let mut gaps = MissingEvents::default();
        gaps.add("softirq_entry", TracerGap::Softirqs);
        gaps.add("softirq_exit", TracerGap::Softirqs);
        assert_eq!(gaps.all(), [MissingEvent { event: "softirq_entry", costs: TracerGap::Softirqs }]);
        assert!(gaps.makes_useless(EventNeed::Costs(TracerGap::Softirqs)));
        assert!(
            !gaps.makes_useless(EventNeed::Costs(TracerGap::Signals))
                && !gaps.makes_useless(EventNeed::Required)
        );
    }
}
