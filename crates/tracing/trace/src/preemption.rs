//! A CPU that was lost after the switch, by who had it meanwhile. Pure.

use std::collections::VecDeque;

use howlate_model::{CpuHolder, CpuLoss, HolderKind, MonotonicTime, Occupant};

use crate::occupant::nameless;

/// What kept a thread from its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeptOff {
    /// Whoever had that.
    Others,
    /// Its control group had no time left.
    Quota,
    /// It had used up its own runtime of `SCHED_DEADLINE`.
    Budget,
}

impl KeptOff {
    /// As `bpf/record.h` numbers them.
    pub(crate) const fn from_number(number: u32) -> Self {
        match number {
            0 => Self::Others,
            1 => Self::Quota,
            _ => Self::Budget,
        }
    }
}

/// A stretch without CPU.
pub(crate) struct Loss {
    pub(crate) from: MonotonicTime,
    pub(crate) until: MonotonicTime,
    pub(crate) kept_off: KeptOff,
}

impl Loss {
    /// The stretch by who had the CPU, in order. Of whom it is only known for how long, as much as there is room for lies before,
    /// between and after the others. Who had the rest, nobody knows.
    pub(crate) fn split_by(&self, occupants: Vec<Occupant>) -> Vec<CpuLoss> {
        if self.kept_off == KeptOff::Budget {
            // Who had the CPU meanwhile is no cause of it.
            return vec![self.piece(self.from, self.until, nameless(HolderKind::Budget), false)];
        }
        let (placed, together): (Vec<_>, Vec<_>) = occupants.into_iter().partition(|one| one.from.is_some());
        let merged = together.len() > 1 || !placed.is_empty();
        let mut pieces =
            Pieces { loss: self, all: Vec::new(), cursor: self.from, together: together.into(), merged };
        for Occupant { who, ns, from } in placed {
            let from = from.unwrap_or(self.from).min(self.until);
            pieces.fill(from);
            pieces.cut(from.plus(ns).min(self.until), who, false);
        }
        pieces.fill(self.until);
        pieces.all
    }

    fn piece(&self, from: MonotonicTime, until: MonotonicTime, to: CpuHolder, merged: bool) -> CpuLoss {
        CpuLoss { from, until, to, throttled: self.kept_off == KeptOff::Quota, merged }
    }
}

/// What a loss is cut into.
struct Pieces<'a> {
    loss: &'a Loss,
    all: Vec<CpuLoss>,
    cursor: MonotonicTime,
    /// Those of whom it is only known for how long, as far as they are not placed yet.
    together: VecDeque<Occupant>,
    /// Whether they had it by turns with others.
    merged: bool,
}

impl Pieces<'_> {
    fn cut(&mut self, until: MonotonicTime, to: CpuHolder, merged: bool) {
        if until > self.cursor {
            self.all.push(self.loss.piece(self.cursor, until, to, merged));
            self.cursor = until;
        }
    }

    /// Cuts as far as `until`.
    fn fill(&mut self, until: MonotonicTime) {
        while let Some(Occupant { who, ns, .. }) = self.together.front_mut().filter(|_| self.cursor < until) {
            let (to, end) = (who.clone(), self.cursor.plus(*ns).min(until));
            *ns = ns.minus(end.since(self.cursor));
            if ns.is_zero() {
                self.together.pop_front();
            }
            self.cut(end, to, self.merged);
        }
        self.cut(until, nameless(HolderKind::NotSeen), false);
    }
}

#[cfg(test)]
mod tests {
    use howlate_model::Span;

    use super::*;

    /// A long stretch is known by its time, what came before and after it only together.
    #[test]
    fn what_is_known_together_fills_what_is_left_around_a_stretch() {
        let at = MonotonicTime::from_nanos;
        let loss = Loss { from: at(100), until: at(200), kept_off: KeptOff::Others };
        let thread = |name: &str, ns, from: Option<i64>| Occupant {
            who: CpuHolder { holder: HolderKind::Thread, pid: None, name: name.into() },
            ns: Span::from_nanos(ns),
            from: from.map(at),
        };
        let all = loss.split_by(vec![
            thread("herd", 30, None),
            thread("hog", 40, Some(110)),
            thread("last", 10, Some(180)),
        ]);
        let told =
            |one: &CpuLoss| (one.from.as_nanos(), one.until.as_nanos(), one.to.name.clone(), one.merged);
        let expected = [
            (100, 110, "herd", true),
            (110, 150, "hog", false),
            (150, 170, "herd", true),
            (170, 180, "", false),
            (180, 190, "last", false),
            (190, 200, "", false),
        ];
        assert_eq!(
            all.iter().map(told).collect::<Vec<_>>(),
            expected.map(|(from, until, name, merged)| (from, until, name.to_owned(), merged))
        );
    }
}
