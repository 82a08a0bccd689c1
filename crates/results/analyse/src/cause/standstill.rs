//! Time in which no CPU of the machine did anything.
//!
//! ```text
//! this CPU       |------ one part, without an event ------|
//! all others          no interrupt that was due there  |
//!                     |-------- stood still -----------|
//! ```

use howlate_model::{CauseKind, MonotonicInterval, MonotonicTime, Segment, Span};

/// Shorter ones are not looked at: CPUs that wait for one lock with interrupts off stand still together as well, and not for long.
const LEAST: Span = Span::from_millis(1);

/// Charges what of a part lies in the stretch to what is `below` the kernel. Between two parts something happened on this CPU: most of
/// the stretch has to be in one of them, as far as it is in the wake-up at all.
pub(super) fn charge_standstill(parts: &mut Vec<Segment>, still: MonotonicInterval, below: CauseKind) {
    let Some((first, last)) = parts.first().zip(parts.last()) else { return };
    let within = overlap(still, MonotonicInterval { from: first.from, until: end(last) });
    let most = |part: &Segment| length(overlap(still, of(part))).times(2) > length(within);
    let Some(place) = parts.iter().position(most).filter(|_| length(within) >= LEAST) else { return };
    let pieces = cut_out(&parts[place], overlap(still, of(&parts[place])), below);
    parts.splice(place..=place, pieces);
}

/// The part before, in and after the stretch, which lies in it. An idle CPU is still asleep where the stretch begins: the machine may
/// have stood still from before it, up to the last event.
fn cut_out(
    part: &Segment,
    still: MonotonicInterval,
    below: CauseKind,
) -> impl Iterator<Item = Segment> + use<> {
    let piece = |stamp: MonotonicInterval| Segment { from: stamp.from, ns: length(stamp), ..part.clone() };
    let mut before = piece(MonotonicInterval { from: part.from, until: still.from });
    if before.cause.kind == CauseKind::IdleExit {
        charge(&mut before, CauseKind::Undetermined);
    }
    let after = piece(MonotonicInterval { from: still.until, until: end(part) });
    let mut within = piece(still);
    charge(&mut within, below);
    [before, within, after].into_iter().filter(|piece| !piece.ns.is_zero())
}

fn end(part: &Segment) -> MonotonicTime {
    part.from.plus(part.ns)
}

fn of(part: &Segment) -> MonotonicInterval {
    MonotonicInterval { from: part.from, until: end(part) }
}

fn length(stamp: MonotonicInterval) -> Span {
    stamp.until.since(stamp.from)
}

/// What is in both; of no length where nothing is.
fn overlap(one: MonotonicInterval, other: MonotonicInterval) -> MonotonicInterval {
    MonotonicInterval { from: one.from.max(other.from), until: one.until.min(other.until) }
}

/// Who was under way then is not to blame: neither by name nor otherwise.
pub(super) fn charge(part: &mut Segment, kind: CauseKind) {
    (part.cause.kind, part.pid) = (kind, None);
    part.cause.name.clear();
    part.cause.real_time = false;
}
