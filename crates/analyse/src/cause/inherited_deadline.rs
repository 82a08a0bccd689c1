//! A wake-up whose deadline was handed on: the lateness of whoever was to pass it on, what that did until then, and the rest.

use howlate_model::{CauseKind, Explained, Part, Segment, Wakeup, Who};

use super::decompose::Decomposed;
use super::time_line::{Charge, TimeLine};

/// Joins the wake-up of `by`, which was `first`, and that of the thread that it woke, which was `own`, to one of the second
/// thread that began when the first was to run.
pub fn handed_on(first: &Explained, by: &Who, own: &Decomposed, wakeup: Wakeup) -> Decomposed {
    let mut line = TimeLine::from_wakeup(wakeup);
    first.parts.iter().for_each(|part| cut(&mut line, part));
    let work =
        Charge { pid: by.pid, ..Charge::from_wakeup(Part::Blocked, CauseKind::Thread).named(&by.name) };
    let woken = own.wakeup.parts.first().map_or(wakeup.ran, |part| part.from);
    line.cut_as_far(woken, work);
    own.wakeup.parts.iter().for_each(|part| cut(&mut line, part));
    let (wakeup, clamped) = line.end(wakeup, own.wakeup.cpu, Charge::kernel(Part::Return));
    Decomposed { wakeup, clamped: clamped + own.clamped }
}

fn cut(line: &mut TimeLine, part: &Segment) {
    let charge = Charge {
        pid: part.pid,
        ..Charge::from_wakeup(part.cause.part, part.cause.kind).named(&part.cause.name)
    };
    line.cut_as_far(part.from.plus(part.ns), charge);
}
