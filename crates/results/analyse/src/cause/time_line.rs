//! The line from the expected time to the actual one, cut piece by piece.

use howlate_model::{Cause, CauseKind, MonotonicTime, Part, Segment, Wakeup, WakeupBreakdown};

/// A wake-up's time line under construction. However it is cut, the pieces add up to the whole.
pub(super) struct TimeLine {
    end: MonotonicTime,
    cursor: MonotonicTime,
    parts: Vec<Segment>,
    clamped: u64,
}

/// What a piece is charged to.
#[derive(Clone)]
pub(super) struct Charge {
    pub(super) cause: Cause,
    // The rest as in [`Segment`].
    pub(super) pid: Option<u32>,
    pub(super) through_pid: Option<u32>,
    pub(super) merged: bool,
}

impl Charge {
    /// Time of the kernel's own code path.
    pub(super) const fn kernel(part: Part) -> Self {
        Self::from_wakeup(part, CauseKind::Kernel)
    }

    pub(super) const fn from_wakeup(part: Part, kind: CauseKind) -> Self {
        Self { cause: Cause::new(part, kind, String::new()), pid: None, through_pid: None, merged: false }
    }

    /// The charge of an existing piece.
    pub(super) fn of(piece: &Segment) -> Self {
        let Segment { cause, pid, through_pid, merged, .. } = piece;
        Self { cause: cause.clone(), pid: *pid, through_pid: *through_pid, merged: *merged }
    }

    /// The same in another part.
    pub(super) fn within(mut self, part: Part) -> Self {
        self.cause.part = part;
        self
    }

    pub(super) fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.cause.name);
        self
    }
}

impl TimeLine {
    pub(super) const fn from_wakeup(wakeup: Wakeup) -> Self {
        Self { end: wakeup.ran, cursor: wakeup.expected, parts: Vec::new(), clamped: 0 }
    }

    /// A line between any two times.
    pub(super) const fn between(from: MonotonicTime, until: MonotonicTime) -> Self {
        Self { end: until, cursor: from, parts: Vec::new(), clamped: 0 }
    }

    /// All pieces, the last one charged to `rest`.
    pub(super) fn parts_until_end(mut self, rest: Charge) -> Vec<Segment> {
        self.cut_as_far(self.end, rest);
        self.parts
    }

    /// How far it is cut.
    pub(super) const fn cursor(&self) -> MonotonicTime {
        self.cursor
    }

    /// Cuts the piece that ends at `until`, which should be before the thread's own clock reading; counted as clamped if it is not.
    pub(super) fn cut(&mut self, until: MonotonicTime, charge: Charge) {
        if until > self.end {
            self.clamped += 1;
        }
        self.cut_as_far(until, charge);
    }

    /// Cuts the piece that ends at `until`, clipped to the line: events before the expected time make nothing late, nor do those
    /// after the thread's own reading.
    pub(super) fn cut_as_far(&mut self, until: MonotonicTime, charge: Charge) {
        let until = until.min(self.end);
        if until <= self.cursor {
            return;
        }
        let ns = until.since(self.cursor);
        let Charge { cause, pid, through_pid, merged } = charge;
        let is_same = |last: &&mut Segment| {
            (last.pid, last.through_pid, last.merged) == (pid, through_pid, merged) && last.cause == cause
        };
        match self.parts.last_mut().filter(is_same) {
            Some(last) => last.ns = last.ns.plus(ns),
            None => self.parts.push(Segment { cause, pid, through_pid, from: self.cursor, ns, merged }),
        }
        self.cursor = until;
    }

    /// Charges the rest; returns the whole and the number of readings that were out of order.
    pub(super) fn end(mut self, wakeup: Wakeup, cpu: Option<u32>, rest: Charge) -> (WakeupBreakdown, u64) {
        self.cut_as_far(self.end, rest);
        let explained = WakeupBreakdown { at: wakeup.ran, latency: wakeup.latency(), cpu, parts: self.parts };
        (explained, self.clamped)
    }
}
