//! Others go first, but not so much that nothing is seen while they are busy.

use std::sync::atomic::{AtomicBool, Ordering};

use howlate_linux::sched;
use howlate_linux::termination::go_first;
use howlate_model::{Nice, Policy, Span};
use rustix::process::{Resource, geteuid, getrlimit};

const NICE: i32 = 10;
/// Who wakes later than this beside busy threads finds what they did overwritten: there is room for 160 ms of a CPU that passes from one
/// to another 400 000 times a second.
const TOO_LATE: Span = Span::from_millis(20);

/// Whether this thread lets others go first: while it wakes in time even so.
#[derive(Debug)]
pub(crate) struct Courtesy<'a> {
    is_to_end: &'a AtomicBool,
    /// As it was started; `None`: it stays so, as it may not come back to that.
    own: Option<Policy>,
    is_nice: bool,
    /// Since the minute began, or since an unknown time before.
    was_late: bool,
}

impl<'a> Courtesy<'a> {
    /// From now on, until it is to end. How busy others are is not known before a whole minute was quiet.
    pub(crate) fn begin(is_to_end: &'a AtomicBool) -> Self {
        Self { is_to_end, own: may_come_back(), is_nice: false, was_late: true }
    }

    /// It woke so much later than it asked for.
    pub(crate) fn woke(&mut self, late: Span) {
        self.was_late |= late > TOO_LATE;
        if let Some(own) = self.own.filter(|_| self.is_nice && self.was_late) {
            self.is_nice = false;
            self.become_policy(own);
        }
    }

    /// Another minute, another try.
    pub(crate) fn next_minute(&mut self) {
        let was_late = std::mem::take(&mut self.was_late);
        if let (false, Some(nice)) = (self.is_nice || was_late || self.own.is_none(), nice()) {
            self.is_nice = true;
            self.become_policy(nice);
        }
    }

    /// Not if it has been asked to end: beside two hundred busy threads it would not come to it for minutes.
    fn become_policy(&self, policy: Policy) {
        drop(sched::set_policy(sched::THIS_THREAD, policy));
        if self.is_to_end.load(Ordering::Relaxed) {
            go_first();
        }
    }
}

fn nice() -> Option<Policy> {
    Nice::new(NICE).map(|nice| Policy::Other { nice: Some(nice) })
}

/// The policy of this thread, if it may come back to it: without privilege, `RLIMIT_NICE` has to allow that (sched(7), getrlimit(2)). It
/// is not tried: beside two hundred busy threads, trying takes seconds.
fn may_come_back() -> Option<Policy> {
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
    fn whoever_records_is_as_others_are_until_a_minute_was_quiet() {
        let is_to_end = AtomicBool::new(false);
        let mut courtesy = Courtesy::begin(&is_to_end);
        let Some(own) = courtesy.own else { return skip("it may not come back from nice 10") };
        let is = |policy: Option<Policy>| sched::policy(sched::THIS_THREAD).ok() == policy;
        assert!(is(Some(own)));
        courtesy.next_minute();
        assert!(is(Some(own)), "this began in the middle of a minute");
        courtesy.next_minute();
        assert!(is(nice()));
        courtesy.woke(TOO_LATE);
        assert!(is(nice()), "in time");
        courtesy.woke(TOO_LATE.plus(Span::from_nanos(1)));
        assert!(is(Some(own)));
        courtesy.woke(Span::ZERO);
        courtesy.next_minute();
        assert!(is(Some(own)), "it was too late in the minute before");
        courtesy.woke(Span::ZERO);
        courtesy.next_minute();
        assert!(is(nice()), "the minute before was quiet");
    }
}
