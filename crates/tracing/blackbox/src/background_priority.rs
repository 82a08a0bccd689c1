//! The recording thread runs at nice 10 while it still wakes in time, so that it does not delay other programs.

use std::sync::atomic::{AtomicBool, Ordering};

use howlate_linux::background_priority::BackgroundPriority;
use howlate_linux::sched;
use howlate_linux::termination::raise_termination_priority;
use howlate_model::{Nice, Policy, Span};
use rustix::process::{Resource, geteuid, getrlimit};

const NICE: i32 = 10;
/// While the machine is read and the tracer attached, which takes 0.3 s of CPU time: beside twenty busy threads, 14 s passed at nice 0.
const START_NICE: i32 = -10;
/// A thread that wakes later than this on busy CPUs finds events overwritten: the ring holds 160 ms of a CPU that switches threads
/// 400 000 times a second.
const TOO_LATE: Span = Span::from_millis(20);

/// Priority of the recording thread: lowered after a minute without a late wake-up, restored by the next one.
#[derive(Debug)]
pub(crate) struct RecorderPriority<'a> {
    end_requested: &'a AtomicBool,
    /// `None`: the thread could not return to its policy, and is never lowered.
    priority: Option<BackgroundPriority>,
    /// Since the minute began; true in the first one, which is not seen whole.
    was_late: bool,
}

impl<'a> RecorderPriority<'a> {
    pub(crate) fn new(end_requested: &'a AtomicBool) -> Self {
        let priority = restorable_policy().zip(background_policy());
        let priority = priority.map(|(normal, background)| BackgroundPriority::new(normal, background));
        Self { end_requested, priority, was_late: true }
    }

    /// The thread woke `late` after the time it had asked for.
    pub(crate) fn note_wakeup(&mut self, late: Span) {
        self.was_late |= late > TOO_LATE;
        if let Some(priority) =
            self.priority.as_mut().filter(|priority| priority.is_lowered() && self.was_late)
        {
            priority.restore();
            self.hurry_to_end();
        }
    }

    pub(crate) fn end_minute(&mut self) {
        let was_late = std::mem::take(&mut self.was_late);
        if let Some(priority) = self.priority.as_mut().filter(|priority| !priority.is_lowered() && !was_late)
        {
            priority.lower();
            self.hurry_to_end();
        }
    }

    /// A request to end had raised the priority: beside two hundred busy threads the end would otherwise take minutes.
    fn hurry_to_end(&self) {
        if self.end_requested.load(Ordering::Relaxed) {
            raise_termination_priority();
        }
    }
}

/// Runs `start` at nice -10, if this thread may and is a normal one that is nicer. Others still get a part of each CPU.
pub fn at_start_priority<T>(start: impl FnOnce() -> T) -> T {
    let is_nicer =
        |own: &Policy| matches!(own, Policy::Other { nice } if nice.map_or(0, Nice::get) > START_NICE);
    let own = restorable_policy().filter(is_nicer);
    let is_raised = |_: &Policy| {
        ordinary(START_NICE).is_some_and(|raised| sched::set_policy(sched::THIS_THREAD, raised).is_ok())
    };
    let before = own.filter(is_raised);
    let started = start();
    drop(before.map(|before| sched::set_policy(sched::THIS_THREAD, before)));
    started
}

fn background_policy() -> Option<Policy> {
    ordinary(NICE)
}

fn ordinary(nice: i32) -> Option<Policy> {
    Nice::new(nice).map(|nice| Policy::Other { nice: Some(nice) })
}

/// The policy of this thread, if it may return to it: without privilege, `RLIMIT_NICE` has to allow that (sched(7), getrlimit(2)).
/// Computed, not tried on another thread: beside two hundred busy threads, trying takes seconds.
fn restorable_policy() -> Option<Policy> {
    let own = sched::policy(sched::THIS_THREAD).ok()?;
    let Policy::Other { nice: value } = own else { return None };
    let needed = u64::try_from(20 - value.map_or(0, Nice::get)).unwrap_or(u64::MAX);
    let is_allowed = getrlimit(Resource::Nice).current.is_none_or(|most| most >= needed);
    (geteuid().is_root() || is_allowed).then_some(own)
}

#[cfg(test)]
mod tests {
    use howlate_testing::skip;

    use super::*;

    #[test]
    fn the_priority_is_raised_only_while_the_tracer_is_attached() {
        let (own, starting) = (sched::policy(sched::THIS_THREAD).ok(), ordinary(START_NICE).unwrap());
        if sched::set_policy(sched::THIS_THREAD, starting).is_err() {
            return skip("nobody may be less nice here");
        }
        drop(own.map(|own| sched::set_policy(sched::THIS_THREAD, own)));
        let during = at_start_priority(|| sched::policy(sched::THIS_THREAD).ok());
        assert_eq!((during, sched::policy(sched::THIS_THREAD).ok()), (Some(starting), own));
    }

    #[test]
    fn the_priority_is_lowered_after_a_quiet_minute() {
        let end_requested = AtomicBool::new(false);
        let mut priority = RecorderPriority::new(&end_requested);
        let Some(own) = restorable_policy() else { return skip("it may not come back from nice 10") };
        let is = |policy: Option<Policy>| sched::policy(sched::THIS_THREAD).ok() == policy;
        assert!(is(Some(own)));
        priority.end_minute();
        assert!(is(Some(own)), "this began in the middle of a minute");
        priority.end_minute();
        assert!(is(background_policy()));
        priority.note_wakeup(TOO_LATE);
        assert!(is(background_policy()), "in time");
        priority.note_wakeup(TOO_LATE.plus(Span::from_nanos(1)));
        assert!(is(Some(own)));
        priority.note_wakeup(Span::ZERO);
        priority.end_minute();
        assert!(is(Some(own)), "it was too late in the minute before");
        priority.note_wakeup(Span::ZERO);
        priority.end_minute();
        assert!(is(background_policy()), "the minute before was quiet");
    }
}
