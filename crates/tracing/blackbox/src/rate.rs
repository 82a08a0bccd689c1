//! How many incidents are kept, and requests obeyed: a machine that is late all day must not push out what was before, nor one user
//! what others have.

use std::collections::BTreeMap;

use howlate_model::{MonotonicTime, Span};

use crate::requests::is_own;

/// Incidents: so many at once, and one in this time for as long as it goes on.
const INCIDENTS: (u64, Span) = (2_000, Span::from_millis(50));
/// Those that programs tell: of root and of this user, and of any other.
const OWN_MISSED_TURNS: (u64, Span) = (2_000, Span::from_millis(50));
const MISSED_TURNS: (u64, Span) = (100, Span::from_secs(1));
/// What programs ask to keep: each is a file, and all files together take only so much room.
const OWN_SNAPS: (u64, Span) = (10, Span::from_secs(60));
const SNAPS: (u64, Span) = (3, Span::from_secs(600));
/// Users that are remembered; whoever has asked for nothing for a while is as one that never did.
const USERS: usize = 1_024;

/// What may still be kept.
#[derive(Debug)]
pub(crate) struct Rate {
    at_once: u64,
    every: Span,
    left: u64,
    counted: MonotonicTime,
}

/// The same for each user.
#[derive(Debug)]
pub(crate) struct RateOfUser {
    own: (u64, Span),
    others: (u64, Span),
    users: BTreeMap<u32, Rate>,
}

impl RateOfUser {
    /// Of incidents that programs tell.
    pub(crate) const fn of_missed_turns() -> Self {
        Self { own: OWN_MISSED_TURNS, others: MISSED_TURNS, users: BTreeMap::new() }
    }

    /// Of what they ask to keep.
    pub(crate) const fn of_snaps() -> Self {
        Self { own: OWN_SNAPS, others: SNAPS, users: BTreeMap::new() }
    }

    /// How many of `wanted` may be kept now of what this user's programs ask; they are counted.
    pub(crate) fn take(&mut self, uid: u32, wanted: usize, now: MonotonicTime) -> usize {
        if self.users.len() >= USERS {
            self.users.retain(|_, rate| !rate.is_full(now));
        }
        let (at_once, every) = if is_own(uid) { self.own } else { self.others };
        let is_too_many = self.users.len() >= USERS && !self.users.contains_key(&uid);
        if is_too_many && !is_own(uid) {
            return 0;
        }
        self.users
            .entry(uid)
            .or_insert(Rate { at_once, every, left: at_once, counted: now })
            .take(wanted, now)
    }
}

impl Rate {
    pub(crate) const fn of_incidents(now: MonotonicTime) -> Self {
        Self { at_once: INCIDENTS.0, every: INCIDENTS.1, left: INCIDENTS.0, counted: now }
    }

    /// Whether all may be kept again.
    fn is_full(&self, now: MonotonicTime) -> bool {
        self.left.saturating_add(now.since(self.counted).as_nanos() / self.every.as_nanos()) >= self.at_once
    }

    /// How many of `wanted` may be kept now; they are counted.
    pub(crate) fn take(&mut self, wanted: usize, now: MonotonicTime) -> usize {
        let more = now.since(self.counted).as_nanos() / self.every.as_nanos();
        self.counted = self.counted.plus(self.every.times(more));
        self.left = self.left.saturating_add(more).min(self.at_once);
        let taken = self.left.min(wanted as u64);
        self.left -= taken;
        usize::try_from(taken).unwrap_or(wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_may_come_at_once_and_some_forever() {
        let at = |ms: i64| MonotonicTime::from_nanos(ms * 1_000_000);
        let mut rate = Rate::of_incidents(at(0));
        assert_eq!(rate.take(1_500, at(10)), 1_500);
        assert_eq!(rate.take(1_500, at(20)), 500);
        assert_eq!(rate.take(1_500, at(1_020)), 20, "20 a second");
        assert_eq!(rate.take(7, at(1_000_000)), 7);
        assert_eq!(rate.take(9_999, at(1_000_000)), 1_993);
    }

    #[test]
    fn one_user_takes_nothing_from_another() {
        let at = |second: i64| MonotonicTime::from_nanos(second * 1_000_000_000);
        let mut snaps = RateOfUser::of_snaps();
        assert_eq!(snaps.take(0, 99, at(0)), 10);
        assert_eq!((snaps.take(0, 1, at(59)), snaps.take(0, 9, at(120))), (0, 2), "one a minute");
        assert_eq!((snaps.take(65_534, 99, at(0)), snaps.take(65_533, 2, at(0))), (3, 2));
        assert_eq!((snaps.take(65_534, 9, at(599)), snaps.take(65_534, 9, at(601))), (0, 1));
        let many = u32::try_from(USERS).unwrap();
        let served =
            |snaps: &mut RateOfUser, at| (1..=2 * many).filter(|uid| snaps.take(*uid, 1, at) == 1).count();
        let first = served(&mut snaps, at(1_000));
        assert!((USERS - 5..=USERS).contains(&first) && snaps.users.len() == USERS, "{first}");
        assert_eq!(snaps.take(0, 1, at(1_000)), 1, "one's own have their place");
        assert_eq!(served(&mut snaps, at(9_000)), USERS, "and so have others after a while");
    }
}
