//! A CPU that was lost after the switch, by who had it meanwhile. Pure.

use howlate_model::{Holder, Lost, MonotonicTime, Occupant, Who};

/// A stretch without CPU.
pub(crate) struct Loss {
    pub(crate) from: MonotonicTime,
    pub(crate) until: MonotonicTime,
    pub(crate) throttled: bool,
}

impl Loss {
    /// The stretch by who had the CPU, in order. What they had not, nobody knows.
    pub(crate) fn split_by(&self, occupants: Vec<Occupant>) -> Vec<Lost> {
        let merged = occupants.iter().filter(|one| one.from.is_none()).count() > 1;
        let piece = |from, until, to, merged| Lost { from, until, to, throttled: self.throttled, merged };
        let nobody_knows = || Who { holder: Holder::NotSeen, pid: None, name: String::new() };
        let (mut all, mut cursor) = (Vec::new(), self.from);
        for Occupant { who: to, ns, from } in occupants {
            let begins = from.unwrap_or(cursor).max(cursor);
            all.push(piece(cursor, begins, nobody_knows(), false));
            cursor = begins.plus(ns).min(self.until).max(cursor);
            all.push(piece(begins, cursor, to, merged && from.is_none()));
        }
        all.push(piece(cursor, self.until, nobody_knows(), false));
        all.retain(|one| one.until > one.from);
        all
    }
}
