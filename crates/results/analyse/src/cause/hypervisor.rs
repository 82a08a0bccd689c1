//! In a virtual machine: time that the kernel, a softirq, a handler, an idle state or a thread cannot have taken by itself.
//!
//! No event in the guest tells when its CPU does not run, so the activity under way seems to have taken all of that time.

use howlate_model::{CauseKind, Part, Segment, Span};

use super::plausible_durations::{LEAVING_IDLE, OWN_WAY, PLAIN_DELIVERY, SOFTIRQS, TICK};
use super::standstill::charge;

/// Charges parts that are longer than their cause can take to the hypervisor, as long as `stolen` covers at least half of them;
/// otherwise to no known cause.
pub(super) fn charge_implausible_parts(parts: &mut [Segment], stolen: Span) {
    let whole = sum(parts.iter());
    let idle = sum(parts.iter().filter(|part| part.cause.kind == CauseKind::IdleExit));
    let mut remaining = stolen;
    for part in parts {
        if most(part, whole, idle).is_none_or(|most| part.ns <= most) {
            continue;
        }
        if remaining >= Span::from_nanos(part.ns.as_nanos().div_ceil(2)) {
            remaining = remaining.minus(part.ns);
            charge(part, CauseKind::Hypervisor);
        } else if part.cause.kind != CauseKind::Undetermined || part.ns > LEAVING_IDLE {
            charge(part, CauseKind::Undetermined);
        }
    }
}

fn sum<'a>(parts: impl Iterator<Item = &'a Segment>) -> Span {
    parts.map(|part| part.ns).fold(Span::ZERO, Span::plus)
}

/// Longest plausible time of a part's cause in a `whole` wake-up, of which `idle` is for leaving idle, once; `None`: any time. A
/// sender is not the kernel: it can lose its CPU. Merged softirq time has other activity in between; a single softirq is
/// interrupted by the tick, which splits it.
fn most(part: &Segment, whole: Span, idle: Span) -> Option<Span> {
    match (part.cause.part, part.cause.kind) {
        (Part::Sending, CauseKind::Kernel) => None,
        (_, CauseKind::Kernel | CauseKind::Migration) => Some(OWN_WAY),
        (_, CauseKind::IdleExit) if idle > LEAVING_IDLE => Some(OWN_WAY),
        (_, CauseKind::IdleExit) => Some(LEAVING_IDLE),
        // One handler, not several: it keeps all other interrupts waiting.
        (_, CauseKind::Interrupt) if !part.merged => Some(SOFTIRQS),
        (_, CauseKind::Softirq) if !part.merged => Some(TICK.min(most_merged(whole))),
        (_, CauseKind::Softirq | CauseKind::Interrupt) => Some(most_merged(whole)),
        // A tick would have interrupted and split it.
        (_, CauseKind::Thread | CauseKind::OtherTimers) if !part.merged => Some(TICK),
        // Of unknown cause, except for what follows from a witness.
        (Part::InterruptDelivery, CauseKind::Undetermined) => Some(PLAIN_DELIVERY),
        _ => None,
    }
}

/// Longest plausible sum of many short times of one kind.
fn most_merged(whole: Span) -> Span {
    SOFTIRQS.max(Span::from_nanos(whole.as_nanos() / 2))
}
