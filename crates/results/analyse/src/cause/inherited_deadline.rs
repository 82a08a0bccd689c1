//! A wake-up whose deadline was handed on: the lateness of whoever was to pass it on, what that did until then, and the rest.

use howlate_model::{Part, Segment, Wakeup, WakeupBreakdown};

use super::decompose::Decomposed;
use super::time_line::{Charge, TimeLine};

/// Joins the wake-up of a thread, which was `first`, what it did then, which was `work`, and the wake-up of the thread that it woke,
/// which was `own`, to one of the second thread that began when the first was to run.
pub fn handed_on(first: &WakeupBreakdown, work: &[Segment], own: &Decomposed, wakeup: Wakeup) -> Decomposed {
    let mut line = TimeLine::from_wakeup(wakeup);
    let all = first.parts.iter().chain(work).chain(&own.wakeup.parts);
    all.for_each(|part| line.cut_as_far(part.from.plus(part.ns), Charge::of(part)));
    let (wakeup, clamped) = line.end(wakeup, own.wakeup.cpu, Charge::kernel(Part::Return));
    Decomposed { wakeup, clamped: clamped + own.clamped }
}
