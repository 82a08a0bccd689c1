//! In a virtual machine: what the kernel, a softirq, a handler, an idle state or a thread cannot have taken by itself.
//!
//! No event in the guest tells when its CPU does not run. Whatever was under way then looks as if it had taken all that time.

use howlate_model::{CauseKind, Part, Segment, Span};

use super::plausible_durations::{LEAVING_IDLE, OWN_WAY, PLAIN_DELIVERY, SOFTIRQS, TICK};
use super::standstill::charge;

/// Charges the parts that are longer than what they are charged to can take to the hypervisor, as far as it has `stolen` at least
/// half of their time; otherwise to nobody.
pub(super) fn doubt(parts: &mut [Segment], stolen: Span) {
    let whole = sum(parts.iter());
    let idle = sum(parts.iter().filter(|part| part.cause.kind == CauseKind::IdleExit));
    let mut left = stolen;
    for part in parts {
        if most(part, whole, idle).is_none_or(|most| part.ns <= most) {
            continue;
        }
        if left >= Span::from_nanos(part.ns.as_nanos().div_ceil(2)) {
            left = left.minus(part.ns);
            charge(part, CauseKind::Hypervisor);
        } else if part.cause.kind != CauseKind::Undetermined || part.ns > LEAVING_IDLE {
            charge(part, CauseKind::Undetermined);
        }
    }
}

fn sum<'a>(parts: impl Iterator<Item = &'a Segment>) -> Span {
    parts.map(|part| part.ns).fold(Span::ZERO, Span::plus)
}

/// What whoever a part is charged to can take at most of a `whole` wake-up, of which `idle` is for leaving idle, once; `None`: any
/// time. A sender is not the kernel: it can lose its CPU. Where all that a softirq had in one wait is one part, others have had the CPU
/// in between; one that runs at once takes interrupts, and a tick parts it.
fn most(part: &Segment, whole: Span, idle: Span) -> Option<Span> {
    match (part.cause.part, part.cause.kind) {
        (Part::Sending, CauseKind::Kernel) => None,
        (_, CauseKind::Kernel | CauseKind::Migration) => Some(OWN_WAY),
        (_, CauseKind::IdleExit) if idle > LEAVING_IDLE => Some(OWN_WAY),
        (_, CauseKind::IdleExit) => Some(LEAVING_IDLE),
        // One handler, not several: it keeps all other interrupts waiting.
        (_, CauseKind::Interrupt) if !part.merged => Some(SOFTIRQS),
        (_, CauseKind::Softirq) if !part.merged => Some(TICK.min(of_many(whole))),
        (_, CauseKind::Softirq | CauseKind::Interrupt) => Some(of_many(whole)),
        // A tick would have come upon it and parted it.
        (_, CauseKind::Thread | CauseKind::OtherTimers) if !part.merged => Some(TICK),
        // Nobody knows, but for what follows from a witness.
        (Part::InterruptDelivery, CauseKind::Undetermined) => Some(PLAIN_DELIVERY),
        _ => None,
    }
}

/// What many short times of one kind can be together.
fn of_many(whole: Span) -> Span {
    SOFTIRQS.max(Span::from_nanos(whole.as_nanos() / 2))
}
