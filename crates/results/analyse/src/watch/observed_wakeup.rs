//! One sleep of a watched thread: what ended it, when it was to end, and when the thread ran.

use std::slice::from_ref;

use howlate_model::{
    Activation, CpuHolder, MonotonicTime, SleepSite, SleepState, Span, TracedSleep, WakeSource, Wakeup,
};

use crate::cause::{Decomposed, Past, decompose_since};

/// A group without time left lets a thread run in the kernel for about this long, until it is about to leave it.
const BEFORE_SET_ASIDE: Span = Span::from_micros(50);

/// Calls in which loops sleep that keep their own time.
pub(super) const TIMED_CALLS: [&str; 2] = ["clock_nanosleep", "nanosleep"];

/// How a sleep of a watched thread ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Awakening {
    /// What ended it.
    pub activation: Activation,
    /// Who did: whoever had the CPU that the timer interrupted is not told.
    pub by: Option<CpuHolder>,
    /// Threads that its deadline was handed on by, from the one that a timer woke to `by`; none otherwise.
    pub through: Vec<CpuHolder>,
    /// Whether its thread asked for the time in a call that only sleeps, rather than for the limit of a wait; also where nobody saw.
    pub sleeps_by_call: bool,
    /// When it was to run, and when it did: the thread's own clock is not read, so that it ends at the switch.
    pub wakeup: Wakeup,
    /// The same by its parts.
    pub parts: Decomposed,
}

impl Awakening {
    /// Reads `one`. `None` where it was no wake-up: the thread had not left its CPU, it was stopped rather than asleep, or nobody
    /// saw what woke it.
    pub fn from_sleep(one: &TracedSleep, past: Past<'_>) -> Option<Self> {
        let (activation, by, expected) = match &one.woken_by {
            WakeSource::Timer(expiry) => (Activation::Timer, None, expiry.soft),
            WakeSource::Other(who) if one.switched_in.is_some() && one.asleep == SleepState::Waiting => {
                // Woken while it was leaving its CPU: two CPUs have told the time.
                let asleep = one.asleep_since.unwrap_or(one.waking);
                (Activation::Event, Some(who.clone()), one.waking.max(asleep))
            }
            WakeSource::Other(_) | WakeSource::NotSeen { .. } => return None,
        };
        let wakeup = Wakeup { expected, ran: ran(one) };
        // As if it had been sent for: up to the moment at which it was woken, nothing is late.
        let parts = decompose_since(wakeup, past, from_ref(one), true)?;
        let sleeps_by_call = match &one.slept_in {
            Some(SleepSite::Call(call)) => TIMED_CALLS.contains(&call.as_str()),
            Some(SleepSite::PageFault) => false,
            None => true,
        };
        Some(Self { activation, by, through: Vec::new(), sleeps_by_call, wakeup, parts })
    }
}

/// When it ran: at the switch, or after those stretches in which its group had no time left before it was back in its
/// program.
fn ran(one: &TracedSleep) -> MonotonicTime {
    let mut ran = one.switched_in.unwrap_or(one.waking);
    let is_set_aside = one.lost.first().is_some_and(|lost| lost.throttled);
    for lost in one.lost.iter().filter(|_| is_set_aside) {
        if lost.from.since(ran) > BEFORE_SET_ASIDE {
            break;
        }
        ran = ran.max(lost.until);
    }
    ran
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::thread::testing::{at, by_timer, woken};
    use howlate_model::{CauseKind, CpuLoss, HolderKind, Occupant, Part};

    fn hog() -> CpuHolder {
        CpuHolder { holder: HolderKind::Thread, pid: Some(9), name: "hog".to_owned() }
    }

    // 1000   1040      1100        1400
    // |------|---------|-----------|
    // D      interrupt  woken       runs; the hog had the CPU
    #[test]
    fn a_timer_is_late_from_the_time_that_it_was_set_to() {
        let mut one = by_timer(7, 1_000, 1_400);
        one.occupants.push(Occupant { who: hog(), ns: Span::from_nanos(300), from: None });
        let seen = Awakening::from_sleep(&one, Past::NONE).unwrap();
        assert_eq!((seen.activation, seen.by), (Activation::Timer, None));
        assert_eq!(seen.wakeup, Wakeup { expected: at(1_000), ran: at(1_400) });
        let parts = &seen.parts.wakeup.parts;
        assert_eq!(parts.iter().map(|part| part.ns.as_nanos()).sum::<u64>(), 400);
        assert!(parts.iter().any(|part| part.cause.kind == CauseKind::Thread && part.cause.name == "hog"));
    }

    // 100        900   1000 . . 5 times . . 1500
    // |----------|-----|-----------------|
    // stopped    resumes, and catches up: asks at 1000 for 200, at 1100 for 300
    #[test]
    fn who_was_stopped_and_catches_up_asked_late_for_that_reason() {
        let stopped = TracedSleep {
            asleep: SleepState::Stopped(Some(hog())),
            asleep_since: Some(at(100)),
            ..woken(7, hog(), 890, 900)
        };
        for (expected, asked, late) in [(200, 1_000, 100), (300, 1_100, 200), (50, 1_200, 350)] {
            let mut one = by_timer(7, expected, asked + 20);
            one.asleep_since = Some(at(asked));
            let past = Past { stopped: Some(&stopped), ..Past::NONE };
            let parts = Awakening::from_sleep(&one, past).unwrap().parts.wakeup.parts;
            let of = |kind| -> i64 {
                let all =
                    parts.iter().filter(|part| part.cause.kind == kind && part.cause.part == Part::Arming);
                all.map(|part| i64::try_from(part.ns.as_nanos()).unwrap()).sum()
            };
            assert_eq!(of(CauseKind::Stopped), 900 - expected.max(100), "{parts:?}");
            assert_eq!(of(CauseKind::LateArming), late, "its own pace before and after: {parts:?}");
        }
    }

    #[test]
    fn an_event_is_late_from_the_moment_at_which_it_woke() {
        let seen = Awakening::from_sleep(&woken(7, hog(), 2_000, 2_060), Past::NONE).unwrap();
        assert_eq!((seen.activation, seen.by), (Activation::Event, Some(hog())));
        assert_eq!(seen.wakeup.latency().as_nanos(), 60);
    }

    #[test]
    fn what_did_not_sleep_was_not_woken() {
        let mut one = woken(7, hog(), 2_000, 2_060);
        one.switched_in = None;
        assert_eq!(Awakening::from_sleep(&one, Past::NONE), None);
        let mut timer = by_timer(7, 1_000, 1_400);
        timer.switched_in = None;
        let seen = Awakening::from_sleep(&timer, Past::NONE).unwrap();
        assert_eq!(seen.wakeup.ran, timer.waking, "its time had come nevertheless");
        let stopped = TracedSleep { asleep: SleepState::Stopped(None), ..woken(7, hog(), 2_000, 2_060) };
        assert_eq!(Awakening::from_sleep(&stopped, Past::NONE), None);
    }

    #[test]
    fn a_group_without_time_keeps_it_from_its_program() {
        let lost = |from, until, throttled| CpuLoss {
            from: at(from),
            until: at(until),
            to: hog(),
            throttled,
            merged: false,
        };
        let mut one = by_timer(7, 1_000, 1_400);
        one.lost = vec![lost(1_405, 9_000, true), lost(9_000, 9_500, false), lost(90_000, 99_000, false)];
        assert_eq!(Awakening::from_sleep(&one, Past::NONE).unwrap().wakeup.ran, at(9_500));
        one.lost.remove(0);
        assert_eq!(
            Awakening::from_sleep(&one, Past::NONE).unwrap().wakeup.ran,
            at(1_400),
            "it ran, and lost its CPU later"
        );
    }
}
