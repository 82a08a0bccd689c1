//! Rate limits of incidents and requests: a machine that is late all day must not displace older incidents, nor
//! one user those of others.

use std::collections::BTreeMap;

use howlate_model::{MonotonicTime, Span};

use crate::requests::is_own;

/// Incidents: burst, and interval per incident afterwards.
const INCIDENTS: (u64, Span) = (2_000, Span::from_millis(50));
/// Turns reported by programs of root and of this user, and of any other.
const OWN_MISSED_TURNS: (u64, Span) = (2_000, Span::from_millis(50));
const MISSED_TURNS: (u64, Span) = (100, Span::from_secs(1));
/// Requested timelines: each is a file, and the size of all files is limited.
const OWN_SNAPS: (u64, Span) = (10, Span::from_secs(60));
const SNAPS: (u64, Span) = (3, Span::from_secs(600));
/// Maximum users; those without recent requests are dropped.
const USERS: usize = 1_024;

/// A token bucket of `burst` tokens; one token returns every `every`.
#[derive(Debug)]
pub(crate) struct RateLimit {
    burst: u64,
    every: Span,
    tokens: u64,
    updated: MonotonicTime,
}

/// A token bucket per user.
#[derive(Debug)]
pub(crate) struct UserRateLimits {
    own: (u64, Span),
    other_users: (u64, Span),
    users: BTreeMap<u32, RateLimit>,
}

impl UserRateLimits {
    /// Limits of turns reported by programs.
    pub(crate) const fn for_turns() -> Self {
        Self { own: OWN_MISSED_TURNS, other_users: MISSED_TURNS, users: BTreeMap::new() }
    }

    /// Limits of requested timelines.
    pub(crate) const fn for_snaps() -> Self {
        Self { own: OWN_SNAPS, other_users: SNAPS, users: BTreeMap::new() }
    }

    /// Takes up to `requested` tokens of this user; returns how many.
    pub(crate) fn take(&mut self, uid: u32, requested: usize, now: MonotonicTime) -> usize {
        if self.users.len() >= USERS {
            self.users.retain(|_, rate| !rate.is_full(now));
        }
        let (burst, every) = if is_own(uid) { self.own } else { self.other_users };
        let is_too_many = self.users.len() >= USERS && !self.users.contains_key(&uid);
        if is_too_many && !is_own(uid) {
            return 0;
        }
        self.users
            .entry(uid)
            .or_insert(RateLimit { burst, every, tokens: burst, updated: now })
            .take(requested, now)
    }
}

impl RateLimit {
    pub(crate) const fn for_incidents(now: MonotonicTime) -> Self {
        Self { burst: INCIDENTS.0, every: INCIDENTS.1, tokens: INCIDENTS.0, updated: now }
    }

    /// Whether the bucket is full.
    fn is_full(&self, now: MonotonicTime) -> bool {
        self.tokens.saturating_add(now.since(self.updated).as_nanos() / self.every.as_nanos()) >= self.burst
    }

    /// Takes up to `requested` tokens; returns how many.
    pub(crate) fn take(&mut self, requested: usize, now: MonotonicTime) -> usize {
        let more = now.since(self.updated).as_nanos() / self.every.as_nanos();
        self.updated = self.updated.plus(self.every.times(more));
        self.tokens = self.tokens.saturating_add(more).min(self.burst);
        let taken = self.tokens.min(requested as u64);
        self.tokens -= taken;
        usize::try_from(taken).unwrap_or(requested)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_may_come_at_once_and_some_forever() {
        let at = |ms: i64| MonotonicTime::from_nanos(ms * 1_000_000);
        let mut rate = RateLimit::for_incidents(at(0));
        assert_eq!(rate.take(1_500, at(10)), 1_500);
        assert_eq!(rate.take(1_500, at(20)), 500);
        assert_eq!(rate.take(1_500, at(1_020)), 20, "20 a second");
        assert_eq!(rate.take(7, at(1_000_000)), 7);
        assert_eq!(rate.take(9_999, at(1_000_000)), 1_993);
    }

    #[test]
    fn one_user_takes_nothing_from_another() {
        let at = |second: i64| MonotonicTime::from_nanos(second * 1_000_000_000);
        let mut snaps = UserRateLimits::for_snaps();
        assert_eq!(snaps.take(0, 99, at(0)), 10);
        assert_eq!((snaps.take(0, 1, at(59)), snaps.take(0, 9, at(120))), (0, 2), "one a minute");
        assert_eq!((snaps.take(65_534, 99, at(0)), snaps.take(65_533, 2, at(0))), (3, 2));
        assert_eq!((snaps.take(65_534, 9, at(599)), snaps.take(65_534, 9, at(601))), (0, 1));
        let many = u32::try_from(USERS).unwrap();
        let served = |snaps: &mut UserRateLimits, at| {
            (1..=2 * many).filter(|uid| snaps.take(*uid, 1, at) == 1).count()
        };
        let first = served(&mut snaps, at(1_000));
        assert!((USERS - 5..=USERS).contains(&first) && snaps.users.len() == USERS, "{first}");
        assert_eq!(snaps.take(0, 1, at(1_000)), 1, "one's own have their place");
        assert_eq!(served(&mut snaps, at(9_000)), USERS, "and so have others after a while");
    }
}
