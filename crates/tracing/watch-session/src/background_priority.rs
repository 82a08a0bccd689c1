//! Whoever is watched goes first.

use howlate_linux::sched;
use howlate_model::{MonotonicTime, Policy, Span};

/// Before that, threads come that must be asked for their names; short programs are over.
const BEGINS_AFTER: Span = Span::from_secs(1);
/// A look that comes later than this, or takes longer, misses threads that come and go.
const TOO_LATE: Span = Span::from_millis(100);

/// Whether this thread lets every other go first: not on a machine so busy that it would look too late.
pub(crate) enum Courtesy {
    /// Not yet: since then.
    Soon(MonotonicTime),
    Shown,
    Over,
}

impl Courtesy {
    /// Watching begins now.
    pub(crate) const fn from(now: MonotonicTime) -> Self {
        Self::Soon(now)
    }

    /// A look that was planned for then, or began then, comes now, or is over. Where a policy is refused, it is as it was before.
    pub(crate) fn looked(&mut self, now: MonotonicTime, planned: MonotonicTime) {
        if now.since(planned) > TOO_LATE {
            self.end();
        }
        if matches!(self, Self::Soon(began) if now.since(*began) > BEGINS_AFTER) {
            *self = if may_come_back() { Self::Shown } else { Self::Over };
            if matches!(self, Self::Shown) {
                drop(sched::set_policy(sched::THIS_THREAD, Policy::Idle));
            }
        }
    }

    /// Something was lost: who always goes last may not keep up.
    pub(crate) fn end(&mut self) {
        if matches!(self, Self::Shown) {
            drop(sched::set_policy(sched::THIS_THREAD, Policy::OTHER));
        }
        *self = Self::Over;
    }
}

/// Whether one who goes last may go on as before: not without privilege, unless `RLIMIT_NICE` allows it (sched(7)). A thread
/// that could not would be kept from the end of its own time.
fn may_come_back() -> bool {
    let there_and_back = || {
        [Policy::Idle, Policy::OTHER].iter().all(|one| sched::set_policy(sched::THIS_THREAD, *one).is_ok())
    };
    let asked = std::thread::Builder::new().spawn(there_and_back);
    asked.is_ok_and(|asked| asked.join().unwrap_or(false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_too_late_is_polite_no_more() {
        let at = |ms: i64| MonotonicTime::from_nanos(ms * 1_000_000);
        let mut courtesy = Courtesy::from(at(0));
        courtesy.looked(at(500), at(490));
        assert!(matches!(courtesy, Courtesy::Soon(_)));
        courtesy.looked(at(1_500), at(1_450));
        let shown = matches!(courtesy, Courtesy::Shown);
        assert_eq!(shown, may_come_back());
        courtesy.looked(at(1_700), at(1_550));
        assert!(matches!(courtesy, Courtesy::Over));
        courtesy.looked(at(9_000), at(9_000));
        assert!(matches!(courtesy, Courtesy::Over), "it stays so");
    }
}
