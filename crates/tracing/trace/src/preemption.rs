//! Splits the time for which a running thread lost its CPU by what used the CPU meanwhile. Pure.

use std::collections::VecDeque;

use howlate_model::{CpuHolder, CpuLoss, HolderKind, MonotonicTime, Occupant};

use crate::occupant::nameless;

/// Why a thread lost its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LossReason {
    /// Other threads or interrupts used it.
    Others,
    /// Its cgroup was throttled.
    Quota,
    /// Its `SCHED_DEADLINE` runtime was used up.
    Budget,
}

impl LossReason {
    /// As numbered in `bpf/record.h`.
    pub(crate) const fn from_number(number: u32) -> Self {
        match number {
            0 => Self::Others,
            1 => Self::Quota,
            _ => Self::Budget,
        }
    }
}

/// A time without CPU.
pub(crate) struct LossInterval {
    pub(crate) from: MonotonicTime,
    pub(crate) until: MonotonicTime,
    pub(crate) reason: LossReason,
}

impl LossInterval {
    /// Splits it by occupants, in order. Occupants without a start time fill the gaps between the others as far as there is room. The
    /// rest is [`HolderKind::NotSeen`].
    pub(crate) fn split_by(&self, occupants: Vec<Occupant>) -> Vec<CpuLoss> {
        if self.reason == LossReason::Budget {
            // The occupants of the CPU are not the cause.
            return vec![self.piece(self.from, self.until, nameless(HolderKind::Budget), false)];
        }
        let (placed, unplaced): (Vec<_>, Vec<_>) =
            occupants.into_iter().partition(|occupant| occupant.from.is_some());
        let merged = unplaced.len() > 1 || !placed.is_empty();
        let mut loss_pieces = LossPieces {
            loss: self,
            pieces: Vec::new(),
            cursor: self.from,
            unplaced: unplaced.into(),
            merged,
        };
        for Occupant { who, ns, from } in placed {
            let from = from.unwrap_or(self.from).min(self.until);
            loss_pieces.fill(from);
            loss_pieces.cut(from.plus(ns).min(self.until), who, false);
        }
        loss_pieces.fill(self.until);
        loss_pieces.pieces
    }

    /// Whether those alternated with others.
    fn piece(&self, from: MonotonicTime, until: MonotonicTime, to: CpuHolder, merged: bool) -> CpuLoss {
        CpuLoss { from, until, to, throttled: self.reason == LossReason::Quota, merged }
    }
}

/// The pieces of a loss.
struct LossPieces<'a> {
    loss: &'a LossInterval,
    pieces: Vec<CpuLoss>,
    cursor: MonotonicTime,
    /// Occupants without a start time, as far as they are not placed yet.
    unplaced: VecDeque<Occupant>,
    /// Whether they had it by turns with others.
    merged: bool,
}

impl LossPieces<'_> {
    fn cut(&mut self, until: MonotonicTime, to: CpuHolder, merged: bool) {
        if until > self.cursor {
            self.pieces.push(self.loss.piece(self.cursor, until, to, merged));
            self.cursor = until;
        }
    }

    /// Fills up to `until`.
    fn fill(&mut self, until: MonotonicTime) {
        while let Some(Occupant { who, ns, .. }) = self.unplaced.front_mut().filter(|_| self.cursor < until) {
            let (to, end) = (who.clone(), self.cursor.plus(*ns).min(until));
            *ns = ns.minus(end.since(self.cursor));
            if ns.is_zero() {
                self.unplaced.pop_front();
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

    /// A long occupant has a start time, those before and after it only a total.
    #[test]
    fn unplaced_occupants_fill_the_gaps_around_placed_ones() {
        let at = MonotonicTime::from_nanos;
        let loss = LossInterval { from: at(100), until: at(200), reason: LossReason::Others };
        let thread = |name: &str, ns, from: Option<i64>| Occupant {
            who: CpuHolder { holder: HolderKind::Thread, pid: None, name: name.into() },
            ns: Span::from_nanos(ns),
            from: from.map(at),
        };
        let pieces = loss.split_by(vec![
            thread("herd", 30, None),
            thread("hog", 40, Some(110)),
            thread("last", 10, Some(180)),
        ]);
        let fields_of =
            |lost: &CpuLoss| (lost.from.as_nanos(), lost.until.as_nanos(), lost.to.name.clone(), lost.merged);
        let expected = [
            (100, 110, "herd", true),
            (110, 150, "hog", false),
            (150, 170, "herd", true),
            (170, 180, "", false),
            (180, 190, "last", false),
            (190, 200, "", false),
        ];
        assert_eq!(
            pieces.iter().map(fields_of).collect::<Vec<_>>(),
            expected.map(|(from, until, name, merged)| (from, until, name.to_owned(), merged))
        );
    }
}
