//! One sleep of a watched thread: what ended it, when it was due, and when the thread ran.

use std::slice::from_ref;

use howlate_model::{
    Activation, CpuHolder, MonotonicTime, SleepSite, SleepState, Span, TracedSleep, WakeSource, Wakeup,
};

use crate::cause::{Decomposed, Past, decompose_since};

/// A thread throttled by a CPU quota runs on in the kernel for about this long, until it would return to user space.
const BEFORE_THROTTLED: Span = Span::from_micros(50);

/// Calls in which loops sleep that keep their own time.
pub(super) const TIMED_CALLS: [&str; 2] = ["clock_nanosleep", "nanosleep"];

/// How a sleep of a watched thread ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Awakening {
    pub activation: Activation,
    /// The thread that woke it; `None` for timers, as the interrupted thread had nothing to do with it.
    pub by: Option<CpuHolder>,
    /// Threads that its deadline was passed along by, from the one that a timer woke to `by`; empty without such a chain.
    pub through: Vec<CpuHolder>,
    /// Whether the thread slept in a call that only sleeps, as opposed to the time limit of a wait; true where the call is unknown.
    pub sleeps_by_call: bool,
    /// When it was due, and when it ran: the end is the context switch, as the thread's own clock is not read.
    pub wakeup: Wakeup,
    /// The latency split by cause.
    pub parts: Decomposed,
}

impl Awakening {
    /// `None` where the sleep ended in no wake-up: the thread had not left its CPU, was stopped rather than asleep, or its waker
    /// was not traced.
    pub fn from_sleep(sleep: &TracedSleep, past: Past<'_>) -> Option<Self> {
        if sleep.slept_in == Some(SleepSite::Start) {
            return None;
        }
        let (activation, by, expected) = match &sleep.woken_by {
            WakeSource::Timer(expiry) => (Activation::Timer, None, expiry.soft),
            WakeSource::Other(who) if sleep.switched_in.is_some() && sleep.asleep == SleepState::Waiting => {
                // Woken while it was leaving its CPU: the two times come from two CPUs, and the later one counts.
                let asleep = sleep.asleep_since.unwrap_or(sleep.waking);
                (Activation::Event, Some(who.clone()), sleep.waking.max(asleep))
            }
            WakeSource::Other(_) | WakeSource::NotSeen { .. } => return None,
        };
        let wakeup = Wakeup { expected, ran: ran(sleep) };
        // As if the wake-up had been sent: nothing before the time at which it was woken counts as late.
        let parts = decompose_since(wakeup, past, from_ref(sleep), true)?;
        let sleeps_by_call = match &sleep.slept_in {
            Some(SleepSite::Call(call)) => TIMED_CALLS.contains(&call.as_str()),
            Some(SleepSite::PageFault | SleepSite::Start) => false,
            None => true,
        };
        Some(Self { activation, by, through: Vec::new(), sleeps_by_call, wakeup, parts })
    }
}

/// When it ran: at the context switch, or after the throttled intervals that came before its return to user space.
fn ran(sleep: &TracedSleep) -> MonotonicTime {
    let mut ran = sleep.switched_in.unwrap_or(sleep.waking);
    let is_throttled = sleep.lost.first().is_some_and(|lost| lost.throttled);
    for lost in sleep.lost.iter().filter(|_| is_throttled) {
        if lost.from.since(ran) > BEFORE_THROTTLED {
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
        let mut sleep = by_timer(7, 1_000, 1_400);
        sleep.occupants.push(Occupant { who: hog(), ns: Span::from_nanos(300), from: None });
        let awakening = Awakening::from_sleep(&sleep, Past::NONE).unwrap();
        assert_eq!((awakening.activation, awakening.by), (Activation::Timer, None));
        assert_eq!(awakening.wakeup, Wakeup { expected: at(1_000), ran: at(1_400) });
        let parts = &awakening.parts.wakeup.parts;
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
        for (expected, armed, late) in [(200, 1_000, 100), (300, 1_100, 200), (50, 1_200, 350)] {
            let mut sleep = by_timer(7, expected, armed + 20);
            sleep.asleep_since = Some(at(armed));
            let past = Past { stopped: Some(&stopped), ..Past::NONE };
            let parts = Awakening::from_sleep(&sleep, past).unwrap().parts.wakeup.parts;
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
        let awakening = Awakening::from_sleep(&woken(7, hog(), 2_000, 2_060), Past::NONE).unwrap();
        assert_eq!((awakening.activation, awakening.by), (Activation::Event, Some(hog())));
        assert_eq!(awakening.wakeup.latency().as_nanos(), 60);
    }

    #[test]
    fn what_did_not_sleep_was_not_woken() {
        let mut sleep = woken(7, hog(), 2_000, 2_060);
        sleep.switched_in = None;
        assert_eq!(Awakening::from_sleep(&sleep, Past::NONE), None);
        let mut timer = by_timer(7, 1_000, 1_400);
        timer.switched_in = None;
        let awakening = Awakening::from_sleep(&timer, Past::NONE).unwrap();
        assert_eq!(awakening.wakeup.ran, timer.waking, "its time had come nevertheless");
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
        let mut sleep = by_timer(7, 1_000, 1_400);
        sleep.lost = vec![lost(1_405, 9_000, true), lost(9_000, 9_500, false), lost(90_000, 99_000, false)];
        assert_eq!(Awakening::from_sleep(&sleep, Past::NONE).unwrap().wakeup.ran, at(9_500));
        sleep.lost.remove(0);
        assert_eq!(
            Awakening::from_sleep(&sleep, Past::NONE).unwrap().wakeup.ran,
            at(1_400),
            "it ran, and lost its CPU later"
        );
    }
}
