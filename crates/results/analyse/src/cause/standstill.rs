//! Time in which no CPU of the machine ran.
//!
//! ```text
//! this CPU       |------ one part, without an event ------|
//! all others          no interrupt that was due there  |
//!                     |-------- stood still -----------|
//! ```

use howlate_model::{CauseKind, MonotonicInterval, MonotonicTime, Segment, Span};

/// Shorter ones are ignored: CPUs that wait for one lock with interrupts off stand still together as well, but not for long.
const SHORTEST: Span = Span::from_millis(1);

/// Charges the time of a standstill to `below`, the layer below the kernel. Between two parts this CPU had an event: most of the
/// standstill, as far as it lies in the wake-up, has to be in one part.
pub(super) fn charge_standstill(parts: &mut Vec<Segment>, still: MonotonicInterval, below: CauseKind) {
    let Some((first, last)) = parts.first().zip(parts.last()) else { return };
    let within = overlap(still, MonotonicInterval { from: first.from, until: end(last) });
    let most = |part: &Segment| length(overlap(still, stamp(part))).times(2) > length(within);
    let Some(place) = parts.iter().position(most).filter(|_| length(within) >= SHORTEST) else { return };
    let pieces = cut_out(&parts[place], overlap(still, stamp(&parts[place])), below);
    parts.splice(place..=place, pieces);
}

/// The part before, in and after the standstill, which lies within it. An idle CPU is still idle where the standstill begins: the
/// machine may have stood still since the last event before it.
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

fn stamp(part: &Segment) -> MonotonicInterval {
    MonotonicInterval { from: part.from, until: end(part) }
}

fn length(stamp: MonotonicInterval) -> Span {
    stamp.until.since(stamp.from)
}

/// The intersection; of no length if there is none.
fn overlap(first: MonotonicInterval, second: MonotonicInterval) -> MonotonicInterval {
    MonotonicInterval { from: first.from.max(second.from), until: first.until.min(second.until) }
}

/// Charges a part to `kind`, without the name of what was under way, which is not to blame.
pub(super) fn charge(part: &mut Segment, kind: CauseKind) {
    (part.cause.kind, part.pid) = (kind, None);
    part.cause.name.clear();
    part.cause.real_time = false;
}
